package doctor

import (
	"regexp"
	"strings"
	"sync"
)

// Grants are the privileges of one user by scope: "*.*", "db.*" or "db.table" in
// lower case, without quotes.
type Grants struct {
	scopes map[string]map[string]bool
	roles  []string
}

// grantLines match a line about privileges and one about a role.
var grantLines = sync.OnceValues(func() (privileges, role *regexp.Regexp) {
	return regexp.MustCompile(`(?i)^GRANT (.+?) ON (?:TABLE )?(\S+\.\S+) TO `), regexp.MustCompile(`(?i)^GRANT (.+?) TO `)
})

// ParseGrants reads the lines of SHOW GRANTS. Lines about routines and proxies are
// passed over.
func ParseGrants(lines []string) Grants {
	grantLine, roleLine := grantLines()
	g := Grants{scopes: map[string]map[string]bool{}}
	for _, line := range lines {
		m := grantLine.FindStringSubmatch(line)
		if m == nil {
			if r := roleLine.FindStringSubmatch(line); r != nil && !strings.Contains(strings.ToUpper(line), " ON ") {
				g.roles = append(g.roles, r[1])
			}
			continue
		}
		scope := strings.ToLower(strings.NewReplacer("`", "", `\_`, "_").Replace(m[2]))
		if g.scopes[scope] == nil {
			g.scopes[scope] = map[string]bool{}
		}
		for _, p := range splitPrivileges(m[1]) {
			g.scopes[scope][p] = true
		}
	}
	return g
}

// splitPrivileges splits at commas outside of column lists, which are dropped: a
// privilege on some columns is none on the table.
func splitPrivileges(s string) []string {
	var list []string
	depth, start := 0, 0
	add := func(part string) {
		if part = strings.ToUpper(strings.TrimSpace(part)); part != "" && !strings.Contains(part, "(") {
			list = append(list, part)
		}
	}
	for i, c := range s {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth == 0:
			add(s[start:i])
			start = i + 1
		}
	}
	add(s[start:])
	return list
}

// Has reports whether a privilege holds on a scope, by itself or by a wider one.
func (g Grants) Has(privilege, scope string) bool {
	db, _, _ := strings.Cut(scope, ".")
	for _, s := range []string{scope, db + ".*", "*.*"} {
		if held := g.scopes[s]; held[privilege] || held["ALL PRIVILEGES"] || held["ALL"] {
			return true
		}
	}
	return false
}

// Roles are the roles that were granted; what they give is not known.
func (g Grants) Roles() []string { return g.roles }
