package lint

import "failwise/rules"

var fw213 = Check{
	Code:     "FW213",
	Severity: Warning,
	Title:    "nothing instant left",
	What:     "`socket_io_error` is overridden so that it never fails a node.",
	Why: "A refused connection is the one outcome that is quick and sharp: with it out of play the death " +
		"of a server process is noticed by nothing, since a dead process never times out.",
	Fix: "Keep it fatal; a threshold of one or two ticks rides through a fast restart.",
	Bad: `socket_io_error.state     = stopped
socket_io_error.threshold = -1
socket_io_error.action    = none
`,
	Good: `socket_io_error.state     = stopped
socket_io_error.threshold = 2
socket_io_error.action    = fail
`,
	run: func(p *pass) {
		if p.overridden(rules.SocketIOError) && !p.rules.Fatal(rules.SocketIOError) {
			p.rule(rules.SocketIOError, rules.AttributeAction, "socket_io_error is not fatal: a server process that died is never failed over",
				"action fail with threshold 0, or 1 or 2 to ride through a restart")
		}
	},
}
