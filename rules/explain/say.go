package explain

import (
	"fmt"
	"slices"
	"strings"

	"failwise/rules"
)

// verdict is what comes of the outcome, in one sentence.
func (q Question) verdict() string {
	r, t := q.Rules.Rule(q.Outcome), q.Setup.Timings
	what := map[rules.Action]string{
		rules.None: "it is written to the journal", rules.Alert: "somebody is told; nothing else happens", rules.Fail: "the node is failed",
	}[r.Action]
	switch {
	case never(q.Outcome):
		return "No probe ends in it; the rule has no effect."
	case r.State == rules.Online:
		return "The node is online: its alarms are deleted."
	case q.Outcome == rules.NotOnline && r.Window == 0:
		return "Without a window it has no effect."
	case r.Threshold < 0 && r.Action == rules.None:
		return "The cluster sits still: it is seen and recorded, never acted on."
	case r.Threshold < 0:
		return fmt.Sprintf("The cluster sits still: the action is %s, but threshold -1 never expires.", r.Action)
	case r.Window > 0:
		return fmt.Sprintf("When %d of the last %s (%s of %s) had it, %s.", r.Threshold, count(r.Window, "tick"),
			span(t.Ticks(r.Threshold)), span(t.Ticks(r.Window)), what)
	case r.Threshold == 0:
		return fmt.Sprintf("At the first such probe %s.", what)
	}
	return fmt.Sprintf("When it has lasted %s (%s) without recovery, %s.", count(r.Threshold, "tick"), span(t.Ticks(r.Threshold)), what)
}

// effect is what the action does to a node of a role.
func (q Question) effect(role Role) []string {
	r := q.Rules.Rule(q.Outcome)
	switch {
	case r.State == rules.Online:
		return []string{"heals: the alarms of the node are deleted"}
	case r.Threshold < 0 || never(q.Outcome):
		return []string{fmt.Sprintf("nothing: check, status and the journal show %s", r.State)}
	case role == Replica && q.Outcome.OfInsert():
		return []string{"nothing: probes never write to a replica, so that none ends in it there"}
	case r.Action == rules.None:
		return []string{"nothing but a line in the journal when it expires"}
	case r.Action == rules.Alert:
		return []string{"alert: the alert hook and the webhook are called, once per episode; not in maintenance, but after it"}
	case role == Replica:
		return []string{
			"fail: it is set aside (shunned) and no candidate for promotion any more; applications are told by the replica_failed hook",
			"it comes back by itself when it is healed and none of its alarms is expired (policy automatic), else by failwise recover",
			"not while the watcher is isolated, is not the coordinator, or the policy is manual",
		}
	}
	effects := []string{
		"fail: the old primary is fenced and a replica promoted, if none of these holds: settle, maintenance, policy, coordinator, confirmation, isolation, quota, age limit, candidates, durability",
	}
	switch {
	case !q.Outcome.UpToLogin():
		effects = append(effects, "nobody can contradict but one more probe: replicas and routes only see the port, which a hung server still answers")
	case q.votes() == "off":
		effects = append(effects, "the replicas are not asked (confirm.replicas: off): what only the watcher sees is acted on")
	default:
		effects = append(effects, "the replicas are asked first: one that still sees the primary holds the failover")
	}
	return append(effects, "it must still be seen at that moment: the latest probe has to be fatal itself, and fresh")
}

// why is why the rule is as it is, and what it protects from.
func (q Question) why(s subject) (why, protects []string) {
	r := q.Rules.Rule(q.Outcome)
	if !r.Fatal() {
		return s.still, s.protects
	}
	why = slices.Clone(s.acts)
	switch {
	case r.Window > 0:
		why = append(why, "The window counts a fault across its recoveries.")
	case q.Outcome.Alive():
		why = append(why, "Without a window a single good probe starts the count anew: a stall with short recoveries, the usual kind, may never get there.")
	}
	return why, nil
}

// resets is what makes the count start anew and what lets it stand still.
func (q Question) resets() []string {
	r := q.Rules.Rule(q.Outcome)
	if r.State == rules.Online || r.Threshold < 0 || never(q.Outcome) {
		return nil
	}
	if r.Window > 0 {
		return []string{
			fmt.Sprintf("Good probes do not: bad ticks slide out of the window after %s, and the alarm ends when none is left.", span(q.Setup.Timings.Ticks(r.Window))),
			"In maintenance the window stands still.",
		}
	}
	heal := "One online probe deletes all alarms of the node."
	if r.Heal > 1 {
		heal = fmt.Sprintf("%d online probes in a row (the largest heal among the node's alarms) delete all of them.", r.Heal)
	}
	lines := []string{heal}
	if r.Threshold == 0 {
		lines = append(lines, "A held failover ends with the first bad probe whose own rule is not fatal.")
	} else {
		lines = append(lines, "The clock stands still, and goes on later, while the latest probe shows something less serious or proves the server alive, and in maintenance.")
		if q.Outcome.Alive() {
			lines[1] = "The clock stands still, and goes on later, while the latest probe shows something less serious, and in maintenance."
		}
	}
	return append(lines, "A pause of this process counts as one tick at most, and needs a fresh probe after it.")
}

// blind is what the outcome, and the way it is probed for, cannot tell.
func (q Question) blind(s subject) []string {
	lines := slices.Clone(s.blind)
	types := q.Setup.ProbeTypes
	switch {
	case q.Outcome.OfInsert() && !slices.Contains(types, "insert"):
		lines = append(lines, "Everything, as things are: only the insert probe ends in it, and that is not among the probe types ("+typesOr(types)+").")
	case q.Outcome.UpToLogin() && slices.Equal(types, []string{"select"}):
		lines = append(lines, "Servers that accept no new sessions: the select probe keeps one open and hardly ever logs in.")
	}
	return lines
}

func typesOr(types []string) string {
	if len(types) == 0 {
		return "connect"
	}
	return strings.Join(types, ", ")
}
