package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"failwise/check"
)

// ClientOptions are the settings of an option file that failwise uses; all others
// in it are passed over.
type ClientOptions struct {
	User string
	// HasPassword tells an empty password from none.
	HasPassword  bool
	Password     check.Secret
	PasswordFrom string // "option file PATH"
	TLS          check.TLSOptions
}

// tls is the configuration's TLS options with what they leave open taken from the
// file.
func (o ClientOptions) tls(configured check.TLSOptions) check.TLSOptions {
	if configured.Mode == check.TLSAuto {
		configured.Mode = o.TLS.Mode
	}
	if configured.CA == "" {
		configured.CA = o.TLS.CA
	}
	if configured.Cert == "" && configured.Key == "" {
		configured.Cert, configured.Key = o.TLS.Cert, o.TLS.Key
	}
	return configured
}

// OptionFileError is a line of an option file that cannot be read.
type OptionFileError struct {
	File string
	Line int
	Text string
}

func (e *OptionFileError) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Text) }

// Limits of option files, against loops and mistakes.
const (
	maxOptionFile  = 1 << 20 // bytes
	maxOptionDepth = 10      // as MySQL's MAX_DEFAULT_FILES nesting
)

// optionGroups are the groups that count.
var optionGroups = [...]string{"client", "client-mariadb", "failwise"}

// ReadOptionFile reads an option file as MySQL's own programs do (manual section
// "Using Option Files"): groups, comments by # and ;, quotes, escapes, !include
// and !includedir; dashes and underscores are the same, the prefix loose- is
// dropped, and a later setting wins.
func ReadOptionFile(path string, s Sources) (ClientOptions, error) {
	p := optionParser{sources: s}
	err := p.file(path, 0)
	return p.options, err
}

type optionParser struct {
	sources Sources
	options ClientOptions
}

func (p *optionParser) file(path string, depth int) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("option file %s: %w", path, plain(err))
	}
	defer file.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(io.LimitReader(file, maxOptionFile+1))
	if err != nil {
		return fmt.Errorf("option file %s: %w", path, plain(err))
	}
	if len(text) > maxOptionFile {
		return fmt.Errorf("option file %s: larger than %d bytes", path, maxOptionFile)
	}
	had := p.options.HasPassword
	err = p.parse(path, text, depth)
	if p.options.HasPassword && !had {
		p.sources.warnIfReadable(file)
	}
	return err
}

// parse reads the text of a file.
func (p *optionParser) parse(path string, text []byte, depth int) error {
	group, grouped := "", false
	for i, raw := range bytes.Split(text, []byte("\n")) {
		fail := func(text string) error { return &OptionFileError{File: path, Line: i + 1, Text: text} }
		line := strings.TrimSpace(string(raw))
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
		case line[0] == '!':
			if err := p.include(path, line, depth, fail); err != nil {
				return err
			}
		case line[0] == '[':
			name, _, closed := strings.Cut(line[1:], "]")
			if !closed {
				return fail("the group's name has no closing ]")
			}
			group, grouped = strings.TrimSpace(name), true
		case !grouped:
			return fail("an option stands before the first [group]")
		case slices.Contains(optionGroups[:], group):
			name, value, hasValue := splitOption(line)
			if reason := p.set(path, name, value, hasValue); reason != "" {
				return fail(reason)
			}
		}
	}
	return nil
}

// include follows !include and !includedir.
func (p *optionParser) include(path, line string, depth int, fail func(string) error) error {
	word, target, _ := strings.Cut(line, " ")
	target = strings.TrimSpace(target)
	if word != "!include" && word != "!includedir" {
		return fail(fmt.Sprintf("unknown directive %q", word))
	}
	if target == "" {
		return fail(word + " names nothing")
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(path), target)
	}
	if depth >= maxOptionDepth {
		return fail(fmt.Sprintf("files are included more than %d deep", maxOptionDepth))
	}
	files := []string{target}
	if word == "!includedir" {
		entries, err := os.ReadDir(target)
		if err != nil {
			return fail(fmt.Sprintf("cannot read %s: %v", target, plain(err)))
		}
		files = files[:0]
		for _, e := range entries {
			if !e.IsDir() && (strings.HasSuffix(e.Name(), ".cnf")) {
				files = append(files, filepath.Join(target, e.Name()))
			}
		}
	}
	for _, file := range files {
		if err := p.file(file, depth+1); err != nil {
			var located *OptionFileError
			if errors.As(err, &located) {
				return err
			}
			return fail(err.Error())
		}
	}
	return nil
}

// splitOption reads "name", "name=value" or "name = 'value' # comment".
func splitOption(line string) (name, value string, hasValue bool) {
	line = strings.TrimSpace(line[:endOfOption(line)])
	name, value, hasValue = strings.Cut(line, "=")
	name = strings.ReplaceAll(strings.TrimSpace(name), "_", "-")
	name = strings.TrimPrefix(name, "loose-")
	value = strings.TrimSpace(value)
	if n := len(value); n > 1 && (value[0] == '\'' || value[0] == '"') && value[n-1] == value[0] {
		value = value[1 : n-1]
	}
	return name, unescape(value), hasValue
}

// endOfOption is where a comment begins: at a # outside of quotes, blank before it
// or not.
func endOfOption(line string) int {
	var quote byte
	escaped := false
	for i := 0; i < len(line); i++ {
		c := line[i]
		if (c == '\'' || c == '"') && !escaped {
			switch quote {
			case 0:
				quote = c
			case c:
				quote = 0
			}
		}
		if quote == 0 && c == '#' {
			return i
		}
		escaped = quote != 0 && c == '\\' && !escaped
	}
	return len(line)
}

// unescape replaces \b \t \n \r \\ \s \" \'; any other backslash stays.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	const letters, meanings = `btnrs\"'`, "\b\t\n\r \\\"'"
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			if j := strings.IndexByte(letters, s[i+1]); j >= 0 {
				b.WriteByte(meanings[j])
				i++
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// set takes one option; it returns why its value is wrong. What is not listed is
// some other program's business.
func (p *optionParser) set(path, name, value string, hasValue bool) (reason string) {
	o := &p.options
	texts := map[string]*string{
		"user":   &o.User,
		"ssl-ca": &o.TLS.CA, "ssl-cert": &o.TLS.Cert, "ssl-key": &o.TLS.Key,
	}
	if into, found := texts[name]; found {
		*into = value
		return ""
	}
	switch name {
	case "password":
		// A bare "password" asks on the terminal, which a monitor has not.
		if hasValue {
			o.HasPassword, o.Password, o.PasswordFrom = true, check.NewSecret(value), "option file "+path
		}
	case "ssl-mode":
		mode, err := check.ParseTLSMode(value)
		if err != nil {
			return err.Error()
		}
		o.TLS.Mode = mode
	case "skip-ssl", "disable-ssl":
		o.TLS.Mode = check.TLSDisabled
	case "ssl":
		if !hasValue || truth(value) {
			o.TLS.Mode = max(o.TLS.Mode, check.TLSRequired)
		} else {
			o.TLS.Mode = check.TLSDisabled
		}
	case "ssl-verify-server-cert":
		if !hasValue || truth(value) {
			o.TLS.Mode = check.TLSVerifyIdentity
		}
	}
	return ""
}

func truth(s string) bool {
	return s == "1" || strings.EqualFold(s, "on") || strings.EqualFold(s, "true")
}
