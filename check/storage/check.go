package storage

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrUnsupported means that this system offers no way to measure a disk without
// hanging with it.
var ErrUnsupported = errors.New("the disk probe is not supported on this system; it needs Linux")

// DefaultTimeout bounds a probe whose context has no deadline.
const DefaultTimeout = 10 * time.Second

// DefaultWrites is how many blocks are written and synced, one after the other.
const DefaultWrites = 3

// Options say what to probe.
type Options struct {
	// Paths are directories, or files in them. Each is probed by itself, all at
	// the same time.
	Paths []string
	// Writes is how many blocks are written and synced; 0 means
	// [DefaultWrites], negative none: then nothing is created on the disk.
	Writes int
}

// Check probes all paths and returns their results in the order of the paths, at
// the latest when ctx is done; without a deadline after [DefaultTimeout]. A disk
// that cannot be probed is a result, not an error.
func Check(ctx context.Context, opts Options) []Result {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, DefaultTimeout)
		defer cancel()
	}
	if opts.Writes == 0 {
		opts.Writes = DefaultWrites
	}
	results := make([]Result, len(opts.Paths))
	var all sync.WaitGroup
	for i, path := range opts.Paths {
		all.Go(func() { results[i] = probe(ctx, path, max(opts.Writes, 0)) })
	}
	all.Wait()
	return results
}
