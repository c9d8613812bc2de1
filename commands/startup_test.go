package commands

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"
)

// TestStartDoesLittle counts what the packages of this module allocate before main
// runs: a check that a monitoring system starts every few seconds pays for each
// table and regular expression that is made then. Make them constants, literals or
// sync.OnceValue.
func TestStartDoesLittle(t *testing.T) {
	const limit = 20 // objects of one package
	child := exec.Command(os.Args[0], "-test.run=^$")
	child.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := child.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// init failwise/rules @1.2 ms, 0.034 ms clock, 1256 bytes, 19 allocs
	lines := regexp.MustCompile(`(?m)^init (failwise/\S+) .* (\d+) allocs$`).FindAllStringSubmatch(string(out), -1)
	if len(lines) == 0 {
		t.Fatalf("no package of this module in\n%s", out)
	}
	for _, l := range lines {
		if l[1] == "failwise/commands" {
			continue // what its tests make at the start is counted with it
		}
		n, err := strconv.Atoi(l[2])
		if err != nil || n > limit {
			t.Errorf("%s allocates %s objects before main, more than %d", l[1], l[2], limit)
		}
	}
}
