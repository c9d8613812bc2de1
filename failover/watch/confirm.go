package watch

import (
	"context"
	"slices"
	"sync"
	"time"

	"failwise/check"
	"failwise/failover"
	"failwise/failover/mysql"
	"failwise/failover/topology"
	"failwise/rules"
)

// roundRecord is one round of questions with its answers, for the decision
// record.
type roundRecord struct {
	Round   int               `json:"round"`
	Node    string            `json:"node"`
	Began   time.Time         `json:"time"`
	Recheck *check.Result     `json:"recheck,omitempty"`
	Votes   []topology.Answer `json:"votes,omitempty"`
	Routes  []answer          `json:"routes,omitempty"`
	// Seconds is how long the round took; 0 while it runs.
	Seconds float64 `json:"seconds,omitempty"`
}

// confirm asks everyone the engine wants to hear about a node: one more probe of
// it, its replicas' votes, and the routes, all beside the loop.
func (w *Watcher) confirm(ctx context.Context, ev failover.Event) {
	m := w.member(ev.Node)
	record := &roundRecord{Round: ev.Round, Node: ev.Node, Began: time.Now()}
	w.round = record
	voters := w.voters(ev.Node)
	w.errand(ctx, func(ctx context.Context) func() {
		var asked sync.WaitGroup
		asked.Go(func() { w.recheck(ctx, m, record) })
		if ev.Contest {
			asked.Go(func() { w.askReplicas(ctx, ev, voters, record) })
			asked.Go(func() { w.askRoutes(ctx, ev, m, record) })
		}
		asked.Wait()
		return func() {
			record.Seconds = time.Since(record.Began).Seconds()
			w.tell(failover.Answered(ev.Round))
		}
	})
}

// recheckLimit bounds the recheck. A probe of a node that hangs takes its whole
// budget; that it has still not answered by then is the answer, and should it
// answer later the engine hears of it while the promotion can still be undone.
const recheckLimit = 800 * time.Millisecond

// recheck makes one more connect probe, or takes the one in flight, which reaches
// the engine like any other.
func (w *Watcher) recheck(ctx context.Context, m *member, record *roundRecord) {
	ctx, cancel := context.WithTimeout(ctx, recheckLimit)
	defer cancel()
	if r, ok := m.probings[check.Connect].fresh(ctx); ok {
		w.send(func() { record.Recheck = &r })
	}
}

// lookLimit bounds the look at one replica; a fresh attempt of its IO thread is
// watched for [mysql.VoteLimit].
const lookLimit = mysql.VoteLimit + time.Second

// bounded keeps a replica that does not answer from holding up the round.
type bounded struct{ *mysql.Session }

// Look is [mysql.Session.Look] within lookLimit.
func (b bounded) Look(ctx context.Context, o mysql.VoteOptions) mysql.Ballot {
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	return b.Session.Look(ctx, o)
}

// answers reports whether a node's latest probe showed a server that can be
// asked something.
func (w *Watcher) answers(node string) bool {
	m := w.member(node)
	return m != nil && (m.outcome == rules.OK || m.outcome.Alive() || m.outcome == rules.Undefined)
}

// voters are the sessions of the replicas that can be asked and are not shunned.
func (w *Watcher) voters(primary string) []topology.Voter {
	var voters []topology.Voter
	for _, n := range w.engine.Snapshot(w.now).Nodes {
		if n.Name == primary || n.Stage == failover.Shunned {
			continue
		}
		if t, ok := w.topo.Node(n.Name); ok && w.answers(n.Name) {
			channel, _ := t.Channel(primary)
			q := w.known.quiet[n.Name]
			voters = append(voters, topology.Voter{Name: n.Name, Session: bounded{w.reader.Session(n.Name)},
				Channel: channel.Name, Connected: w.known.connected[n.Name], Before: q.channel, BeforeAt: q.since})
		}
	}
	return voters
}

// heedLoss looks, each second while a replica that sees the primary holds everything,
// whether that replica has lost it too. It tries to connect by itself, and a server that
// was seen in the last moment of its life must not be waited for until the replicas are
// asked again. All of them are asked then, its own answer last, so that it does not let go
// of the hold before the others have spoken.
func (w *Watcher) heedLoss(ctx context.Context) {
	if w.round == nil || w.round.Seconds == 0 || w.heeding || w.running != nil || w.cfg.Votes == NoVotes {
		return
	}
	seer := w.seer()
	if seer == "" {
		return
	}
	primary, record := w.known.roles, w.round
	voters := w.voters(primary)
	i := slices.IndexFunc(voters, func(v topology.Voter) bool { return v.Name == seer })
	if i < 0 {
		return
	}
	w.heeding = true
	w.errand(ctx, func(ctx context.Context) func() {
		v := voters[i]
		b := v.Session.Look(ctx, mysql.VoteOptions{Channel: v.Channel, Connected: v.Connected, Before: v.Before, BeforeAt: v.BeforeAt})
		var answers []topology.Answer
		if b.Vote == failover.VoteLost && !b.NeedsBounce {
			limit, cancel := context.WithTimeout(ctx, pollLimit(voters))
			defer cancel()
			answers = w.poll(limit, voters)
		}
		return func() {
			w.heeding = false
			if len(answers) == 0 || w.round != record || w.seer() != seer {
				return
			}
			record.Votes = answers
			slices.SortStableFunc(answers, func(a, b topology.Answer) int {
				switch {
				case a.Name == seer && b.Name != seer:
					return 1
				case b.Name == seer && a.Name != seer:
					return -1
				}
				return 0
			})
			for _, a := range answers {
				w.tell(failover.VoteIs(a.Name, a.Vote, 0))
			}
		}
	})
}

// poll asks the replicas, when nobody else does: two of them asked afresh at once would
// stall the commits of a primary that lives.
func (w *Watcher) poll(ctx context.Context, voters []topology.Voter) []topology.Answer {
	select {
	case w.polling <- struct{}{}:
		defer func() { <-w.polling }()
		return topology.Poll(ctx, voters, w.cfg.Votes == Bounce)
	case <-ctx.Done():
		return nil
	}
}

// seer is the replica whose answer holds the primary, empty if none does.
func (w *Watcher) seer() string {
	for _, n := range w.engine.Snapshot(w.now).Nodes {
		if n.Name == w.known.roles && n.Hold != nil && n.Hold.Reason == failover.ReplicaSeesPrimary {
			return n.Hold.Peer
		}
	}
	return ""
}

// pollLimit bounds a round of asking.
func pollLimit(voters []topology.Voter) time.Duration {
	return time.Duration(len(voters)+1) * (2 * mysql.VoteLimit)
}

func (w *Watcher) askReplicas(ctx context.Context, ev failover.Event, voters []topology.Voter, record *roundRecord) {
	if w.cfg.Votes == NoVotes {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, pollLimit(voters))
	defer cancel()
	answers := w.poll(ctx, voters)
	w.send(func() {
		record.Votes = answers
		for _, a := range answers {
			w.tell(failover.VoteIs(a.Name, a.Vote, ev.Round))
		}
	})
}

func (w *Watcher) askRoutes(ctx context.Context, ev failover.Event, m *member, record *roundRecord) {
	if len(w.cfg.Routes) == 0 {
		return
	}
	joint, answers := askRoutes(ctx, w.cfg.Routes, w.cfg.RoutesMajority, w.cfg.Cluster, m.Node)
	w.send(func() {
		record.Routes = answers
		w.tell(failover.RouteIs(joint, ev.Round))
	})
}
