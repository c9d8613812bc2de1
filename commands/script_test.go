package commands

import (
	"flag"
	"os"
	"path/filepath"
	"runtime/pprof"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite golden files")

// TestMain lets the scripts call failwise: the test binary runs as it.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"failwise": func() {
			os.Exit(profiled(func() int {
				return Main(os.Args, OS(Build{Version: "1.2.3", Commit: "abc", Date: "2026-01-02"}))
			}))
		},
		"fakes": runFakes,
	})
}

// profiled ends the CPU profile that FAILWISE_TEST_PROFILE asks for: a file for that
// of the program, which benchmarks run as a process of its own.
func profiled(run func() int) int {
	path := os.Getenv("FAILWISE_TEST_PROFILE")
	if path == "" {
		return run()
	}
	f, err := os.Create(path)
	if err != nil {
		panic(err)
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		panic(err)
	}
	defer pprof.StopCPUProfile()
	return run()
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("XDG_CONFIG_HOME", filepath.Join(env.WorkDir, "xdg-config"))
			env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, "xdg-state"))
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":   exits,
			"refused": refusedAddress,
			"server":  startServer,
		},
	})
}
