//go:build !linux

package storage

import "context"

// RunChild is the entry of the child process. This system has none.
func RunChild([]string) (handled bool, code int) { return false, 0 }

func probe(_ context.Context, path string, _ int) Result {
	return Result{Path: path, Condition: Unsure, Message: ErrUnsupported.Error()}
}

// Cached cannot be told on this system.
func Cached(string) bool { return true }
