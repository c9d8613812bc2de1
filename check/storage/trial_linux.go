package storage

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// trial is one probe under way: what the child has said so far, judged.
type trial struct {
	began  time.Time
	result Result
	// open holds the steps that have begun and not ended.
	open     map[Step]time.Time
	other    int // pid of the earlier probe that hangs, if known
	devno    string
	progress *progress
	reason   string // of the worst condition so far
}

func newTrial(path string, now time.Time) *trial {
	return &trial{
		began:  now,
		result: Result{Path: path, Pressure: readPressure()},
		open:   map[Step]time.Time{StepStart: now},
	}
}

func (t *trial) note(format string, args ...any) {
	t.result.Notes = append(t.result.Notes, fmt.Sprintf(format, args...))
}

// fail records a condition; the worst one, and of equals the first, stays.
func (t *trial) fail(c Condition, reason string) {
	if c > t.result.Condition {
		t.result.Condition, t.reason = c, reason
	}
}

// take takes in one report.
func (t *trial) take(r report, now time.Time) {
	if r.Note != "" {
		t.note("%s", r.Note)
	}
	if r.Begin {
		t.open[r.Step] = now
		t.other = max(t.other, r.PID)
		return
	}
	delete(t.open, r.Step)
	failed := r.Text != ""
	if failed {
		t.failStep(r)
	}
	switch r.Step {
	case StepSpace:
		t.result.Space = r.Space
		if r.Space != nil && r.Space.ReadOnly {
			t.fail(ReadOnly, "mounted read-only")
		}
	case StepRead:
		if denied(unix.Errno(r.Errno)) || r.Errno == int(unix.ENOENT) {
			return // another file is tried
		}
		t.result.Read = latency(r)
	case StepCreate:
		if failed {
			t.result.Write = latency(r)
		}
	case StepWrite:
		if failed {
			t.result.Write = latency(r)
		}
	case StepSync:
		if w := t.result.Write; w == nil || failed || w.Seconds < r.Seconds {
			t.result.Write = latency(r)
		}
	case StepStart, StepTurn, StepStat, StepPick:
	}
}

func latency(r report) *Latency {
	l := &Latency{Seconds: r.Seconds, Direct: r.Direct, File: r.File}
	switch {
	case r.Errno != 0:
		l.Error = unix.ErrnoName(unix.Errno(r.Errno))
	case r.Text != "":
		l.Error = r.Text
	}
	return l
}

// doing is what a step does, for a sentence.
var doing = map[Step]string{
	StepStart:  "the start of the probe's own process",
	StepStat:   "looking the path up",
	StepSpace:  "asking for the free space",
	StepPick:   "listing the directory",
	StepRead:   "reading one block",
	StepCreate: "creating a file",
	StepWrite:  "writing one block",
	StepSync:   "fsync",
}

func denied(e unix.Errno) bool { return e == unix.EACCES || e == unix.EPERM }

// failStep classifies a step's error by its number.
func (t *trial) failStep(r report) {
	errno := unix.Errno(r.Errno)
	what := doing[r.Step] + " failed: " + r.Text
	if r.Errno != 0 {
		what = fmt.Sprintf("%s failed with %s (%s)", doing[r.Step], unix.ErrnoName(errno), errno.Error())
	}
	switch errno {
	case unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.ENAMETOOLONG:
		switch r.Step {
		case StepStat:
			t.fail(NotFound, "no such path: "+errno.Error())
		case StepRead: // deleted since it was listed; another one is tried
		default:
			t.fail(Unsure, what)
		}
	case unix.EACCES, unix.EPERM:
		switch r.Step {
		case StepRead:
		case StepPick:
			t.note("%s; no file could be chosen to read", what)
		default:
			t.fail(Unsure, what+"; run the check as a user who may, or without writing")
		}
	case unix.ENOSPC:
		if s := t.result.Space; s != nil && s.Inodes > 0 && s.InodesFree == 0 && s.BytesFree > 0 {
			t.fail(Full, "no inode left")
		} else {
			t.fail(Full, "no space left for one block of 4 KiB")
		}
	case unix.EDQUOT:
		t.fail(Full, "quota exceeded")
	case unix.EROFS:
		t.fail(ReadOnly, what)
	case unix.EIO, unix.EUCLEAN, unix.EBADMSG, unix.EREMOTEIO, unix.EILSEQ, unix.ENODATA, unix.ENXIO, unix.ENODEV,
		unix.ENOMEDIUM, unix.ESHUTDOWN, unix.ESTALE, unix.ETIMEDOUT, unix.ENOTCONN, unix.EHOSTDOWN:
		t.fail(IOError, what)
	default:
		t.fail(Unsure, what)
	}
}

// finish judges what is still open and puts the result together.
func (t *trial) finish(now time.Time) Result {
	r := &t.result
	r.Elapsed = now.Sub(t.began).Seconds()
	r.Device = t.progress.device(now)
	for _, s := range []Step{StepSync, StepWrite, StepCreate, StepRead, StepPick, StepSpace, StepStat, StepTurn, StepStart} {
		since, open := t.open[s]
		if !open {
			continue
		}
		if r.HungIn == "" {
			r.HungIn = s
		}
		waited := Latency{Seconds: now.Sub(since).Seconds(), Error: hungError}
		switch s {
		case StepCreate, StepWrite, StepSync:
			r.Write = &waited
		case StepRead:
			r.Read = &waited
		case StepStart, StepTurn, StepStat, StepSpace, StepPick:
		}
		t.fail(t.hung(s, waited.Seconds))
	}
	if r.Condition == ConditionUnset {
		r.Condition = OK
		if r.Mount != nil && r.Mount.ReadOnly {
			t.fail(ReadOnly, "mounted read-only")
		}
	}
	r.Message = t.message()
	return *r
}

// hung words a step that did not come back.
func (t *trial) hung(s Step, waited float64) (Condition, string) {
	switch s {
	case StepStart:
		return Unsure, fmt.Sprintf("%s took more than %s; the disk with this program may be the sick one, or the machine is overloaded", doing[s], seconds(waited))
	case StepTurn:
		who := "an earlier probe of this path"
		if t.other > 0 {
			who = fmt.Sprintf("%s (pid %d)", who, t.other)
		}
		return Stalled, fmt.Sprintf("%s has not come back, nor did it in %s", who, seconds(waited))
	default:
		return Stalled, fmt.Sprintf("%s has not returned in %s", doing[s], seconds(waited))
	}
}
