package promote_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"failwise/check"
	"failwise/failover/journal"
	"failwise/failover/mysql"
	"failwise/failover/promote"
	"failwise/failover/sandbox"
	"failwise/failover/topology"
)

// childVariable names the file that tells a second process what to do.
const childVariable = "FAILWISE_PROMOTE_CHILD"

// childOrder is what a process that dies in the middle of a plan is told.
type childOrder struct {
	User, Password string
	Nodes          []childNode
	Dir            string
	Readings       []topology.Reading
	Memory         topology.Memory
	Seen           promote.Seen
	Settings       promote.Settings
	Switch         bool
	Old, To        string
	Step, State    string // dies when this is reported
}

type childNode struct {
	Name, Host string
	Port       int
}

func TestMain(m *testing.M) {
	if name := os.Getenv(childVariable); name != "" {
		os.Exit(child(name))
	}
	os.Exit(m.Run())
}

// child runs a plan and kills itself at the step it was told.
func child(name string) int {
	data, err := os.ReadFile(name)
	if err != nil {
		fmt.Println(err)
		return 2
	}
	var order childOrder
	if err := json.Unmarshal(data, &order); err != nil {
		fmt.Println(err)
		return 2
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	dir := journal.NewDir(order.Dir)
	env := promote.Env{
		Cluster: "lab", Watcher: 7, Now: time.Now, Seen: order.Seen, Settings: order.Settings,
		Choose:  promote.Contest{Readings: order.Readings, Memory: order.Memory}.Choose,
		Account: promote.Account{User: os.Getenv("REPL_USER"), Secret: check.NewSecret(os.Getenv("REPL_PASSWORD"))},
		Begin: func(ctx context.Context, op journal.Operation) (promote.Log, error) {
			return journal.BeginOperation(ctx, dir, op)
		},
		Progress: func(p promote.Progress) {
			fmt.Println(describe(p))
			if p.Step.String() == order.Step && p.State.String() == order.State {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
		},
	}
	for _, n := range order.Nodes {
		address, err := check.ParseAddress(fmt.Sprintf("%s:%d", n.Host, n.Port), 3306)
		if err != nil {
			fmt.Println(err)
			return 2
		}
		server := check.Server{Name: n.Name, Address: address, User: order.User, Secret: check.NewSecret(order.Password)}
		env.Nodes = append(env.Nodes, promote.Node{Name: n.Name, Host: n.Host, Port: n.Port, Session: mysql.NewSession(server), Second: mysql.NewSession(server)})
	}
	if order.Switch {
		_, err = promote.Switch(ctx, env, promote.SwitchRequest{OldPrimary: order.Old, To: order.To})
	} else {
		_, err = promote.Failover(ctx, env, promote.FailoverRequest{OldPrimary: order.Old, To: order.To})
	}
	fmt.Println("the plan ended:", err)
	return 3
}

// dieAt runs a plan in a second process that ends with SIGKILL at a step.
func (l *lab) dieAt(order childOrder) {
	l.t.Helper()
	act, repl := l.Accounts().Act, l.Accounts().Repl
	order.User, order.Password = act.User, act.Password
	order.Dir, order.Readings, order.Memory, order.Seen, order.Settings = l.dir.Path(), l.readings, l.memory, l.seen, l.settings
	for _, n := range l.Nodes() {
		order.Nodes = append(order.Nodes, childNode{Name: n.Name(), Host: n.Host(), Port: n.Port()})
	}
	data, err := json.Marshal(order)
	if err != nil {
		l.t.Fatal(err)
	}
	name := filepath.Join(l.t.TempDir(), "order.json")
	if err := os.WriteFile(name, data, 0o600); err != nil {
		l.t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		l.t.Fatal(err)
	}
	cmd := exec.CommandContext(bounded(l.t), self)
	cmd.Env = append(os.Environ(), childVariable+"="+name, "REPL_USER="+repl.User, "REPL_PASSWORD="+repl.Password)
	out, err := cmd.CombinedOutput()
	l.t.Logf("the first process:\n%s", out)
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() || status.Signal() != syscall.SIGKILL {
		l.t.Fatalf("it did not die at %s %s: %v", order.Step, order.State, err)
	}
}

// resume finishes the one unfinished operation.
func (l *lab) resume() (promote.Result, error) {
	l.t.Helper()
	logs := l.unfinished()
	if len(logs) != 1 {
		l.t.Fatalf("%d unfinished operations", len(logs))
	}
	return promote.Resume(bounded(l.t), l.env(), logs[0], journal.ResumeOperation(l.dir, logs[0]))
}

func TestPromotionSurvivesTheDeathOfItsProcessAtEachStep(t *testing.T) {
	points := strings.Split("claim done,starve done,choose done,fence done,prepare begun,prepare done,"+
		"open begun,open done,prove done,announce begun,repoint done,verify done,finish begun", ",")
	onBoth(t, func(t *testing.T, flavour sandbox.Flavour) {
		l := newLab(t, sandbox.Options{Flavour: flavour, SemiSync: true})
		primary := l.Node(0)
		for _, point := range risky(flavour, points, 1, 5, 6, 8, 11) {
			step, state, _ := strings.Cut(point, " ")
			ok := t.Run(point, func(t *testing.T) {
				l.t = t
				primary = l.dieAndResume(primary, step, state)
			})
			if !ok {
				return
			}
		}
	})
}

// dieAndResume is one round: it kills the primary and the process that promotes,
// resumes, checks, and brings the old primary back. It gives the new primary.
func (l *lab) dieAndResume(primary *sandbox.Node, step, state string) *sandbox.Node {
	t := l.t
	t.Helper()
	writer := l.StartWriter(bounded(t), sandbox.WriterOptions{})
	sampler := l.StartSampler(bounded(t))
	awaitAck(t, writer, time.Now().Add(100*time.Millisecond))
	l.look()
	if !l.seen.SemiSync {
		t.Fatalf("semi-sync is not in sync before the fault: %+v", l.seen)
	}
	// A commit that still waits for its acknowledgement at the kill comes back with
	// the old primary, on no other node, and keeps it from being recovered.
	if err := writer.Stop(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond)
	killed := time.Now()
	if err := primary.Kill(bounded(t)); err != nil {
		t.Fatal(err)
	}
	later := l.StartWriter(bounded(t), sandbox.WriterOptions{})
	l.dieAt(childOrder{Old: primary.Name(), Step: step, State: state})
	result, err := l.resume()
	if err != nil {
		t.Fatal(err)
	}
	promoted := l.node(result.NewPrimary)
	awaitAck(t, later, killed)
	if err := later.Stop(); err != nil {
		t.Fatal(err)
	}
	if len(result.Unpointed()) > 0 {
		t.Errorf("not repointed: %+v", result.Unpointed())
	}
	l.nothingLost(writer, promoted)
	l.nothingLost(later, promoted)
	for _, n := range l.Nodes() {
		if n != primary && n != promoted {
			l.follows(n, promoted)
			l.noErrant(n, promoted)
		}
	}
	l.noOverlap(sampler)
	if left := l.unfinished(); len(left) > 0 {
		t.Errorf("the promotion log is unfinished: %+v", left)
	}
	if err := primary.Start(bounded(t)); err != nil {
		t.Fatal(err)
	}
	if _, err := promote.Recover(bounded(t), l.env(), promote.RecoverRequest{Node: primary.Name(), Primary: promoted.Name()}); err != nil {
		t.Fatal(err)
	}
	l.follows(primary, promoted)
	l.noErrant(primary, promoted)
	l.look()
	return promoted
}

// A switch whose process dies is taken back before open and finished after it.
func TestSwitchSurvivesTheDeathOfItsProcess(t *testing.T) {
	onBoth(t, func(t *testing.T, flavour sandbox.Flavour) {
		l := newLab(t, sandbox.Options{Flavour: flavour, SemiSync: true})
		primary, other := l.Node(0), l.Node(1)
		type point struct {
			step, state string
			forward     bool
		}
		for _, point := range risky(flavour, []point{
			{"preflight", "done", false}, {"block", "begun", false}, {"block", "done", false}, {"prepare", "begun", false}, {"prepare", "done", false},
			{"open", "begun", true}, {"open", "done", true}, {"prove", "done", true}, {"demote", "begun", true}, {"demote", "done", true}, {"verify", "done", true},
		}, 2, 4, 5, 8) {
			l.t.Logf("dies at %s %s", point.step, point.state)
			writer := l.StartWriter(bounded(t), sandbox.WriterOptions{Limit: 2 * time.Second})
			awaitAck(t, writer, time.Now())
			l.dieAt(childOrder{Switch: true, Old: primary.Name(), To: other.Name(), Step: point.step, State: point.state})
			result, err := l.resume()
			if point.forward {
				if err != nil || result.NewPrimary != other.Name() || len(result.Unpointed()) > 0 {
					t.Fatalf("error %v, result %+v", err, result)
				}
				primary, other = other, primary
			} else if err == nil || result.Opened || len(result.UndoLeft) > 0 {
				t.Fatalf("error %v, result %+v", err, result)
			}
			awaitAck(t, writer, time.Now())
			if err := writer.Stop(); err != nil {
				t.Fatal(err)
			}
			l.nothingLost(writer, primary)
			if !l.writable(primary) {
				t.Fatalf("%s is not writable", primary.Name())
			}
			for _, n := range l.Nodes() {
				if n != primary {
					l.follows(n, primary)
					l.noErrant(n, primary)
				}
			}
			l.look()
		}
	})
}
