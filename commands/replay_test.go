package commands

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What docs/testing-rules.md shows of the storage stall is what the commands print.
func TestReplayExamplesInTheDocsAreTrue(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "docs", "testing-rules.md"))
	if err != nil {
		t.Fatal(err)
	}
	incident := filepath.Join("..", "failover", "replay", "testdata", "incident")
	ran := 0
	for _, block := range regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatch(string(doc), -1) {
		for _, step := range strings.Split("\n"+block[1], "\n$ ")[1:] {
			line, want, _ := strings.Cut(step, "\n")
			words := strings.Fields(line)
			for i, w := range words {
				if strings.HasSuffix(w, ".csv") || strings.HasSuffix(w, ".properties") {
					words[i] = filepath.Join(incident, w)
				}
			}
			var got string
			switch {
			case words[0] == "cat":
				b, err := os.ReadFile(words[1])
				if err != nil {
					t.Fatal(err)
				}
				got = string(b)
			case words[1] == "replay":
				got = runReplay(t, words)
			default:
				continue
			}
			ran++
			if diff := cmp.Diff(strings.TrimSuffix(want, "\n"), strings.TrimSuffix(got, "\n")); diff != "" {
				t.Errorf("%s (-docs +real):\n%s", line, diff)
			}
		}
	}
	if ran < 4 {
		t.Errorf("only %d examples were found", ran)
	}
}

func runReplay(t *testing.T, words []string) string {
	t.Helper()
	var out, errs bytes.Buffer
	p := OS(Build{})
	p.Out, p.Err = &out, &errs
	p.IsTerminal = func(Stream) bool { return false }
	p.Getenv = func(string) string { return "" }
	if code := Main(words, p); code != 0 {
		t.Fatalf("%v: exit code %d, %s", words, code, errs.String())
	}
	return out.String()
}
