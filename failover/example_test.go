package failover_test

import (
	"fmt"
	"time"

	"failwise/failover"
	"failwise/rules"
)

// A driver in virtual time: the primary refuses connections from the fifth second
// on.
func Example() {
	e, err := failover.New(failover.Config{
		Nodes: []failover.Node{
			{Name: "db1", Role: failover.Primary},
			{Name: "db2"},
			{Name: "db3"},
		},
		Timings:     rules.Tungsten.Timings(),
		Policy:      failover.Automatic,
		Coordinator: true,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for now := time.Duration(0); now <= 6*time.Second; now += time.Second {
		outcome := rules.OK
		if now >= 5*time.Second {
			outcome = rules.SocketIOError
		}
		show(e.Observe(now, failover.Observation{Node: "db1", Outcome: outcome}))
		show(e.Observe(now, failover.Observation{Node: "db2", Outcome: rules.OK}))
		show(e.Observe(now, failover.Observation{Node: "db3", Outcome: rules.OK}))
		for {
			events := show(e.Advance(now))
			for _, ev := range events {
				var fact failover.Fact
				switch ev.Kind {
				case failover.AskReplicas: // nobody is configured to be asked
					fact = failover.Answered(ev.Round)
				case failover.FailoverDecided: // a promotion that takes no time
					fact = failover.PromotedTo(e.Candidates()[0])
				default:
					continue
				}
				more, err := e.Tell(now, fact)
				if err != nil {
					fmt.Println(err)
				}
				show(more)
			}
			if e.NextDeadline() > now {
				break
			}
		}
	}
	// Output:
	// 5s alarm db1
	// 5s probe_others db1
	// 5s expire db1
	// 5s confirm db1
	// 5s failover db1
	// 5s promoted db2
}

func show(events []failover.Event) []failover.Event {
	for _, ev := range events {
		fmt.Println(ev.At, ev.Kind, ev.Node)
	}
	return append([]failover.Event(nil), events...)
}
