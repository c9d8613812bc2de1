package commands

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite golden files")

// TestMain lets the scripts call failwise: the test binary runs as it.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"failwise": func() { os.Exit(Main(os.Args, OS(Build{Version: "1.2.3", Commit: "abc", Date: "2026-01-02"}))) },
	})
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
