package hooks

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Small scripts that write down how they are called, run unchanged.
func TestMHAScriptsAreCalledAsMHACallsThem(t *testing.T) {
	planned := func(e Event) Call {
		c := failoverCall(e)
		c.Operation = Switch
		c.MHA.OldFollows = true
		return c
	}
	for _, tc := range []struct {
		name string
		file string
		call Call
		ssh  string
		argv bool
		want []string
		env  []string
	}{
		{"failover stop", "master_ip_failover", failoverCall(Fence), "", false,
			[]string{"--command=stop", "--orig_master_host=db1", "--orig_master_ip=db1", "--orig_master_port=3306"}, nil},
		{"failover stopssh", "master_ip_failover", failoverCall(Fence), "mha", false,
			[]string{"--command=stopssh", "--ssh_user=mha", "--orig_master_host=db1", "--orig_master_ip=db1", "--orig_master_port=3306"}, nil},
		{"failover start", "master_ip_failover", failoverCall(Promoted), "mha", false,
			[]string{"--command=start", "--ssh_user=mha", "--orig_master_host=db1", "--orig_master_ip=db1", "--orig_master_port=3306",
				"--new_master_host=::1", "--new_master_ip=::1", "--new_master_port=3307", "--new_master_user=app"},
			[]string{"FAILWISE_NEW_PRIMARY_PASSWORD=s3cret", "FAILWISE_NEW_PRIMARY_USER=app"}},
		{"failover start, passwords as in mha", "master_ip_failover", failoverCall(Promoted), "", true,
			[]string{"--command=start", "--orig_master_host=db1", "--orig_master_ip=db1", "--orig_master_port=3306",
				"--new_master_host=::1", "--new_master_ip=::1", "--new_master_port=3307", "--new_master_user=app", "--new_master_password=s3cret"}, nil},
		{"shutdown", "power_manager", failoverCall(Fence), "", false,
			[]string{"--command=stop", "--host=db1", "--ip=db1", "--port=3306"}, nil},
		{"report", "send_report", failoverCall(Finished), "", false,
			[]string{"--orig_master_host=db1", "--new_master_host=::1", "--new_slave_hosts=db3",
				"--subject=shop: failover from db1 to ::1", "--body=" + failoverCall(Fence).Reason}, nil},
		{"online change stop", "master_ip_online_change", planned(Fence), "mha", false,
			[]string{"--command=stop", "--orig_master_host=db1", "--orig_master_ip=db1", "--orig_master_port=3306", "--orig_master_user=old",
				"--new_master_host=::1", "--new_master_ip=::1", "--new_master_port=3307", "--new_master_user=app",
				"--orig_master_ssh_user=mha", "--new_master_ssh_user=mha", "--orig_master_is_new_slave"},
			[]string{"FAILWISE_NEW_PRIMARY_PASSWORD=s3cret", "FAILWISE_NEW_PRIMARY_USER=app", "FAILWISE_OLD_PRIMARY_PASSWORD=0ldsecret", "FAILWISE_OLD_PRIMARY_USER=old"}},
		{"online change start", "master_ip_online_change", planned(Promoted), "", true,
			[]string{"--command=start", "--orig_master_host=db1", "--orig_master_ip=db1", "--orig_master_port=3306", "--orig_master_user=old",
				"--new_master_host=::1", "--new_master_ip=::1", "--new_master_port=3307", "--new_master_user=app",
				"--orig_master_is_new_slave", "--orig_master_password=0ldsecret", "--new_master_password=s3cret"}, nil},
		{"failover script in a switch", "master_ip_failover", planned(Fence), "", false, nil, nil},
		{"online change in a failover", "master_ip_online_change", failoverCall(Promoted), "", false, nil, nil},
		{"shutdown in a switch", "shutdown", planned(Fence), "", false, nil, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out")
			path := script(t, tc.file, `for a in "$@"; do printf '%s\n' "$a"; done > `+out+`; env | grep _PRIMARY_[UP] | sort > `+out+`.env`)
			result := Hook{Argv: []string{path}, Contract: ContractMHA, SSHUser: tc.ssh, PasswordsInArgv: tc.argv}.Run(t.Context(), tc.call)
			if result.Err != nil {
				t.Fatal(result.Err)
			}
			if got := readLines(t, out); !cmp.Equal(got, tc.want) {
				t.Errorf("arguments (-want +got):\n%s", cmp.Diff(tc.want, got))
			}
			if got := readLines(t, out+".env"); !cmp.Equal(got, tc.env) {
				t.Errorf("environment (-want +got):\n%s", cmp.Diff(tc.env, got))
			}
		})
	}
}

func readLines(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) || len(text) == 0 {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

func TestMHAExitStatus(t *testing.T) {
	for _, tc := range []struct {
		file, status string
		event        Event
		aborts, bad  bool
	}{
		{"master_ip_failover", "0", Fence, false, false},
		{"master_ip_failover", "10", Fence, false, false},
		{"master_ip_failover", "1", Fence, true, true},
		{"master_ip_failover", "2", Promoted, true, true},
		{"send_report", "1", Finished, false, true},
	} {
		path := script(t, tc.file, "exit "+tc.status)
		set := Set{Hooks: map[Event][]Hook{tc.event: {{Argv: []string{path}, Contract: ContractMHA}}}}
		report := set.Fire(t.Context(), failoverCall(tc.event))
		if report.Aborts != tc.aborts || (report.Err() != nil) != tc.bad {
			t.Errorf("%s exits %s: aborts %v, error %v", tc.file, tc.status, report.Aborts, report.Err())
		}
		if wantProof := tc.status == "0"; report.Proof != wantProof {
			t.Errorf("%s exits %s: proof %v", tc.file, tc.status, report.Proof)
		}
	}
}
