package topology

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"failwise/failover/gtid"
	"failwise/failover/mysql"
)

func rejectionNames(v Verdict) []string {
	var names []string
	for _, r := range v.Rejections {
		names = append(names, r.Rule)
	}
	return names
}

// contestOf puts the candidate as db2 beside a dead db1 and a healthy db3.
func contestOf(t *testing.T, candidate Reading, others ...Reading) Contest {
	t.Helper()
	if others == nil {
		others = []Reading{replica(3, 1)}
	}
	return Contest{Topology: Judge(append([]Reading{node(1, unreadable), candidate}, others...), remembered(t), noon)}
}

func TestEveryRuleRejectsWithReasonAndFix(t *testing.T) {
	tested := map[string]bool{}
	for _, c := range []struct {
		rule      string
		candidate Reading
		others    []Reading
		edit      func(*Contest)
		reason    string
	}{
		{"unreachable", replica(2, 1, unreadable), nil, nil, "connection refused"},
		{"promote_never", replica(2, 1, preference(Never)), nil, nil, "promote: never"},
		{"shunned", replica(2, 1), nil, func(q *Contest) { q.Shunned = map[string]string{"db2": "failed_over_to db1"} }, "failed_over_to db1"},
		{"maintenance", replica(2, 1), nil, func(q *Contest) { q.InMaintenance = map[string]string{"db2": ""} }, "maintenance"},
		{"not_a_replica", replica(2, 3), nil, nil, "follows db3, not db1"},
		{"several_sources", replica(2, 1, func(r *Reading) {
			channels, _ := r.Status.Channels.Get()
			r.Status.Channels = mysql.Known(append(channels, mysql.Channel{Name: "other", SourceHost: "far", SourcePort: 3306, AutoPosition: true, SQL: mysql.ThreadYes, IO: mysql.ThreadYes}))
		}), nil, nil, "db1, far:3306"},
		{"applier_stopped", replica(2, 1, channel(func(c *mysql.Channel) { c.SQL, c.SQLErrno = mysql.ThreadNo, 1062 })), nil, nil, "1062"},
		{"log_bin_off", replica(2, 1, func(r *Reading) { r.Status.LogBin = false }), nil, nil, "no binary log"},
		{"log_replica_updates_off", replica(2, 1, func(r *Reading) { r.Status.LogReplicaUpdates = false }), nil, nil, "lacks what it replicated"},
		{"gtid_off", replica(2, 1, func(r *Reading) { r.Status.GTIDMode = "OFF" }), nil, nil, "gtid_mode is OFF"},
		{"delayed", replica(2, 1, channel(func(c *mysql.Channel) { c.Delay = 3600e9 })), nil, nil, "1h0m0s late"},
		{"filtered", replica(2, 1, channel(func(c *mysql.Channel) { c.Filters = []string{"replicate_do_db=app"} })), nil, nil, "replicate_do_db=app"},
		{"newer_version", replica(2, 1, func(r *Reading) { r.Status.Version.Major = 9 }), nil, nil, "newer than db3"},
		{"locked", replica(2, 1, func(r *Reading) { r.Locks = mysql.Known([]mysql.Lock{{Session: 12, Kind: "backup lock"}}) }), nil, nil, "session 12 holds a backup lock"},
		{"purged", replica(2, 1, func(r *Reading) { r.Status.Purged = parse(uuidOf(1) + ":1-90") }),
			[]Reading{replica(3, 1, executed(uuidOf(1)+":1-80"))}, nil, "db3 still needs: " + uuidOf(1) + ":81-90"},
		{"errant", replica(2, 1, executed(uuidOf(1)+":1-100,"+uuidOf(2)+":1")), nil, nil, uuidOf(2) + ":1"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			tested[c.rule] = true
			q := contestOf(t, c.candidate, c.others...)
			if c.edit != nil {
				c.edit(&q)
			}
			choice := Choose(q)
			v, ok := choice.Verdict("db2")
			if !ok || v.Eligible || len(v.Rejections) != 1 || v.Rejections[0].Rule != c.rule {
				t.Fatalf("verdict %+v, want the rule %s alone", v, c.rule)
			}
			if r := v.Rejections[0]; !strings.Contains(r.Reason, c.reason) || r.Fix == "" {
				t.Errorf("reason %q, fix %q; want the reason to have %q", r.Reason, r.Fix, c.reason)
			}
			if diff := cmp.Diff(v.Rejections, Eligible(q, "db2")); diff != "" {
				t.Errorf("Eligible differs from Choose:\n%s", diff)
			}
			if choice.Winner != "db3" {
				t.Errorf("winner %q, want db3", choice.Winner)
			}
		})
	}
	for _, rule := range candidateRules {
		if !tested[rule.name] {
			t.Errorf("the rule %s has no case", rule.name)
		}
	}
}

func TestSeveralRulesAreAllReported(t *testing.T) {
	choice := Choose(contestOf(t, replica(2, 1, preference(Never), channel(func(c *mysql.Channel) { c.Delay = 1e9 }))))
	v, _ := choice.Verdict("db2")
	if diff := cmp.Diff([]string{"promote_never", "delayed"}, rejectionNames(v)); diff != "" {
		t.Error(diff)
	}
}

func TestGTIDsMayBeOffWhereNobodyMustBeRepointed(t *testing.T) {
	candidate := replica(2, 1, func(r *Reading) { r.Status.GTIDMode = "OFF" })
	topology := Judge([]Reading{node(1), candidate}, Memory{}, noon)
	if got := Choose(Contest{Topology: topology}); got.Winner != "db2" {
		t.Errorf("%+v", got)
	}
}

func TestOrderOfCandidates(t *testing.T) {
	behind := executed(uuidOf(1) + ":1-90")
	for _, c := range []struct {
		name    string
		nodes   []Reading
		want    string
		reason  string
		catchUp string
	}{
		{"configured order", []Reading{replica(2, 1), replica(3, 1)}, "db2 db3", "has all that the others have, configured order", ""},
		{"most advanced first", []Reading{replica(2, 1, behind), replica(3, 1)}, "db3 db2", "has all that the others have, configured order", ""},
		{"received counts", []Reading{replica(2, 1), replica(3, 1, behind, retrieved(uuidOf(1)+":91-105"))}, "db3 db2", "has all that the others have, configured order", ""},
		{"preferred", []Reading{replica(2, 1), replica(3, 1, preference(Prefer))}, "db3 db2", "has all that the others have, is preferred, configured order", ""},
		{"same site", []Reading{replica(2, 1, site("b")), replica(3, 1, site("a"))}, "db3 db2", "has all that the others have, is at the old primary's site, configured order", ""},
		{"preferred beats site", []Reading{replica(2, 1, site("a")), replica(3, 1, site("b"), preference(Prefer))}, "db3 db2", "has all that the others have, is preferred, configured order", ""},
		{"preferred and behind catches up", []Reading{replica(2, 1), replica(3, 1, behind, preference(Prefer))}, "db3 db2",
			"first catches up 10 transactions from db2, is preferred, configured order", "db2"},
		{"preferred and behind catches up from one that may not be promoted",
			[]Reading{replica(2, 1, preference(Never)), replica(3, 1, behind, preference(Prefer))}, "db3", "the only eligible replica", "db2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			readings := append([]Reading{node(1, unreadable, site("a"))}, c.nodes...)
			choice := Choose(Contest{Topology: Judge(readings, remembered(t), noon)})
			if got := strings.Join(choice.Eligible(), " "); got != c.want || choice.Winner != strings.Fields(c.want)[0] {
				t.Fatalf("order %q, winner %q, refusal %q; want %q", got, choice.Winner, choice.Refusal, c.want)
			}
			if v := choice.Verdicts[0]; v.Reason != c.reason || v.CatchUpFrom != c.catchUp || v.Rank != 1 {
				t.Errorf("rank %d, reason %q, catches up from %q; want %q, %q", v.Rank, v.Reason, v.CatchUpFrom, c.reason, c.catchUp)
			}
		})
	}
}

func TestPositionsThatCannotBeComparedAreRefusedWithTheDifference(t *testing.T) {
	// Without knowledge of the primary nobody can say which of the two is astray.
	readings := []Reading{node(1, unreadable), replica(2, 1, executed(uuidOf(1)+":1-100,"+uuidOf(2)+":1")), replica(3, 1, executed(uuidOf(1)+":1-105"))}
	choice := Choose(Contest{Topology: Judge(readings, Memory{}, noon)})
	want := "positions are not comparable: db2 lacks " + uuidOf(1) + ":101-105 of db3, which lacks " + uuidOf(2) + ":1 of db2"
	if choice.Winner != "" || choice.Refusal != want || choice.Fix == "" {
		t.Errorf("winner %q, refusal %q, want %q", choice.Winner, choice.Refusal, want)
	}
	if choice.LossKnown {
		t.Error("nothing is known of the primary, but the loss is said to be known")
	}
}

func TestNobodyEligibleIsRefusedWithEveryReason(t *testing.T) {
	choice := Choose(contestOf(t, replica(2, 1, preference(Never)), replica(3, 1, unreadable)))
	if choice.Winner != "" || !strings.Contains(choice.Refusal, "db2: ") || !strings.Contains(choice.Refusal, "db3: ") || choice.Fix == "" {
		t.Errorf("%+v", choice)
	}
}

func TestLossIsWhatThePrimaryHadAndNobodyElseHas(t *testing.T) {
	q := contestOf(t, replica(2, 1, executed(uuidOf(1)+":1-97")), replica(3, 1, executed(uuidOf(1)+":1-95")))
	choice := Choose(q)
	v, _ := choice.Verdict("db2")
	if choice.Winner != "db2" || !choice.LossKnown || v.LossCount != 3 || v.Loss.String() != uuidOf(1)+":98-100" {
		t.Errorf("winner %q, loss %s (%d)", choice.Winner, v.Loss, v.LossCount)
	}
	if v, _ := choice.Verdict("db3"); v.LacksCount != 2 || v.LossCount != 5 {
		t.Errorf("db3 lacks %d, loses %d; want 2, 5", v.LacksCount, v.LossCount)
	}
	q.OldProgress = gtid.Progress{Executed: parse(uuidOf(1) + ":1-110")}
	if v, _ := Choose(q).Verdict("db2"); v.LossCount != 13 {
		t.Errorf("loss by a newer reading %d, want 13", v.LossCount)
	}
}

func TestErrantTransactionsOfMariaDBAreSeenInItsBinlogState(t *testing.T) {
	primary := node(1, mariaDB("0-1-8"))
	topology := judge(primary, replica(2, 1, mariaDB("0-2-6,0-1-8")), replica(3, 1, mariaDB("0-1-8")))
	choice := Choose(Contest{Topology: topology})
	v, _ := choice.Verdict("db2")
	if diff := cmp.Diff([]string{"errant"}, rejectionNames(v)); diff != "" || v.Errant.String() != "0-2-6" {
		t.Errorf("errant %s\n%s", v.Errant, diff)
	}
	if choice.Winner != "db3" {
		t.Errorf("winner %q", choice.Winner)
	}
}

func TestPurgedOnMariaDBIsJudgedByThePositionOfTheOldestLog(t *testing.T) {
	purgedTo := func(p string) change { return func(r *Reading) { r.PurgedPosition = mysql.Known(p) } }
	readings := []Reading{node(1, mariaDB("0-1-8")), replica(2, 1, mariaDB("0-1-8"), purgedTo("0-1-7")), replica(3, 1, mariaDB("0-1-5"))}
	v, _ := Choose(Contest{Topology: judge(readings...)}).Verdict("db2")
	if diff := cmp.Diff([]string{"purged"}, rejectionNames(v)); diff != "" {
		t.Error(diff)
	}
	readings[1] = replica(2, 1, mariaDB("0-1-8"), purgedTo("0-1-5"))
	if got := Choose(Contest{Topology: judge(readings...)}).Winner; got != "db2" {
		t.Errorf("winner %q", got)
	}
}

func TestWhatAServerCannotTellIsSaidAndDoesNotReject(t *testing.T) {
	silent := func(r *Reading) { r.Locks = mysql.Fact[[]mysql.Lock]{} }
	topology := judge(node(1, mariaDB("0-1-8")), replica(2, 1, mariaDB("0-1-8"), silent), replica(3, 1, mariaDB("0-1-8")))
	v, _ := Choose(Contest{Topology: topology}).Verdict("db2")
	if !v.Eligible || len(v.Unknown) != 2 {
		t.Errorf("%+v", v)
	}
	if v, _ := Choose(contestOf(t, replica(2, 1))).Verdict("db2"); len(v.Unknown) != 0 {
		t.Errorf("%+v", v)
	}
}

func TestTooFewReadingsAreTheRefusal(t *testing.T) {
	denied := func(r *Reading) {
		r.Status, r.Error = mysql.Status{}, "login: Error 1045: Access denied"+strings.Repeat(" for a long reason", 40)
	}
	topology := Judge([]Reading{node(1, denied), node(2, denied), node(3, denied)}, Memory{}, noon)
	if len(topology.Findings) != 1 {
		t.Fatalf("findings %+v, want the failed reading alone", topology.Findings)
	}
	f := topology.Findings[0]
	if !strings.HasPrefix(f.Text, "the primary is not known: 3 of 3 nodes could not be read, db1: login: Error 1045") ||
		!strings.Contains(f.Fix, "`failwise check connect db1`") {
		t.Errorf("%+v", f)
	}
	if choice := Choose(Contest{Topology: topology}); choice.Refusal != f.Text || choice.Fix != f.Fix {
		t.Errorf("refusal %q, fix %q", choice.Refusal, choice.Fix)
	}
	// With a primary known, the same reason is told once, and not at its whole length.
	choice := Choose(Contest{Topology: topology, OldPrimary: "db1"})
	if !strings.HasPrefix(choice.Refusal, "no replica is eligible: db2, db3: login: Error 1045") || len(choice.Refusal) > 200 {
		t.Errorf("refusal %q", choice.Refusal)
	}
}

func TestAFixNamesItsNode(t *testing.T) {
	topology := Judge([]Reading{node(1), replica(2, 1), node(3, readOnly)}, Memory{}, noon)
	if f := topology.Findings[0]; f.Rule != "detached" || f.Fix != "attach it with `failwise recover db3`" {
		t.Errorf("%+v", f)
	}
	choice := Choose(Contest{Topology: topology, InMaintenance: map[string]string{"db2": "disk"}})
	v, _ := choice.Verdict("db2")
	if r := v.Rejections[0]; !strings.HasPrefix(r.Fix, "end it with `failwise policy automatic --node db2`") {
		t.Errorf("%+v", r)
	}
}

// A replica that was pointed to a candidate and back while the old primary was dead
// has forgotten whom it followed: what that one numbered is still no transaction of
// the replica's own.
func TestForgottenSourceMakesNothingErrant(t *testing.T) {
	forgot := channel(func(c *mysql.Channel) { c.SourceUUID, c.SourceServerID = "", 0 })
	another := channel(func(c *mysql.Channel) { c.SourceUUID, c.SourceServerID = uuidOf(3), 3 })
	for _, edit := range []func(*Reading){forgot, another} {
		q := contestOf(t, replica(2, 1, executed(uuidOf(1)+":1-200")))
		edit(&q.Topology.Nodes[1].Reading)
		v, ok := Choose(q).Verdict("db2")
		if !ok || !v.Eligible {
			t.Errorf("verdict %+v, want db2 eligible", v)
		}
	}
}
