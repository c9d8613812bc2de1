//go:build linux

package realtest

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"failwise/check"
	"failwise/failover/sandbox"
	"failwise/rules"
)

// restartWith restarts a node with one more line in its option file.
func restartWith(t *testing.T, n *sandbox.Node, before []byte, line string) {
	t.Helper()
	if err := n.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(optionFile(n), append(slices.Clone(before), line+"\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := n.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func optionFile(n *sandbox.Node) string { return filepath.Join(n.Dir(), "my.cnf") }

// TestServersThatStartReadOnly starts servers whose storage engine takes no writes
// although read_only is off.
func TestServersThatStartReadOnly(t *testing.T) {
	tests := []struct {
		setting        string
		mariadb, mysql uint16
	}{
		{"innodb_read_only=ON", 1036, 1015},
		{"innodb_force_recovery=5", 1836, 1036},
	}
	for _, flavour := range sandbox.Flavours() {
		t.Run(flavour.String(), func(t *testing.T) {
			c := sandbox.ForTest(t, sandbox.Options{Flavour: flavour, Nodes: 1})
			b := bed{Cluster: c, primary: c.Node(0)}
			expect(t, b.prober(t, b.primary, check.Insert, check.Options{}).Probe(t.Context()), rules.OK, 0)
			before, err := os.ReadFile(optionFile(b.primary))
			if err != nil {
				t.Fatal(err)
			}
			for _, tt := range tests {
				t.Run(tt.setting, func(t *testing.T) {
					restartWith(t, b.primary, before, tt.setting)
					want := tt.mariadb
					if flavour == sandbox.MySQL {
						want = tt.mysql
					}
					r := b.prober(t, b.primary, check.Insert, check.Options{}).Probe(t.Context())
					number(t, r, rules.ReadOnly, want)
					if r.Role == nil || r.Role.ReadOnly {
						t.Errorf("role %+v, want one that read_only does not keep from writing", r.Role)
					}
					expect(t, b.prober(t, b.primary, check.Connect, check.Options{}).Probe(t.Context()), rules.OK, 0)
				})
			}
		})
	}
}
