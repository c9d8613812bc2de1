package config

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestBadConfigurations holds the exact message and hint of each mistake.
func TestBadConfigurations(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"clusers: {}", "1:1: unknown key clusers; did you mean clusters?"},
		{"clusters: {p: {nodes: [a], intervall: 1s}}", "1:28: unknown key intervall; did you mean probe.interval?"},
		{"clusters: {p: {nodes: [a], interval: 1s}}", "1:28: unknown key interval; did you mean probe.interval?"},
		{"clusters: {p: {nodes: [a], probe: {budgett: 1s}}}", "1:36: unknown key probe.budgett; did you mean probe.budget?"},
		{"clusters: {p: {nodes: [a], password: x}}", "1:28: unknown key password; a password does not belong in this file; use password_file or password_command"},
		{"tick: 10s", "1:1: unknown key tick here; tick belongs below clusters.NAME or defaults"},
		{"probe: {interval: 1s}", "1:1: unknown key probe here; probe belongs below clusters.NAME or defaults"},
		{"clusters: {prod: {state_dir: /x}}", "1:19: unknown key state_dir here; state_dir belongs at the top of the file: it is one for all clusters"},
		{"clusters: {prod: {watcher: {name: x}}}", "1:19: unknown key watcher here; watcher belongs at the top of the file: it is one for all clusters"},
		{"clusters: {prod: {monitor: {user: x}}}", "1:19: unknown key monitor; the monitoring account is user and password_file (or password_command) of the cluster itself"},
		{"clusters: {p: {nodes: [a], tick: 10}}", `1:34: tick: "10" has no unit; write 10s`},
		{"clusters: {p: {nodes: [a], tick: 0s}}", "1:34: tick: it must be longer than 0"},
		{"clusters: {p: {nodes: [a], tick: soon}}", `1:34: tick: "soon" is no duration; write 10s, 250ms or 2h`},
		{"clusters: {p: {nodes: [a], tick: -1s}}", `1:34: tick: "-1s" is negative`},
		{"journal: {max_size: 31}", "1:21: journal.max_size: a journal takes at least 32 MB; 0 is no bound"},
		{"clusters: {p: {nodes: [a], quota: many}}", `1:35: quota: "many" is no count (0 to 2147483647)`},
		{"clusters: {p: {nodes: [a], enforce_read_only: yes}}", `1:47: enforce_read_only: "yes" is neither true nor false`},
		{"clusters: {p: {nodes: [a], policy: autmatic}}", `1:36: policy: "autmatic" is not one of automatic, manual, maintenance; did you mean automatic?`},
		{"clusters: {p: {nodes: [a], probe: {types: [conect]}}}", `1:43: probe.types: "conect" is not one of connect, select, insert; did you mean connect?`},
		{"clusters: {p: {nodes: [a], password_command: pass show}}", `1:46: password_command: write the program and its arguments as a list: ["/usr/bin/pass", "show", "failwise"]`},
		{"clusters: {p: {nodes: [a], user: }}", "1:28: user has no value"},
		{"clusters: {p: {nodes: [a], user: [b]}}", "1:34: user: it must be a text"},
		{"clusters: {p: {user: a}}", "1:12: cluster p has no nodes"},
		{"clusters: {p: {nodes: []}}", "1:23: nodes must be a list of servers; nodes: [db1, db2:3307]"},
		{"clusters: {p: {nodes: [a, a]}}", "1:27: two nodes are called a:3306"},
		{"clusters: {p: {nodes: [a, {name: b, host: a}]}}", "1:27: nodes a:3306 and b have the same address a:3306"},
		{"clusters: {p: {nodes: [{name: a, promot: never}]}}", "1:34: node has no field promot; did you mean promote?"},
		{"clusters: {p: {nodes: [{name: a, promote: nevr}]}}", `1:43: node: promote: "nevr" is not one of neutral, prefer, never; did you mean never?`},
		{"clusters: {p: {nodes: [{name: a, port: 70000}]}}", `1:40: node: port: "70000" is no port (1 to 65535)`},
		{"clusters: {p q: {nodes: [a]}}", `1:12: cluster name "p q" must be up to 64 letters, digits, - and _`},
		{"clusters: {p: {nodes: [a]}, p: {nodes: [b]}}", "1:29: p is set twice, first on line 1"},
		{"clusters: {p: {nodes: [a], ssl_cert: c}}", "1:28: ssl_cert and ssl_key must be given together"},
		{"clusters: {p: {nodes: [a], password_file: c, password_command: [d]}}", "1:46: password_file and password_command are both set"},
		{"clusters: {p: {nodes: [a], hooks: {fenc: [x]}}}", "1:36: hooks has no field fenc; did you mean fence?"},
		{"clusters: {p: {nodes: [a], lock: nfs}}", `1:34: lock must be "file" or a block etcd, not "nfs"`},
		{"clusters: {p: {nodes: [a], lock: {etcd: {ttl: 5s}}}}", "1:41: lock: etcd: it has no endpoints"},
		{"clusters: {p: {nodes: [a], quota_refill: never}}", `1:42: quota_refill: "never" is not manual, recovered or a duration such as 24h`},
		{"defaults: {nodes: [a]}", "1:19: defaults cannot have nodes"},
		{"clusters: [a]", "1:11: clusters must be a block of keys"},
		{"a: b: c", "1:1: not valid YAML: mapping values are not allowed in this context"},
		{"clusters: {}\n---\nclusters: {}", "1:1: the file holds more than one document; write all clusters below clusters"},
		{"clusters: {p: {<<: {nodes: [a]}}}", "1:16: merge keys (<<) are not supported; put what clusters share below defaults"},
	} {
		_, err := load(t, c.text)
		var wrong *Error
		if !errors.As(err, &wrong) {
			t.Errorf("%s: %v, want an *Error", c.text, err)
			continue
		}
		first := wrong.Problems[0]
		got := strings.TrimPrefix(first.String(), first.Source+":")
		if first.Hint != "" {
			got += "; " + first.Hint
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s:\n%s", c.text, diff)
		}
		if !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: not ErrInvalid", c.text)
		}
	}
}
