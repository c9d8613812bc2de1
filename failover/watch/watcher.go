package watch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"failwise/check"
	"failwise/failover"
	"failwise/failover/journal"
	"failwise/failover/lock"
	"failwise/failover/mysql"
	"failwise/failover/promote"
	"failwise/failover/topology"
	"failwise/rules"
)

// Times of the loop that are nobody's to set.
const (
	// surveyEvery is the time between two readings of the topology.
	surveyEvery = 5 * time.Second
	// surveyLimit bounds the reading of one node.
	surveyLimit = 3 * time.Second
	// pollEvery is how often rule file, state file and lock are looked at.
	pollEvery = time.Second
	// diskLimit bounds the wait for the state directory.
	diskLimit = time.Second
	// inboxSize is the number of answers that may wait for the loop.
	inboxSize = 1024
)

// Ended says why a watcher stopped.
type Ended uint8

// The ends.
const (
	// EndedBySignal: the context ended.
	EndedBySignal Ended = iota
	// EndedByFailover and EndedByFailedPromotion: Config.Once.
	EndedByFailover
	EndedByFailedPromotion
)

// ErrPrimary says that a watcher has no certain primary to watch over.
var ErrPrimary = errors.New("no certain primary")

// Watcher watches one cluster.
type Watcher struct {
	cfg   Config
	began time.Time
	inbox chan input

	// What follows belongs to the loop.
	engine  *failover.Engine
	rules   *rules.Map
	members []*member
	topo    topology.Topology
	choice  topology.Choice
	memory  topology.Memory
	seen    seen
	known   known
	now     time.Duration
	events  []failover.Event
	running *operation
	forced  *operation // a failover that a user asked for and the engine has not answered
	round   *roundRecord
	fencing map[string]bool   // nodes that are being mended
	fallen  map[string]bool   // nodes that a promotion opened and gave up, and that are not fenced
	alike   []string          // whom the primary replaced, if it was lost before its first write: their replicas count as its own
	errands map[*errand]bool  // what an operation has to call back
	left    map[string]string // nodes that do not follow the primary yet, and why
	// heeding: the replica that holds the primary is looked at again. polling is taken by
	// who asks the replicas: one after the other.
	heeding bool
	polling chan struct{}
	// leftover is what an operation could not take back, nil for nothing; leftoverNote what
	// was said of it last. takenBack is a fence that was taken back late, at takenBackAt: it
	// may still take effect, once, and lateTwice says that it did.
	leftover, takenBack *promote.Leftover
	leftoverNote        string
	takenBackAt         time.Time
	lateTwice           bool
	// semiSyncOwed: a promotion had to leave semi-sync off that was on before.
	semiSyncOwed bool
	ended        Ended
	stop         context.CancelFunc
	decided      map[string]Decision
	kept         kept
	// lastOld is the old primary of the last failover.
	lastOld   string
	lockNote  string
	stopped   bool          // the context has ended: nothing new is begun
	acquiring bool          // the lock is being asked for
	judgedAt  time.Duration // when the engine last judged
	settledAt time.Duration // when the latest operation ended
	ticked    int64         // the tick of the last record of what is waited for

	statemap *statemap // belongs to start, then to readRules
	journal  *journal.Journal
	dir      *journal.Dir
	state    *journal.StateFile
	reader   *topology.Reader
	lease    lock.Lease
	surveyed chan struct{}   // triggers a survey
	reload   chan struct{}   // has the rule file read
	leased   chan lock.Lease // a lease that was just got
	besides  sync.WaitGroup
	notices  *notices      // nil when nobody reads them
	done     chan struct{} // closed when the loop has ended
}

// input is an answer handed to the loop, which takes it in at its own time.
type input func()

// member is one node with its probes and sessions.
type member struct {
	Node
	probings map[check.Type]*probing
	second   *mysql.Session
	// latest and state belong to the loop.
	latest  map[check.Type]check.Result
	outcome rules.Outcome
	history history
	wire    context.CancelFunc
}

// New returns a watcher. It opens no connection; the first look at the disk and
// at the cluster is Run's.
func New(cfg Config) (*Watcher, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	w := &Watcher{
		cfg: cfg, began: time.Now(), inbox: make(chan input, inboxSize), surveyed: make(chan struct{}, 1), reload: make(chan struct{}, 1), done: make(chan struct{}),
		leased:  make(chan lock.Lease, 1),
		polling: make(chan struct{}, 1),
		fencing: map[string]bool{}, fallen: map[string]bool{}, errands: map[*errand]bool{}, left: map[string]string{}, decided: map[string]Decision{},
	}
	w.statemap = newStatemap(cfg.Statemap, cfg.Profile.Rules())
	w.rules = w.statemap.now
	var members []topology.Member
	for _, n := range cfg.Nodes {
		m, err := w.newMember(n)
		if err != nil {
			return nil, fmt.Errorf("node %s: %w", n.Name, err)
		}
		w.members = append(w.members, m)
		members = append(members, topology.Member{Name: n.Name, Server: n.Manage, Promote: n.Preference, Site: n.Site})
	}
	w.reader = topology.NewReader(members, surveyLimit)
	w.dir = journal.NewDir(cfg.Dir)
	w.state = journal.NewStateFile(w.dir)
	if cfg.looking {
		w.journal = journal.Discard()
	} else {
		var err error
		if w.journal, err = journal.Open(journal.Options{Dir: cfg.Dir, Watcher: cfg.Name, MaxBytes: cfg.JournalMaxBytes}); err != nil {
			return nil, err
		}
	}
	if cfg.Notify != nil {
		w.notices = newNotices(cfg.Notify)
	}
	return w, nil
}

func (w *Watcher) newMember(n Node) (*member, error) {
	m := &member{
		Node: n, probings: map[check.Type]*probing{}, latest: map[check.Type]check.Result{},
		second: mysql.NewSession(n.Manage), outcome: rules.Undefined,
	}
	types := w.cfg.Probe.Types
	if len(types) == 0 {
		types = []check.Type{check.Connect}
	}
	add := func(t check.Type, scheduled bool) error {
		p, err := check.NewProber(n.Monitor, t, check.Options{Limits: w.limits(), Query: w.cfg.Probe.Query, Watcher: w.cfg.ID, Resolver: w.cfg.Probe.Resolver})
		if err != nil {
			return err
		}
		m.probings[t] = newProbing(p, w.cfg.Timings.ProbeInterval, scheduled, func(r check.Result) { w.deliver(m, r) })
		return nil
	}
	for _, t := range types {
		if err := add(t, true); err != nil {
			return nil, err
		}
	}
	if m.probings[check.Connect] == nil {
		// A recheck is always a new connection.
		if err := add(check.Connect, false); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (w *Watcher) limits() check.Limits {
	l := w.cfg.Probe.Limits
	if l.Total == 0 {
		l.Total = w.cfg.Timings.ProbeBudget
	}
	return l
}

// member returns the node of a name; nil if there is none.
func (w *Watcher) member(name string) *member {
	for _, m := range w.members {
		if m.Name == name {
			return m
		}
	}
	return nil
}

// send hands an answer to the loop, and is false when the loop has ended.
func (w *Watcher) send(in input) bool {
	select {
	case w.inbox <- in:
		return true
	case <-w.done:
		return false
	}
}

// notice tells the user something; only the loop calls it.
func (w *Watcher) notice(n Notice) {
	if n.Time.IsZero() {
		n.Time = time.Now()
	}
	if m := w.member(n.Node); m != nil && n.State == rules.StateUnset {
		n.State = w.rules.Rule(m.outcome).State
	}
	if w.notices != nil {
		w.notices.put(n)
	}
}

// note is a notice that the journal keeps too.
func (w *Watcher) note(level slog.Level, node, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	w.journal.Append(journal.Record{Time: time.Now(), Kind: journal.Note, Node: node, Message: text})
	w.notice(Notice{Level: level, Kind: "note", Node: node, Text: text})
}
