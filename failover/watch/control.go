package watch

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"failwise/failover/lock"
	"failwise/failover/promote"
)

// controlName is the socket in the cluster's directory on which a watcher
// answers commands on its host. Its permissions are those of the directory.
const controlName = "control.sock"

// ErrNoWatcher says that no watcher of the cluster answers on this host.
var ErrNoWatcher = errors.New("no watcher of this cluster runs on this host")

// call is what a command sends: one line of JSON.
type call struct {
	Status  bool     `json:"status,omitempty"`
	Request *Request `json:"request,omitempty"`
}

// line is what it gets back: steps while an operation runs, then one last line.
type line struct {
	failure
	Status json.RawMessage   `json:"status,omitempty"`
	Step   *promote.Progress `json:"step,omitempty"`
	Result *promote.Result   `json:"result,omitempty"`
	Done   bool              `json:"done,omitempty"`
	// Took and blocked times, which the result's own JSON does not have.
	Took    time.Duration `json:"took,omitempty"`
	Blocked time.Duration `json:"blocked,omitempty"`
	First   time.Duration `json:"first_write,omitempty"`
}

// serve answers commands while this watcher holds the lock: the socket is the
// acting watcher's, and one that only observes must not take it away.
func (w *Watcher) serve(ctx context.Context) {
	for {
		select {
		case lease := <-w.leased:
			w.serveLease(ctx, lease)
		case <-ctx.Done():
			return
		}
	}
}

// serveLease answers commands until ctx ends or the lease is lost. A socket that
// cannot be had costs `status` and live requests, nothing else.
func (w *Watcher) serveLease(ctx context.Context, lease lock.Lease) {
	if w.cfg.DryRun || w.cfg.observer {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-lease.Lost():
			cancel()
		case <-ctx.Done():
		}
	}()
	l, err := listenControl(ctx, filepath.Join(w.cfg.Dir, controlName))
	if err != nil {
		w.send(func() {
			w.note(slog.LevelWarn, "", "control socket: %v; `status` and `switch` cannot reach this watcher", err)
		})
		return
	}
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	// The last answer tells how an operation ended: it is not cut off.
	var answers sync.WaitGroup
	defer answers.Wait()
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		answers.Go(func() { w.answer(ctx, c) })
	}
}

// controlSocket removes its path when it is closed, unless it is another's by then:
// a watcher that notices late that it lost the lock must not cut off its successor.
type controlSocket struct {
	net.Listener
	path string
	own  os.FileInfo
}

// listenControl takes the socket's path over, whoever had it.
func listenControl(ctx context.Context, path string) (net.Listener, error) {
	_ = os.Remove(path)
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	if u, ok := l.(*net.UnixListener); ok {
		u.SetUnlinkOnClose(false)
	}
	_ = os.Chmod(path, 0o600)
	own, err := os.Lstat(path)
	if err != nil {
		_ = l.Close()
		return nil, err
	}
	return &controlSocket{Listener: l, path: path, own: own}, nil
}

func (s *controlSocket) Close() error {
	if now, err := os.Lstat(s.path); err == nil && os.SameFile(s.own, now) {
		_ = os.Remove(s.path)
	}
	return s.Listener.Close()
}

// controlLimit bounds the wait for a command: to send its question, and to take
// each line of the answer.
const controlLimit = 5 * time.Second

func (w *Watcher) answer(ctx context.Context, c net.Conn) {
	defer func() { _ = c.Close() }()
	_ = c.SetReadDeadline(time.Now().Add(controlLimit))
	stop := context.AfterFunc(ctx, func() { _ = c.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	var q call
	if err := json.NewDecoder(bufio.NewReader(c)).Decode(&q); err != nil {
		return
	}
	out := json.NewEncoder(c)
	say := func(l line) error {
		_ = c.SetWriteDeadline(time.Now().Add(controlLimit))
		return out.Encode(l)
	}
	if q.Request == nil {
		_ = say(w.statusLine(ctx))
		return
	}
	steps := make(chan promote.Progress, 256)
	ended := make(chan Answer, 1)
	go func() {
		ended <- w.Request(context.WithoutCancel(ctx), *q.Request, func(p promote.Progress) {
			select {
			case steps <- p:
			default:
			}
		})
	}()
	for {
		select {
		case p := <-steps:
			if say(line{Step: &p}) != nil {
				return // nobody listens; the operation goes on
			}
		case a := <-ended:
			for len(steps) > 0 {
				p := <-steps
				_ = say(line{Step: &p})
			}
			_ = say(line{
				Result: &a.Result, Done: true, Took: a.Result.Took, Blocked: a.Result.WritesBlocked, First: a.Result.FirstWrite,
				failure: failureOf(a.Err),
			})
			return
		}
	}
}

func (w *Watcher) statusLine(ctx context.Context) line {
	s, err := w.Snapshot(ctx)
	if err != nil {
		return line{failure: failureOf(err), Done: true}
	}
	raw, err := json.Marshal(s)
	if err != nil {
		return line{failure: failureOf(err), Done: true}
	}
	return line{Status: raw, Done: true}
}

// Status asks the watcher on this host that works in dir for its snapshot.
// [ErrNoWatcher] says that there is none.
func Status(ctx context.Context, dir string) (Snapshot, error) {
	last, err := exchange(ctx, dir, call{Status: true}, nil)
	if err != nil {
		return Snapshot{}, err
	}
	if err := last.err(); err != nil {
		return Snapshot{}, err
	}
	var s Snapshot
	if err := json.Unmarshal(last.Status, &s); err != nil {
		return Snapshot{}, fmt.Errorf("the watcher's answer: %w", err)
	}
	return s, nil
}

// Ask has the watcher on this host that works in dir do an operation.
// [ErrNoWatcher] says that there is none: then the caller may do it itself, under
// the lock.
func Ask(ctx context.Context, dir string, r Request, progress func(promote.Progress)) (promote.Result, error) {
	last, err := exchange(ctx, dir, call{Request: &r}, progress)
	if err != nil {
		return promote.Result{}, err
	}
	result := promote.Result{}
	if last.Result != nil {
		result = *last.Result
		result.Took, result.WritesBlocked, result.FirstWrite = last.Took, last.Blocked, last.First
	}
	return result, last.err()
}

func exchange(ctx context.Context, dir string, q call, progress func(promote.Progress)) (line, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", filepath.Join(dir, controlName))
	if errors.Is(err, fs.ErrPermission) {
		return line{}, fmt.Errorf("control socket: %w; run this as the watcher's user", err)
	}
	if err != nil {
		return line{}, ErrNoWatcher
	}
	defer func() { _ = c.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if err := json.NewEncoder(c).Encode(q); err != nil {
		return line{}, fmt.Errorf("ask the watcher: %w", err)
	}
	in := json.NewDecoder(c)
	for {
		var l line
		if err := in.Decode(&l); err != nil {
			if ctx.Err() != nil {
				return line{}, fmt.Errorf("the watcher does not answer: %w", ctx.Err())
			}
			return line{}, fmt.Errorf("the watcher ended the conversation: %w", err)
		}
		if l.Done {
			return l, nil
		}
		if l.Step != nil && progress != nil {
			progress(*l.Step)
		}
	}
}
