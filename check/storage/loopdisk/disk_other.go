//go:build !linux

package loopdisk

import (
	"os"
	"testing"
)

// Disk is a mounted file system; this system cannot make one.
type Disk struct {
	Dir    string
	Device string
}

// New skips the test.
func New(t testing.TB, _ int64) *Disk {
	t.Helper()
	unable(t)
	return nil
}

// Silent skips the test.
func Silent(t testing.TB) (dir string) {
	t.Helper()
	unable(t)
	return ""
}

func unable(t testing.TB) {
	t.Helper()
	const why = "a disk that can be made sick needs Linux"
	if os.Getenv("FAILWISE_REQUIRE_SERVERS") == "1" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// NewOn is never reached: New does not return.
func NewOn(*Disk, int64) *Disk { return nil }

// The faults are never reached: New does not return.

func (*Disk) Number() string             { return "" }
func (*Disk) Freeze() (heal func())      { return func() {} }
func (*Disk) ShutDown()                  {}
func (*Disk) Fill() (heal func())        { return func() {} }
func (*Disk) ReadOnly() (heal func())    { return func() {} }
func (*Disk) Throttle(int) (heal func()) { return func() {} }
