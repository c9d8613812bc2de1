package sandbox

import (
	"os/exec"
	"runtime"
	"sync"
)

// launcher starts processes from one thread that lives as long as they do:
// PR_SET_PDEATHSIG fires when the starting thread ends, not the process, and the
// Go runtime may end any other thread.
type launcher struct {
	jobs chan func()
	once sync.Once
	done chan struct{}
}

func newLauncher() *launcher {
	l := &launcher{jobs: make(chan func()), done: make(chan struct{})}
	go l.loop()
	return l
}

func (l *launcher) loop() {
	defer close(l.done)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for job := range l.jobs {
		job()
	}
}

// start starts a command. It must not be called after close.
func (l *launcher) start(cmd *exec.Cmd) error {
	result := make(chan error, 1)
	l.jobs <- func() { result <- cmd.Start() }
	return <-result
}

// close ends the thread; all that was started must have ended.
func (l *launcher) close() {
	l.once.Do(func() { close(l.jobs) })
	<-l.done
}
