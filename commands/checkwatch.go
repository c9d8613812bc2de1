package commands

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"failwise/check"
	"failwise/failover"
	"failwise/failover/journal"
	"failwise/failover/watch"
	"failwise/rules"
)

func checkWatchCommand() *command {
	return &command{
		name:    "watch",
		summary: "check that the cluster's watcher on this host lives and may act",
		about: "CRITICAL: no watcher answers, a node is nearly_down and held, or a promotion has failed. WARNING: an\n" +
			"alarm runs, the watcher only observes, the policy is not automatic, the quota is used up, a replica does\n" +
			"not follow the primary, or journal records were lost. The line tells the seconds to the next expiry.",
		examples: []example{{"check watch --cluster prod", ""}},
		run: func(ctx context.Context, in *invocation) error {
			return in.runCheck(ctx, in.checkWatch)
		},
	}
}

// watchCheckReport is the JSON output's "details" of check watch.
type watchCheckReport struct {
	Cluster      string          `json:"cluster"`
	Watcher      *watch.Snapshot `json:"watcher"`
	LastFailover string          `json:"last_failover,omitempty"`
}

func (in *invocation) checkWatch(ctx context.Context, at *stage) (checkReport, error) {
	at.set("the configuration")
	if err := in.settingsNear(at); err != nil {
		return checkReport{}, err
	}
	c, err := in.cluster()
	if err != nil {
		return checkReport{}, err
	}
	if err := in.filesNear(at, c, true); err != nil {
		return checkReport{}, err
	}
	dir, err := in.clusterDir(c)
	if err != nil {
		return checkReport{}, err
	}
	details := watchCheckReport{Cluster: c.Name}
	at.set("the state directory")
	last := ""
	s, err := in.loadState(ctx, c)
	switch {
	case errors.Is(err, journal.ErrStalled):
		return checkReport{}, err // the watcher's socket lies there too
	case err == nil:
		last = lastFailoverText(s)
		details.LastFailover = jsonTime(s.LastFailover.Time)
	}
	at.set("the watcher's answer")
	snapshot, err := watch.Status(ctx, dir)
	if errors.Is(err, watch.ErrNoWatcher) {
		return checkReport{exit: ExitCritical, summary: fmt.Sprintf("cluster %s: %v%s", c.Name, err, last), details: details}, nil
	}
	if err != nil {
		return checkReport{exit: ExitCritical, summary: fmt.Sprintf("cluster %s: the watcher does not answer: %v", c.Name, err), details: details}, nil
	}
	details.Watcher = &snapshot
	r := judgeWatcher(snapshot)
	r.summary = fmt.Sprintf("cluster %s: %s%s", c.Name, r.summary, last)
	r.details = details
	return r, nil
}

func lastFailoverText(s journal.State) string {
	if s.LastFailover.Time.IsZero() {
		return ""
	}
	return fmt.Sprintf("; last failover %s to %s at %s", s.LastFailover.OldPrimary, s.LastFailover.NewPrimary,
		s.LastFailover.Time.Local().Format("2006-01-02 15:04:05"))
}

// expiryWord is what an expiry leads to under a policy.
func expiryWord(a failover.AlarmStatus, p failover.Policy) string {
	if a.Action == rules.Fail && p != failover.Automatic {
		return "expires"
	}
	return a.Action.String()
}

// judgeWatcher is the verdict on a watcher that answers.
func judgeWatcher(s watch.Snapshot) checkReport {
	var critical, warning []string
	next, alarms := time.Duration(-1), 0
	for _, n := range s.Engine.Nodes {
		if n.Hold != nil && n.Stage == failover.NearlyDown {
			critical = append(critical, fmt.Sprintf("%s is nearly_down and held: %s", n.Name, n.Hold.Reason))
		}
		if n.Maintenance && s.Engine.Policy.Policy != failover.Maintenance {
			warning = append(warning, n.Name+" is in maintenance")
		}
		if n.Shunned != "" {
			warning = append(warning, fmt.Sprintf("%s is shunned: %s", n.Name, n.Shunned))
		}
		for _, a := range n.Alarms {
			alarms++
			text := fmt.Sprintf("alarm %s on %s, %d ticks", a.Outcome, n.Name, a.Count)
			if a.Left != nil && a.Running {
				text += fmt.Sprintf(", %s in %.0f s", expiryWord(a, s.Engine.Policy.Policy), a.Left.Seconds())
				if next < 0 || *a.Left < next {
					next = *a.Left
				}
			}
			warning = append(warning, text)
		}
	}
	if s.Engine.Policy.Policy != failover.Automatic {
		warning = append(warning, "policy is "+s.Engine.Policy.Policy.String()+" "+s.Engine.Policy.Detail)
	}
	if s.Lock != "" {
		warning = append(warning, "it only observes: "+s.Lock)
	}
	if s.Engine.Quota > 0 && s.Engine.QuotaUsed >= s.Engine.Quota {
		warning = append(warning, "the quota of automatic failovers is used up")
	}
	for name := range s.Left {
		warning = append(warning, name+" does not follow the primary yet")
	}
	if s.Journal.Dropped > 0 {
		warning = append(warning, fmt.Sprintf("%d journal records were lost", s.Journal.Dropped))
	}
	r := checkReport{perfdata: []check.Perfdata{{Label: "alarms", Value: float64(alarms)}}}
	if next >= 0 {
		r.perfdata = append(r.perfdata, check.TimePerfdata("next_expiry", next))
	}
	switch {
	case len(critical) > 0:
		r.exit, r.summary = ExitCritical, strings.Join(append(critical, warning...), ", ")
	case len(warning) > 0:
		r.exit, r.summary = ExitWarning, strings.Join(warning, ", ")
	default:
		r.summary = fmt.Sprintf("watcher %s, pid %d, is the coordinator, policy automatic, next candidate %s", s.Watcher, s.PID, orText(s.Winner, "none"))
	}
	return r
}
