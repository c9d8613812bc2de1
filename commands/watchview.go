package commands

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"failwise/failover/watch"
	"failwise/rules"
)

// watchView shows what a watcher says: coloured lines above a status block on a
// terminal, one structured line an event in a pipe.
type watchView struct {
	mu    sync.Mutex
	out   io.Writer
	paint painter
	log   *slog.Logger // in a pipe
	width func() int   // on a terminal
	block []string     // the status block
	drawn int          // its lines on the screen
	many  bool         // lines name their cluster
}

func (in *invocation) newWatchView(format string) *watchView {
	v := &watchView{out: in.Out, paint: in.paint(Stdout)}
	switch {
	case format == "json":
		v.log = slog.New(slog.NewJSONHandler(in.Out, nil))
	case !in.IsTerminal(Stdout):
		v.log = slog.New(slog.NewTextHandler(in.Out, nil))
	default:
		v.width = func() int { return in.Width(Stdout) }
	}
	return v
}

// notice shows one notice of the only cluster.
func (v *watchView) notice(n watch.Notice) { v.noticeOf("", n) }

// noticeOf shows one notice of a cluster.
func (v *watchView) noticeOf(cluster string, n watch.Notice) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.log != nil {
		v.record(cluster, n)
		return
	}
	v.erase()
	for _, line := range v.lines(cluster, n) {
		fmt.Fprintln(v.out, line)
	}
	v.draw()
}

// record writes a notice as one structured line.
func (v *watchView) record(cluster string, n watch.Notice) {
	r := slog.NewRecord(n.Time, n.Level, n.Text, 0)
	if v.many {
		r.AddAttrs(slog.String("cluster", cluster))
	}
	r.AddAttrs(slog.String("event", n.Kind))
	if n.Node != "" {
		r.AddAttrs(slog.String("node", n.Node), slog.String("state", n.State.String()))
	}
	if n.Outcome != 0 {
		r.AddAttrs(slog.String("outcome", n.Outcome.String()))
	}
	if n.Event != nil && n.Event.Reason != 0 {
		r.AddAttrs(slog.String("reason", n.Event.Reason.String()))
	}
	_ = v.log.Handler().Handle(context.Background(), r) // a closed pipe ends the process by SIGPIPE
}

// clusterColumns is the room for a cluster's name where there are many.
const clusterColumns = 14

// lines lays a notice out for a terminal: time, cluster if there are many, node,
// what, text; long texts go on below themselves.
func (v *watchView) lines(cluster string, n watch.Notice) []string {
	indent := 28
	head := n.Time.Local().Format("15:04:05")
	if v.many {
		indent += clusterColumns + 1
		head += fmt.Sprintf(" %-*s", clusterColumns, nodeName(cluster, clusterColumns))
	}
	head += fmt.Sprintf(" %-8s %-9s", clip(n.Node, 8), clip(n.Kind, 9))
	text := n.Text
	if n.Outcome != 0 && n.Kind == "probe" {
		text = n.Outcome.String() + ": " + text
	}
	var out []string
	for i, part := range wrap(text, max(36, v.columns()-indent)) {
		switch {
		case n.Level >= slog.LevelError:
			part = v.paint.red(part)
		case n.Node != "" && (n.Kind == "probe" || n.Kind == "alarm" || n.Kind == "heal"):
			part = v.paint.state(n.State, part)
		case n.Level >= slog.LevelWarn:
			part = v.paint.yellow(part)
		}
		if i == 0 {
			out = append(out, v.paint.dim(head)+" "+part)
		} else {
			out = append(out, strings.Repeat(" ", indent)+part)
		}
	}
	return out
}

func (v *watchView) columns() int {
	if v.width == nil {
		return 80
	}
	if w := v.width(); w > 0 {
		return w
	}
	return 80
}

// run keeps the status block of a watcher fresh until ctx ends.
func (v *watchView) run(ctx context.Context, w *watch.Watcher) { v.refresh(ctx, v.blockOf(w)) }

// blockOf is how the status block of a watcher is made.
func (v *watchView) blockOf(w *watch.Watcher) func(context.Context) []string {
	return func(ctx context.Context) []string {
		s, err := w.Snapshot(ctx)
		if err != nil {
			return nil
		}
		return statusBlock(s, v.paint, v.columns())
	}
}

// refresh keeps the status block fresh until ctx ends; where block is nil the one
// before stays.
func (v *watchView) refresh(ctx context.Context, block func(context.Context) []string) {
	if v.log != nil {
		<-ctx.Done()
		return
	}
	ticker := time.NewTicker(blockEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			v.mu.Lock()
			v.erase()
			v.block = nil
			v.mu.Unlock()
			return
		case <-ticker.C:
		}
		lines := block(ctx)
		if lines == nil {
			continue
		}
		v.mu.Lock()
		v.erase()
		v.block = lines
		v.draw()
		v.mu.Unlock()
	}
}

// print writes lines once, above the block.
func (v *watchView) print(lines []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.erase()
	for _, line := range lines {
		fmt.Fprintln(v.out, line)
	}
	v.draw()
}

// erase removes the block from the screen.
func (v *watchView) erase() {
	if v.drawn > 0 {
		fmt.Fprintf(v.out, "\r\x1b[%dA\x1b[J", v.drawn)
		v.drawn = 0
	}
}

// draw puts the block at the bottom. Its lines never wrap: each is as wide as the
// screen at most.
func (v *watchView) draw() {
	for _, line := range v.block {
		fmt.Fprintln(v.out, line)
	}
	v.drawn = len(v.block)
}

// say writes a line that is no notice, above the block.
func (v *watchView) say(to io.Writer, text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.erase()
	fmt.Fprintln(to, text)
	v.draw()
}

// clip shortens a word to n columns.
func clip(s string, n int) string {
	runes := []rune(s)
	if len(runes) <= n {
		return s
	}
	return string(runes[:n-1]) + "…"
}

// wrap breaks text at blanks into lines of at most width columns; line breaks in
// it stay.
func wrap(text string, width int) []string {
	var out []string
	for _, paragraph := range strings.Split(text, "\n") {
		line := ""
		for _, word := range strings.Fields(paragraph) {
			switch {
			case line == "":
				line = word
			case len([]rune(line))+1+len([]rune(word)) > width:
				out = append(out, line)
				line = word
			default:
				line += " " + word
			}
		}
		out = append(out, line)
	}
	return out
}

// sparkline draws states as one column for each few seconds, the worst of them.
func sparkline(history []rules.State, columns int, paint painter) string {
	if columns <= 0 || len(history) == 0 {
		return ""
	}
	glyph := map[rules.State]string{rules.Online: "▁", rules.Unknown: "▂", rules.Suspect: "▄", rules.Timeout: "▆", rules.Stopped: "█"}
	var b strings.Builder
	for c := range columns {
		from, to := c*len(history)/columns, (c+1)*len(history)/columns
		worst := rules.StateUnset
		for _, s := range history[from:to] {
			if s.Worse(worst) {
				worst = s
			}
		}
		if worst == rules.StateUnset {
			b.WriteString(" ")
			continue
		}
		b.WriteString(paint.state(worst, glyph[worst]))
	}
	return b.String()
}
