package storage

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestPathsOfAllKinds(t *testing.T) {
	dir := t.TempDir()
	file := data(t, dir)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	empty := t.TempDir()
	t.Chdir(filepath.Dir(dir))
	for _, c := range []struct {
		path string
		want Condition
		in   string
	}{
		{dir, OK, "written and synced in "},
		{file, OK, "written and synced in "},
		{link, OK, "written and synced in "},
		{filepath.Base(dir), OK, "written and synced in "},
		{empty, OK, " read in "},
		{filepath.Join(dir, "none"), NotFound, "no such path: no such file or directory"},
		{filepath.Join(file, "x"), NotFound, "no such path: not a directory"},
		{"/dev/null", Unsure, "neither a directory nor a file"},
		{"/proc/self", Unsure, "cannot tell: "},
		{"", NotFound, "no such path"},
	} {
		r := one(t, c.path, 20*time.Second)
		if r.Condition != c.want || !strings.Contains(r.Message, c.in) {
			t.Errorf("%q: %s: %s", c.path, r.Condition, r.Message)
		}
		if c.path == empty && (len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "read back the block just written")) {
			t.Errorf("empty directory: notes %q", r.Notes)
		}
		if c.path == file && r.Read.File != file {
			t.Errorf("read %+v, want the file named", r.Read)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

func TestMemoryFileSystemHasNoDevice(t *testing.T) {
	var st syscall.Statfs_t
	if err := syscall.Statfs("/dev/shm", &st); err != nil || st.Type != 0x01021994 {
		if os.Getenv("FAILWISE_REQUIRE_SERVERS") == "1" {
			t.Fatal("/dev/shm is no tmpfs here")
		}
		t.Skip("/dev/shm is no tmpfs here")
	}
	dir, err := os.MkdirTemp("/dev/shm", "failwise-") //nolint:usetesting // it must be there
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	r := one(t, dir, 20*time.Second)
	if r.Condition != OK || r.Device != nil || r.Mount == nil || r.Mount.Type != "tmpfs" {
		t.Errorf("%s, device %+v, mount %+v", r.Message, r.Device, r.Mount)
	}
}

func TestNothingIsWrittenWhenNotWanted(t *testing.T) {
	dir := t.TempDir()
	data(t, dir)
	r := Check(t.Context(), Options{Paths: []string{dir}, Writes: -1})[0]
	if r.Condition != OK || r.Write != nil || r.Read == nil {
		t.Errorf("%+v", r)
	}
}

func TestUserWithoutRightsIsTold(t *testing.T) {
	if os.Geteuid() != 0 {
		if os.Getenv("FAILWISE_REQUIRE_SERVERS") == "1" {
			t.Fatal("giving up rights needs root")
		}
		t.Skip("giving up rights needs root")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// A copy that everyone may run.
	b, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	public, err := os.MkdirTemp("", "failwise-") //nolint:usetesting // t.TempDir is closed to others
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(public) }()
	if err := os.Chmod(public, 0o755); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(public, "program")
	if err := os.WriteFile(program, b, 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, childArgument, `{"path":"`+public+`","writes":1}`)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.Output()
	if err != nil || !strings.Contains(string(out), `"step":"create","seconds"`) || !strings.Contains(string(out), `"errno":13`) {
		t.Errorf("%v: %s", err, out)
	}
}

func TestKilledChildIsNoVerdictOnTheDisk(t *testing.T) {
	p := startProcess(request{Path: "/", Writes: 1 << 20})
	pid := <-p.started
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	tr := newTrial("/", time.Now())
	for {
		select {
		case r := <-p.reports:
			tr.take(r, time.Now())
			continue
		case err := <-p.ended:
			tr.died(err)
		}
		break
	}
	if r := tr.finish(time.Now()); r.Condition != Unsure || !strings.Contains(r.Message, "the probe's process ended early: signal: killed") {
		t.Errorf("%s: %s", r.Condition, r.Message)
	}
}

func TestOtherCommandLinesAreNotHandled(t *testing.T) {
	for _, args := range [][]string{{"failwise"}, {"failwise", childArgument}, {"failwise", "check", "storage"}, {"failwise", "x", childArgument, "{}"}, nil} {
		if handled, _ := RunChild(args); handled {
			t.Errorf("%q was handled", args)
		}
	}
	if handled, code := RunChild([]string{"failwise", childArgument, "{"}); !handled || code == 0 {
		t.Error("a damaged request must fail")
	}
}
