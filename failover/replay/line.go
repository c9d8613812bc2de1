package replay

import (
	"fmt"
	"strings"

	"failwise/failover"
)

// Line writes an event on one line, without its time.
func Line(ev failover.Event) string {
	var b strings.Builder
	b.WriteString(ev.Kind.String())
	if ev.Node != "" {
		b.WriteString(" " + ev.Node)
	}
	switch ev.Kind {
	case failover.AlarmRaised, failover.Healed:
		b.WriteString(" " + ev.Outcome.String())
	case failover.Expired, failover.Alerted:
		fmt.Fprintf(&b, " %s count=%d", ev.Outcome, ev.Count)
	case failover.SettleBegan:
		if ev.Count > 0 {
			fmt.Fprintf(&b, " restart=%d because of %s", ev.Count, ev.Peer)
		}
	case failover.Held:
		fmt.Fprintf(&b, " %s", ev.Reason)
		if ev.Peer != "" {
			b.WriteString(" " + ev.Peer)
		}
	case failover.Promoted:
		if ev.Peer != "" {
			b.WriteString(" in place of " + ev.Peer)
		}
	case failover.PromotionEnded:
		fmt.Fprintf(&b, " attempt=%d", ev.Count)
	case failover.PolicyChanged:
		if ev.Policy != nil {
			b.WriteString(" " + ev.Policy.String())
		}
	default:
	}
	if ev.Detail != "" {
		b.WriteString(" (" + ev.Detail + ")")
	}
	return b.String()
}
