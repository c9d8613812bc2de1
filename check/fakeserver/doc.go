// Package fakeserver speaks just enough of the MySQL protocol to be probed. It
// answers over pipes inside one process, where the time of a synctest bubble
// rules, or over real sockets, where hundreds of servers cost next to nothing.
//
// A [Server] behaves as its [Behaviour] says, which can change while it runs; a
// script replaces it altogether for one test's odd sequence of packets. It
// accepts every password and knows only the statements of probes.
//
// A [Node] is a fake node of a replicated cluster, on a real socket: it answers what a
// watcher asks about roles and positions too, and can refuse, hang, be slow or fail.
//
//	s := fakeserver.New(fakeserver.Behaviour{Version: "8.4.3"})
//	defer s.Close()
//	p, err := check.NewProber(server, check.Connect, check.Options{Dial: s.Dial})
package fakeserver
