//go:build !linux

package sandbox

// diskFaults are Linux's: they need ext4 on a loop device.
func diskFaults() []Fault { return nil }
