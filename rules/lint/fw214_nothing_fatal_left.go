package lint

import "failwise/rules"

var fw214 = Check{
	Code:     "FW214",
	Severity: Warning,
	Title:    "nothing fatal left",
	What:     "No outcome fails a node.",
	Why: "The watcher will never fail over. If that is what is wanted, `policy manual` says it more " +
		"clearly: it still shows what would have happened.",
	Fix: "Make `socket_io_error` and the connect and login timeouts fatal, or use `failwise policy " +
		"manual`.",
	Bad: `socket_io_error.state     = stopped
socket_io_error.threshold = 0
socket_io_error.action    = alert
socket_connect_timeout.state     = timeout
socket_connect_timeout.threshold = 8
socket_connect_timeout.action    = alert
login_response_timeout.state     = timeout
login_response_timeout.threshold = 8
login_response_timeout.action    = alert
no_route_to_host.state     = suspect
no_route_to_host.threshold = 6
no_route_to_host.action    = alert
`,
	Good: `socket_connect_timeout.state     = timeout
socket_connect_timeout.threshold = 8
socket_connect_timeout.action    = alert
login_response_timeout.state     = timeout
login_response_timeout.threshold = 8
login_response_timeout.action    = alert
no_route_to_host.state     = suspect
no_route_to_host.threshold = 6
no_route_to_host.action    = alert
`,
	run: func(p *pass) {
		for _, o := range rules.Outcomes() {
			if p.rules.Fatal(o) {
				return
			}
		}
		p.whole("no outcome is fatal: nothing is ever failed over", "failwise policy manual, if that is what you want")
	},
}
