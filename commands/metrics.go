package commands

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"failwise/failover/watch"
)

// serveMetrics serves the metrics of the watchers that there are at the moment of a
// scrape, and the process's own, until stop is called.
func serveMetrics(ctx context.Context, address string, m *watch.Metrics, watchers func() []*watch.Watcher) (stop func(), err error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, refused(fmt.Errorf("metrics at %s: %w", address, err), "name a free HOST:PORT with --metrics, or leave it out")
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/metrics", func(out http.ResponseWriter, r *http.Request) {
		out.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		m.Write(r.Context(), out, watchers()...)
		writeProcessMetrics(out)
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second}
	go func() { _ = server.Serve(l) }() // ends with Close
	return func() { _ = server.Close() }, nil
}
