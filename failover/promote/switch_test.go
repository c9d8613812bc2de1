package promote_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"failwise/failover/promote"
	"failwise/failover/sandbox"
)

// load is several writers; four make 500 rows a second and more on a machine that
// is not busy with other things.
type load struct {
	writers []*sandbox.Writer
	begun   time.Time
}

func startLoad(t *testing.T, l *lab, writers int) *load {
	t.Helper()
	w := &load{begun: time.Now()}
	for range writers {
		w.writers = append(w.writers, l.StartWriter(bounded(t), sandbox.WriterOptions{Pause: time.Millisecond}))
	}
	return w
}

func (w *load) stop(t *testing.T) (rate float64) {
	t.Helper()
	total := 0
	for _, writer := range w.writers {
		if err := writer.Stop(); err != nil {
			t.Fatal(err)
		}
		n, _ := writer.Count()
		total += n
	}
	return float64(total) / time.Since(w.begun).Seconds()
}

func TestSwitchUnderLoadLosesNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, flavour sandbox.Flavour) {
		t.Run("semi-sync", func(t *testing.T) { switchUnderLoad(t, sandbox.Options{Flavour: flavour, SemiSync: true}, 10) })
		t.Run("asynchronous", func(t *testing.T) { switchUnderLoad(t, sandbox.Options{Flavour: flavour}, 2) })
	})
}

// switchUnderLoad switches to and fro under writers, and looks at the end that
// every acknowledged row is there.
func switchUnderLoad(t *testing.T, o sandbox.Options, times int) {
	l := newLab(t, o)
	// A busy machine lets replicas fall behind; that is not what is tried here.
	l.settings.MaxLag = time.Minute
	writers := 4
	if !o.SemiSync {
		// Nothing slows these down to what a replica can apply on a busy machine.
		writers = 1
	}
	work := startLoad(t, l, writers)
	sampler := l.StartSampler(bounded(t))
	time.Sleep(time.Second)
	primary, other := l.Node(0), l.Node(2)
	var blocked []time.Duration
	for range times {
		result, err := promote.Switch(bounded(t), l.env(), promote.SwitchRequest{OldPrimary: primary.Name(), To: other.Name()})
		if err != nil {
			t.Fatal(err)
		}
		primary, other = other, primary
		if result.NewPrimary != primary.Name() || len(result.Unpointed()) > 0 || len(result.Warnings) > 0 {
			t.Errorf("result %+v", result)
		}
		t.Logf("writes blocked %v; %s", result.WritesBlocked, stepsOf(result))
		blocked = append(blocked, result.WritesBlocked)
		for _, w := range work.writers {
			awaitAck(t, w, time.Now())
		}
	}
	rate := work.stop(t)
	slices.Sort(blocked)
	median := blocked[len(blocked)/2]
	t.Logf("%.0f rows/s; writes blocked: median %v, most %v", rate, median, blocked[len(blocked)-1])
	if median > time.Second {
		t.Errorf("writes were blocked for %v in the median", median)
	}
	for _, w := range work.writers {
		l.nothingLost(w, primary)
	}
	for _, n := range l.Nodes() {
		if n != primary {
			l.follows(n, primary)
			l.noErrant(n, primary)
		}
	}
	l.noOverlap(sampler)
}

// A candidate that freezes while writes are blocked: they go on before it thaws. The
// time limit for a statement is longer than the test.
func TestSwitchDoesNotWaitForAFrozenCandidate(t *testing.T) {
	onBoth(t, func(t *testing.T, flavour sandbox.Flavour) {
		l := newLab(t, sandbox.Options{Flavour: flavour, SemiSync: true})
		l.settings.Statement = time.Hour
		writer := l.StartWriter(bounded(t), sandbox.WriterOptions{Limit: 5 * time.Second})
		awaitAck(t, writer, time.Now())
		var freeze *sandbox.Active
		frozen := make(chan struct{})
		l.onStep = func(p promote.Progress) {
			if freeze == nil && p.Step == promote.Prepare && p.State == promote.StepBegun {
				freeze = sandbox.Break(t, "freeze", l.Node(2))
				close(frozen)
			}
		}
		ended := make(chan error, 1)
		var result promote.Result
		go func() {
			var err error
			result, err = promote.Switch(bounded(t), l.env(), promote.SwitchRequest{OldPrimary: "db1", To: "db3"})
			ended <- err
		}()
		<-frozen
		awaitAck(t, writer, time.Now())
		if err := freeze.Heal(bounded(t)); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; err == nil || result.Opened || len(result.UndoLeft) > 0 {
			t.Fatalf("error %v, result %+v", err, result)
		}
		if err := writer.Stop(); err != nil {
			t.Fatal(err)
		}
		if err := l.AwaitSync(bounded(t), l.Node(0)); err != nil {
			t.Fatal(err)
		}
		for _, n := range l.Nodes()[1:] {
			l.follows(n, l.Node(0))
		}
		l.nothingLost(writer, l.Node(0))
	})
}

// A candidate that cannot catch up: the switch takes itself back.
func TestSwitchTakesItselfBack(t *testing.T) {
	onBoth(t, func(t *testing.T, flavour sandbox.Flavour) {
		l := newLab(t, sandbox.Options{Flavour: flavour})
		l.settings.Block = time.Second
		writer := l.StartWriter(bounded(t), sandbox.WriterOptions{Limit: 5 * time.Second})
		awaitAck(t, writer, time.Now())
		// A table lock on the candidate holds its applier up without stopping it.
		conn, err := l.Node(2).Root().Conn(bounded(t))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		hold := func() {
			if _, err := conn.ExecContext(context.Background(), "LOCK TABLES app.ledger READ"); err != nil {
				t.Error(err)
			}
			awaitAck(t, writer, time.Now())
		}
		l.onStep = func(p promote.Progress) {
			if p.Step == promote.Block && p.State == promote.StepBegun {
				hold()
			}
		}
		result, err := promote.Switch(bounded(t), l.env(), promote.SwitchRequest{OldPrimary: "db1", To: "db3"})
		if _, unlock := conn.ExecContext(bounded(t), "UNLOCK TABLES"); unlock != nil {
			t.Fatal(unlock)
		}
		if !errors.Is(err, promote.ErrTimeout) || result.Opened || len(result.UndoLeft) > 0 {
			t.Fatalf("error %v, result %+v", err, result)
		}
		var step *promote.StepError
		if !errors.As(err, &step) || step.Step != promote.CatchUp || step.Target != "db3" {
			t.Errorf("the error does not name the step: %v", err)
		}
		awaitAck(t, writer, time.Now())

		// Behind from the start: refused before a single write is held up.
		l.onStep = nil
		if err := l.AwaitSync(bounded(t), l.Node(0)); err != nil {
			t.Fatal(err)
		}
		l.settings.MaxLag = time.Second
		hold()
		result, err = promote.Switch(bounded(t), l.env(), promote.SwitchRequest{OldPrimary: "db1", To: "db3"})
		if _, unlock := conn.ExecContext(bounded(t), "UNLOCK TABLES"); unlock != nil {
			t.Fatal(unlock)
		}
		if !errors.Is(err, promote.ErrPreflight) || result.WritesBlocked > 0 || len(result.Undone) > 0 {
			t.Fatalf("error %v, result %+v", err, result)
		}
		if err := writer.Stop(); err != nil {
			t.Fatal(err)
		}
		if !l.writable(l.Node(0)) || l.writable(l.Node(2)) {
			t.Error("the old primary is not the only writable node")
		}
		for _, n := range l.Nodes()[1:] {
			l.follows(n, l.Node(0))
		}
		if err := l.AwaitSync(bounded(t), l.Node(0)); err != nil {
			t.Fatal(err)
		}
		l.nothingLost(writer, l.Node(0))
		l.nothingLost(writer, l.Node(2))
		if left := l.unfinished(); len(left) > 0 {
			t.Errorf("the promotion log is unfinished: %+v", left)
		}
	})
}
