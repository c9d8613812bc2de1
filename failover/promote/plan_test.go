package promote_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"failwise/check"
	"failwise/failover/mysql"
	"failwise/failover/promote"
	"failwise/failover/sandbox"
)

func TestPlanIsAValueThatCanBePrinted(t *testing.T) {
	plan := promote.Plan{
		ID: "x", Cluster: "shop", OldPrimary: "db1", Candidate: "db2", Siblings: []string{"db3"}, Reason: "dead",
		Steps: []promote.Step{
			{Name: promote.Starve, Targets: []string{"db2", "db3"}, Does: "stop", Limit: 5 * time.Second, Requires: "one replica",
				Statements: []promote.Statement{{Node: "db2", SQL: "STOP REPLICA IO_THREAD"}}, Undo: []promote.Statement{{Node: "db2", SQL: "START REPLICA IO_THREAD"}}},
			{Name: promote.Open, Targets: []string{"db2"}, Does: "open", Forward: true},
		},
	}
	data, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), `"limit":5`) || !strings.Contains(string(data), `"step":"starve"`) {
		t.Errorf("JSON: %s", data)
	}
	var again promote.Plan
	if err := json.Unmarshal(data, &again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(plan, again); diff != "" {
		t.Errorf("JSON is not inverse (-want +got):\n%s", diff)
	}
	var text strings.Builder
	if err := plan.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	want := ` of shop: db1 → db2
reason: dead

 1. starve on db2, db3, at most 5s
    stop
    requires: one replica
    db2> STOP REPLICA IO_THREAD;
    undo db2> START REPLICA IO_THREAD;

 2. open on db2, forward only
    open
`
	if diff := cmp.Diff(want, text.String()); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}

func TestNamesAreInverse(t *testing.T) {
	for s := promote.Claim; s <= promote.Finish; s++ {
		if got, err := promote.ParseStepName(s.String()); err != nil || got != s {
			t.Errorf("%v: %v, %v", s, got, err)
		}
	}
	for _, r := range []promote.Requirement{promote.RequireNone, promote.RequireProof} {
		if got, err := promote.ParseRequirement(r.String()); err != nil || got != r {
			t.Errorf("%v: %v, %v", r, got, err)
		}
	}
	for _, o := range []promote.OnTimeout{promote.NextCandidate, promote.AbortPlan, promote.PromoteAnyway} {
		if got, err := promote.ParseOnTimeout(o.String()); err != nil || got != o {
			t.Errorf("%v: %v, %v", o, got, err)
		}
	}
	for f := promote.FenceUntried; f <= promote.FenceFailed; f++ {
		var got promote.FenceState
		if err := got.UnmarshalText([]byte(f.String())); err != nil || got != f {
			t.Errorf("%v: %v, %v", f, got, err)
		}
	}
	for _, bad := range []string{"step(99)", "opening"} {
		if _, err := promote.ParseStepName(bad); err == nil {
			t.Errorf("%q is taken for a step", bad)
		}
	}
}

func TestPlanRefusesWhatIsNotConfigured(t *testing.T) {
	env := promote.Env{
		Nodes:  []promote.Node{{Name: "db1", Host: "db1", Port: 3306, Session: mysql.NewSession(check.Server{})}},
		Choose: func(promote.Question) (promote.Choice, error) { return promote.Choice{}, promote.ErrNoCandidate },
	}
	if _, err := promote.PlanFailover(t.Context(), env, promote.FailoverRequest{OldPrimary: "db9"}); err == nil || err.Error() != "failover from db9: not a configured node" {
		t.Error(err)
	}
	if _, err := promote.PlanFailover(t.Context(), env, promote.FailoverRequest{OldPrimary: "db1"}); err == nil || err.Error() != "failover from db1: no candidate: it is the only node" {
		t.Error(err)
	}
	if _, err := promote.PlanSwitch(t.Context(), env, promote.SwitchRequest{OldPrimary: "db1", To: "db1"}); err == nil {
		t.Error("a switch to the primary itself was planned")
	}
	if _, err := promote.PlanRecover(t.Context(), env, promote.RecoverRequest{Node: "db1", Primary: "db1"}); err == nil {
		t.Error("a recover of the primary itself was planned")
	}
	env.Nodes[0].Host = ""
	if _, err := promote.PlanFailover(t.Context(), env, promote.FailoverRequest{OldPrimary: "db1"}); err == nil || !strings.Contains(err.Error(), "configure host:port instead of a socket") {
		t.Error(err)
	}
}

// What --dry-run shows is what the servers get: the general query log of each
// node holds every statement of the plan.
func TestPlannedStatementsAreTheOnesThatAreSent(t *testing.T) {
	onBoth(t, func(t *testing.T, flavour sandbox.Flavour) {
		l := newLab(t, sandbox.Options{Flavour: flavour, SemiSync: true})
		for _, n := range l.Nodes() {
			sqlExec(t, n, "SET GLOBAL log_output='FILE'", "SET GLOBAL general_log_file='"+logFile(n)+"'", "SET GLOBAL general_log=ON")
		}
		l.look()
		request := promote.FailoverRequest{OldPrimary: "db1"}
		plan, err := promote.PlanFailover(bounded(t), l.env(), request)
		if err != nil {
			t.Fatal(err)
		}
		if plan.Candidate != "db2" {
			t.Errorf("the plan names %q", plan.Candidate)
		}
		for _, n := range l.Nodes() {
			if !strings.Contains(sent(t, n), "server_id") {
				t.Fatalf("the log of %s does not work", n.Name())
			}
			if err := os.Truncate(logFile(n), 0); err != nil {
				t.Fatal(err)
			}
		}
		result, err := promote.Execute(bounded(t), l.env(), plan)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(plan.Steps, result.Plan.Steps); diff != "" {
			t.Errorf("another plan was executed (-planned +executed):\n%s", diff)
		}
		logs := map[string]string{}
		for _, n := range l.Nodes() {
			logs[n.Name()] = sent(t, n)
		}
		for _, step := range plan.Steps {
			if step.Name == promote.CatchUp || step.Name == promote.Repoint {
				// Nothing to catch up; with semi-sync the sibling is repointed in prepare.
				continue
			}
			for _, s := range step.Statements {
				if strings.Contains(s.SQL, "if the first is still blocked") {
					continue
				}
				if !pattern(s.SQL).MatchString(logs[s.Node]) {
					t.Errorf("%s: %s did not get: %s\nit got:\n%s", step.Name, s.Node, s.SQL, logs[s.Node])
				}
			}
		}
	})
}

// pattern matches a planned statement: <…> stands for anything known only later.
func pattern(planned string) *regexp.Regexp {
	planned = regexp.MustCompile(` <if [^>]*>$`).ReplaceAllString(planned, "")
	parts := regexp.MustCompile(`<[^>]*>`).Split(planned, -1)
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	text := strings.Join(parts, ".*")
	text = strings.ReplaceAll(text, "KILL CONNECTION .*", `KILL CONNECTION \d+`)
	text = strings.ReplaceAll(text, `SELECT @@global\.read_only`, `SELECT @@global\.read_only.*`)
	text = strings.ReplaceAll(text, `, @@global\.super_read_only, @@global\.offline_mode`, `.*@@global\.super_read_only.*@@global\.offline_mode`)
	return regexp.MustCompile("(?i)" + text)
}

func logFile(n *sandbox.Node) string { return filepath.Join(n.DataDir(), "statements.log") }

// sent is what a node's general query log holds.
func sent(t *testing.T, n *sandbox.Node) string {
	t.Helper()
	text, err := os.ReadFile(logFile(n))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
