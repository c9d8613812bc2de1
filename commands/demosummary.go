package commands

import (
	"context"
	"fmt"
	"strings"
	"time"

	"failwise/failover"
	"failwise/failover/sandbox"
	"failwise/failover/watch"
)

// sumUp says what happened, from the witnesses: the probes, the rules, the
// client that wrote, and the servers themselves.
func (d *demo) sumUp(ctx context.Context, promoted bool) {
	p := d.in.paint(Stdout)
	var text strings.Builder
	defer func() { d.view.say(d.in.Out, strings.TrimRight(text.String(), "\n")) }()
	say := func(label, format string, args ...any) {
		for i, line := range wrap(fmt.Sprintf(format, args...), 62) {
			if i > 0 {
				label = ""
			}
			fmt.Fprintf(&text, "  %-14s %s\n", label, line)
		}
	}
	fmt.Fprintf(&text, "\n%s\n", p.bold(fmt.Sprintf("Summary: %s on the primary %s (%s %s)",
		d.fault.Name, d.cluster.Node(0).Name(), d.cluster.Flavour(), d.cluster.Version())))
	after := func(n watch.Notice) string { return n.Time.Sub(d.broken).Round(time.Millisecond).String() }
	if n, ok := d.find(func(n watch.Notice) bool { return n.Kind == "probe" && n.Node == d.cluster.Node(0).Name() }); ok {
		say("probe saw", "%s after %s: %s", n.Outcome, after(n), n.Text)
	}
	if n, ok := d.find(isEvent(failover.AlarmRaised)); ok {
		say("rule", "%s", n.Text)
	}
	if n, ok := d.find(isEvent(failover.FailoverDecided)); ok {
		say("decided", "after %s: %s", after(n), n.Text)
	} else if n, ok := d.find(isEvent(failover.Held)); ok {
		say("held", "%s", n.Text)
	} else if !promoted {
		say("decided", "nothing: the rules fail nothing over for this")
	}
	final := d.cluster.Node(0)
	if n, ok := d.find(isEvent(failover.Promoted)); ok {
		for _, node := range d.cluster.Nodes() {
			if node.Name() == n.Node {
				final = node
			}
		}
		say("promoted", "%s, all done after %s", n.Node, after(n))
		if n, ok := d.find(func(n watch.Notice) bool { return n.Kind == "note" && strings.HasPrefix(n.Text, "failover of") }); ok {
			say("result", "%s", n.Text)
		}
	} else {
		say("promoted", "nobody")
	}
	d.sumUpWrites(ctx, final.Name(), promoted, say)
	for _, node := range d.cluster.Nodes() {
		say("", "%s", d.place(ctx, node.Name()))
	}
}

// sumUpWrites counts what the client lost and how long it had to wait.
func (d *demo) sumUpWrites(ctx context.Context, final string, promoted bool, say func(string, string, ...any)) {
	acknowledged, sent := d.writer.Count()
	if ack, ok := d.firstOn(final); ok && promoted {
		longest := time.Duration(0)
		for _, o := range d.writer.Outages(time.Millisecond) {
			if o.To.After(d.broken) {
				longest = max(longest, o.To.Sub(o.From))
			}
		}
		say("writes", "out for %s (the first on %s %s after the fault); %d rows sent, %d acknowledged",
			longest.Round(time.Millisecond), ack.Node.Name(), ack.At.Sub(d.broken).Round(time.Millisecond), sent, acknowledged)
	} else {
		say("writes", "%d rows sent, %d acknowledged", sent, acknowledged)
	}
	limit, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for _, node := range d.cluster.Nodes() {
		if node.Name() != final || !promoted {
			continue
		}
		missing, err := d.writer.Missing(limit, node)
		if err != nil {
			say("lost", "could not be counted on %s: %v", final, err)
			continue
		}
		say("lost", "%d acknowledged rows missing on %s", len(missing), final)
	}
}

// firstOn is the first row that a node acknowledged after the fault.
func (d *demo) firstOn(node string) (sandbox.Ack, bool) {
	for _, a := range d.writer.Acks() {
		if a.Node.Name() == node && a.Sent.After(d.broken) {
			return a, true
		}
	}
	return sandbox.Ack{}, false
}

// place says what a node is now, as the server itself tells.
func (d *demo) place(ctx context.Context, name string) string {
	limit, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	for _, node := range d.cluster.Nodes() {
		if node.Name() != name {
			continue
		}
		if node.Pid() == 0 {
			return name + " is down"
		}
		var readOnly string
		if err := node.Root().QueryRowContext(limit, "SELECT @@global.read_only").Scan(&readOnly); err != nil {
			return name + " does not answer"
		}
		mode := "writable"
		if readOnly == "1" || strings.EqualFold(readOnly, "ON") {
			mode = "read-only"
		}
		r, err := node.Replication(limit)
		if err != nil || r.Source == "" {
			return fmt.Sprintf("%s is %s and follows nobody", name, mode)
		}
		source := r.Source
		if s := d.cluster.ByAddress(r.Source); s != nil {
			source = s.Name()
		}
		return fmt.Sprintf("%s is %s and follows %s (IO %s, SQL %s)", name, mode, source, r.IO, r.SQL)
	}
	return name
}
