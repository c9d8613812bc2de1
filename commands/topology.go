package commands

import (
	"context"
	"fmt"

	"failwise/failover/topology"
)

func topologyCommand() *command {
	return &command{
		name:    "topology",
		summary: "show who is primary, who follows whom, and how far everyone is",
		about: "Reads every node now, by itself, whether or not a watcher runs. Exit code 1 when something keeps a\n" +
			"failover from being possible; each finding names its fix.",
		examples: []example{{"topology --cluster prod", "the tree"}, {"topology --json", "everything that was read"}},
		run: func(ctx context.Context, in *invocation) error {
			c, err := in.cluster()
			if err != nil {
				return err
			}
			t, reader, err := in.readTopology(ctx, c)
			if err != nil {
				return err
			}
			defer func() { _ = reader.Close() }()
			if in.JSON() {
				if err := in.printJSON(t); err != nil {
					return err
				}
			} else {
				fmt.Fprint(in.Out, in.folded(t.Tree()))
			}
			return exitWith(topologyExit(t))
		},
	}
}

// topologyExit is refused while a finding holds back any promotion.
func topologyExit(t topology.Topology) Exit {
	for _, f := range t.Findings {
		if f.Holds {
			return ExitRefused
		}
	}
	return ExitDone
}
