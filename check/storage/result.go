package storage

// Result is what one probe found out about one path.
type Result struct {
	// Path is the path as it was given.
	Path      string    `json:"path"`
	Condition Condition `json:"condition"`
	// Message is one plain line that says what was found.
	Message string `json:"message"`
	// Elapsed is how long the probe took, in seconds.
	Elapsed float64 `json:"elapsed"`
	// Write and Read are the two latencies; nil when the step was not tried.
	Write *Latency `json:"write,omitempty"`
	Read  *Latency `json:"read,omitempty"`
	// Space is what the file system says of itself; nil when it did not.
	Space *Space `json:"space,omitempty"`
	// Device is the block device under the path; nil when there is none that the
	// kernel accounts for, as under tmpfs or a network file system.
	Device *Device `json:"device,omitempty"`
	// Mount is the mount the path lies on; nil when unknown.
	Mount *Mount `json:"mount,omitempty"`
	// Pressure is the machine's I/O pressure; nil on a kernel without it.
	Pressure *Pressure `json:"pressure,omitempty"`
	// HungIn is the step that did not come back, empty if all did.
	HungIn Step `json:"hung_in,omitempty"`
	// WaitsIn is the kernel function in which it waits, if the kernel tells.
	WaitsIn string `json:"waits_in,omitempty"`
	// Notes say what was done otherwise than planned, and why.
	Notes []string `json:"notes,omitempty"`
}

// Latency is one timed step.
type Latency struct {
	// Seconds is how long it took; of several tries the slowest. For one that
	// did not come back it is how long it was waited for.
	Seconds float64 `json:"seconds"`
	// Direct is true when the page cache was bypassed (O_DIRECT).
	Direct bool `json:"direct"`
	// Error is the error's name, for instance EIO, timeout for a step that did not
	// come back, and empty on success.
	Error string `json:"error,omitempty"`
	// File is the file that was read.
	File string `json:"file,omitempty"`
}

// hungError stands in [Latency.Error] for a step that did not come back.
const hungError = "timeout"

// Space is the room on a file system as statfs(2) tells it.
type Space struct {
	Bytes uint64 `json:"bytes"`
	// BytesFree is what a process without privileges may still use.
	BytesFree uint64 `json:"bytes_free"`
	// FreePercent is BytesFree of what such processes may use in all, as df counts.
	FreePercent float64 `json:"free_percent"`
	// Inodes is 0 on file systems that have no fixed number of them.
	Inodes            uint64  `json:"inodes"`
	InodesFree        uint64  `json:"inodes_free"`
	InodesFreePercent float64 `json:"inodes_free_percent"`
	ReadOnly          bool    `json:"read_only"`
}

// Device is a block device and what happened on it while the probe ran.
type Device struct {
	// Name is the kernel's, for instance sda1.
	Name string `json:"name"`
	// InFlight is the number of requests under way at the end.
	InFlight int `json:"in_flight"`
	// Finished is how many ended while the probe ran.
	Finished uint64 `json:"finished"`
	// NoneFinishedFor is how long, in seconds up to the end, requests were in
	// flight and none ended; 0 when nothing is in flight.
	NoneFinishedFor float64 `json:"none_finished_for"`
}

// Mount is one line of /proc/self/mountinfo, proc(5).
type Mount struct {
	Point  string `json:"point"`
	Type   string `json:"type"`
	Source string `json:"source"`
	// ReadOnly is true when the mount or its file system is read-only. Options
	// are the file system's own.
	ReadOnly bool   `json:"read_only"`
	Options  string `json:"options,omitempty"`

	dev         string // major:minor
	allReadOnly bool   // the file system is read-only, wherever it is mounted
}

// Pressure is the share of the last ten seconds, in percent, in which tasks of the
// machine waited for I/O: Some at least one, Full all that could run.
type Pressure struct {
	Some float64 `json:"some_percent"`
	Full float64 `json:"full_percent"`
}

// Step is a part of a probe that may hang.
type Step string

// The steps in their order.
const (
	// StepStart is the start of the child itself.
	StepStart Step = "start"
	// StepTurn waits for an earlier probe of the same path to come back.
	StepTurn Step = "turn"
	// StepStat looks the path up.
	StepStat Step = "stat"
	// StepSpace asks for the room left.
	StepSpace Step = "space"
	// StepPick looks for a file to read.
	StepPick Step = "pick"
	StepRead Step = "read"
	// StepCreate opens a file to write to.
	StepCreate Step = "create"
	StepWrite  Step = "write"
	// StepSync is fsync(2) after the write.
	StepSync Step = "sync"
)
