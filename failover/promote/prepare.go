package promote

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"failwise/failover/hooks"
	"failwise/failover/mysql"
)

// attachPoll is the pause between looks at whether a sibling is attached.
const attachPoll = 5 * time.Millisecond

// prepare stops replication on the candidate. With semi-sync it also switches the
// source side on and attaches the siblings, whose acknowledgements the first
// commit needs. The old source is forgotten only after open: a reset cannot be
// taken back, since the server does not give its password away, and it costs time
// that writers would wait.
func (r *run) prepare(ctx context.Context, picked chosen) error {
	n := picked.node
	semi, _ := picked.reading.Status.SemiSync.Get()
	want := r.wantsSemiSync() && semi.SourceInstalled
	r.update(func(s *state) {
		s.Prepared, s.SemiSync, s.SemiSyncBefore = n.Name, want, semi.SourceEnabled
		s.SemiSyncLater = false
		if want {
			s.Repointed = r.plan.Siblings
		}
	})
	if want && r.plan.Operation == hooks.Failover && r.attended != nil && !r.applied(picked) {
		// A sibling that is turned throws away what it has not applied: the candidate
		// may then be the only one that has it. In a switch the old primary has it too.
		r.attended.give(r.env.Statement)
	}
	return r.do(ctx, Prepare, n.Name, 0, func(ctx context.Context) (string, error) {
		on := make(chan struct{}) // closed when the candidate can register acknowledgers
		if want {
			r.startRepointing(ctx, n, on)
		}
		err := r.stopCandidate(ctx, n, want, semi)
		if err != nil {
			r.cancelRepointing()
		}
		close(on)
		if err != nil {
			return "", errCandidate{err}
		}
		if !want {
			return "replication is stopped", nil
		}
		needed := int(max(semi.WaitCount, 1))
		if attached := r.awaitAttached(ctx, needed); attached < needed {
			r.update(func(s *state) { s.SemiSyncLater = true })
			if err := firmly(ctx, n.Session, r.env.Statement, func(ctx context.Context) error { return n.Session.SetSemiSyncSource(ctx, false) }); err != nil {
				return "", errCandidate{err}
			}
			words := fmt.Sprintf("only %d of %d siblings attached: opened with semi-sync off, switched on when they are", attached, needed)
			r.warn(words)
			return words, nil
		}
		return fmt.Sprintf("replication is stopped, semi-sync on, %d attached", needed), nil
	})
}

// wantsSemiSync is true when the old primary had semi-sync on.
func (r *run) wantsSemiSync() bool { return r.env.Seen.SemiSyncEnabled || r.state.Fence.SemiSync }

func (r *run) stopCandidate(ctx context.Context, n *Node, want bool, semi mysql.SemiSync) error {
	if err := stopReplication(ctx, n.Session, r.state.Before[n.Name].Name, r.env.Statement); err != nil {
		return err
	}
	if !want || semi.SourceEnabled {
		return nil
	}
	return firmly(ctx, n.Session, r.env.Statement, func(ctx context.Context) error { return n.Session.SetSemiSyncSource(ctx, true) })
}

// repointing is the repoint of one sibling under way.
type repointing struct {
	attached chan struct{} // closed when its receiver is connected
	done     chan struct{} // closed at the end
	result   NodeResult
}

// startRepointing begins to repoint all siblings, each on its own; their
// receivers start when on is closed.
func (r *run) startRepointing(ctx context.Context, to *Node, on <-chan struct{}) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.env.Repoint)
	var all sync.WaitGroup
	r.mu.Lock()
	defer r.mu.Unlock()
	r.repoints = make(map[string]*repointing, len(r.plan.Siblings))
	r.stopRepoints = cancel
	for _, name := range r.plan.Siblings {
		p := &repointing{attached: make(chan struct{}), done: make(chan struct{}), result: NodeResult{Node: name}}
		r.repoints[name] = p
		all.Go(func() {
			defer close(p.done)
			r.repointOne(ctx, r.nodes[name], to, on, p)
		})
	}
	go func() {
		all.Wait()
		cancel()
	}()
}

// cancelRepointing gives up what is under way and waits for its end.
func (r *run) cancelRepointing() {
	if r.stopRepoints != nil {
		r.stopRepoints()
	}
	r.awaitRepoints()
}

func (r *run) awaitRepoints() {
	for _, p := range r.repoints {
		<-p.done
	}
}

// awaitAttached waits until that many siblings are attached, all have ended, or
// the limit for a statement is over. It gives how many are. Siblings that could not
// be read before, or were lost as candidates, are not waited for.
func (r *run) awaitAttached(ctx context.Context, needed int) int {
	ctx, cancel := context.WithTimeout(ctx, r.env.Statement)
	defer cancel()
	var expected []*repointing
	for name, p := range r.repoints {
		if _, known := r.before(name); known && !r.gone[name] {
			expected = append(expected, p)
		}
	}
	attached := make(chan bool, len(expected))
	for _, p := range expected {
		go func() {
			select {
			case <-p.attached:
				attached <- true
			case <-p.done:
				select {
				case <-p.attached:
					attached <- true
				default:
					attached <- false
				}
			case <-ctx.Done():
				attached <- false
			}
		}()
	}
	count := 0
	for range expected {
		if <-attached {
			count++
			if count >= needed {
				break
			}
		}
	}
	return count
}

// repointOne makes one sibling follow to, with its options kept.
func (r *run) repointOne(ctx context.Context, n, to *Node, on <-chan struct{}, p *repointing) {
	fail := func(err error) {
		if isSilent(ctx) {
			err = fmt.Errorf("%w: %w", errSilent, err)
		}
		p.result.Err, p.result.Error = err, err.Error()
		r.report(Progress{Step: Repoint, Target: p.result.Node, State: StepFailed, Err: err})
	}
	if n == nil {
		fail(fmt.Errorf("%s is not a configured node", p.result.Node))
		return
	}
	ctx, watch := attend(ctx, n, silentLimit)
	defer watch.stop()
	begun := time.Now()
	before, known := r.before(n.Name)
	if !known {
		st, err := n.Session.Status(ctx)
		if err != nil {
			fail(err)
			return
		}
		c, err := soleChannel(st)
		if err != nil {
			fail(err)
			return
		}
		before = channelOf(c)
		r.update(func(s *state) { s.Before[n.Name] = before }) // for an undo
	}
	if !r.resumed || !r.alreadyFollows(ctx, n, to) {
		if err := r.turn(ctx, n, to, before, on); err != nil {
			fail(err)
			return
		}
	}
	after, err := awaitReceiver(ctx, n.Session, before.Name)
	if err != nil {
		fail(err)
		return
	}
	close(p.attached)
	p.result.Done = true
	p.result.Changed = r.compare(ctx, n, before, after)
	if len(p.result.Changed) > 0 {
		r.warn(fmt.Sprintf("%s: options of its channel changed: %v", n.Name, p.result.Changed))
	}
	r.report(Progress{Step: Repoint, Target: n.Name, State: StepDone, Took: time.Since(begun), Result: "follows " + to.Name})
}

func (r *run) before(node string) (channel, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c, known := r.state.Before[node]
	return c, known
}

// alreadyFollows tells whether an earlier process has repointed the replica.
func (r *run) alreadyFollows(ctx context.Context, n, to *Node) bool {
	channels, err := n.Session.Channels(ctx)
	return err == nil && len(channels) == 1 && channels[0].SourceHost == to.Host && channels[0].SourcePort == to.Port &&
		channels[0].SQL == mysql.ThreadYes && channels[0].IO != mysql.ThreadNo
}

// turn stops the replica, points it at to and starts it once on is closed.
func (r *run) turn(ctx context.Context, n, to *Node, before channel, on <-chan struct{}) error {
	limit := r.env.Repoint
	if slices.Contains(r.state.Fallen, n.Name) {
		if err := firmly(ctx, n.Session, limit, n.Session.SetReadOnlyFirmly); err != nil {
			return err
		}
	}
	contained := r.contained(n.Name)
	if !contained {
		// Before anything is stopped: a new source discards what was received and not
		// applied, and on MariaDB so does any start after both threads were stopped.
		if err := r.notAstray(ctx, n, to, true); err != nil {
			return err
		}
	}
	if r.mending || r.state.tried(n.Name) {
		// It may have been made a source: its applier waits for acknowledgements then.
		if err := sourceOff(ctx, n, limit); err != nil {
			return err
		}
	}
	if err := stopReplication(ctx, n.Session, before.Name, limit); err != nil {
		return err
	}
	if !contained {
		if err := r.notAstray(ctx, n, to, false); err != nil {
			return err
		}
	}
	options := mysql.SourceOptions{Channel: before.Name, Host: to.Host, Port: to.Port, HeartbeatPeriod: before.Heartbeat}
	if err := r.changeSource(ctx, n, limit, options); err != nil {
		return err
	}
	if on != nil {
		select {
		case <-on:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return firmly(ctx, n.Session, limit, func(ctx context.Context) error { return n.Session.StartReplication(ctx, before.Name) })
}

// contained tells whether all that the replica had when its receiver was stopped
// is known to be part of what the candidate has.
func (r *run) contained(node string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	reading, read := r.readings[node]
	if !read || r.picked.node == nil || r.state.tried(node) {
		return false // one that was opened may have written since it was read
	}
	source := r.picked.reading
	if r.picked.advanced != nil {
		source = *r.picked.advanced
	}
	return source.Status.Progress().Contains(reading.Status.Progress(), r.env.Seen.Progress.Executed)
}

// notAstray refuses a replica that has executed, or asked for it also received,
// what its new source has not: MySQL would go on without a word, and the only copy
// of a transaction might be thrown away.
func (r *run) notAstray(ctx context.Context, n, to *Node, received bool) error {
	mine, err := n.Session.Status(ctx)
	if err != nil {
		return err
	}
	its, err := to.Session.Status(ctx)
	if err != nil {
		return err
	}
	r.mu.Lock()
	history := r.env.Seen.Progress
	r.mu.Unlock()
	errant := errantOf(mine, its, history)
	if received {
		errant = errant.Union(its.Progress().ExecutedOnly().Lacks(mine.Progress(), history.Executed))
	}
	if !errant.IsEmpty() {
		return &DivergedError{Node: n.Name, Primary: to.Name, Errant: errant.String(), Count: errant.Count()}
	}
	return nil
}

// awaitReceiver waits until the channel's IO thread is connected.
func awaitReceiver(ctx context.Context, s *mysql.Session, name string) (mysql.Channel, error) {
	ticker := time.NewTicker(attachPoll)
	defer ticker.Stop()
	var last mysql.Channel
	for {
		channels, err := s.Channels(ctx)
		if err != nil && ctx.Err() == nil {
			return last, err
		}
		for _, c := range channels {
			if c.Name != name {
				continue
			}
			last = c
			if c.IO == mysql.ThreadYes {
				return c, nil
			}
			if c.IO == mysql.ThreadNo && c.IOErrno != 0 {
				return c, fmt.Errorf("its receiver stopped with error %d: %s", c.IOErrno, c.IOError)
			}
		}
		select {
		case <-ctx.Done():
			return last, fmt.Errorf("%w: its receiver is %s, error %d", ErrTimeout, last.IO, last.IOErrno)
		case <-ticker.C:
		}
	}
}

// compare reads the channel's options again. MySQL gives the heartbeat period in
// another table than the rest, hence the whole status.
func (r *run) compare(ctx context.Context, n *Node, before channel, after mysql.Channel) []string {
	if !after.HeartbeatPeriod.IsKnown() {
		if st, err := n.Session.Status(ctx); err == nil {
			if c, err := soleChannel(st); err == nil {
				after = c
			}
		}
	}
	return before.differences(channelOf(after))
}
