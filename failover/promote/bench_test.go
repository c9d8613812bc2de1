package promote_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"failwise/check"
	"failwise/failover/journal"
	"failwise/failover/mysql"
	"failwise/failover/promote"
	"failwise/failover/sandbox"
	"failwise/failover/topology"
)

// BenchmarkFailover measures from the decision to the first committed write on
// the new primary, the old one killed and nothing to catch up. A cluster is
// started for each round, outside the measured time.
func BenchmarkFailover(b *testing.B) {
	for _, flavour := range sandbox.Flavours() {
		for _, semi := range []bool{false, true} {
			name := flavour.String()
			if semi {
				name += "/semi-sync"
			}
			b.Run(name, func(b *testing.B) {
				var all []time.Duration
				for range b.N {
					all = append(all, failoverOnce(b, sandbox.Options{Flavour: flavour, SemiSync: semi}))
				}
				slices.Sort(all)
				b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, "ms/median")
				b.ReportMetric(float64(all[0].Microseconds())/1000, "ms/least")
				b.ReportMetric(float64(all[len(all)-1].Microseconds())/1000, "ms/most")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

func failoverOnce(b *testing.B, o sandbox.Options) time.Duration {
	b.Helper()
	b.StopTimer()
	defer b.StartTimer()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := sandbox.New(ctx, o)
	if err != nil {
		b.Skip(err)
	}
	defer c.Close()
	act, dir := c.Accounts().Act, journal.NewDir(b.TempDir())
	env := promote.Env{Cluster: "bench", Watcher: 1, Now: time.Now, Begin: func(ctx context.Context, op journal.Operation) (promote.Log, error) {
		return journal.BeginOperation(ctx, dir, op)
	}}
	var members []topology.Member
	for _, n := range c.Nodes() {
		address, err := check.ParseAddress(n.Address(), 3306)
		if err != nil {
			b.Fatal(err)
		}
		members = append(members, topology.Member{Name: n.Name(), Server: check.Server{Address: address, User: act.User, Secret: check.NewSecret(act.Password)}})
	}
	reader := topology.NewReader(members, 5*time.Second)
	defer reader.Close()
	readings := reader.Read(ctx)
	memory, _ := topology.Judge(readings, topology.Memory{}, time.Now()).Remember(topology.Memory{})
	env.Choose = promote.Contest{Readings: readings, Memory: memory}.Choose
	env.Seen = promote.Seen{Progress: memory.Progress, SemiSyncEnabled: o.SemiSync, SemiSync: o.SemiSync, SemiSyncReplicas: 2, WaitCount: 1}
	for i, n := range c.Nodes() {
		second := mysql.NewSession(members[i].Server)
		if err := second.Connect(ctx); err != nil {
			b.Fatal(err)
		}
		defer second.Close()
		env.Nodes = append(env.Nodes, promote.Node{Name: n.Name(), Host: n.Host(), Port: n.Port(), Session: reader.Session(n.Name()), Second: second})
	}
	time.Sleep(300 * time.Millisecond)
	if err := c.Node(0).Kill(ctx); err != nil {
		b.Fatal(err)
	}
	b.StartTimer()
	result, err := promote.Failover(ctx, env, promote.FailoverRequest{OldPrimary: "db1"})
	b.StopTimer()
	if err != nil {
		b.Fatal(err)
	}
	b.Logf("%v: %s", result.FirstWrite, stepsOf(result))
	return result.FirstWrite
}
