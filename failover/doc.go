// Package failover decides: which alarms run, when they expire, whether a node is
// failed, and, whenever it is not, why. It is pure. The caller owns time and I/O;
// every method takes the time as an argument, reads no clock, waits for nothing
// and starts no goroutine. The live loop, replay, scenario tests and explanations
// are drivers of this one engine, so they cannot disagree.
//
// # The caller's duties
//
// `now` is the time since the engine was made, on a monotonic clock: it never goes
// back, and steps of the wall clock do not touch it. Calls come from one goroutine
// at a time.
//
//  1. Give the result of each probe to [Engine.Observe], with the time at which
//     it came. At most one probe of a node is in flight.
//  2. Give every change of a fact to [Engine.Tell] when it comes: policy,
//     coordinator, votes, routes, observers, eligibility, durability, operations,
//     the end of a promotion, nodes and roles, rules. [Fact] has a constructor for
//     each.
//  3. When all observations and facts of an instant are in, call
//     [Engine.Advance]; also at [Engine.NextDeadline] if nothing comes before.
//     Repeat while NextDeadline is not after now: an instant may take several
//     judgings, for example when an answer was at hand.
//  4. Take all events of all three in order, and copy them before the next call:
//     the slices are reused. Write them to the journal without waiting for it.
//  5. Serve the requests among the events, see [Kind.Request]:
//     - confirm: ask everybody the configuration names, all at once, in a round
//     of that number. One more connect probe of the node goes to Observe like any
//     probe. With Contest ask replicas and routes, otherwise leave them alone. Give
//     the answers as facts with the round's number and end it with [Answered] when
//     all have come or their time limit is over. A round of nothing is ended at once.
//     - probe_others: probe the other nodes now.
//     - ask_coordinator: tell again whether this watcher is the coordinator.
//     - back_to_fence: fence the old primary again before opening the new one.
//  6. Execute a failover event: the decision is taken and no other comes until
//     the promotion has ended with [PromotedTo] or [PromotionFailedBecause]. Tell
//     [Opened] on the way. Go on probing and calling meanwhile.
//  7. Store [Engine.State] when it changes, and start the next engine with it.
//  8. To make a run repeatable, write down each call as a [Call], an Advance only
//     where it follows no observation or fact of its instant. [Engine.Make] on a
//     new engine of the same [Config] then gives the same events.
//
// # Vocabulary
//
// An observation is online if the state of its outcome's rule is online, else bad.
// An outcome is fatal if its action is fail and its threshold is not -1. An alarm
// is a running count per node and outcome; it expires at its rule's threshold.
// Self-heal is the end of a node's unwindowed alarms by online observations; what
// lies between two of them is an episode. A hold is an expired alarm that is not
// acted on, for one [Reason].
//
// # Stages
//
//	up ──bad──▶ half_down ──fatal alarm expires──▶ nearly_down ──decided──▶ failover ──promoted──▶ shunned
//	 ▲              │                                 │  ▲                     │                      │
//	 └──self-heal───┴─────────────────────────────────┘  └──promotion failed───┘                      │
//	 ▲                                                                                                │
//	 └───────────────────── recovered (a replica by itself, an old primary by hand) ──────────────────┘
//
// A replica goes from nearly_down to shunned directly. In stage nearly_down a
// primary passes these checks in this order, and each may hold it: the latest
// observation still maps to fail, settle, gates, the wait after a failed
// promotion, confirmation, safety.
//
// # Not here
//
// How a node is probed (package check), what outcomes mean (package rules), who is
// eligible by its replication state (topology), how a promotion is done (promote),
// and everything that needs a network, a disk or a clock.
package failover
