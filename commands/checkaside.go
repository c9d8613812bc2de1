package commands

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"failwise/check"
	"failwise/check/storage"
	"failwise/commands/config"
	"failwise/failover/journal"
)

// A check that needs a file which is not in memory is made by a second process, and
// the first one waits for its answer only. A thread that reads from a disk or a file
// server which does not answer cannot be stopped, and would keep its process from
// ending; the second process is left behind. Files that checks read all the time are
// in memory, so that the second process is rare.

// asideVariable tells the second process how long it has and which file is waited
// for: "9.9s /etc/failwise/failwise.yaml". The name keeps it apart from settings.
const asideVariable = "_FAILWISE_ASIDE"

// asideReserve is the part of the timeout that is kept for starting the second
// process and for its answer.
const asideReserve = 250 * time.Millisecond

// asidePause is how often a second process looks whether the one before it on the
// same file has come back.
const asidePause = 20 * time.Millisecond

// asideError says that a file has to be read from a disk.
type asideError struct{ path string }

func (e *asideError) Error() string { return e.path + " is not in memory" }

// asideAnswer is what the second process sends when its check has ended.
type asideAnswer struct {
	Code Exit   `json:"code"`
	Out  string `json:"out"`
	Err  string `json:"err"`
}

// near returns an [*asideError] if one of the files, which are read next, is not in
// memory and a second process should read it.
func (in *invocation) near(at *stage, files ...string) error {
	at.reads(files)
	if in.Again == nil || in.asideTask() != "" || in.Bool("ask-password") {
		return nil
	}
	for _, f := range files {
		if f != "" && !storage.Cached(f) {
			return &asideError{f}
		}
	}
	return nil
}

// asideTask is the value of [asideVariable], "" in a process that was started by
// somebody else.
func (in *invocation) asideTask() string { return in.Getenv(asideVariable) }

// settingsNear is [invocation.near] for the configuration.
func (in *invocation) settingsNear(at *stage) error {
	o := config.Options{File: in.String("config"), Environ: in.Environ()}
	for _, file := range o.Candidates() {
		if err := in.near(at, file); err != nil {
			return err
		}
		if _, err := os.Stat(file); err == nil {
			break // the others are not looked at
		}
	}
	return nil
}

func tlsFiles(o check.TLSOptions) []string { return []string{o.CA, o.Cert, o.Key} }

// filesNear is [invocation.near] for what the configuration names. State also looks
// at the state file.
func (in *invocation) filesNear(at *stage, c *config.Cluster, state bool) error {
	m := c.Monitor
	files := append([]string{c.Statemap, m.PasswordFile}, tlsFiles(m.TLS)...)
	if m.OptionFile != "" {
		files = append(files, m.OptionFile)
	} else if home := in.Getenv("HOME"); home != "" {
		files = append(files, filepath.Join(home, ".my.cnf"))
	}
	if state {
		files = append(files, filepath.Join(journal.ClusterDir(in.loaded.StateDir, c.Name), "state.json"))
	}
	return in.near(at, files...)
}

// beginAside turns the second process into one that keeps its output for the first,
// and returns how long the check may take: its timeout, or what is left of it there.
// End sends what was printed and the exit code.
func (in *invocation) beginAside(timeout time.Duration) (limit time.Duration, end func(error)) {
	word, _, _ := strings.Cut(in.asideTask(), " ")
	limit, err := time.ParseDuration(word)
	if err != nil {
		return timeout, func(error) {}
	}
	out, errs := &kept{}, &kept{}
	in.Out, in.Err = out, errs
	return limit, func(err error) {
		code, _ := verdict(err)
		answer := os.NewFile(3, "answer")
		_ = json.NewEncoder(answer).Encode(asideAnswer{code, out.String(), errs.String()}) // nobody is told if the first has gone
		_ = answer.Close()
	}
}

// awaitTurn returns when no other second process reads the file, or when it is in
// memory; so there is one stuck process on a disk that is gone for a day. The turn is
// a socket in the abstract namespace (unix(7)), which goes with the last thread of
// its process. Its error is that of ctx.
func (in *invocation) awaitTurn(ctx context.Context, at *stage) error {
	_, path, found := strings.Cut(in.asideTask(), " ")
	if !found {
		return nil
	}
	at.set("reading " + path + ", as an earlier check still does")
	name := fmt.Sprintf("@failwise-file-%x", sha256.Sum256(fmt.Appendf(nil, "%d\x00%s", os.Getuid(), path)))[:40]
	var turn net.ListenConfig
	tick := time.NewTicker(asidePause)
	defer tick.Stop()
	for {
		_, err := turn.Listen(ctx, "unix", name) // never closed: it is held until this process ends
		if !errors.Is(err, syscall.EADDRINUSE) || storage.Cached(path) {
			return ctx.Err()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// runAside has a second process make the check, for which a file has to be read from
// a disk, and prints its answer. When late fires there is none.
func (in *invocation) runAside(ctx context.Context, path string, timeout, left time.Duration, late <-chan time.Time) error {
	answers := make(chan asideAnswer, 1)
	failures := make(chan error, 1)
	leave := make(chan struct{})
	defer close(leave)
	left = max(left-asideReserve, left*3/4)
	go func() {
		a, err := in.askAside(fmt.Sprintf("%s=%s %s", asideVariable, left, path), leave)
		if err != nil {
			failures <- err
			return
		}
		answers <- a
	}()
	unknown := func(format string, args ...any) error {
		return in.printCheck(checkReport{exit: ExitUnknown, summary: fmt.Sprintf(format, args...)}, nil)
	}
	select {
	case a := <-answers:
		fmt.Fprint(in.Out, a.Out)
		fmt.Fprint(in.Err, a.Err)
		return exitWith(a.Code)
	case err := <-failures:
		return unknown("the process that reads %s: %v", path, err)
	case <-late:
		return unknown("no answer in %s, hung in: reading %s", timeout, path)
	case <-ctx.Done():
		return unknown("interrupted in: reading %s", path)
	}
}

// askAside starts the second process and reads its answer. It ends the process, as
// far as it can be ended, when the answer is there or leave is closed.
func (in *invocation) askAside(variable string, leave <-chan struct{}) (asideAnswer, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return asideAnswer{}, err
	}
	defer r.Close() //nolint:errcheck // it was only read
	cmd := in.Again()
	// It is this program again, for the same user: it may know what this one knows.
	cmd.Env = append(slices.Clone(in.Environ()), variable)
	cmd.Stdin, cmd.ExtraFiles = in.In, []*os.File{w}
	err = cmd.Start()
	_ = w.Close() // the second process has its own
	if err != nil {
		return asideAnswer{}, err
	}
	go func() {
		<-leave
		_ = cmd.Process.Kill() // it may have ended
	}()
	go cmd.Wait() //nolint:errcheck // its answer counts; it is reaped whenever it goes
	var a asideAnswer
	if err := json.NewDecoder(r).Decode(&a); err != nil {
		return asideAnswer{}, fmt.Errorf("it ended early: %w", err)
	}
	return a, nil
}

// kept is an output that is kept until it is asked for, whoever writes.
type kept struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (k *kept) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.text.Write(p)
}

func (k *kept) String() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.text.String()
}
