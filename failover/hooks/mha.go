package hooks

import (
	"fmt"
	"net"
	"path/filepath"
	"strings"
)

// mhaGoOn is the exit status with which an MHA script says "not all well, go on".
const mhaGoOn = 10

// MHAScript is one of the scripts MHA calls.
type MHAScript uint8

// The scripts. MHAUnknown is none.
const (
	MHAUnknown MHAScript = iota
	MHAMasterIPFailover
	MHAShutdown
	MHAReport
	MHAMasterIPOnlineChange
)

var mhaScriptNames = [...]string{"", "master_ip_failover", "shutdown", "report", "master_ip_online_change"}

func (s MHAScript) String() string {
	if s > MHAUnknown && int(s) < len(mhaScriptNames) {
		return mhaScriptNames[s]
	}
	return fmt.Sprintf("mha_script(%d)", uint8(s))
}

// ParseMHAScript is the inverse of String; MHA's setting names, which end in
// _script, are read too.
func ParseMHAScript(s string) (MHAScript, error) {
	trimmed := strings.TrimSuffix(s, "_script")
	for i, name := range mhaScriptNames {
		if i > 0 && trimmed == name {
			return MHAScript(i), nil
		}
	}
	return MHAUnknown, fmt.Errorf("mha script %q: not one of master_ip_failover, shutdown, report, master_ip_online_change", s)
}

// aborts says whether a bad exit status of this script stops MHA. The report is
// sent after everything is over.
func (s MHAScript) aborts() bool { return s != MHAReport }

func (h Hook) script() MHAScript {
	if h.Script != MHAUnknown || len(h.Argv) == 0 {
		return h.Script
	}
	base := filepath.Base(h.Argv[0])
	base = strings.TrimSuffix(base, filepath.Ext(base))
	switch {
	case strings.HasPrefix(base, "master_ip_online_change"):
		return MHAMasterIPOnlineChange
	case strings.HasPrefix(base, "master_ip_failover"):
		return MHAMasterIPFailover
	case strings.HasPrefix(base, "power_manager"), strings.HasPrefix(base, "shutdown"):
		return MHAShutdown
	case strings.HasPrefix(base, "send_report"), strings.HasPrefix(base, "report"):
		return MHAReport
	}
	return MHAUnknown
}

// mhaCommand builds the call of an MHA script. applies is false where MHA would
// not call this script at this event: master_ip_failover belongs to failovers,
// master_ip_online_change to switches.
func (h Hook) mhaCommand(call Call) (argv, env []string, applies bool) {
	args := append([]string(nil), h.Argv...)
	planned := call.Operation == Switch
	switch h.script() {
	case MHAMasterIPFailover:
		if planned {
			return nil, nil, false
		}
		switch call.Event {
		case Fence:
			args = append(args, h.stopCommand()...)
			return append(args, hostArgs("orig_master", call.OldPrimary)...), nil, true
		case Promoted:
			args = append(args, "--command=start")
			if h.SSHUser != "" {
				args = append(args, "--ssh_user="+h.SSHUser)
			}
			args = append(args, hostArgs("orig_master", call.OldPrimary)...)
			args = append(args, hostArgs("new_master", call.NewPrimary)...)
			args = append(args, "--new_master_user="+call.MHA.NewUser)
			return h.passwords(args, secret{"new_master_password", "NEW_PRIMARY", call.MHA.NewUser, call.MHA.NewPassword})
		default:
			return nil, nil, false
		}
	case MHAShutdown:
		if planned || call.Event != Fence {
			return nil, nil, false
		}
		args = append(args, h.stopCommand()...)
		return append(args, hostArgs("", call.OldPrimary)...), nil, true
	case MHAReport:
		if call.Event != Finished && call.Event != Failed {
			return nil, nil, false
		}
		return append(args,
			"--orig_master_host="+host(call.OldPrimary),
			"--new_master_host="+host(call.NewPrimary),
			"--new_slave_hosts="+strings.Join(hosts(call.Replicas), ","),
			"--subject="+call.subject(),
			"--body="+call.body()), nil, true
	case MHAMasterIPOnlineChange:
		if !planned {
			return nil, nil, false
		}
		switch call.Event {
		case Fence:
			args = append(args, "--command=stop")
		case Promoted:
			args = append(args, "--command=start")
		default:
			return nil, nil, false
		}
		args = append(args, hostArgs("orig_master", call.OldPrimary)...)
		args = append(args, "--orig_master_user="+call.MHA.OldUser)
		args = append(args, hostArgs("new_master", call.NewPrimary)...)
		args = append(args, "--new_master_user="+call.MHA.NewUser)
		if h.SSHUser != "" {
			args = append(args, "--orig_master_ssh_user="+h.SSHUser, "--new_master_ssh_user="+h.SSHUser)
		}
		if call.MHA.OldFollows {
			args = append(args, "--orig_master_is_new_slave")
		}
		return h.passwords(args,
			secret{"orig_master_password", "OLD_PRIMARY", call.MHA.OldUser, call.MHA.OldPassword},
			secret{"new_master_password", "NEW_PRIMARY", call.MHA.NewUser, call.MHA.NewPassword})
	default:
		return nil, nil, false
	}
}

func (h Hook) stopCommand() []string {
	if h.SSHUser == "" {
		return []string{"--command=stop"}
	}
	return []string{"--command=stopssh", "--ssh_user=" + h.SSHUser}
}

type secret struct{ flag, variable, user, password string }

// passwords puts the secrets where the hook wants them: on the command line as
// MHA does, or into FAILWISE_…_USER and FAILWISE_…_PASSWORD.
func (h Hook) passwords(args []string, secrets ...secret) ([]string, []string, bool) {
	var env []string
	for _, s := range secrets {
		if h.PasswordsInArgv {
			args = append(args, "--"+s.flag+"="+s.password)
			continue
		}
		env = append(env, "FAILWISE_"+s.variable+"_USER="+s.user, "FAILWISE_"+s.variable+"_PASSWORD="+s.password)
	}
	return args, env, true
}

// hostArgs are MHA's three arguments of a server: host, ip, port. MHA resolves
// names itself; here the ip is given where the name is one, else the name again.
func hostArgs(prefix, address string) []string {
	if prefix != "" {
		prefix += "_"
	}
	name, port := splitAddress(address)
	return []string{"--" + prefix + "host=" + name, "--" + prefix + "ip=" + name, "--" + prefix + "port=" + port}
}

func splitAddress(address string) (name, port string) {
	name, port, err := net.SplitHostPort(address)
	if err != nil {
		return address, "3306"
	}
	return name, port
}

func host(address string) string {
	name, _ := splitAddress(address)
	return name
}

func hosts(addresses []string) []string {
	names := make([]string, len(addresses))
	for i, a := range addresses {
		names[i] = host(a)
	}
	return names
}

func (c Call) subject() string {
	if c.MHA.Subject != "" {
		return c.MHA.Subject
	}
	if c.Event == Failed {
		return fmt.Sprintf("%s: %s of %s failed", c.Cluster, c.Operation, host(c.OldPrimary))
	}
	return fmt.Sprintf("%s: %s from %s to %s", c.Cluster, c.Operation, host(c.OldPrimary), host(c.NewPrimary))
}

func (c Call) body() string {
	if c.MHA.Body != "" {
		return c.MHA.Body
	}
	return c.Reason
}
