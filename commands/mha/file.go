package mha

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Setting is one line NAME=VALUE.
type Setting struct {
	Name, Value string
	File        string
	Line        int
}

// Place is FILE:LINE.
func (s Setting) Place() string { return fmt.Sprintf("%s:%d", s.File, s.Line) }

// Section is one [NAME] with its settings, the last one of a name winning.
type Section struct {
	Name     string
	Line     int
	Settings []Setting
}

// Get returns a setting by its name.
func (s *Section) Get(name string) (Setting, bool) {
	if s == nil {
		return Setting{}, false
	}
	for _, each := range s.Settings {
		if each.Name == name {
			return each, true
		}
	}
	return Setting{}, false
}

func (s *Section) set(setting Setting) {
	for i := range s.Settings {
		if s.Settings[i].Name == setting.Name {
			s.Settings[i] = setting
			return
		}
	}
	s.Settings = append(s.Settings, setting)
}

// File is one configuration file of MHA.
type File struct {
	Name     string
	Sections []*Section
}

// Section returns a section by its name, nil if there is none.
func (f *File) Section(name string) *Section {
	if f == nil {
		return nil
	}
	for _, s := range f.Sections {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// defaultSection holds what servers share.
const defaultSection = "server default"

// MaxFile bounds a file, in bytes.
const MaxFile = 1 << 20

// Parse reads the text of a file as MHA's reader (Perl's Config::Tiny) does: "#"
// and ";" begin a comment line, " ; " one at a line's end, a name that stands
// twice takes the last value, a section that stands twice goes on. What is wrong
// is an [*Error] with all problems.
func Parse(name string, text []byte) (*File, error) {
	f, p := &File{Name: name}, &problems{}
	if len(text) > MaxFile {
		p.add(name, 0, "", "larger than %d MB: this is no MHA configuration", MaxFile>>20)
		return nil, p.err()
	}
	var section *Section
	for i, line := range splitLines(string(text)) {
		number := i + 1
		trimmed := strings.TrimSpace(line)
		if trimmed == "" || trimmed[0] == '#' || trimmed[0] == ';' {
			continue
		}
		if !printable(trimmed) {
			p.add(name, number, "save the file as UTF-8 text", "a character that is no text")
			continue
		}
		trimmed = strings.TrimSpace(cutComment(trimmed))
		switch key, value, isSetting := strings.Cut(trimmed, "="); {
		case trimmed[0] == '[' && strings.HasSuffix(trimmed, "]"):
			section = f.open(strings.TrimSpace(trimmed[1:len(trimmed)-1]), number)
		case !isSetting || strings.TrimSpace(key) == "":
			p.add(name, number, "write NAME=VALUE, [SECTION] or # COMMENT", "neither a setting, a section nor a comment")
		case section == nil:
			p.add(name, number, "put it below [server default]", "setting %s stands before the first section", strings.TrimSpace(key))
		default:
			section.set(Setting{Name: strings.TrimSpace(key), Value: unquote(strings.TrimSpace(value)), File: name, Line: number})
		}
	}
	if err := p.err(); err != nil {
		return nil, err
	}
	return f, nil
}

// open returns the section of a name, a new one if there is none yet.
func (f *File) open(name string, line int) *Section {
	if s := f.Section(name); s != nil {
		return s
	}
	s := &Section{Name: name, Line: line}
	f.Sections = append(f.Sections, s)
	return s
}

// splitLines splits at LF, CR LF and CR, and drops a byte order mark.
func splitLines(text string) []string {
	text = strings.TrimPrefix(text, "\ufeff")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return strings.Split(strings.ReplaceAll(text, "\r", "\n"), "\n")
}

func printable(line string) bool {
	if !utf8.ValidString(line) {
		return false
	}
	for _, r := range line {
		if r != '\t' && !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

// cutComment drops a comment at a line's end: a semicolon between blanks, with
// something behind it.
func cutComment(line string) string {
	for i := 1; i+2 < len(line); i++ {
		if line[i] == ';' && isBlank(line[i-1]) && isBlank(line[i+1]) {
			return line[:i-1]
		}
	}
	return line
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// unquote drops the quotes around a value.
func unquote(value string) string {
	if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
		return value[1 : n-1]
	}
	return value
}
