package failover_test

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"failwise/failover"
	"failwise/rules"
)

var update = flag.Bool("update", false, "rewrite golden files")

// A transcript is a script of steps, each followed by its exact output: lines that
// begin with a blank. -update rewrites the outputs, so that a change of behaviour is
// read as a diff. The steps:
//
//	cluster db1=primary db2 … [profile=mha] [policy=manual] [settle=2] [quota=1] [restart]
//	rule OUTCOME STATE THRESHOLD ACTION [window=N] [heal=N]     (before cluster)
//	TIME see NODE=OUTCOME …        observations, then Advance
//	TIME look NODE=OUTCOME …       observations alone
//	TIME tell FACT …               a fact, then Advance
//	TIME advance                   Advance alone
//	every STEP until TIME see …    the same at each step after the last time
//	status                         what the engine knows
//	deadline                       when it wants to be called next
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "transcripts", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			src, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, src)
			if *update {
				if err := os.WriteFile(name, got, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(src), string(got)); diff != "" {
				t.Errorf("the transcript differs (-want +got); -update rewrites it:\n%s", diff)
			}
		})
	}
}

// transcript plays a script.
type transcript struct {
	t   *testing.T
	out bytes.Buffer
	set map[rules.Outcome]rules.Rule
	e   *failover.Engine
	now time.Duration
}

func play(t *testing.T, src []byte) []byte {
	x := &transcript{t: t, set: map[rules.Outcome]rules.Rule{}}
	in := bufio.NewScanner(bytes.NewReader(src))
	for in.Scan() {
		line := in.Text()
		if strings.HasPrefix(line, "  ") {
			continue
		}
		fmt.Fprintln(&x.out, line)
		if words := strings.Fields(line); len(words) > 0 && words[0] != "#" {
			x.step(words)
		}
	}
	return x.out.Bytes()
}

func (x *transcript) step(words []string) {
	switch words[0] {
	case "rule":
		x.rule(words[1:])
	case "cluster":
		x.cluster(words[1:])
	case "status":
		x.status()
	case "deadline":
		fmt.Fprintf(&x.out, "  %s\n", x.e.NextDeadline())
	case "every":
		step, until := x.duration(words[1]), x.duration(words[3])
		for at := x.now + step; at <= until; at += step {
			x.timed(at, words[4:])
		}
	default:
		x.timed(x.duration(words[0]), words[1:])
	}
}

func (x *transcript) duration(s string) time.Duration {
	d, err := time.ParseDuration(s)
	if err != nil {
		x.t.Fatal(err)
	}
	return d
}

// options takes key=value words out of words.
func (x *transcript) number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		x.t.Fatal(err)
	}
	return n
}

func (x *transcript) rule(words []string) {
	o, err := rules.ParseOutcome(words[0])
	if err != nil {
		x.t.Fatal(err)
	}
	state, err := rules.ParseState(words[1])
	if err != nil {
		x.t.Fatal(err)
	}
	action, err := rules.ParseAction(words[3])
	if err != nil {
		x.t.Fatal(err)
	}
	r := rules.Rule{State: state, Threshold: x.number(words[2]), Action: action}
	for _, w := range words[4:] {
		key, value, _ := strings.Cut(w, "=")
		switch key {
		case "window":
			r.Window = x.number(value)
		case "heal":
			r.Heal = x.number(value)
		}
	}
	x.set[o] = r
}

func (x *transcript) cluster(words []string) {
	c := failover.Config{Policy: failover.Automatic, Coordinator: true}
	profile := rules.Tungsten
	change := func(*rules.Timings) {}
	for _, w := range words {
		key, value, _ := strings.Cut(w, "=")
		before := change
		var err error
		switch key {
		case "profile":
			profile, err = rules.ParseProfile(value)
		case "policy":
			c.Policy, err = failover.ParsePolicy(value)
		case "settle":
			change = func(t *rules.Timings) { before(t); t.Settle = x.number(value) }
		case "quota":
			change = func(t *rules.Timings) { before(t); t.Quota = x.number(value) }
		case "age_limit":
			change = func(t *rules.Timings) { before(t); t.AgeLimit = x.duration(value) }
		case "restart":
			c.State = x.e.State(x.now)
		default:
			n := failover.Node{Name: key, Local: strings.HasSuffix(value, "local")}
			if strings.HasPrefix(value, "primary") {
				n.Role = failover.Primary
			}
			c.Nodes = append(c.Nodes, n)
		}
		if err != nil {
			x.t.Fatal(err)
		}
	}
	var err error
	if c.Rules, err = profile.Rules().With(x.set, "transcript"); err != nil {
		x.t.Fatal(err)
	}
	c.Timings = profile.Timings()
	change(&c.Timings)
	if x.e, err = failover.New(c); err != nil {
		x.t.Fatal(err)
	}
	x.now = 0
}

func (x *transcript) timed(at time.Duration, words []string) {
	x.now = at
	switch words[0] {
	case "see", "look":
		for _, w := range words[1:] {
			name, key, _ := strings.Cut(w, "=")
			o, err := rules.ParseOutcome(key)
			if err != nil {
				x.t.Fatal(err)
			}
			x.show(x.e.Observe(at, failover.Observation{Node: name, Outcome: o}))
		}
		if words[0] == "look" {
			return
		}
	case "tell":
		events, err := x.e.Tell(at, x.fact(words[1:]))
		x.show(events)
		if err != nil {
			fmt.Fprintf(&x.out, "  error: %v\n", err)
			return
		}
	case "advance":
	default:
		x.t.Fatalf("no step %q", words)
	}
	for range 5 {
		x.show(x.e.Advance(at))
		if x.e.NextDeadline() > at {
			return
		}
	}
	x.t.Fatalf("the engine does not come to rest at %s", at)
}

// fact reads a fact: its kind and its words.
func (x *transcript) fact(words []string) failover.Fact {
	arg := func(i int) string {
		if i < len(words) {
			return words[i]
		}
		return ""
	}
	must := func(err error) {
		if err != nil {
			x.t.Fatal(err)
		}
	}
	switch words[0] {
	case "policy":
		p, err := failover.ParsePolicy(arg(1))
		must(err)
		limit := time.Duration(0)
		if arg(3) != "" {
			limit = x.duration(arg(3))
		}
		return failover.PolicyIs(p, strings.Trim(arg(2), "-"), limit, "")
	case "coordinator":
		return failover.CoordinatorIs(arg(1) == "true")
	case "began":
		return failover.OperationBegan(arg(1))
	case "ended":
		return failover.OperationEnded()
	case "vote":
		v, err := failover.ParseVote(arg(2))
		must(err)
		return failover.VoteIs(arg(1), v, 0)
	case "late-vote":
		v, err := failover.ParseVote(arg(2))
		must(err)
		return failover.VoteIs(arg(1), v, x.number(arg(3)))
	case "asking":
		return failover.Asking()
	case "answered":
		round := 0
		if arg(1) != "" {
			round = x.number(arg(1))
		}
		return failover.Answered(round)
	case "eligible":
		return failover.EligibleIs(arg(1), arg(2) == "true", strings.Join(words[min(3, len(words)):], " "))
	case "opened":
		return failover.Opened()
	case "promoted":
		if arg(2) == "unfinished" {
			return failover.PromotedUnfinished(arg(1))
		}
		return failover.PromotedTo(arg(1))
	case "failed":
		return failover.PromotionFailedBecause(strings.Join(words[1:], " "))
	case "recovered":
		return failover.RecoveredNode(arg(1))
	case "force":
		var ignore []failover.Reason
		for _, w := range words[min(2, len(words)):] {
			r, err := failover.ParseReason(w)
			must(err)
			ignore = append(ignore, r)
		}
		return failover.Force(strings.Trim(arg(1), "-"), ignore...)
	case "nodes":
		var nodes []failover.Node
		for _, w := range words[1:] {
			name, role, _ := strings.Cut(w, "=")
			n := failover.Node{Name: name}
			if role == "primary" {
				n.Role = failover.Primary
			}
			nodes = append(nodes, n)
		}
		return failover.NodesAre(nodes)
	case "nonsense":
		return failover.Fact{}
	}
	x.t.Fatalf("no fact %q", words)
	return failover.Fact{}
}

func (x *transcript) show(events []failover.Event) {
	for _, ev := range events {
		words := []string{ev.At.String(), ev.Kind.String()}
		for _, w := range []string{ev.Node, ev.Outcome.String(), ev.Reason.String()} {
			if w != "" && w != rules.Outcome(0).String() {
				words = append(words, w)
			}
		}
		if ev.Count > 0 {
			words = append(words, fmt.Sprintf("count=%d", ev.Count))
		}
		if ev.Policy != nil {
			words = append(words, ev.Policy.String())
		}
		if ev.Peer != "" {
			words = append(words, "peer="+ev.Peer)
		}
		if ev.Round > 0 {
			words = append(words, fmt.Sprintf("round=%d contest=%t", ev.Round, ev.Contest))
		}
		if ev.Forced {
			words = append(words, "forced")
		}
		if ev.Detail != "" {
			words = append(words, "("+ev.Detail+")")
		}
		fmt.Fprintf(&x.out, "  %s\n", strings.Join(words, " "))
	}
}

func (x *transcript) status() {
	s := x.e.Snapshot(x.now)
	fmt.Fprintf(&x.out, "  %s policy=%s coordinator=%t operation=%q quota=%d/%d attempts=%d candidates=%s\n",
		s.At, s.Policy.Policy, s.Coordinator, s.Operation, s.QuotaUsed, s.Quota, s.Attempts, strings.Join(s.Candidates, ","))
	for _, n := range s.Nodes {
		words := []string{n.Name, n.Role.String(), n.Stage.String(), n.State.String(), n.Outcome.String()}
		if n.Shunned != "" {
			words = append(words, "shunned="+strings.ReplaceAll(n.Shunned, " ", ":"))
		}
		if n.Hold != nil {
			words = append(words, "hold="+n.Hold.Reason.String())
		}
		if n.Maintenance {
			words = append(words, "maintenance")
		}
		if n.Ineligible != "" {
			words = append(words, "("+n.Ineligible+")")
		}
		fmt.Fprintf(&x.out, "    %s\n", strings.Join(words, " "))
		for _, a := range n.Alarms {
			fmt.Fprintf(&x.out, "      %s count=%d/%d age=%s running=%t expired=%t\n", a.Outcome, a.Count, a.Threshold, a.Age, a.Running, a.Expired)
		}
	}
	st := x.e.State(x.now)
	if len(st.Shunned) > 0 {
		fmt.Fprintf(&x.out, "    stored: shunned %s\n", strings.Join(slices.Sorted(maps.Keys(st.Shunned)), ","))
	}
}
