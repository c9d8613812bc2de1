package replay_test

import (
	"path/filepath"
	"testing"

	"failwise/failover/replay"
)

// Every scenario file under testdata/scenarios passes.
func TestScenariosPass(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "scenarios", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenario files: %v", err)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			f, err := replay.Load(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, test := range f.Tests {
				t.Run(test.Name, func(t *testing.T) {
					res, err := test.Run()
					if err != nil {
						t.Fatal(err)
					}
					for _, fail := range res.Failures {
						t.Errorf("%s:%d: expected %s: %s", test.File, fail.Line, fail.Expected, fail.Happened)
						for _, ev := range fail.Around {
							t.Logf("%10s %s", ev.At, replay.Line(ev))
						}
					}
				})
			}
		})
	}
}
