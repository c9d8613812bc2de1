package lint

import (
	"fmt"

	"failwise/rules"
)

var fw207 = Check{
	Code:     "FW207",
	Severity: Warning,
	Title:    "blocked write made fatal",
	What:     "`write_timeout` or `disk_full` fails the node.",
	Why: "A write that does not return is most often waiting for a lock, for a backup, or for the " +
		"acknowledgement of a replica that is gone; a failover cures none of these and loses the session " +
		"that could be asked. A full disk comes along: replicas store the same data on disks of the same " +
		"size.",
	Fix: "`alert`, which names the state that the write is waiting in.",
	Bad: `write_timeout.state     = timeout
write_timeout.threshold = 6
write_timeout.action    = fail
`,
	Good: `write_timeout.state     = timeout
write_timeout.threshold = 12
write_timeout.action    = alert
`,
	run: func(p *pass) {
		reasons := map[rules.Outcome]string{
			rules.WriteTimeout: "a metadata lock, a backup lock or a commit that waits for a replica looks the same",
			rules.DiskFull:     "the replicas store the same data, on disks that are often as full",
		}
		for _, v := range p.doc.Overrides {
			if reason, ok := reasons[v.Outcome]; ok && v.Rule.Fatal() {
				f := p.at(v, rules.AttributeAction, fmt.Sprintf("%s fails a node that still answers reads", v.Outcome), "action alert")
				f.Risks = append(f.Risks, reason)
			}
		}
	},
}
