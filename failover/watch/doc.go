// Package watch is the live loop: it probes the nodes of one cluster, tells the
// engine what they answer, and does what the engine decides.
//
//	prober (one per node and type) ──observation──▶ engine ──event──▶ executor
//	survey (roles, positions) ───────────fact─────▶ engine
//	confirmation (votes, routes) ────────fact─────▶ engine
//	executor (promotion) ────────────────fact─────▶ engine
//
// One goroutine owns the engine and all that is decided; everything that may
// wait for a network, a disk or a child process has a goroutine of its own and
// hands its answer in. Nothing that hangs delays another node's probe, nor a
// decision.
//
// # The caller's duties
//
//  1. Give [New] a valid [Config]; call [Watcher.Run] once. It returns when its
//     context ends, a running promotion has ended, and the journal is written.
//  2. Read what happens from Config.Notify, and the present from
//     [Watcher.Snapshot]; neither blocks the loop.
//  3. Change policy, quota and shunned nodes in the state file (package journal):
//     the loop looks for changes each second. Ask for operations through
//     [Watcher.Request]: the loop refuses them while another one runs.
//
// Not here: what an observation means (package failover), how to look (package
// check), how to promote (package promote), colour and text layout (commands).
package watch
