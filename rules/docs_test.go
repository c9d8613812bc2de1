package rules

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write docs/outcomes.md anew")

const outcomesIntro = `# Outcomes

A probe ends in exactly one outcome. It is decided by the number of an error, then by the phase in which it arrived,
never by the text of a message. ` + "`failwise explain OUTCOME`" + ` tells what follows from one under your rules, and
` + "`failwise explain --errno 1040`" + ` which one a number leads to. The rule is state, threshold in ticks of 10 s, and action;
docs/rules.md shows how to change it.

The outcomes up to undefined are Tungsten's.

| outcome | cause | numbers | shipped rule | how to reproduce it |
|---|---|---|---|---|
`

const outcomesOutro = `
## What an outcome proves

- **The network to the node works:** %s.
- **The server process lives:** %s.
  All but ok neither count towards an alarm of an outcome that calls the node unreachable, nor clear it.
- **Neither:** %s.

Replicas and routes are asked to confirm outcomes up to the login only, since a hung server still answers a TCP check:
%s.

## Numbers

A server error number decides wherever it arrives. Those of the insert probe (%s) count only
in answer to its statement; 1015 only with error 165 in its message, 3, 1026 and 1030 only with the operating system's
28 or 122 (disk_full), 5 or 30 (storage_error). 1227 means wrong_credentials before the statement, where an
administrative port sends it. Every other number is mysql_error before the statement and query_execution_failed in
answer to it.

1317, 1927, 2006, 2013, 3169 and 4031 say that the session was ended: the probe tries once more at once, and that result
counts. So does a connection that breaks after a good login.

On a unix socket a missing file is unknown_host (a wrong path), or socket_io_error once this path has answered; a full
backlog (EAGAIN) is socket_connect_timeout; a socket that may not be opened (EACCES) is unexpected_exception.
`

// outcomesMarkdown is docs/outcomes.md.
func outcomesMarkdown() string {
	var b strings.Builder
	b.WriteString(outcomesIntro)
	for _, o := range Outcomes() {
		var numbers []string
		for _, n := range ServerErrors(o) {
			numbers = append(numbers, fmt.Sprint(n))
		}
		numbers = append(numbers, Errnos(o)...)
		cell := strings.NewReplacer("|", `\|`)
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", o, cell.Replace(o.Cause()), strings.Join(numbers, ", "),
			Defaults().Rule(o), cell.Replace(descriptions[o].reproduce))
	}
	fmt.Fprintf(&b, outcomesOutro,
		keys(func(o Outcome) bool { return o.Reached() && !o.Alive() }),
		keys(Outcome.Alive),
		keys(func(o Outcome) bool { return !o.Reached() }),
		keys(Outcome.UpToLogin),
		"read_only, disk_full, storage_error, write_timeout")
	return b.String()
}

// keys lists the outcomes that f picks, without the words for no result.
func keys(f func(Outcome) bool) string {
	var all []string
	for _, o := range Outcomes() {
		if f(o) && o != NotOnline {
			all = append(all, o.String())
		}
	}
	return strings.Join(all, ", ")
}

func TestDocsOfOutcomes(t *testing.T) {
	const path = "../docs/outcomes.md"
	if *update {
		if err := os.WriteFile(path, []byte(outcomesMarkdown()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(outcomesMarkdown(), string(got)); diff != "" {
		t.Errorf("%s is out of date; run: go test ./rules -run Docs -update\n%s", path, diff)
	}
}

func TestEveryOutcomeIsDescribed(t *testing.T) {
	for _, o := range Outcomes() {
		if o.Cause() == "" || descriptions[o].reproduce == "" {
			t.Errorf("%s has no cause or no way to reproduce it", o)
		}
		if strings.HasSuffix(o.Cause(), ".") {
			t.Errorf("the cause of %s ends in a full stop", o)
		}
	}
	if Outcome(0).Cause() != "" || outcomeEnd.Cause() != "" {
		t.Error("an invalid outcome has a cause")
	}
}
