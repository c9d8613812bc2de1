package hooks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// DefaultTimeout is the limit of a hook that names none.
const DefaultTimeout = 30 * time.Second

// Contract is how a command is called and how its exit status is read.
type Contract uint8

// ContractOwn is failwise's own contract, ContractMHA that of MHA's scripts.
const (
	ContractOwn Contract = iota
	ContractMHA
)

var contractNames = [...]string{"failwise", "mha"}

func (c Contract) String() string {
	if int(c) < len(contractNames) {
		return contractNames[c]
	}
	return fmt.Sprintf("contract(%d)", uint8(c))
}

// ParseContract is the inverse of String; the empty string is failwise's own.
func ParseContract(s string) (Contract, error) {
	switch s {
	case "", "failwise":
		return ContractOwn, nil
	case "mha":
		return ContractMHA, nil
	}
	return ContractOwn, fmt.Errorf("hook contract %q: not failwise or mha", s)
}

// Hook is one command of the user's.
type Hook struct {
	// Argv is the program and its arguments; no shell reads them.
	Argv []string
	// Timeout is the time the command has before TERM; 0 is DefaultTimeout.
	Timeout   time.Duration
	OnFailure OnFailure
	Contract  Contract
	// Script says which of MHA's scripts Argv is; needed with ContractMHA unless
	// the program's base name tells.
	Script MHAScript
	// SSHUser, where set, is passed on to MHA's scripts, with the command stopssh
	// instead of stop.
	SSHUser string
	// PasswordsInArgv puts passwords on the script's command line as MHA does,
	// where other users of the host can read them. The default is the environment.
	PasswordsInArgv bool
}

// Validate reports what keeps the hook from ever running.
func (h Hook) Validate() error {
	if len(h.Argv) == 0 || h.Argv[0] == "" {
		return errors.New("hook has no command: give an argument list")
	}
	if h.Timeout < 0 {
		return fmt.Errorf("hook %s: timeout %v is negative", h.Argv[0], h.Timeout)
	}
	if h.Contract == ContractMHA && h.script() == MHAUnknown {
		return fmt.Errorf("hook %s: contract mha needs script: master_ip_failover, shutdown, report or master_ip_online_change", h.Argv[0])
	}
	return nil
}

func (h Hook) timeout() time.Duration {
	if h.Timeout <= 0 {
		return DefaultTimeout
	}
	return h.Timeout
}

// Result is how one command ended.
type Result struct {
	Command  string        `json:"command"`
	Ran      bool          `json:"ran"` // false: not this event's business, or a dry run
	Status   int           `json:"status"`
	Duration time.Duration `json:"-"`
	Seconds  float64       `json:"duration"`
	// Output is the end of what it wrote to standard output and error.
	Output string `json:"output,omitempty"`
	Err    error  `json:"-"`
	Error  string `json:"error,omitempty"`
	Aborts bool   `json:"aborts,omitempty"`
}

// Sentinels of a Result's Err.
var (
	ErrTimeout = errors.New("ran into its time limit")
	ErrStatus  = errors.New("exit status")
)

// Run runs the command for one call and waits for its end, at most timeout plus
// three seconds. The end of ctx is treated like the limit.
func (h Hook) Run(ctx context.Context, call Call) Result {
	argv, extra, applies := h.command(call)
	result := Result{Command: strings.Join(h.Argv, " ")}
	if !applies || call.DryRun {
		return result
	}
	stdin, err := call.JSON()
	if err != nil {
		return h.failed(result, fmt.Errorf("write the record as JSON: %w", err))
	}
	env := append(os.Environ(), call.environ()...)
	env = append(env, extra...)
	started := time.Now()
	status, output, err := run(ctx, process{argv: argv, env: env, stdin: stdin, limit: h.timeout()})
	result.Ran = true
	result.Duration = time.Since(started)
	result.Seconds = result.Duration.Seconds()
	result.Status = status
	result.Output = output
	if err != nil {
		return h.failed(result, err)
	}
	if status == 0 || h.Contract == ContractMHA && status == mhaGoOn {
		return result
	}
	return h.failed(result, fmt.Errorf("%w %d", ErrStatus, status))
}

func (h Hook) failed(result Result, err error) Result {
	name := "hook"
	if len(h.Argv) > 0 {
		name = h.Argv[0]
	}
	result.Err = fmt.Errorf("hook %s: %w", name, err)
	if tail := lastLine(result.Output); tail != "" {
		result.Err = fmt.Errorf("hook %s: %w: %s", name, err, tail)
	}
	result.Error = result.Err.Error()
	// MHA's contract leaves no choice: whatever is neither 0 nor 10 aborts.
	result.Aborts = h.OnFailure == Abort || h.Contract == ContractMHA && h.script().aborts()
	return result
}

func (h Hook) command(call Call) (argv, env []string, applies bool) {
	if h.Contract == ContractMHA {
		return h.mhaCommand(call)
	}
	return h.Argv, nil, true
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	if i := strings.LastIndexByte(s, '\n'); i >= 0 {
		s = s[i+1:]
	}
	const limit = 200
	if len(s) > limit {
		s = s[:limit] + "…"
	}
	return s
}
