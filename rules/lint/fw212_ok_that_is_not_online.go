package lint

import (
	"fmt"

	"failwise/rules"
)

var fw212 = Check{
	Code:     "FW212",
	Severity: Error,
	Title:    "ok that is not online",
	What:     "The state of `ok` is not `online`.",
	Why: "Then no probe is ever good: nothing heals, no replica is eligible, and every alarm that was " +
		"raised once expires.",
	Fix: "Delete the rule of `ok`.",
	Bad: `ok.state     = suspect
ok.threshold = -1
ok.action    = none
`,
	Good: `# ok keeps the rule it has
`,
	run: func(p *pass) {
		if r := p.rules.Rule(rules.OK); r.State != rules.Online {
			p.rule(rules.OK, rules.AttributeState, fmt.Sprintf("ok is %s: nothing ever heals", r.State), "ok.state = online")
		}
	},
}
