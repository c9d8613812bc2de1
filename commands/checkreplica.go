package commands

import (
	"context"
	"time"

	"github.com/spf13/pflag"

	"failwise/check"
	"failwise/commands/config"
	"failwise/failover/topology"
)

// readLimit bounds one look at a server.
const readLimit = 4 * time.Second

func checkReplicaCommand() *command {
	return &command{
		name:     "replica",
		operands: "TARGET",
		summary:  "check the replication of one server",
		about: "Both threads of every channel with their error numbers, lag beyond the configured delay, transactions\n" +
			"behind, errant transactions, filters, read_only, and the age of the last heartbeat: lag stays 0 while a\n" +
			"primary is frozen, the heartbeat does not. Lag that the server does not know is UNKNOWN, not 0.\n\n" +
			"Transactions behind and errant transactions are counted against the primary if the configuration, or -H,\n" +
			"names it; else only what was received and not applied is known.",
		examples: []example{
			{"check replica db2 -w 10s -c 60s", "lag above 10 s is WARNING, above 60 s CRITICAL"},
			{"check replica db2 -H db1 -H db2 --warning-transactions 1000", "a cluster given by flags alone"},
			{"check replica db2 --critical-heartbeat 30s", "the primary is frozen, or its watcher is gone"},
		},
		flags: func(f *pflag.FlagSet) {
			thresholdFlags(f, "the lag")
			f.String("warning-transactions", "", "exit 1 if the number of transactions behind is outside of `RANGE`")
			f.String("critical-transactions", "", "exit 2 if the number of transactions behind is outside of `RANGE`")
			f.String("warning-heartbeat", "", "exit 1 if the age of the last heartbeat is outside of `RANGE`")
			f.String("critical-heartbeat", "", "exit 2 if the age of the last heartbeat is outside of `RANGE`")
		},
		max:    1,
		values: func(in *invocation) []string { return in.nodeNames() },
		run: func(ctx context.Context, in *invocation) error {
			var limits replicaLimits
			for _, f := range []struct {
				suffix string
				into   *thresholds
				parse  func(string) (check.Range, error)
			}{
				{"", &limits.lag, check.ParseTimeRange}, {"-transactions", &limits.behind, check.ParseRange},
				{"-heartbeat", &limits.heartbeat, check.ParseTimeRange},
			} {
				var err error
				if *f.into, err = in.thresholds("warning"+f.suffix, "critical"+f.suffix, f.parse); err != nil {
					return err
				}
			}
			return in.runCheck(ctx, func(ctx context.Context, at *stage) (checkReport, error) {
				return in.checkReplica(ctx, at, limits)
			})
		},
	}
}

// checkReplica reads the target, and with it the other nodes of its cluster, which
// tell what it lacks.
func (in *invocation) checkReplica(ctx context.Context, at *stage, limits replicaLimits) (checkReport, error) {
	at.set("the configuration")
	if err := in.settingsNear(at); err != nil {
		return checkReport{}, err
	}
	cluster, node, err := in.target(in.Operand(0))
	if err != nil {
		return checkReport{}, err
	}
	at.set("the password")
	if err := in.filesNear(at, cluster, false); err != nil {
		return checkReport{}, err
	}
	login, err := in.login(ctx, cluster.Monitor)
	if err != nil {
		return checkReport{}, err
	}
	nodes := cluster.Nodes
	if _, found := cluster.Node(node.Name); !found {
		nodes = []config.Node{node}
	}
	list, err := members(nodes, login)
	if err != nil {
		return checkReport{}, err
	}
	at.set("reading the servers")
	reader := topology.NewReader(list, share(ctx, readLimit))
	defer reader.Close() //nolint:errcheck // the answers are there
	t := topology.Judge(reader.Read(ctx), topology.Memory{}, time.Now())
	n, _ := t.Node(node.Name)
	if !n.Readable() {
		return in.unreadable(ctx, at, cluster, node, login, n.Error)
	}
	view := replicaView{node: n, topology: t, limits: limits}
	at.set("reading the heartbeat")
	view.heartbeat, view.heartbeatErr = heartbeatAge(ctx, node.Server(login))
	return view.report(), nil
}

// unreadable is the verdict on a server that could not be read: that of a connect
// probe, or UNKNOWN if the probe finds nothing wrong.
func (in *invocation) unreadable(ctx context.Context, at *stage, cluster *config.Cluster, node config.Node, login config.Login, why string) (checkReport, error) {
	at.set("a probe")
	m, err := in.statemap(cluster)
	if err != nil {
		return checkReport{}, err
	}
	prober, err := check.NewProber(node.Server(login), check.Connect, check.Options{Limits: check.Limits{Total: share(ctx, check.DefaultTotal)}})
	if err != nil {
		return checkReport{}, misconfigured(err)
	}
	result := prober.Probe(ctx)
	report := probeVerdict(result, node, m, nil, thresholds{}, check.DefaultTotal)
	report.end = func() { _ = prober.Close() } // the result is there
	report.details = replicaReport{Node: node.Name, Error: why}
	if report.exit == ExitOK {
		report.exit, report.summary = ExitUnknown, "cannot read "+node.Name+": "+why
	}
	return report, nil
}
