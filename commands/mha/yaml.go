package mha

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// WriteYAML writes the cluster as a configuration file.
func (r *Result) WriteYAML(out io.Writer) error {
	w := &yamlWriter{}
	w.comment("", "Made of %s by: failwise import mha", strings.Join(r.Sources, " and "))
	if len(r.Sources) == 1 {
		w.comment("", "No global file was given; MHA reads /etc/masterha_default.cnf where there is one: --global")
	}
	w.comment("", "Before the first start:")
	for _, step := range r.steps() {
		w.comment("", "- %s", step)
	}
	w.line("")
	w.line("clusters:")
	w.line("  %s:", scalar(r.Cluster))
	w.comment("    ", "Four failed probes in a row, connections refused included; too many connections or a wrong password never count; 8 h between failovers.")
	w.line("    profile: mha")
	w.comment("    ", "Nobody is promoted until this says automatic, or: failwise policy automatic")
	w.line("    policy: manual")
	r.writePings(w)
	r.writeAccounts(w)
	w.comment("    ", "The order is MHA's: it decides between nodes that are equal otherwise.")
	if r.Port != 0 {
		w.line("    port: %d", r.Port)
	}
	w.line("    nodes:")
	for _, n := range r.Nodes {
		w.line("      - %s", n.flow())
	}
	r.writeRoutes(w)
	r.writeHooks(w)
	if len(r.Notes) > 0 {
		w.line("")
		w.comment("", "Settings that have no equal, or not quite:")
		for _, n := range r.Notes {
			w.comment("", "%s:%d: %s: %s", n.File, n.Line, n.Setting, n.Text)
		}
	}
	_, err := io.WriteString(out, w.text.String())
	return err
}

// steps are what is left to do by hand.
func (r *Result) steps() []string {
	var list []string
	if r.HasPassword {
		list = append(list, "write the password of "+r.user()+" into "+r.passwordFile("")+", readable by failwise alone")
	}
	if r.HasReplicationPassword && r.ReplicationUser != "" {
		list = append(list, "write the password of the replication account into "+r.passwordFile(".replication"))
	}
	if r.ReplicationUser == "" {
		list = append(list, "configure replication: {user, password_file}: a demoted primary needs it, and MHA took the user from a replica")
	}
	if r.ProbeType == "insert" {
		list = append(list, "create the table failwise.heartbeat: failwise doctor prints the statement; MHA's infra.chk_masterha is not used")
	}
	return append(list,
		"run failwise config check, then failwise doctor",
		"stop masterha_manager before the policy becomes automatic: two managers would fight")
}

func (r *Result) user() string {
	if r.User == "" {
		return "root" // MHA's default
	}
	return r.User
}

func (r *Result) passwordFile(which string) string {
	return "/etc/failwise/" + r.Cluster + which + ".password"
}

func (r *Result) writePings(w *yamlWriter) {
	seconds := int(r.PingInterval.Seconds())
	if r.PingInterval > 0 {
		w.line("    tick: %ds", seconds)
	}
	w.line("    probe:")
	if r.PingInterval > 0 {
		w.line("      interval: %ds", seconds)
		if seconds < 3 {
			w.line("      budget: %ds", seconds)
		}
	}
	switch r.ProbeType {
	case "":
		w.comment("      ", "MHA's default, SELECT on a held session. connect sees a server that takes no new sessions, too; lint recommends it.")
		w.line("      types: [select]")
	case "select":
		w.comment("      ", "A held session is blind to a server that takes no new ones: [connect] sees both.")
		w.line("      types: [select]")
	default:
		w.line("      types: [%s]", r.ProbeType)
	}
}

func (r *Result) writeAccounts(w *yamlWriter) {
	w.line("    user: %s", scalar(r.user()))
	if r.HasPassword {
		w.line("    password_file: %s", scalar(r.passwordFile("")))
	}
	if r.ReplicationUser == "" {
		return
	}
	w.line("    replication:")
	w.line("      user: %s", scalar(r.ReplicationUser))
	if r.HasReplicationPassword {
		w.line("      password_file: %s", scalar(r.passwordFile(".replication")))
	}
}

// flow is the node as one line.
func (n Node) flow() string {
	var parts []string
	if n.Name != "" {
		parts = append(parts, "name: "+scalar(n.Name))
	}
	parts = append(parts, "host: "+scalar(n.Host))
	if n.Port != 0 {
		parts = append(parts, fmt.Sprintf("port: %d", n.Port))
	}
	if n.Promote != "" {
		parts = append(parts, "promote: "+n.Promote)
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func (r *Result) writeRoutes(w *yamlWriter) {
	if len(r.Routes) == 0 {
		return
	}
	w.line("    confirm:")
	w.line("      routes:")
	for _, route := range r.Routes {
		w.comment("        ", "secondary_check_script (%s)", route.Place)
		w.line("        - command: %s", flow(route.Command))
		w.line("          contract: mha")
		w.comment("          ", "A script that has not ended by then has given no answer; no answer does not hold a failover.")
		w.line("          timeout: 10s")
	}
}

func (r *Result) writeHooks(w *yamlWriter) {
	if len(r.Hooks) == 0 {
		return
	}
	w.line("    hooks:")
	for _, event := range []string{"fence", "promoted", "finished", "failed"} {
		of := slices.DeleteFunc(slices.Clone(r.Hooks), func(h Hook) bool { return h.Event != event })
		if len(of) == 0 {
			continue
		}
		w.line("      %s:", event)
		for _, h := range of {
			w.comment("        ", "%s_script (%s)", h.Script, h.Place)
			w.line("        - command: %s", flow(h.Command))
			w.line("          contract: mha")
			w.line("          script: %s", h.Script)
			if h.SSHUser != "" {
				w.line("          ssh_user: %s", scalar(h.SSHUser))
			}
		}
	}
}

// yamlWriter builds the text line by line.
type yamlWriter struct{ text strings.Builder }

func (w *yamlWriter) line(format string, args ...any) {
	fmt.Fprintf(&w.text, format+"\n", args...)
}

// width is where comments are broken.
const width = 80

// comment writes a comment, broken into lines.
func (w *yamlWriter) comment(indent, format string, args ...any) {
	line := indent + "#"
	for i, word := range strings.Fields(fmt.Sprintf(format, args...)) {
		if i > 0 && len([]rune(line))+1+len([]rune(word)) > width {
			w.line("%s", line)
			line = indent + "#  "
		}
		line += " " + word
	}
	w.line("%s", line)
}

// plain is what needs no quotes anywhere in YAML, and is no number, date or word
// with a meaning of its own. Names of clusters and hosts that are numbers are
// quoted.
var plain = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(/[A-Za-z0-9._/-]+|[A-Za-z][A-Za-z0-9._/-]*[A-Za-z0-9])$`)
})

var meaningful = []string{"true", "false", "yes", "no", "on", "off", "null"}

// scalar writes a text as one YAML value. A JSON string is one.
func scalar(s string) string {
	if plain().MatchString(s) && !slices.Contains(meaningful, strings.ToLower(s)) {
		return s
	}
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil { // a string can always be encoded
		return `""`
	}
	return strings.TrimSuffix(out.String(), "\n")
}

func flow(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = scalar(s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
