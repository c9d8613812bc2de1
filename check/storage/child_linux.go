package storage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// childArgument is the hidden first argument of the child process; the second is
// its request as JSON.
const childArgument = "__storage"

// request is what the parent asks the child for.
type request struct {
	Path   string `json:"path"`
	Writes int    `json:"writes"`
}

// report is one line from the child: a step begins, or has ended.
type report struct {
	Step  Step `json:"step"`
	Begin bool `json:"begin,omitempty"`
	// Seconds is the time of the step; Errno and Text are its error.
	Seconds float64 `json:"seconds,omitempty"`
	Errno   int     `json:"errno,omitempty"`
	Text    string  `json:"text,omitempty"`

	Dev    string `json:"dev,omitempty"`
	Space  *Space `json:"space,omitempty"`
	Direct bool   `json:"direct,omitempty"`
	File   string `json:"file,omitempty"`
	PID    int    `json:"pid,omitempty"`
	Note   string `json:"note,omitempty"`
}

// RunChild is the entry of the child process. It handles the command line of a
// child and no other, and returns the process's exit code.
func RunChild(args []string) (handled bool, code int) {
	if len(args) != 3 || args[1] != childArgument {
		return false, 0
	}
	var req request
	if err := json.Unmarshal([]byte(args[2]), &req); err != nil {
		return true, 2
	}
	c := &child{req: req, out: json.NewEncoder(os.Stdout)}
	c.run()
	return true, 0
}

// headStart is how long a read may take before the write is begun beside it, so
// that a disk on which both hang shows both.
const headStart = time.Second

// child takes the steps and reports them.
type child struct {
	req request
	mu  sync.Mutex
	out *json.Encoder
}

func (c *child) send(r report) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// A parent that has gone ends this process by SIGPIPE.
	_ = c.out.Encode(r)
}

// step announces s, does it and reports how it ended.
func (c *child) step(s Step, do func(*report) error) error {
	c.send(report{Step: s, Begin: true})
	r := report{Step: s}
	begin := time.Now()
	err := do(&r)
	if r.Seconds == 0 {
		r.Seconds = time.Since(begin).Seconds()
	}
	if err != nil {
		var errno unix.Errno
		if errors.As(err, &errno) {
			r.Errno = int(errno)
		}
		r.Text = err.Error()
	}
	c.send(r)
	return err
}

func (c *child) run() {
	turn, err := c.takeTurn(context.Background())
	if err != nil {
		c.send(report{Step: StepTurn, Note: fmt.Sprintf("cannot see whether an earlier probe of this path still hangs: %v", err)})
	} else {
		defer func() { _ = turn.Close() }()
	}
	dir, file := c.req.Path, ""
	var dev uint64
	if err := c.step(StepStat, func(r *report) error {
		var st unix.Stat_t
		if err := unix.Stat(c.req.Path, &st); err != nil {
			return err
		}
		dev = st.Dev
		r.Dev = fmt.Sprintf("%d:%d", unix.Major(dev), unix.Minor(dev))
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFDIR:
		case unix.S_IFREG:
			dir, file = filepath.Dir(c.req.Path), c.req.Path
		default:
			return errors.New("it is neither a directory nor a file; give the directory in which the data lies")
		}
		return nil
	}); err != nil {
		return
	}
	if err := c.step(StepSpace, func(r *report) (err error) {
		r.Space, err = space(dir)
		return err
	}); err != nil {
		return
	}
	read := make(chan bool, 1)
	go func() { read <- c.readFile(dir, file, dev) }()
	head := time.NewTimer(headStart)
	defer head.Stop()
	hasRead, readEnded := false, false
	select {
	case hasRead = <-read:
		readEnded = true
	case <-head.C:
	}
	if c.req.Writes > 0 {
		c.writeAndSync(dir, func() bool { return readEnded && !hasRead })
	}
	if !readEnded {
		<-read
	}
}

func space(dir string) (*Space, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return nil, err
	}
	unit := uint64(st.Frsize)
	if unit == 0 {
		unit = uint64(st.Bsize)
	}
	s := &Space{
		Bytes:      st.Blocks * unit,
		BytesFree:  st.Bavail * unit,
		Inodes:     st.Files,
		InodesFree: st.Ffree,
		ReadOnly:   st.Flags&unix.ST_RDONLY != 0,
	}
	// As df counts: blocks reserved for root belong to neither side.
	if usable := st.Blocks - st.Bfree + st.Bavail; usable > 0 {
		s.FreePercent = 100 * float64(st.Bavail) / float64(usable)
	}
	if st.Files > 0 {
		s.InodesFreePercent = 100 * float64(st.Ffree) / float64(st.Files)
	}
	return s, nil
}

// blockSize is the size of one read or write: the page size of every database and
// a multiple of every common sector size.
const blockSize = 4096

// block returns a buffer that direct I/O accepts.
func block() ([]byte, error) {
	b, err := unix.Mmap(-1, 0, blockSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("allocate an aligned block: %w", err)
	}
	return b, nil
}

// retry repeats a system call that a signal interrupted.
func retry[T any](call func() (T, error)) (T, error) {
	for {
		v, err := call()
		if !errors.Is(err, unix.EINTR) {
			return v, err
		}
	}
}

func readBlock(fd int, b []byte, offset int64) error {
	n, err := retry(func() (int, error) { return unix.Pread(fd, b, offset) })
	if err == nil && n == 0 {
		return io.ErrUnexpectedEOF
	}
	return err
}
