package storage

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// sampleEvery is how often the device's progress is read while a probe runs.
const sampleEvery = 100 * time.Millisecond

// probe runs one child and judges what it said until ctx is done.
func probe(ctx context.Context, path string, writes int) Result {
	t := newTrial(path, time.Now())
	t.locate("")
	t.sample(time.Now())
	kid := startProcess(request{Path: path, Writes: writes})
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		select {
		case r := <-kid.reports:
			if r.Begin || r.Step != StepStart {
				delete(t.open, StepStart)
			}
			t.take(r, time.Now())
			if r.Dev != "" {
				t.locate(r.Dev)
				t.sample(time.Now())
			}
		case <-tick.C:
			t.sample(time.Now())
		case err := <-kid.ended:
			t.drain(kid.reports)
			t.died(err)
			t.sample(time.Now())
			return t.finish(time.Now())
		case <-ctx.Done():
			t.drain(kid.reports)
			t.sample(time.Now())
			t.result.WaitsIn = waitsIn(cmp.Or(t.other, kid.knownPID()))
			kid.abandon()
			return t.finish(time.Now())
		}
	}
}

// locate finds the mount and the device of the path, by text or by the device
// number that the child saw.
func (t *trial) locate(dev string) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }()
	mounts, err := readMounts(f)
	if err != nil {
		t.note("%v", err)
		return
	}
	abs := t.result.Path
	if !path.IsAbs(abs) {
		// Reading the link is answered from memory; os.Getwd would stat the path.
		cwd, err := os.Readlink("/proc/self/cwd")
		if err != nil {
			return
		}
		abs = path.Join(cwd, abs)
	}
	if m := mountOf(mounts, abs, dev); m != nil {
		t.result.Mount = m
		if dev == "" {
			dev = m.dev
		}
	}
	t.watch(dev)
}

// watch begins to follow the device with the given number, or the one that an
// unnumbered file system (as btrfs) names as its source.
func (t *trial) watch(dev string) {
	if strings.HasPrefix(dev, "0:") {
		m := t.result.Mount
		if m == nil || !strings.HasPrefix(m.Source, "/dev/") {
			return
		}
		var st unix.Stat_t
		if err := unix.Stat(m.Source, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFBLK {
			return
		}
		dev = fmt.Sprintf("%d:%d", unix.Major(st.Rdev), unix.Minor(st.Rdev))
	}
	if dev == t.devno {
		return
	}
	link, err := os.Readlink("/sys/dev/block/" + dev)
	if err != nil {
		return
	}
	t.devno = dev
	t.progress = &progress{name: path.Base(link)}
}

func (t *trial) sample(now time.Time) {
	if t.progress == nil {
		return
	}
	b, err := os.ReadFile("/sys/dev/block/" + t.devno + "/stat")
	if err != nil {
		return
	}
	st, err := parseBlockStat(string(b))
	if err != nil {
		return
	}
	t.progress.sample(now, st)
}

func (t *trial) drain(reports <-chan report) {
	for {
		select {
		case r := <-reports:
			delete(t.open, StepStart)
			t.take(r, time.Now())
		default:
			return
		}
	}
}

func readPressure() *Pressure {
	b, err := os.ReadFile("/proc/pressure/io")
	if err != nil {
		return nil
	}
	p, err := parsePressure(string(b))
	if err != nil {
		return nil
	}
	return p
}

// process is the child as the parent sees it.
type process struct {
	reports chan report
	ended   chan error // one value: the child has exited, or was never started
	started chan int   // its pid, once
	gone    chan struct{}
}

// startProcess starts the child beside the caller: even starting it may hang,
// when this program's own code lies on the sick disk.
func startProcess(req request) *process {
	p := &process{reports: make(chan report, 64), ended: make(chan error, 1), started: make(chan int, 1), gone: make(chan struct{})}
	go p.run(req)
	return p
}

func (p *process) run(req request) {
	arg, err := json.Marshal(req)
	if err != nil {
		p.ended <- err
		return
	}
	r, w, err := os.Pipe()
	if err != nil {
		p.ended <- err
		return
	}
	// An empty environment: the child needs no password that ours may hold.
	// Neither does it hold our standard streams: who waits for their end, as
	// schedulers of checks do, would wait for it.
	cmd := &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{os.Args[0], childArgument, string(arg)},
		Env: []string{"GOTRACEBACK=none"}, Stdout: w,
	}
	err = cmd.Start()
	_ = w.Close()
	if err != nil {
		_ = r.Close()
		p.ended <- fmt.Errorf("start the probe's process: %w", err)
		return
	}
	p.started <- cmd.Process.Pid
	read := make(chan struct{})
	go func() {
		defer close(read)
		lines := bufio.NewScanner(r)
		for lines.Scan() {
			var rep report
			if err := json.Unmarshal(lines.Bytes(), &rep); err != nil {
				continue
			}
			select {
			case p.reports <- rep:
			case <-p.gone:
				return
			}
		}
	}()
	go func() {
		select {
		case <-read: // the child has closed its end: it is exiting
		case <-p.gone:
		}
		select {
		case <-read:
		default:
			_ = cmd.Process.Kill()
		}
		_ = r.Close()
	}()
	// Reaps the child whenever it goes; nobody waits for this.
	err = cmd.Wait()
	<-read
	p.ended <- err
}

// abandon leaves the child to itself: its kill takes effect when the disk returns.
func (p *process) abandon() { close(p.gone) }

// knownPID is the child's pid, 0 while it is not known.
func (p *process) knownPID() int {
	select {
	case pid := <-p.started:
		return pid
	default:
		return 0
	}
}

// waitsIn is the kernel function in which a thread of the process sleeps
// uninterruptibly, if the kernel shows it.
func waitsIn(pid int) string {
	if pid == 0 {
		return ""
	}
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return ""
	}
	for _, task := range tasks {
		dir := fmt.Sprintf("/proc/%d/task/%s/", pid, task.Name())
		stat, err := os.ReadFile(dir + "stat")
		if err != nil || !strings.Contains(string(stat), ") D ") {
			continue
		}
		if b, err := os.ReadFile(dir + "wchan"); err == nil && len(b) > 0 && string(b) != "0" {
			return string(b)
		}
	}
	return ""
}

// died keeps why a child ended without having finished.
func (t *trial) died(err error) {
	var exit *exec.ExitError
	switch {
	case err == nil && len(t.open) == 0:
		return
	case errors.As(err, &exit):
		err = fmt.Errorf("the probe's process ended early: %s", exit.ProcessState)
	case err == nil:
		err = errors.New("the probe's process ended early")
	}
	clear(t.open)
	t.fail(Unsure, err.Error())
}
