package promote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	"failwise/failover/mysql"
)

func hostPort(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }

// downLimit bounds what is tried with a replica that was down when the plan began:
// it may be back, and a dead one must not cost the time of a hung connection.
const downLimit = 500 * time.Millisecond

// replicas are all nodes of the plan but the old primary and the fallen.
func (r *run) replicas() []string {
	var names []string
	for _, n := range r.env.Nodes {
		if n.Name != r.plan.OldPrimary && !r.state.tried(n.Name) {
			names = append(names, n.Name)
		}
	}
	return names
}

// starve stops the receivers of all reachable replicas and reads their final
// positions.
func (r *run) starve(ctx context.Context) ([]Reading, error) {
	names := r.replicas()
	readings := make(map[string]Reading, len(names))
	r.update(func(s *state) {
		for _, name := range names {
			if !slices.Contains(s.Starved, name) {
				s.Starved = append(s.Starved, name)
			}
		}
	})
	err := r.do(ctx, Starve, "", r.env.Starve, func(ctx context.Context) (string, error) {
		errs := r.each(names, func(n *Node) error {
			reading := r.starveOne(ctx, n)
			r.mu.Lock()
			readings[n.Name] = reading
			r.mu.Unlock()
			return reading.Err
		})
		reached := 0
		var failures []error
		for _, name := range names {
			if err := errs[name]; err != nil {
				failures = append(failures, err)
				r.note(Starve, name, err.Error())
				continue
			}
			reached++
		}
		switch {
		case len(names) == 0 && len(r.state.Tried) > 0:
			return "", fmt.Errorf("%w: %s", ErrNoCandidate, r.whyTried())
		case len(names) == 0:
			return "", fmt.Errorf("%w: no replica is configured", ErrNoCandidate)
		case reached == 0:
			return "", fmt.Errorf("%w: no replica can be reached: %w", ErrNoCandidate, errors.Join(failures...))
		}
		return fmt.Sprintf("%d of %d replicas have final positions", reached, len(names)), nil
	})
	list := make([]Reading, 0, len(names))
	for _, name := range names {
		list = append(list, readings[name])
	}
	return list, err
}

func (r *run) starveOne(ctx context.Context, n *Node) Reading {
	if n.Down {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, downLimit)
		defer cancel()
	}
	reading := Reading{Node: n.Name}
	var channels []mysql.Channel
	err := again(func() (err error) {
		channels, err = n.Session.Channels(ctx)
		return err
	})
	if err != nil {
		reading.Err = err
		return reading
	}
	if len(channels) != 1 {
		// Not a replica, or one of several sources: the chooser says so.
		reading.Status, reading.Err = n.Session.Status(ctx)
		return reading
	}
	c := channels[0]
	switch {
	case c.IO == mysql.ThreadNo:
	case c.SQL == mysql.ThreadYes:
		err = firmly(ctx, n.Session, r.env.Starve, func(ctx context.Context) error { return n.Session.StopIO(ctx, c.Name) })
	default:
		err = n.Session.Starve(ctx, c.Name)
	}
	if err != nil && !errors.Is(err, mysql.ErrSQLThreadStopped) {
		reading.Err = fmt.Errorf("its receiver could not be stopped: %w", err)
		return reading
	}
	reading.Status, reading.Err = n.Session.Status(ctx)
	if reading.Err != nil {
		return reading
	}
	if after, err := soleChannel(reading.Status); err == nil {
		kept := channelOf(after)
		kept.IO, kept.SQL = c.IO != mysql.ThreadNo, c.SQL == mysql.ThreadYes
		r.update(func(s *state) {
			// What an earlier process saw before it stopped anything is the truth.
			if _, known := s.Before[n.Name]; !known {
				s.Before[n.Name] = kept
			}
		})
	}
	return reading
}
