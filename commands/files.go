package commands

import (
	"fmt"
	"syscall"

	"failwise/commands/config"
	"failwise/failover/watch"
)

// ownFiles is what the process itself keeps open: streams, the poller, metrics and
// what is open for a moment, such as configuration and rule files.
const ownFiles = 64

// fileLimit is the number of files that this process may have open. The Go runtime
// has raised the soft limit to the hard one when the process began.
func fileLimit() (uint64, error) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, fmt.Errorf("read the limit of open files: %w", err)
	}
	return uint64(limit.Cur), nil //nolint:unconvert // it is signed on some systems
}

// sizes are clusters as far as their number of sessions goes.
func sizes(clusters []*config.Cluster) []watch.Config {
	list := make([]watch.Config, len(clusters))
	for i, c := range clusters {
		list[i] = watch.Config{Nodes: make([]watch.Node, len(c.Nodes)), Probe: watch.Probing{Types: c.Probe.Types}}
	}
	return list
}

// filesWanted says what is wrong with a limit of open files for watchers of these
// clusters, empty if nothing is.
func filesWanted(limit uint64, configs ...watch.Config) string {
	need := ownFiles
	for _, c := range configs {
		need += c.Files()
	}
	if uint64(need) <= limit {
		return ""
	}
	what := "this cluster"
	if len(configs) > 1 {
		what = fmt.Sprintf("these %d clusters", len(configs))
	}
	return fmt.Sprintf("watching %s may need %d open files and sockets, the limit is %d: probes would fail with open_file_limit_error; "+
		"raise the hard limit (ulimit -Hn, or LimitNOFILE= in the systemd unit)", what, need, limit)
}

// warnOfFiles says so when the limit of open files is too low.
func (in *invocation) warnOfFiles(configs ...watch.Config) {
	limit, err := fileLimit()
	if err != nil {
		in.remark("%v", err)
		return
	}
	if text := filesWanted(limit, configs...); text != "" {
		in.remark("%s", text)
	}
}
