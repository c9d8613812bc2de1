package commands

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// clockTicks is the unit of the times in /proc, USER_HZ: 100 a second on every
// architecture that Go runs on.
const clockTicks = 100

// writeProcessMetrics writes the metrics of the Go runtime and of this process,
// by the names that Prometheus' own client gives them. What a system does not
// tell, as all that /proc tells elsewhere than on Linux, is missing.
func writeProcessMetrics(out io.Writer) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	threads, _ := runtime.ThreadCreateProfile(nil)
	fmt.Fprintf(out, "# TYPE go_info gauge\ngo_info{version=%q} 1\n", runtime.Version())
	gauge(out, "go_goroutines", float64(runtime.NumGoroutine()))
	gauge(out, "go_threads", float64(threads))
	gauge(out, "go_gomaxprocs", float64(runtime.GOMAXPROCS(0)))
	fmt.Fprintf(out, "# TYPE go_gc_duration_seconds summary\ngo_gc_duration_seconds_sum %v\ngo_gc_duration_seconds_count %d\n",
		float64(m.PauseTotalNs)/1e9, m.NumGC)
	counter(out, "go_memstats_alloc_bytes_total", float64(m.TotalAlloc))
	counter(out, "go_memstats_mallocs_total", float64(m.Mallocs))
	counter(out, "go_memstats_frees_total", float64(m.Frees))
	gauge(out, "go_memstats_alloc_bytes", float64(m.Alloc))
	gauge(out, "go_memstats_sys_bytes", float64(m.Sys))
	gauge(out, "go_memstats_heap_alloc_bytes", float64(m.HeapAlloc))
	gauge(out, "go_memstats_heap_idle_bytes", float64(m.HeapIdle))
	gauge(out, "go_memstats_heap_inuse_bytes", float64(m.HeapInuse))
	gauge(out, "go_memstats_heap_objects", float64(m.HeapObjects))
	gauge(out, "go_memstats_heap_released_bytes", float64(m.HeapReleased))
	gauge(out, "go_memstats_stack_inuse_bytes", float64(m.StackInuse))
	gauge(out, "go_memstats_next_gc_bytes", float64(m.NextGC))
	gauge(out, "go_memstats_last_gc_time_seconds", float64(m.LastGC)/1e9)

	if p, ok := ownProcess(); ok {
		counter(out, "process_cpu_seconds_total", p.cpu)
		gauge(out, "process_resident_memory_bytes", p.resident)
		gauge(out, "process_virtual_memory_bytes", p.virtual)
		gauge(out, "process_start_time_seconds", p.started)
	}
	if open, err := os.ReadDir("/proc/self/fd"); err == nil {
		gauge(out, "process_open_fds", float64(len(open)-1)) // without the one that reads the folder
	}
}

func gauge(out io.Writer, name string, v float64)   { sample(out, name, "gauge", v) }
func counter(out io.Writer, name string, v float64) { sample(out, name, "counter", v) }

func sample(out io.Writer, name, kind string, v float64) {
	fmt.Fprintf(out, "# TYPE %s %s\n%s %s\n", name, kind, name, strconv.FormatFloat(v, 'g', -1, 64))
}

// processStat is what /proc tells of this process: CPU seconds used, bytes of
// memory, and the time of its start in seconds since 1970.
type processStat struct{ cpu, resident, virtual, started float64 }

func ownProcess() (processStat, bool) {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return processStat{}, false
	}
	system, err := os.ReadFile("/proc/stat")
	if err != nil {
		return processStat{}, false
	}
	return parseProcess(stat, system, os.Getpagesize())
}

// parseProcess reads /proc/PID/stat and /proc/stat, see proc_pid_stat(5) and
// proc_stat(5).
func parseProcess(stat, system []byte, page int) (processStat, bool) {
	// The name of the program, in parentheses, may hold spaces and parentheses.
	after := stat[bytes.LastIndexByte(stat, ')')+1:]
	f := strings.Fields(string(after)) // f[0] is the third field, the state
	const utime, stime, starttime, vsize, rss = 11, 12, 19, 20, 21
	if len(f) <= rss {
		return processStat{}, false
	}
	_, boot, found := bytes.Cut(system, []byte("\nbtime "))
	boot, _, _ = bytes.Cut(boot, []byte("\n"))
	ok := found
	number := func(s string) float64 {
		v, err := strconv.ParseFloat(s, 64)
		ok = ok && err == nil
		return v
	}
	p := processStat{
		cpu:      (number(f[utime]) + number(f[stime])) / clockTicks,
		resident: number(f[rss]) * float64(page),
		virtual:  number(f[vsize]),
		started:  number(string(boot)) + number(f[starttime])/clockTicks,
	}
	return p, ok
}
