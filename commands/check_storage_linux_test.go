package commands

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"failwise/check/storage/loopdisk"
)

// The scripts break a disk of their own with "disk FAULT" and mend it with
// "disk heal"; "within DURATION CODE PROGRAM [ARG…]" is "exits" with a time limit.
func TestStorageScripts(t *testing.T) {
	scripts, err := filepath.Glob(filepath.Join("testdata", "storage", "*.txtar"))
	if err != nil || len(scripts) == 0 {
		t.Fatal("no scripts: ", err)
	}
	for _, script := range scripts {
		t.Run(filepath.Base(script), func(t *testing.T) {
			disk := loopdisk.New(t, 16<<20)
			heal := func() {}
			testscript.Run(t, testscript.Params{
				Files:               []string{script},
				UpdateScripts:       *update,
				RequireExplicitExec: true,
				Setup: func(env *testscript.Env) error {
					env.Setenv("HOME", env.WorkDir)
					env.Setenv("DISK", disk.Dir)
					return nil
				},
				Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
					"exits":  exits,
					"within": within,
					"disk": func(ts *testscript.TestScript, _ bool, args []string) {
						switch args[0] {
						case "freeze":
							heal = disk.Freeze()
						case "throttle":
							heal = disk.Throttle(1)
						case "fill":
							heal = disk.Fill()
						case "read-only":
							heal = disk.ReadOnly()
						case "shut-down":
							disk.ShutDown()
						case "heal":
							heal()
						default:
							ts.Fatalf("unknown fault %s", args[0])
						}
					},
				},
			})
		})
	}
}

// within is the script command "within DURATION CODE PROGRAM [ARG…]". What the
// system takes to start the program at all, measured just before, comes on top, and
// a second for a machine that does something else, since a script tells what happens
// at one try. TestStorageChecksEndInTime holds the exact limit.
func within(ts *testscript.TestScript, neg bool, args []string) {
	limit, err := time.ParseDuration(args[0])
	ts.Check(err)
	begin := time.Now()
	exits(ts, false, []string{"0", args[2], "version"})
	start := time.Since(begin)
	begin = time.Now()
	exits(ts, neg, args[1:])
	if took := time.Since(begin); took > limit+start+time.Second {
		ts.Fatalf("took %s, limit %s and %s to start", took, limit, start)
	}
}
