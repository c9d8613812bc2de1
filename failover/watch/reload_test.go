package watch

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func TestARuleFileThatHangsHoldsUpNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "statemap.properties")
	w := running(t, func(c *Config) { c.Statemap = path })
	until(t, "the watcher acts", coordinates(t, w))
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	w.Reload()
	var hold *os.File
	until(t, "the rule file is being read", func() (ok bool) {
		var err error
		hold, err = os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		return err == nil
	})
	defer func() { _ = hold.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := w.Snapshot(ctx); err != nil {
		t.Errorf("the loop hangs with the file: %v", err)
	}
}

func TestARuleFileThatHangsAtTheStartIsAnError(t *testing.T) {
	cfg := muteConfig(t, refusing(t))
	cfg.Statemap = filepath.Join(t.TempDir(), "statemap.properties")
	if err := syscall.Mkfifo(cfg.Statemap, 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Run(t.Context())
	if err == nil {
		t.Error("the watcher started without its rules")
	}
	if hold, err := os.OpenFile(cfg.Statemap, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
		_ = hold.Close() // ends the read
	}
}
