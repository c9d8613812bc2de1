package lint

import (
	"fmt"
	"time"

	"failwise/rules"
)

var fw305 = Check{
	Code:     "FW305",
	Severity: Warning,
	Title:    "replicas slower than the rules",
	What: "A replica notices the silence of its source later (`replica_net_timeout`, `slave_net_timeout`) " +
		"than the shortest fatal threshold above 0 expires. Needs `--live`.",
	Why: "Until then its IO thread still says that it is connected. Where replicas are only looked at " +
		"(`confirm.replicas: passive`), every one of them says that the primary is alive, and the " +
		"failover is held.",
	Fix: "`SET GLOBAL replica_net_timeout = 10` on each replica (`slave_net_timeout` on MariaDB), or a " +
		"heartbeat period of 1 s.",
	Bad: `login_response_timeout.state     = timeout
login_response_timeout.threshold = 12
login_response_timeout.action    = fail
`,
	Good: `login_response_timeout.state     = timeout
login_response_timeout.threshold = 12
login_response_timeout.action    = fail
`,
	Config: &Config{
		Timings:           rules.Timings{Tick: 10 * time.Second, ProbeInterval: 3 * time.Second, ProbeBudget: 5 * time.Second, SettleRestarts: 3, AgeLimit: 10 * time.Minute, Retry: time.Minute, Attempts: 3},
		ReplicaNetTimeout: 200 * time.Second,
	},
	Mended: &Config{Timings: usual, ReplicaNetTimeout: 10 * time.Second},
	run: func(p *pass) {
		if p.config == nil || p.config.ReplicaNetTimeout == 0 {
			return
		}
		o, ok := p.shortestFuse(1)
		if !ok {
			return
		}
		fuse := p.timings.Ticks(p.rules.Rule(o).Threshold)
		if p.config.ReplicaNetTimeout > fuse {
			p.whole(fmt.Sprintf("replica_net_timeout of %s is longer than the threshold of %s, %s",
				span(p.config.ReplicaNetTimeout), o, span(fuse)),
				fmt.Sprintf("SET GLOBAL replica_net_timeout = %d (slave_net_timeout on MariaDB)", max(1, int(fuse.Seconds()/3))))
		}
	},
}
