package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// ErrStalled means that the disk did not answer in time. The operation is still
// under way in the kernel and may take effect later.
var ErrStalled = errors.New("state directory does not answer")

// StalledError says which operation on which directory did not come back.
type StalledError struct {
	// Op is what was being done, for instance "read state".
	Op string
	// Path is the directory.
	Path string
	// Waited is how long the caller waited.
	Waited time.Duration
	// Behind is true when the operation was not even begun, because an earlier
	// one had not come back. Then it takes no effect later either.
	Behind bool
}

func (e *StalledError) Error() string {
	if e.Behind {
		return fmt.Sprintf("%s in %s: not tried, an earlier operation on this directory has not come back; check the disk under it", e.Op, e.Path)
	}
	return fmt.Sprintf("%s in %s: no answer from the disk in %s; check the disk under it", e.Op, e.Path, e.Waited.Round(time.Millisecond))
}

// Is makes errors.Is(err, ErrStalled) true.
func (e *StalledError) Is(target error) bool { return target == ErrStalled }

// Dir is a directory on a disk that may stall. At most one operation on it is
// under way at a time, so that a stalled disk holds one thread of this process,
// however often it is asked.
type Dir struct {
	path string
	busy chan struct{}
}

// NewDir returns the directory at path. It touches nothing; the directory is made
// by the first operation that writes.
func NewDir(path string) *Dir {
	return &Dir{path: path, busy: make(chan struct{}, 1)}
}

// Path is the directory's path.
func (d *Dir) Path() string { return d.path }

// Do runs fn, which may block in the kernel for ever, and waits for it until ctx
// is done. Its error is fn's, or a [StalledError]. fn must not write to anything
// that its caller reads, since it may still run when Do has returned.
func Do[T any](ctx context.Context, d *Dir, op string, fn func() (T, error)) (T, error) {
	type result struct {
		v   T
		err error
	}
	var zero T
	begin := time.Now()
	select {
	case d.busy <- struct{}{}:
	default:
		select {
		case d.busy <- struct{}{}:
		case <-ctx.Done():
			return zero, &StalledError{Op: op, Path: d.path, Waited: time.Since(begin), Behind: true}
		}
	}
	done := make(chan result, 1)
	go func() {
		v, err := fn()
		<-d.busy
		done <- result{v, err}
	}()
	select {
	case r := <-done:
		if r.err != nil {
			return r.v, fmt.Errorf("%s: %w", op, r.err)
		}
		return r.v, nil
	case <-ctx.Done():
		return zero, &StalledError{Op: op, Path: d.path, Waited: time.Since(begin)}
	}
}

// ClusterDir is the directory of one cluster inside a state directory. Bytes of
// the name that could lead elsewhere or surprise a shell are written as %XX, so
// that different clusters never share one.
func ClusterDir(stateDir, cluster string) string {
	var b strings.Builder
	for i := range len(cluster) {
		c := cluster[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-', c == '.' && i > 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	if b.Len() == 0 {
		return filepath.Join(stateDir, "%")
	}
	return filepath.Join(stateDir, b.String())
}

// ReplaceFile writes data to name so that a reader, also one after a crash or a
// power cut, finds either the old content or the new: temporary file, fsync,
// rename, fsync of the directory. It blocks; call it inside [Do].
func ReplaceFile(name string, data []byte) (err error) {
	dir := filepath.Dir(name)
	if err := MakeDir(dir); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, "."+filepath.Base(name)+".tmp-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(tmp.Name()))
		}
	}()
	if _, err := tmp.Write(data); err != nil {
		return errors.Join(err, tmp.Close())
	}
	if err := giveToOwner(tmp); err != nil {
		return errors.Join(err, tmp.Close())
	}
	if err := tmp.Sync(); err != nil {
		return errors.Join(err, tmp.Close())
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), name); err != nil {
		return err
	}
	return SyncDir(dir)
}

// SyncDir makes the names in dir durable. It blocks; call it inside [Do].
func SyncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
