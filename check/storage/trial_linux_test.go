package storage

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestWhatTheChildSaysBecomesOneLine(t *testing.T) {
	begin := func(s Step) report { return report{Step: s, Begin: true} }
	ended := func(s Step, sec float64, errno unix.Errno) report {
		r := report{Step: s, Seconds: sec, Errno: int(errno)}
		if errno != 0 {
			r.Text = errno.Error()
		}
		return r
	}
	space := report{Step: StepSpace, Space: &Space{Bytes: 1000, BytesFree: 400, FreePercent: 40, Inodes: 10, InodesFree: 9, InodesFreePercent: 90}}
	noInodes := report{Step: StepSpace, Space: &Space{Bytes: 1000, BytesFree: 400, FreePercent: 40, Inodes: 10}}
	stuck := &progress{name: "sda1"}
	idle := &progress{name: "sda1"}
	for i := range 6 {
		stuck.sample(time.Unix(int64(i), 0), blockStat{7, 3})
		idle.sample(time.Unix(int64(i), 0), blockStat{7, 0})
	}
	for _, c := range []struct {
		name     string
		reports  []report
		progress *progress
		want     Condition
		message  string
	}{
		{"all well", []report{space, ended(StepRead, 0.0003, 0), ended(StepWrite, 0.001, 0), ended(StepSync, 0.0021, 0), ended(StepSync, 0.0012, 0)}, idle,
			OK, "4 KiB written and synced in 2.1 ms, 4 KiB read in 0.3 ms, 40.0% space free, 90.0% inodes free (ext4 on sda1)"},
		{"device stuck", []report{space, begin(StepWrite)}, stuck,
			Stalled, "stalled: 3 requests in flight, none finished in 5.0 s, writing one block has not returned in 4.0 s (ext4 on sda1)"},
		{"frozen", []report{begin(StepCreate)}, idle,
			Stalled, "stalled: no request in flight, so the wait is above the device: a frozen file system or a throttled group, creating a file has not returned in 4.0 s (ext4 on sda1)"},
		{"network file system", []report{begin(StepStat)}, nil,
			Stalled, "stalled: the disk does not answer, looking the path up has not returned in 4.0 s (ext4)"},
		{"earlier probe", []report{{Step: StepTurn, Begin: true, PID: 77}}, nil,
			Stalled, "stalled: the disk does not answer, an earlier probe of this path (pid 77) has not come back, nor did it in 4.0 s (ext4)"},
		{"read and write hang", []report{space, begin(StepRead), begin(StepSync)}, nil,
			Stalled, "stalled: the disk does not answer, fsync has not returned in 4.0 s (ext4)"},
		{"worse than an error", []report{ended(StepRead, 0.1, unix.EIO), begin(StepSync)}, nil,
			Stalled, "stalled: the disk does not answer, fsync has not returned in 4.0 s (ext4)"},
		{"read error", []report{space, ended(StepRead, 0.1, unix.EIO), ended(StepSync, 0.002, 0)}, nil,
			IOError, "I/O error: reading one block failed with EIO (input/output error), 4 KiB written and synced in 2 ms, 40.0% space free, 90.0% inodes free (ext4)"},
		{"quota", []report{space, ended(StepWrite, 0.1, unix.EDQUOT)}, nil,
			Full, "full: quota exceeded, 40.0% space free, 90.0% inodes free (ext4)"},
		{"no inode", []report{noInodes, ended(StepCreate, 0.1, unix.ENOSPC)}, nil,
			Full, "full: no inode left, 40.0% space free, 0.0% inodes free (ext4)"},
		{"turned read-only", []report{space, ended(StepCreate, 0.1, unix.EROFS)}, nil,
			ReadOnly, "read-only: creating a file failed with EROFS (read-only file system), 40.0% space free, 90.0% inodes free (ext4)"},
		{"no permission", []report{space, ended(StepCreate, 0.1, unix.EACCES)}, nil,
			Unsure, "cannot tell: creating a file failed with EACCES (permission denied); run the check as a user who may, or without writing, 40.0% space free, 90.0% inodes free (ext4)"},
		{"file not readable, another is", []report{space, ended(StepRead, 0.1, unix.EACCES), ended(StepRead, 0.002, 0)}, nil,
			OK, "4 KiB read in 2 ms, 40.0% space free, 90.0% inodes free (ext4)"},
		{"no such path", []report{ended(StepStat, 0.1, unix.ENOENT)}, nil,
			NotFound, "no such path: no such file or directory (ext4)"},
		{"stale handle", []report{ended(StepStat, 0.1, unix.ESTALE)}, nil,
			IOError, "I/O error: looking the path up failed with ESTALE (stale file handle) (ext4)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := newTrial("/data", time.Unix(0, 0))
			delete(tr.open, StepStart)
			tr.result.Mount = &Mount{Type: "ext4"}
			tr.progress = c.progress
			for _, r := range c.reports {
				tr.take(r, time.Unix(1, 0))
			}
			r := tr.finish(time.Unix(5, 0))
			if r.Condition != c.want || r.Message != c.message {
				t.Errorf("got  %s: %s\nwant %s: %s", r.Condition, r.Message, c.want, c.message)
			}
		})
	}
}

func TestEveryStepHasWords(t *testing.T) {
	for _, s := range []Step{StepStart, StepStat, StepSpace, StepPick, StepRead, StepCreate, StepWrite, StepSync} {
		if doing[s] == "" {
			t.Errorf("%s has none", s)
		}
	}
}
