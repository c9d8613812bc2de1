package mysql

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"failwise/failover"
	"failwise/failover/sandbox"
)

func TestVotesOfRealReplicas(t *testing.T) {
	onBothFlavours(t, sandbox.Options{}, map[string]func(*testing.T, lab){
		"a living primary is seen, with and without a bounce": func(t *testing.T, l lab) {
			s := l.act(t, 1)
			vote(t, s.Look(within(t, 10*time.Second), VoteOptions{}), failover.VoteSees)
			b := s.Bounce(within(t, 10*time.Second), "")
			vote(t, b, failover.VoteSees)
			if !b.Bounced || b.LeftStopped {
				t.Errorf("%+v", b)
			}
			l.running(t, s)
		},
		"a replica with a stopped SQL thread is never bounced": func(t *testing.T, l lab) {
			s := l.act(t, 1)
			ok(t, "stop SQL", s.StopSQL(within(t, 5*time.Second), ""))
			b := s.Bounce(within(t, 10*time.Second), "")
			vote(t, b, failover.VoteUnknown)
			if b.Bounced || l.channel(t, s).IO != ThreadYes {
				t.Errorf("%+v", b)
			}
			ok(t, "start SQL", s.StartSQL(within(t, 5*time.Second), ""))
		},
		"an IO thread stopped by an operator knows nothing": func(t *testing.T, l lab) {
			s := l.act(t, 1)
			ok(t, "stop IO", s.StopIO(within(t, 5*time.Second), ""))
			vote(t, s.Look(within(t, 10*time.Second), VoteOptions{}), failover.VoteUnknown)
			b := s.Bounce(within(t, 10*time.Second), "")
			vote(t, b, failover.VoteUnknown)
			if b.Bounced {
				t.Errorf("%+v", b)
			}
			ok(t, "start IO", s.StartIO(within(t, 5*time.Second), ""))
			l.running(t, s)
		},
		"a server error comes from a living primary": func(t *testing.T, l lab) {
			s := l.act(t, 1)
			locked := "ALTER USER '" + l.Accounts().Repl.User + "'@'%' ACCOUNT LOCK"
			unlocked := strings.Replace(locked, " LOCK", " UNLOCK", 1)
			l.root(t, 0, "SET GLOBAL read_only=OFF", locked)
			b := s.Bounce(within(t, 10*time.Second), "")
			l.root(t, 0, unlocked)
			vote(t, b, failover.VoteSees)
			if b.Channel.IOErrno != 3118 && b.Channel.IOErrno != 4151 {
				t.Errorf("errno %d", b.Channel.IOErrno)
			}
			l.wakeAll(t)
		},
		"a new connection is no silence": func(t *testing.T, l lab) {
			s := l.act(t, 1)
			l.running(t, s)
			for range 5 { // several in a row: a purged relay log must not make up for a new one
				before := l.channel(t, s)
				l.killDumpThreads(t)
				await(t, "new connections", func() bool { return len(l.dumpThreads(t)) == len(l.Nodes())-1 })
				time.Sleep(300 * time.Millisecond) // whatever it still writes, a look may come at any time
				c := l.channel(t, s)
				c.Heartbeats, c.Read = before.Heartbeats, before.Read
				if c.SilentSince(before) {
					t.Fatalf("a new connection left no trace: %+v, then %+v", before.Relay, c.Relay)
				}
			}
		},
		"a frozen primary is lost": func(t *testing.T, l lab) {
			s := l.act(t, 1)
			await(t, "a heartbeat", func() bool {
				c, err := s.channelWithHeartbeats(within(t, 5*time.Second), "")
				ok(t, "read", err)
				return c.Heartbeats.Or(0) > 0
			})
			active := sandbox.Break(t, "freeze", l.Node(0))
			look := s.Look(within(t, 10*time.Second), VoteOptions{})
			if look.Vote == failover.VoteSees { // its last heartbeat was still under way
				look = s.Look(within(t, 10*time.Second), VoteOptions{})
			}
			again := s.Look(within(t, 10*time.Second), VoteOptions{Before: look.Channel, BeforeAt: time.Now().Add(-look.Took)})
			b := s.Bounce(within(t, 15*time.Second), "")
			ok(t, "heal", active.Heal(context.Background()))
			vote(t, look, failover.VoteLost)
			vote(t, again, failover.VoteLost)
			if again.Took > look.Took/2 {
				t.Errorf("known silence was listened to for %s again", again.Took)
			}
			vote(t, b, failover.VoteLost)
			l.wakeAll(t)
		},
		"a killed primary is lost without a bounce": func(t *testing.T, l lab) {
			s := l.act(t, 1)
			vote(t, s.Look(within(t, 10*time.Second), VoteOptions{}), failover.VoteSees)
			connected := time.Now()
			active := sandbox.Break(t, "kill", l.Node(0))
			b := s.Look(within(t, 10*time.Second), VoteOptions{Connected: connected})
			bounced := s.Bounce(within(t, 10*time.Second), "")
			ok(t, "heal", active.Heal(context.Background()))
			vote(t, b, failover.VoteLost)
			vote(t, bounced, failover.VoteLost)
			t.Logf("look took %s, bounce %s", b.Took, bounced.Took)
			l.wakeAll(t)
		},
	})
}

func (l lab) wakeAll(t *testing.T) {
	t.Helper()
	for i := 1; i < len(l.Nodes()); i++ {
		s := l.act(t, i)
		await(t, "connected again", func() bool {
			_, err := s.Wake(within(t, 10*time.Second), "")
			ok(t, "wake", err)
			return l.channel(t, s).IO == ThreadYes
		})
	}
}

// killDumpThreads cuts the connections of the replicas on the primary; their IO
// threads connect again at once.
func (l lab) killDumpThreads(t *testing.T) {
	t.Helper()
	old := l.dumpThreads(t)
	for _, id := range old {
		l.root(t, 0, "KILL "+id)
	}
	await(t, "the old threads are gone", func() bool {
		return !slices.ContainsFunc(l.dumpThreads(t), func(id string) bool { return slices.Contains(old, id) })
	})
}

// dumpThreads are the ids of the primary's threads that serve replicas.
func (l lab) dumpThreads(t *testing.T) (ids []string) {
	t.Helper()
	rows, err := l.Node(0).Root().QueryContext(within(t, 5*time.Second), "SELECT id FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%' AND state NOT LIKE '%kill%'")
	ok(t, "list dump threads", err)
	defer rows.Close()
	for rows.Next() {
		var id string
		ok(t, "scan", rows.Scan(&id))
		ids = append(ids, id)
	}
	ok(t, "list dump threads", rows.Err())
	return ids
}

func vote(t *testing.T, b Ballot, want failover.Vote) {
	t.Helper()
	t.Logf("%s in %s: %s", b.Vote, b.Took.Round(time.Millisecond), b.Evidence)
	if b.Vote != want {
		t.Errorf("vote %s, want %s: %+v", b.Vote, want, b)
	}
}
