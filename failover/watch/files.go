package watch

// What one cluster keeps open beside its nodes' sessions, and what a promotion adds
// for a while.
const (
	filesOfCluster   = 6 // journal, lock, control socket with a command, state file being written
	filesOfPrimary   = 1 // the tripwire
	filesOfOperation = 16
)

// Files is the number of files, sockets included, that a watcher may have open at
// once.
func (c Config) Files() int {
	types := max(1, len(c.Probe.Types))
	// A node has one session for its status, a second one once it was the primary or
	// the next one, one for each type of probe, and one for a recheck or a resolver's
	// query.
	return filesOfCluster + filesOfPrimary + filesOfOperation + len(c.Nodes)*(3+types)
}
