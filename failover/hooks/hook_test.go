package hooks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// script writes an executable shell script and returns its path.
func script(t *testing.T, name, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func failoverCall(event Event) Call {
	return Call{
		Event: event, Operation: Failover, Cluster: "shop",
		Time:       time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC),
		OldPrimary: "db1:3306", NewPrimary: "[::1]:3307", Replicas: []string{"db3:3306"},
		Reason: "it's dead; $(touch /nope) \"quoted\"", Outcome: "socket_io_error",
		MHA: MHAFacts{NewUser: "app", NewPassword: "s3cret", OldUser: "old", OldPassword: "0ldsecret"},
	}
}

func TestHookIsToldByEnvironmentAndStandardInput(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	path := script(t, "hook", `env | grep ^FAILWISE_ | sort > "$1"; echo "args:$#:$2" >> "$1"; cat > "$1.json"`)
	hook := Hook{Argv: []string{path, out, "a b; c"}}
	call := failoverCall(Promoted)
	call.Record = map[string]int{"answer": 42}
	result := hook.Run(t.Context(), call)
	if result.Err != nil || !result.Ran || result.Status != 0 {
		t.Fatalf("result %+v", result)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"FAILWISE_EVENT=promoted\n", "FAILWISE_OPERATION=failover\n", "FAILWISE_CLUSTER=shop\n",
		"FAILWISE_OLD_PRIMARY=db1:3306\n", "FAILWISE_NEW_PRIMARY=[::1]:3307\n", "FAILWISE_REPLICAS=db3:3306\n",
		"FAILWISE_REASON=" + call.Reason + "\n", "FAILWISE_TIME=2026-03-04T05:06:07.000Z\n", "args:2:a b; c\n",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the hook was not told %q; it saw:\n%s", want, text)
		}
	}
	if strings.Contains(string(text), "FAILWISE_NODE") {
		t.Error("an unknown fact has a variable")
	}
	var got struct {
		Event  Event `json:"event"`
		Record struct{ Answer int }
	}
	data, err := os.ReadFile(out + ".json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &got); err != nil || got.Event != Promoted || got.Record.Answer != 42 {
		t.Fatalf("standard input %s: %+v, %v", data, got, err)
	}
	if bytes.Contains(data, []byte("s3cret")) || strings.Contains(string(text), "s3cret") {
		t.Error("a password reached a hook that is not mha's")
	}
}

func TestHookFailureAbortsOnlyWhereItSaysSo(t *testing.T) {
	path := script(t, "hook", "echo trying; echo no address >&2; exit 3")
	for _, tc := range []struct {
		on     OnFailure
		aborts bool
	}{{Warn, false}, {Abort, true}} {
		result := Hook{Argv: []string{path}, OnFailure: tc.on}.Run(t.Context(), failoverCall(Promoted))
		if result.Aborts != tc.aborts || !errors.Is(result.Err, ErrStatus) || result.Status != 3 {
			t.Errorf("%s: %+v", tc.on, result)
		}
		if want := "hook " + path + ": exit status 3: no address"; result.Error != want {
			t.Errorf("error %q, want %q", result.Error, want)
		}
	}
}

func TestHookThatCannotStartFails(t *testing.T) {
	result := Hook{Argv: []string{"/does/not/exist"}, OnFailure: Abort}.Run(t.Context(), failoverCall(Fence))
	if result.Err == nil || !result.Aborts || !errors.Is(result.Err, os.ErrNotExist) {
		t.Fatalf("%+v", result)
	}
}

// A hook that ignores TERM, with a child of its own that holds the output open:
// Run comes back, and both are gone.
func TestHangingHookIsEndedWithItsChildren(t *testing.T) {
	for _, tc := range []struct{ name, body string }{
		{"ends on TERM", "sleep 300 & echo $! > \"$1\"; wait"},
		{"ignores TERM", "trap '' TERM; sleep 300 & echo $! > \"$1\"; wait; wait; sleep 300"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			pidFile := filepath.Join(t.TempDir(), "pid")
			hook := Hook{Argv: []string{script(t, "hook", tc.body), pidFile}, Timeout: 300 * time.Millisecond, OnFailure: Abort}
			result := hook.Run(t.Context(), failoverCall(Fence))
			if !errors.Is(result.Err, ErrTimeout) || !result.Aborts {
				t.Fatalf("%+v", result)
			}
			if result.Duration > 10*time.Second {
				t.Errorf("took %v", result.Duration)
			}
			text, err := os.ReadFile(pidFile)
			if err != nil {
				t.Fatal(err)
			}
			pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
			if err != nil {
				t.Fatal(err)
			}
			waitGone(t, pid)
		})
	}
}

func waitGone(t *testing.T, pid int) {
	t.Helper()
	for range 500 {
		state, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil || strings.Contains(string(state), ") Z ") {
			return
		}
		if syscall.Kill(pid, 0) != nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("process %d, started by the hook, is still there", pid)
}

func TestHookEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	result := Hook{Argv: []string{"/bin/sleep", "300"}}.Run(ctx, failoverCall(Fence))
	if result.Err == nil || result.Duration > 10*time.Second {
		t.Fatalf("%+v", result)
	}
}

// A hook that puts a daemon into the background and leaves with 0 has succeeded.
func TestHookMayLeaveADaemonBehind(t *testing.T) {
	pidFile := filepath.Join(t.TempDir(), "pid")
	hook := Hook{Argv: []string{script(t, "hook", "sleep 300 & echo $! > \"$1\"; exit 0"), pidFile}}
	result := hook.Run(t.Context(), failoverCall(Fence))
	text, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	if result.Err != nil || result.Status != 0 {
		t.Fatalf("%+v", result)
	}
}

func TestHookOutputIsBounded(t *testing.T) {
	result := Hook{Argv: []string{script(t, "hook", "i=0; while [ $i -lt 4000 ]; do echo line $i xxxxxxxxxxxxxxxxxxxx; i=$((i+1)); done")}}.
		Run(t.Context(), failoverCall(Fence))
	if len(result.Output) > outputLimit || !strings.Contains(result.Output, "line 3999") {
		t.Fatalf("%d bytes kept, end %q", len(result.Output), lastLine(result.Output))
	}
}

func TestHookThatDoesNotReadItsInputSucceeds(t *testing.T) {
	call := failoverCall(Finished)
	call.Record = strings.Repeat("x", 1<<20)
	result := Hook{Argv: []string{"/bin/true"}}.Run(t.Context(), call)
	if result.Err != nil {
		t.Fatal(result.Err)
	}
}

func TestDryRunRunsNothing(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	call := failoverCall(Fence)
	call.DryRun = true
	result := Hook{Argv: []string{"/bin/touch", out}}.Run(t.Context(), call)
	if _, err := os.Stat(out); err == nil || result.Ran {
		t.Fatal("the hook ran")
	}
}

func TestValidateNamesWhatKeepsAHookFromRunning(t *testing.T) {
	for _, tc := range []struct {
		hook Hook
		want string
	}{
		{Hook{}, "hook has no command: give an argument list"},
		{Hook{Argv: []string{"x"}, Timeout: -1}, "hook x: timeout -1ns is negative"},
		{Hook{Argv: []string{"x"}, Contract: ContractMHA}, "hook x: contract mha needs script: master_ip_failover, shutdown, report or master_ip_online_change"},
		{Hook{Argv: []string{"/a/master_ip_failover.pl"}, Contract: ContractMHA}, ""},
		{Hook{Argv: []string{"x"}, Contract: ContractMHA, Script: MHAReport}, ""},
	} {
		got := ""
		if err := tc.hook.Validate(); err != nil {
			got = err.Error()
		}
		if got != tc.want {
			t.Errorf("%+v: %q, want %q", tc.hook, got, tc.want)
		}
	}
}
