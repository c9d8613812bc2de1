package watch

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"failwise/failover"
	"failwise/failover/promote"
	"failwise/failover/sandbox"
)

// BenchmarkKillToFirstWrite measures a whole failover by the shipped rules, with
// nothing to catch up: from SIGKILL of the primary to the first committed write on
// the new one, as the watcher proves it (…/prove) and as a client that tries all
// nodes in turn sees it (…/client). Run it with -benchtime=20x or more.
func BenchmarkKillToFirstWrite(b *testing.B) {
	for _, flavour := range sandbox.Flavours() {
		b.Run(flavour.String(), func(b *testing.B) {
			var (
				prove, client []time.Duration
				slowest       string
			)
			for b.Loop() {
				p, c, said := killOnce(b, flavour)
				prove, client = append(prove, p), append(client, c)
				if p == slices.Max(prove) {
					slowest = said
				}
			}
			b.ReportMetric(0, "ns/op")
			b.Logf("the slowest run:%s", slowest)
			report(b, "prove", prove)
			report(b, "client", client)
		})
	}
}

func report(b *testing.B, what string, times []time.Duration) {
	slices.Sort(times)
	at := func(q float64) float64 {
		return float64(times[min(len(times)-1, int(q*float64(len(times))))].Microseconds()) / 1000
	}
	b.ReportMetric(at(0), what+"-min-ms")
	b.ReportMetric(at(0.5), what+"-median-ms")
	b.ReportMetric(at(0.9), what+"-p90-ms")
	b.ReportMetric(at(1), what+"-max-ms")
}

// killOnce kills the primary of a fresh idle cluster under a watcher. It also gives
// what the watcher said, with the time since the kill.
func killOnce(b *testing.B, flavour sandbox.Flavour) (prove, client time.Duration, said string) {
	b.Helper()
	b.StopTimer()
	defer b.StartTimer()
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	c, err := sandbox.New(ctx, sandbox.Options{Flavour: flavour, SemiSync: true})
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			b.Error(err)
		}
	}()
	promoted, proved := make(chan struct{}, 1), make(chan time.Time, 1)
	cfg := labConfig(b, c, filepath.Join(b.TempDir(), "lab"))
	var notices []Notice
	cfg.Notify = func(n Notice) {
		notices = append(notices, n)
		switch {
		case n.Step != nil && n.Step.Step == promote.Prove && n.Step.State == promote.StepDone:
			proved <- n.Step.Time
		case n.Event != nil && n.Event.Kind == failover.Promoted:
			promoted <- struct{}{}
		}
	}
	w, err := New(cfg)
	if err != nil {
		b.Fatal(err)
	}
	ran := make(chan error, 1)
	watching, stop := context.WithCancel(ctx)
	go func() {
		_, err := w.Run(watching)
		ran <- err
	}()
	var killed time.Time
	defer func() {
		stop()
		if err := <-ran; err != nil {
			b.Error(err)
		}
		for _, n := range notices {
			said += fmt.Sprintf("\n%8.1f ms %s %s", float64(n.Time.Sub(killed).Microseconds())/1000, n.Node, n.Text)
		}
	}()
	writer := c.StartWriter(ctx, sandbox.WriterOptions{Pause: 20 * time.Millisecond, Retry: 50 * time.Millisecond})
	time.Sleep(2 * time.Second) // sessions are warm, the topology was read
	killed = time.Now()
	if err := c.Node(0).Kill(ctx); err != nil {
		b.Fatal(err)
	}
	select {
	case <-promoted:
	case <-time.After(60 * time.Second):
		b.Fatal(fmt.Errorf("no promotion within a minute"))
	}
	prove = (<-proved).Sub(killed)
	time.Sleep(300 * time.Millisecond)
	if err := writer.Stop(); err != nil {
		b.Fatal(err)
	}
	for _, a := range writer.Acks() {
		if a.Node != c.Node(0) {
			client = a.At.Sub(killed)
			break
		}
	}
	return prove, client, said
}
