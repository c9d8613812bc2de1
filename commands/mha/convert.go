package mha

import (
	"cmp"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"failwise/check"
)

// Result is what became of an MHA configuration.
type Result struct {
	// Sources are the files' names, the application's first.
	Sources []string
	// Cluster is the name of the cluster.
	Cluster string
	Nodes   []Node
	// Port is that of nodes that name none; 0 is the default, 3306.
	Port uint16

	User, ReplicationUser string
	// HasPassword and HasReplicationPassword tell that MHA was given one.
	HasPassword, HasReplicationPassword bool

	// PingInterval is 0 where MHA's default, 3 s, holds.
	PingInterval time.Duration
	// ProbeType is "" where MHA's default, select, holds.
	ProbeType string
	// Routes are secondary check scripts.
	Routes []Route
	Hooks  []Hook
	// Notes are the settings with something to say about, in the files' order.
	Notes []Note
}

// Node is one server.
type Node struct {
	// Name is "" where the address is the name.
	Name string
	Host string
	// Port is 0 where the cluster's holds.
	Port    uint16
	Promote string
	Place   string
}

// Route is a secondary check script.
type Route struct {
	Command []string
	Place   string
}

// Hook is a script at one event.
type Hook struct {
	Event, Script string
	Command       []string
	SSHUser       string
	Place         string
}

// Note is a setting that was not carried over, or not as it was.
type Note struct {
	File string
	Line int
	// Setting is the name, and the value where it is no secret.
	Setting string
	Text    string
}

var (
	serverSection = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^server\S+$`) })
	binlogSection = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^binlog\S+$`) })
	serverNumber  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^server\D*(\d+)`) })
)

// conversion is one run of [Convert].
type conversion struct {
	app, global *File
	servers     []*Section
	secrets     secrets
	problems    problems
	result      Result
}

// Convert turns an application's file, and the global one if it is not nil, into
// a cluster called name. What is wrong is an [*Error] with all problems.
func Convert(name string, app, global *File) (*Result, error) {
	c := &conversion{app: app, global: global, result: Result{Sources: []string{app.Name}, Cluster: name}}
	if global != nil {
		c.result.Sources = append(c.result.Sources, global.Name)
	}
	c.collectSecrets()
	c.sections()
	c.eachSetting(c.look)
	c.nodes()
	c.accounts()
	c.pings()
	c.scripts()
	if err := c.problems.err(); err != nil {
		return nil, err
	}
	slices.SortStableFunc(c.result.Notes, func(a, b Note) int {
		return cmp.Or(slices.Index(c.result.Sources, a.File)-slices.Index(c.result.Sources, b.File), a.Line-b.Line)
	})
	return &c.result, nil
}

func (c *conversion) files() []*File {
	if c.global == nil {
		return []*File{c.app}
	}
	return []*File{c.app, c.global}
}

// eachSetting visits all settings in the order of the files; section is where it
// stands.
func (c *conversion) eachSetting(visit func(section *Section, s Setting)) {
	for _, f := range c.files() {
		for _, section := range f.Sections {
			if f == c.global && section.Name != defaultSection {
				continue
			}
			for _, s := range section.Settings {
				visit(section, s)
			}
		}
	}
}

func (c *conversion) collectSecrets() {
	for _, f := range c.files() {
		for _, section := range f.Sections {
			for _, s := range section.Settings {
				if p, _, known := parameter(s.Name); (!known || p.Quiet) && s.Value != "" {
					c.secrets = append(c.secrets, s.Value)
				}
			}
		}
	}
}

// sections finds the servers, in MHA's order: by the number in their names if all
// have one, else by name.
func (c *conversion) sections() {
	numbered := true
	for _, s := range c.app.Sections {
		switch {
		case s.Name == defaultSection:
		case serverSection().MatchString(s.Name):
			c.servers = append(c.servers, s)
			numbered = numbered && serverNumber().MatchString(s.Name)
		case binlogSection().MatchString(s.Name):
			c.note(Setting{Name: "[" + s.Name + "]", File: c.app.Name, Line: s.Line},
				"binary log servers are not asked: what no replica has received is reported as lost before anything is done, and semi-sync keeps it from happening")
		default:
			c.problems.add(c.app.Name, s.Line, "sections are [server default], [server1], [server2] … and [binlog1] …", "unknown section [%s]", s.Name)
		}
	}
	if c.global != nil {
		for _, s := range c.global.Sections {
			if s.Name != defaultSection {
				c.note(Setting{Name: "[" + s.Name + "]", File: c.global.Name, Line: s.Line}, "of a global file [server default] counts alone, in MHA as well")
			}
		}
	}
	if len(c.servers) == 0 {
		c.problems.add(c.app.Name, 0, "give the application's file, not the global one: that is --global", "no section [server1] …: no server is named")
	}
	slices.SortStableFunc(c.servers, func(a, b *Section) int {
		if numbered {
			return number(a.Name) - number(b.Name)
		}
		return strings.Compare(a.Name, b.Name)
	})
}

func number(section string) int {
	n, err := strconv.Atoi(serverNumber().FindStringSubmatch(section)[1])
	if err != nil { // too long to be a number
		return 1 << 30
	}
	return n
}

// look is the first look at a setting: is it known, does it count here, and has
// the table something to say about it.
func (c *conversion) look(section *Section, s Setting) {
	p, hint, known := parameter(s.Name)
	switch {
	case !known:
		c.problems.at(s, hint, "unknown parameter %s", s.Name)
	case binlogSection().MatchString(section.Name):
	case p.Server && section.Name == defaultSection:
		c.note(s, "it counts in a server's own section only, in MHA as well")
	case p.Why != "" && s.Value != "":
		c.note(s, p.Why)
	}
}

// note keeps a remark about a setting, without its value if that may be secret.
func (c *conversion) note(s Setting, text string) {
	setting := s.Name
	p, _, known := parameter(s.Name)
	switch {
	case s.Value == "":
	case known && !p.Quiet && !c.secrets.shows(s.Value):
		setting += "=" + s.Value
	default:
		setting += "=…"
	}
	c.result.Notes = append(c.result.Notes, Note{File: s.File, Line: s.Line, Setting: setting, Text: text})
}

// inherited is the value from the defaults.
func (c *conversion) inherited(name string) (Setting, bool) {
	if s, found := c.app.Section(defaultSection).Get(name); found {
		return s, true
	}
	return c.global.Section(defaultSection).Get(name)
}

// shared is the one value that all servers have in failwise: the inherited one,
// else the first server's. Values in servers' sections that differ are noted.
func (c *conversion) shared(name string) (Setting, bool) {
	chosen, found := c.inherited(name)
	for _, server := range c.servers {
		own, has := server.Get(name)
		switch {
		case !has:
		case !found:
			chosen, found = own, true
		case own.Value != chosen.Value:
			c.note(own, "one value holds for all servers of a cluster: that of "+chosen.Place())
		}
	}
	return chosen, found && chosen.Value != ""
}

// isTrue is Perl's idea of it, which is MHA's.
func isTrue(s Setting) bool { return s.Value != "" && s.Value != "0" }

func (c *conversion) nodes() {
	shared := uint16(0)
	if s, found := c.inherited("port"); found && s.Value != "" {
		shared = c.port(s)
	}
	c.result.Port = shared
	names, seen := map[string]int{}, map[string]Setting{}
	for _, server := range c.servers {
		s, _ := server.Get("hostname")
		names[s.Value]++
	}
	for _, server := range c.servers {
		hostname, found := server.Get("hostname")
		if !found || hostname.Value == "" {
			c.problems.add(c.app.Name, server.Line, "hostname=db1", "[%s] has no hostname", server.Name)
			continue
		}
		n := Node{Host: bracketed(hostname.Value), Place: hostname.Place()}
		if names[hostname.Value] == 1 {
			n.Name = hostname.Value
		}
		where := hostname
		if ip, has := server.Get("ip"); has && ip.Value != "" {
			n.Host, where = bracketed(ip.Value), ip
		}
		if port, has := server.Get("port"); has && port.Value != "" {
			if n.Port = c.port(port); n.Port == shared || shared == 0 && n.Port == defaultPort {
				n.Port = 0
			}
		}
		n.Promote = promote(server)
		if address, ok := c.address(n, where); ok {
			if first, twice := seen[address]; twice {
				c.problems.at(where, "", "server %s is named twice, first at %s", address, first.Place())
			}
			seen[address] = where
		}
		c.result.Nodes = append(c.result.Nodes, n)
	}
}

func promote(server *Section) string {
	if no, has := server.Get("no_master"); has && isTrue(no) {
		return "never"
	}
	if candidate, has := server.Get("candidate_master"); has && isTrue(candidate) {
		return "prefer"
	}
	return ""
}

const defaultPort = 3306

func (c *conversion) port(s Setting) uint16 {
	n, err := strconv.ParseUint(s.Value, 10, 16)
	if err != nil || n == 0 {
		c.problems.at(s, "", "port is no number from 1 to 65535")
		return 0
	}
	return uint16(n)
}

// bracketed puts an IPv6 address in brackets.
func bracketed(host string) string {
	if ip, err := netip.ParseAddr(host); err == nil && ip.Is6() {
		return "[" + host + "]"
	}
	return host
}

// address is where the node will be looked for.
func (c *conversion) address(n Node, at Setting) (string, bool) {
	host, port := n.Host, n.Port
	if port == 0 {
		port = c.result.Port
	}
	if port == 0 {
		port = defaultPort
	}
	if strings.ContainsAny(host, ":/") && host[0] != '[' {
		c.problems.at(at, "the port has a setting of its own: port", "%s is no host name or address", at.Name)
		return "", false
	}
	a, err := check.ParseAddress(host, port)
	if err != nil {
		c.problems.at(at, "", "%s is no host name or address", at.Name)
		return "", false
	}
	return a.String(), true
}

func (c *conversion) accounts() {
	if s, found := c.shared("user"); found {
		c.result.User = s.Value
	}
	_, c.result.HasPassword = c.shared("password")
	if s, found := c.shared("repl_user"); found {
		c.result.ReplicationUser = s.Value
	}
	_, c.result.HasReplicationPassword = c.shared("repl_password")
}

// longestPing bounds ping_interval, in seconds.
const longestPing = 86400

func (c *conversion) pings() {
	if s, found := c.shared("ping_interval"); found {
		n, err := strconv.ParseUint(s.Value, 10, 32)
		if err != nil || n < 1 || n > longestPing {
			c.problems.at(s, "ping_interval=3", "ping_interval is no whole number of seconds from 1 to %d", longestPing)
		}
		c.result.PingInterval = time.Duration(n) * time.Second
	}
	if s, found := c.shared("ping_type"); found {
		types := []string{"select", "connect", "insert"}
		if c.result.ProbeType = strings.ToLower(s.Value); !slices.Contains(types, c.result.ProbeType) {
			c.problems.at(s, "MHA knows SELECT, CONNECT and INSERT", "ping_type is no type of ping")
		}
	}
}

// scriptEvents says at which events MHA's scripts are called. The order is MHA's:
// addresses are taken away before the power is.
var scriptEvents = []struct {
	setting string
	events  []string
}{
	{"master_ip_failover_script", []string{"fence", "promoted"}},
	{"shutdown_script", []string{"fence"}},
	{"master_ip_online_change_script", []string{"fence", "promoted"}},
	{"report_script", []string{"finished", "failed"}},
}

func (c *conversion) scripts() {
	sshUser := ""
	if s, found := c.shared("ssh_user"); found {
		sshUser = s.Value
	}
	for _, script := range scriptEvents {
		s, found := c.shared(script.setting)
		if !found {
			continue
		}
		argv, ok := c.command(s)
		if !ok {
			continue
		}
		for _, event := range script.events {
			c.result.Hooks = append(c.result.Hooks, Hook{
				Event: event, Script: strings.TrimSuffix(script.setting, "_script"), Command: argv, SSHUser: sshUser, Place: s.Place(),
			})
		}
	}
	s, found := c.shared("secondary_check_script")
	if !found {
		return
	}
	if argv, ok := c.command(s); ok {
		if sshUser != "" {
			argv = append(argv, "--user="+sshUser)
		}
		c.result.Routes = append(c.result.Routes, Route{Command: argv, Place: s.Place()})
	}
}

// command is a script's argument list without passwords.
func (c *conversion) command(s Setting) ([]string, bool) {
	list := command(s.Value)
	shell := len(list) > 2 && list[1] == "-c"
	var kept []string
	before := ""
	for i, word := range list {
		secret := c.secrets.isSecret(before, word) || shell && i == 2 && c.hidesSecret(word)
		before = word
		switch {
		case !secret:
			kept = append(kept, word)
		case shell || i == 0:
			c.note(Setting{Name: s.Name, File: s.File, Line: s.Line},
				"not carried over: the command holds what looks like a password. Let the script read it from a file, or from the environment, and write the hook by hand")
			return nil, false
		default:
			c.note(Setting{Name: s.Name, File: s.File, Line: s.Line},
				fmt.Sprintf("argument %d is left out: it looks like a password. Let the script read it from a file, or from the environment", i))
		}
	}
	if len(kept) == 0 || kept[0] == "" {
		c.problems.at(s, "", "%s names no program", s.Name)
		return nil, false
	}
	return kept, true
}

// hidesSecret looks for passwords in a shell's command line.
func (c *conversion) hidesSecret(line string) bool {
	fields := strings.Fields(line)
	for i, word := range fields {
		before := ""
		if i > 0 {
			before = fields[i-1]
		}
		if c.secrets.isSecret(before, word) {
			return true
		}
	}
	return false
}
