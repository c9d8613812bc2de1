package commands

import (
	"context"
	"fmt"
	"time"

	"failwise/failover/journal"
)

func quotaCommand() *command {
	return &command{
		name:     "quota",
		operands: "[reset]",
		summary:  "show or reset the number of automatic failovers left",
		about: "The key quota bounds how many automatic failovers may happen until somebody has looked: 0 is no bound.\n" +
			"A running watcher takes a reset in within a second.",
		examples: []example{
			{"quota", "how many were used"},
			{"quota reset", "after the cause was mended"},
		},
		max:    1,
		values: func(*invocation) []string { return []string{"reset"} },
		run:    runQuota,
	}
}

// quotaView is the JSON output of quota.
type quotaView struct {
	Cluster  string `json:"cluster"`
	Quota    int    `json:"quota"`
	Used     int    `json:"used"`
	Refill   string `json:"refill"`
	Refilled string `json:"refilled,omitempty"`
}

func runQuota(ctx context.Context, in *invocation) error {
	c, err := in.cluster()
	if err != nil {
		return err
	}
	var s journal.State
	switch in.Operand(0) {
	case "":
		s, err = in.loadState(ctx, c)
	case "reset":
		s, err = in.changeState(ctx, c, func(s *journal.State) error {
			s.QuotaUsed, s.QuotaRefilled = 0, time.Now()
			return nil
		})
	default:
		return usagef("quota takes reset or nothing, not %q", in.Operand(0))
	}
	if err != nil {
		return err
	}
	view := quotaView{Cluster: c.Name, Quota: c.Timings.Quota, Used: s.QuotaUsed, Refill: c.QuotaRefill.String(), Refilled: jsonTime(s.QuotaRefilled)}
	if in.JSON() {
		return in.printJSON(view)
	}
	text := "no quota: any number of automatic failovers"
	if view.Quota > 0 {
		text = fmt.Sprintf("%d of %d automatic failovers used, refill %s", view.Used, view.Quota, view.Refill)
	}
	if !s.QuotaRefilled.IsZero() {
		text += ", last reset " + s.QuotaRefilled.Local().Format("2006-01-02 15:04:05")
	}
	_, err = fmt.Fprintf(in.Out, "cluster %s: %s\n", c.Name, text)
	return err
}
