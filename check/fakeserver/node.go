package fakeserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// Fault is what a node does in place of answering well.
type Fault uint8

// The faults.
const (
	// NoFault: every statement is answered at once.
	NoFault Fault = iota
	// Refuses: nothing listens, and open connections were reset.
	Refuses
	// Hangs: connections are taken and nothing is said on them, nor on open ones.
	Hangs
	// Slow: every answer takes [SlowBy].
	Slow
	// Full: new connections get error 1040.
	Full
	// Fails: every statement of a probe fails.
	Fails
	faults
)

// SlowBy is how much later a slow node answers.
const SlowBy = 300 * time.Millisecond

var faultNames = [...]string{"none", "refuses", "hangs", "slow", "full", "fails"}

func (f Fault) String() string {
	if f < faults {
		return faultNames[f]
	}
	return fmt.Sprintf("fault(%d)", uint8(f))
}

// Faults are all faults, without [NoFault].
func Faults() []Fault { return []Fault{Refuses, Hangs, Slow, Full, Fails} }

// Node is a fake node of a replicated cluster. Beside probes it answers what a
// watcher asks about roles and positions, always the same: nothing is ever written.
// It does not do what it is told, so it cannot be promoted.
type Node struct {
	id     identity
	server *Server

	mu       sync.Mutex
	listener net.Listener
	serving  sync.WaitGroup
	fault    Fault
	changed  chan struct{} // closed at the next change of the fault
	answers  map[string][]byte
	unknown  map[string]int
	visits   visits
}

// StartCluster starts nodes of one cluster at addresses: a primary and its replicas,
// MariaDB or MySQL. Server ids are number×16+1 and up.
func StartCluster(number int, mariaDB bool, addresses ...string) ([]*Node, error) {
	var nodes []*Node
	for i, address := range addresses {
		n := &Node{
			id:      identity{number: number*16 + 1 + i, mariaDB: mariaDB, address: address},
			changed: make(chan struct{}), answers: map[string][]byte{}, unknown: map[string]int{},
		}
		if i > 0 {
			n.id.source = &nodes[0].id
		}
		n.server = NewScripted(n.play)
		if err := n.listen(); err != nil {
			for _, started := range nodes {
				started.Close()
			}
			return nil, err
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
}

func (n *Node) listen() error {
	var lc net.ListenConfig
	l, err := lc.Listen(context.Background(), "tcp", n.id.address)
	if err != nil {
		return err
	}
	n.mu.Lock()
	n.listener, n.id.address = l, l.Addr().String() // a port 0 was the system's to choose
	n.mu.Unlock()
	n.serving.Go(func() { _ = n.server.Serve(l) }) // ends with the listener
	return nil
}

// Set changes the node's fault.
func (n *Node) Set(f Fault) error {
	n.mu.Lock()
	before := n.fault
	n.fault = f
	n.visits.begin(time.Now(), f == Refuses || f == Hangs)
	close(n.changed)
	n.changed = make(chan struct{})
	l := n.listener
	n.mu.Unlock()
	switch {
	case f == Refuses && before != Refuses:
		err := l.Close()
		n.server.Disconnect()
		return err
	case f != Refuses && before == Refuses:
		return n.listen()
	}
	return nil
}

// Address is where the node listens.
func (n *Node) Address() string { return n.id.address }

// Close ends the node.
func (n *Node) Close() {
	n.mu.Lock()
	l := n.listener
	close(n.changed)
	n.changed = nil // nobody waits for the end of a hang any more
	n.fault = NoFault
	n.mu.Unlock()
	_ = l.Close()
	n.serving.Wait()
	n.server.Close()
}

// Gap is the longest time between two probes that the node saw, or between the
// moment from which it could see any and the first; it counts up to now. A node that
// refuses or hangs sees none.
func (n *Node) Gap(now time.Time) time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.visits.now(now)
	return n.visits.longest
}

// Restart forgets the gaps so far.
func (n *Node) Restart(now time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.visits.longest = 0
	n.visits.begin(now, n.visits.blind)
}

// Probes is the number of probes that the node saw.
func (n *Node) Probes() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.visits.count
}

// Unknown are the statements that the node had no answer to, and how often they
// came.
func (n *Node) Unknown() map[string]int {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := make(map[string]int, len(n.unknown))
	for s, count := range n.unknown {
		list[s] = count
	}
	return list
}

// visits are the probes that a node saw.
type visits struct {
	last    time.Time
	blind   bool
	longest time.Duration
	count   int
}

// now counts the gap that is open.
func (v *visits) now(at time.Time) {
	if !v.blind && !v.last.IsZero() {
		v.longest = max(v.longest, at.Sub(v.last))
	}
}

// begin starts a new gap, blind if the node will see no probes.
func (v *visits) begin(at time.Time, blind bool) {
	v.now(at)
	v.last, v.blind = at, blind
}

func (v *visits) visit(at time.Time) {
	v.count++
	if v.blind || v.last.IsZero() {
		return // one that was under way
	}
	v.begin(at, false)
}

// errGone ends a session with a node that has become faulty.
var errGone = errors.New("the node is gone")

// await returns the fault once it is none that keeps silent.
func (n *Node) await() (Fault, error) {
	for {
		n.mu.Lock()
		f, changed := n.fault, n.changed
		n.mu.Unlock()
		switch {
		case changed == nil:
			return f, errGone
		case f == Refuses:
			return f, errGone
		case f != Hangs:
			return f, nil
		}
		<-changed
	}
}

// visit counts a probe.
func (n *Node) visit() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.visits.visit(time.Now())
}

// play is one session.
func (n *Node) play(s *Session) error {
	f, err := n.await()
	if err != nil {
		return err
	}
	if f == Full {
		n.visit()
		return s.Fail(&Error{Number: 1040, State: "08004", Message: "Too many connections"})
	}
	if err := s.Meet(n.id.version(), ""); err != nil {
		return err
	}
	if err := s.OK(); err != nil {
		return err
	}
	return s.Statements(func(text string) error { return n.statement(s, text) })
}

// statement answers one statement as the node's fault has it.
func (n *Node) statement(s *Session, text string) error {
	probe := isProbe(text)
	if probe {
		n.visit()
	}
	f, err := n.await()
	if err != nil {
		return err
	}
	switch {
	case f == Slow:
		if err := s.Wait(SlowBy); err != nil {
			return err
		}
	case f == Fails && probe:
		return s.Fail(&Error{Number: 1030, State: "HY000", Message: "Got error 1 from storage engine"})
	}
	return n.reply(s, text)
}

// reply answers one statement well.
func (n *Node) reply(s *Session, text string) error {
	n.mu.Lock()
	answer, known := n.answers[text]
	if !known {
		answer = n.id.answer(text)
		n.answers[text] = answer
	}
	if answer == nil {
		n.unknown[text]++
	}
	n.mu.Unlock()
	switch {
	case answer == nil:
		return s.Fail(&Error{Number: 1064, State: "42000", Message: "this fake does not know: " + text})
	case len(answer) == 0:
		return s.OK()
	}
	_, err := s.Conn.Write(answer)
	return err
}
