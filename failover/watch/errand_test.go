package watch

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"failwise/failover/journal"
	"failwise/failover/promote"
)

func TestAnOperationBeginsWhenTheErrandsItCalledBackHaveEnded(t *testing.T) {
	w := idle(t)
	if err := w.makeEngine(journal.State{}); err != nil {
		t.Fatal(err)
	}
	var ended, said atomic.Bool
	w.errand(context.Background(), func(ctx context.Context) func() {
		<-ctx.Done()
		time.Sleep(20 * time.Millisecond) // what has to be finished all the same
		ended.Store(true)
		return func() { said.Store(true) }
	})
	ran := make(chan bool, 1)
	w.operate(context.Background(), &operation{what: "switch of db1", old: "db1"}, func(context.Context, promote.Env) (promote.Result, error) {
		ran <- ended.Load()
		return promote.Result{}, nil
	})
	if !<-ran {
		t.Error("the operation began while an errand was still on the servers")
	}
	for range 2 { // the errand's answer and the operation's end
		(<-w.inbox)()
	}
	if !said.Load() || len(w.errands) > 0 || w.running != nil {
		t.Errorf("the errand's answer was taken in: %v; errands left: %d; operation ended: %v", said.Load(), len(w.errands), w.running == nil)
	}
}
