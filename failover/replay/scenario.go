package replay

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"failwise/failover"
	"failwise/rules"
)

// File is one scenario file.
type File struct {
	Name  string
	Tests []*Test
	// Warnings are about the statemap files that the file names: what they say
	// was ignored.
	Warnings []rules.Problem
}

// Test is one test of a scenario file.
type Test struct {
	Name string
	// File and Line say where it stands.
	File string
	Line int

	setup      setup
	probeEvery time.Duration
	until      time.Duration
	steps      []step
	expect     []expectation
}

// setup is what all tests of one document share.
type setup struct {
	rules   *rules.Map
	timings rules.Timings
	nodes   []failover.Node
}

// step is what changes at one moment.
type step struct {
	at      time.Duration
	changes []change
	// pause is how long this process is stopped, after the changes.
	pause time.Duration
}

// change changes the world of a run.
type change func(*run) error

// Load reads a scenario file and the statemap files it names, relative to it. The
// error is a [*FileError] unless a file cannot be read.
func Load(path string) (*File, error) {
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read scenario file: %w", err)
	}
	return Parse(path, src, func(name string) ([]byte, error) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(filepath.Dir(path), name)
		}
		return os.ReadFile(name)
	})
}

// Effort is about how many moments a run of the test takes.
func (t *Test) Effort() int64 {
	return int64(t.until/t.probeEvery) + int64(t.until/t.setup.timings.Tick) + int64(len(t.steps))
}
