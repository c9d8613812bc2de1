package watch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"failwise/failover"
	"failwise/failover/hooks"
)

// DefaultRouteTimeout is the limit of a route that names none.
const DefaultRouteTimeout = 10 * time.Second

// Route is a command that looks at the primary from elsewhere. With failwise's
// own contract it gets FAILWISE_CLUSTER, FAILWISE_NODE, FAILWISE_HOST and
// FAILWISE_PORT in its environment and ends with 0 when it confirms the death, 3
// when it sees the primary; anything else is no answer. With MHA's contract it
// gets the arguments of a secondary check, and 0 is dead, 2 the route itself
// unreachable, 3 alive.
type Route struct {
	Argv     []string
	Contract hooks.Contract
	// User is the SSH user that an MHA script is told.
	User string
	// Timeout is the command's limit; 0 is [DefaultRouteTimeout].
	Timeout time.Duration
}

// answer is what one route said, with its evidence.
type answer struct {
	Route    failover.Route `json:"route"`
	Command  string         `json:"command"`
	Evidence string         `json:"evidence"`
}

// exits of a route's command, in both contracts.
const (
	routeExitDead = 0
	routeExitSees = 3
)

// ask runs the command and kills its process group at the limit.
func (r Route) ask(ctx context.Context, cluster string, n Node) answer {
	limit := r.Timeout
	if limit <= 0 {
		limit = DefaultRouteTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	host, port := n.Monitor.Address.Host(), fmt.Sprint(n.Monitor.Address.Port())
	argv := r.Argv
	if r.Contract == hooks.ContractMHA {
		argv = append([]string{}, argv...)
		if r.User != "" { // an empty one would overrule the script's own default
			argv = append(argv, "--user="+r.User)
		}
		argv = append(argv, "--master_host="+host, "--master_ip="+addressOf(host), "--master_port="+port)
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(cmd.Environ(), "FAILWISE_CLUSTER="+cluster, "FAILWISE_NODE="+n.Name, "FAILWISE_HOST="+host, "FAILWISE_PORT="+port)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	a := answer{Command: r.Argv[0]}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		a.Evidence = fmt.Sprintf("no answer in %s", limit)
		return a
	case err == nil:
		a.Route = failover.RouteDead
		a.Evidence = "exit 0: confirms the death"
	case errors.As(err, &exit) && exit.ExitCode() == routeExitSees:
		a.Route = failover.RouteSees
		a.Evidence = "exit 3: reaches the primary"
	case errors.As(err, &exit):
		a.Evidence = fmt.Sprintf("exit %d: no answer", exit.ExitCode())
	default:
		a.Evidence = err.Error()
	}
	if line := firstLine(out.String()); line != "" {
		a.Evidence += ": " + line
	}
	return a
}

// addressOf is the host where it is an IP address already: MHA's scripts get
// both, and a name is not looked up again while its server is in trouble.
func addressOf(host string) string {
	if ip := net.ParseIP(host); ip != nil {
		return ip.String()
	}
	return host
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	if len(line) > 200 {
		line = line[:200]
	}
	return line
}

// askRoutes asks all routes at once and gives their joint answer: sees if any
// route sees the primary; dead if all of them (or, with majority, more than half)
// confirm the death; else unknown.
func askRoutes(ctx context.Context, routes []Route, majority bool, cluster string, n Node) (failover.Route, []answer) {
	answers := make([]answer, len(routes))
	var wg sync.WaitGroup
	for i, r := range routes {
		wg.Go(func() { answers[i] = r.ask(ctx, cluster, n) })
	}
	wg.Wait()
	return jointRoute(answers, majority), answers
}

// jointRoute: with all, one route that sees the primary is enough to hold; with
// majority, as many as half of those that answered.
func jointRoute(answers []answer, majority bool) failover.Route {
	sees, dead := 0, 0
	for _, a := range answers {
		switch a.Route {
		case failover.RouteSees:
			sees++
		case failover.RouteDead:
			dead++
		case failover.RouteUnknown:
		}
	}
	switch {
	case sees == 0 && dead == 0:
		return failover.RouteUnknown
	case majority && dead > sees:
		return failover.RouteDead
	case sees > 0:
		return failover.RouteSees
	case !majority && dead < len(answers):
		return failover.RouteUnknown
	default:
		return failover.RouteDead
	}
}
