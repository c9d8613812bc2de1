package mysql

import (
	"context"
	"errors"
	"fmt"
	"time"

	"failwise/failover"
)

// Limits of asking one replica.
const (
	// VoteLimit bounds the look at a replica's fresh connection attempt.
	VoteLimit = 5 * time.Second
	// stopLimit bounds the stop of an IO thread, which takes 2 s while the
	// thread is connecting to a hung source.
	stopLimit = 4 * time.Second
	// freshFor is how long ago a replica may have been seen connected for its
	// lost connection to count as a fresh attempt.
	freshFor = 15 * time.Second
	// shortHeartbeat is the longest heartbeat period that answers by itself.
	shortHeartbeat = 2 * time.Second
	// settleFor is how long a replica may take to notice that its source's
	// sockets have just been closed.
	settleFor = 20 * time.Millisecond
)

// ClassifyIOErrno gives what an error number of an IO thread says about the
// source, provided it belongs to a fresh attempt: 2002, 2003 and 2013 come from
// a connection that was not made or was cut; other numbers of the client
// library (2005 name, 2026 TLS) say nothing; any other number was sent by a
// living server, or met after a login there. 0 says nothing by itself.
func ClassifyIOErrno(errno int) failover.Vote {
	switch {
	case errno == 2002, errno == 2003, errno == 2013:
		return failover.VoteLost
	case errno == 0, 2000 <= errno && errno < 3000:
		return failover.VoteUnknown
	default:
		return failover.VoteSees
	}
}

// Ballot is one replica's answer with its evidence.
type Ballot struct {
	Vote failover.Vote `json:"vote"`
	// Evidence says how the answer was found, in one line.
	Evidence string `json:"evidence"`
	// NeedsBounce tells that a look alone cannot answer.
	NeedsBounce bool `json:"needs_bounce,omitempty"`
	// Bounced tells that the IO thread was stopped and started.
	Bounced bool `json:"bounced,omitempty"`
	// LeftStopped tells that the IO thread could not be started again.
	LeftStopped bool          `json:"left_stopped,omitempty"`
	Took        time.Duration `json:"took"`
	// Channel is what was seen last.
	Channel Channel `json:"channel"`
}

// VoteOptions say what is known before a replica is asked.
type VoteOptions struct {
	Channel string
	// Connected is when the replica's IO thread was last seen connected; zero is
	// never.
	Connected time.Time
	// Before is an earlier reading of the channel, made at BeforeAt: where nothing
	// has come since, the silence counts from there. Zero is none.
	Before   Channel
	BeforeAt time.Time
}

// Look asks a replica whether it still sees its source without touching it:
// by the state of its IO thread, and by its heartbeats where they come every
// 2 s or oftener. NeedsBounce tells that only a fresh attempt could answer;
// the vote then is what the present state alone allows: a running IO thread is
// evidence of life, whatever the SQL thread does.
func (s *Session) Look(ctx context.Context, o VoteOptions) Ballot {
	start := time.Now()
	b := s.look(ctx, o, start)
	b.Took = time.Since(start)
	return b
}

func (s *Session) look(ctx context.Context, o VoteOptions, start time.Time) Ballot {
	for {
		c, err := s.channel(ctx, "read replica status", o.Channel)
		if err != nil {
			return Ballot{Evidence: err.Error()}
		}
		connected := c.IO == ThreadYes || c.IO == ThreadPreparing
		if connected && time.Since(start) >= settleFor {
			if c, err = s.channelWithHeartbeats(ctx, o.Channel); err != nil {
				return Ballot{Evidence: err.Error()}
			}
		}
		switch {
		case connected && time.Since(start) < settleFor:
			if !pause(ctx, 2*time.Millisecond) {
				return Ballot{Evidence: "no time left", Channel: c}
			}
			continue
		case connected && c.shortHeartbeat():
			return s.listen(ctx, o, c)
		case connected && c.SQL != ThreadYes:
			return Ballot{Vote: failover.VoteSees, Channel: c,
				Evidence: "its IO thread is connected; it is not asked afresh because its SQL thread is stopped"}
		case connected:
			return Ballot{Vote: failover.VoteSees, NeedsBounce: true, Channel: c,
				Evidence: "its IO thread says it is connected"}
		case c.IO == ThreadConnecting && c.IOErrno == 0:
			return s.watchAttempt(ctx, o.Channel, "its IO thread is connecting")
		case c.IO == ThreadConnecting && ClassifyIOErrno(c.IOErrno) == failover.VoteLost && time.Since(o.Connected) < freshFor:
			return Ballot{Vote: failover.VoteLost, Channel: c,
				Evidence: fmt.Sprintf("its IO thread lost the connection less than %s ago, error %d", freshFor, c.IOErrno)}
		case c.IO == ThreadConnecting && c.SQL == ThreadYes:
			return Ballot{NeedsBounce: true, Channel: c,
				Evidence: fmt.Sprintf("its IO thread sleeps after error %d", c.IOErrno)}
		case c.IO == ThreadConnecting:
			return Ballot{Channel: c,
				Evidence: fmt.Sprintf("its IO thread sleeps after error %d; it is not asked afresh because its SQL thread is stopped", c.IOErrno)}
		default:
			return Ballot{Channel: c, Evidence: fmt.Sprintf("its IO thread is stopped (last error %d) and was not stopped by this check", c.IOErrno)}
		}
	}
}

func (c Channel) shortHeartbeat() bool {
	period, ok := c.HeartbeatPeriod.Get()
	return ok && period > 0 && period <= shortHeartbeat && c.Heartbeats.IsKnown()
}

// SilentSince reports whether nothing has come from the source since an earlier
// reading of a channel that was connected then and is now: no heartbeat, no event,
// and no new connection, which would have written to the relay log. A busy source
// sends no heartbeats, so their count may well be 0 all the time.
func (c Channel) SilentSince(before Channel) bool {
	connected := func(c Channel) bool { return c.IO == ThreadYes || c.IO == ThreadPreparing }
	return connected(before) && connected(c) && c.Heartbeats == before.Heartbeats && c.Read == before.Read && c.Relay == before.Relay
}

// channelWithHeartbeats reads one channel and, on MySQL, its heartbeats.
func (s *Session) channelWithHeartbeats(ctx context.Context, name string) (Channel, error) {
	c, err := s.channel(ctx, "read replica status", name)
	if err != nil {
		return c, err
	}
	v, err := s.Version(ctx)
	if err != nil {
		return c, err
	}
	if beats, err := s.heartbeats(ctx, dialect{v}); err == nil {
		if b, ok := beats[name]; ok {
			c.HeartbeatPeriod, c.Heartbeats, c.HeartbeatAge = b.period, b.count, b.age
		}
	}
	return c, nil
}

// listen waits for a sign of life on a connected channel: a heartbeat or an
// event. Two periods of silence and a bit mean that the source is lost.
func (s *Session) listen(ctx context.Context, o VoteOptions, first Channel) Ballot {
	name := o.Channel
	period := first.HeartbeatPeriod.Or(shortHeartbeat)
	limit := 2*period + period/4
	since := time.Now()
	if !o.BeforeAt.IsZero() && first.SilentSince(o.Before) {
		since = o.BeforeAt
	}
	deadline := since.Add(limit)
	silent := func(c Channel) Ballot {
		return Ballot{Vote: failover.VoteLost, Channel: c,
			Evidence: fmt.Sprintf("connected, but neither heartbeat nor event for %s with a heartbeat period of %s", time.Since(since).Round(10*time.Millisecond), period)}
	}
	if time.Now().After(deadline) {
		return silent(first)
	}
	for c := first; ; {
		if !pause(ctx, min(50*time.Millisecond, period/4)) {
			return Ballot{Vote: failover.VoteUnknown, Channel: c, Evidence: "no time left to wait for a heartbeat"}
		}
		next, err := s.channelWithHeartbeats(ctx, name)
		if err != nil {
			return Ballot{Channel: c, Evidence: err.Error()}
		}
		c = next
		switch {
		case c.IO != ThreadYes && c.IO != ThreadPreparing:
			return s.watchAttempt(ctx, name, "its IO thread lost the connection while it was watched")
		case !c.SilentSince(first):
			return Ballot{Vote: failover.VoteSees, Channel: c, Evidence: "a heartbeat or event came just now"}
		case time.Now().After(deadline):
			return silent(c)
		}
	}
}

// watchAttempt looks for at most [VoteLimit] at a connection attempt that is
// under way.
func (s *Session) watchAttempt(ctx context.Context, name, how string) Ballot {
	deadline := time.Now().Add(VoteLimit)
	for wait := 2 * time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		c, err := s.channel(ctx, "read replica status", name)
		if err != nil {
			return Ballot{Evidence: how + ": " + err.Error()}
		}
		switch {
		case c.IO == ThreadYes:
			return Ballot{Vote: failover.VoteSees, Channel: c, Evidence: how + " and is connected now"}
		case c.IO == ThreadPreparing:
			return Ballot{Vote: failover.VoteSees, Channel: c, Evidence: how + " and has logged in"}
		case c.IOErrno != 0:
			return Ballot{Vote: ClassifyIOErrno(c.IOErrno), Channel: c, Evidence: fmt.Sprintf("%s: error %d", how, c.IOErrno)}
		case c.IO == ThreadNo:
			return Ballot{Channel: c, Evidence: how + " but was stopped without an error"}
		case time.Now().After(deadline):
			return Ballot{Vote: failover.VoteLost, Channel: c, Evidence: fmt.Sprintf("%s: still no answer after %s", how, VoteLimit)}
		}
		if !pause(ctx, wait) {
			return Ballot{Channel: c, Evidence: how + ": no time left"}
		}
	}
}

// Bounce asks a replica by a fresh connection attempt: it stops and starts the
// IO thread and looks for at most [VoteLimit]. It leaves a replica alone whose
// SQL thread does not run, or whose IO thread is stopped. The thread is started
// again even when ctx ends in between. Bounce one replica after the other:
// all at once would stall the semi-sync commits of a living source.
func (s *Session) Bounce(ctx context.Context, channel string) Ballot {
	start := time.Now()
	b := s.bounce(ctx, channel)
	b.Took = time.Since(start)
	return b
}

func (s *Session) bounce(ctx context.Context, channel string) Ballot {
	c, err := s.channel(ctx, "read replica status", channel)
	switch {
	case err != nil:
		return Ballot{Evidence: err.Error()}
	case c.SQL != ThreadYes:
		return Ballot{Channel: c, Evidence: "not asked afresh because its SQL thread is stopped"}
	case c.IO == ThreadNo:
		return Ballot{Channel: c, Evidence: fmt.Sprintf("its IO thread is stopped (last error %d) and was not stopped by this check", c.IOErrno)}
	}
	if err := s.restartIO(ctx, channel); err != nil {
		left := errors.Is(err, errLeftStopped)
		return Ballot{Channel: c, Bounced: true, LeftStopped: left, Evidence: err.Error()}
	}
	b := s.watchAttempt(ctx, channel, "asked afresh, its IO thread is connecting")
	b.Bounced = true
	return b
}

var errLeftStopped = errors.New("the IO thread may be left stopped: start it by hand")

// restartIO stops and starts the IO thread, and once it has asked for the stop
// sees to the start whatever becomes of ctx.
func (s *Session) restartIO(ctx context.Context, channel string) error {
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
	defer cancel()
	if err := s.StopIO(stopping, channel); err != nil {
		if errors.Is(err, ErrPending) {
			return fmt.Errorf("%w: %w", err, errLeftStopped)
		}
		return err
	}
	starting, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
	defer cancel()
	if err := s.StartIO(starting, channel); err != nil {
		return fmt.Errorf("%w: %w", err, errLeftStopped)
	}
	return nil
}

// Wake starts an IO thread again that sleeps for its connect_retry after an
// error, once its source is back. It tells whether it did; threads that run,
// are stopped, or whose SQL thread is stopped are left alone.
func (s *Session) Wake(ctx context.Context, channel string) (bool, error) {
	c, err := s.channel(ctx, "wake IO thread", channel)
	if err != nil {
		return false, err
	}
	if c.IO != ThreadConnecting || c.IOErrno == 0 || c.SQL != ThreadYes {
		return false, nil
	}
	return true, s.restartIO(ctx, channel)
}

// pause waits, or tells that ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
