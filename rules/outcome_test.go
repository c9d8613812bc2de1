package rules

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhatAnOutcomeProves(t *testing.T) {
	for name, tc := range map[string]struct {
		is   func(Outcome) bool
		want string
	}{
		"does not reach the node": {
			func(o Outcome) bool { return !o.Reached() },
			"socket_connect_timeout no_route_to_host host_is_down unknown_host open_file_limit_error unexpected_exception " +
				"untrapped_condition undefined network_unreachable not_online",
		},
		"alive": {
			Outcome.Alive,
			"ok send_query_timeout query_exec_timeout query_results_timeout too_many_connections wrong_credentials mysql_error " +
				"query_execution_failed query_result_failed query_too_large read_only disk_full storage_error write_timeout",
		},
		"up to the login": {
			Outcome.UpToLogin,
			"socket_io_error socket_connect_timeout login_response_timeout no_route_to_host host_is_down unknown_host " +
				"too_many_connections wrong_credentials mysql_error mysql_premature_eof socket_no_io network_unreachable tls_error",
		},
		"of the statement": {
			Outcome.OfStatement,
			"send_query_timeout query_exec_timeout query_results_timeout query_execution_failed query_result_failed query_too_large",
		},
		"of the insert probe": {Outcome.OfInsert, "read_only disk_full storage_error write_timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, o := range Outcomes() {
				if tc.is(o) {
					got = append(got, o.String())
				}
			}
			if diff := cmp.Diff(tc.want, strings.Join(got, " ")); diff != "" {
				t.Error(diff)
			}
		})
	}
	for _, o := range []Outcome{0, outcomeEnd, 255} {
		if o.Valid() || o.Reached() || o.Alive() || o.UpToLogin() || o.OfStatement() || o.OfInsert() {
			t.Errorf("outcome %d proves something", uint8(o))
		}
	}
}
