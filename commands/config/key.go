package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"failwise/check"
	"failwise/failover/journal"
	"failwise/rules"
)

// Kind is the type of a setting's value.
type Kind uint8

// The kinds. A Block is written as a YAML structure of its own and cannot be
// given by the environment.
const (
	Text     Kind = iota
	Path          // a file or directory; "~/" is the home directory, relative ones count from the file's directory
	Duration      // with a unit: 10s, 250ms, 2h
	Count         // a whole number ≥ 0
	Bool          // true or false
	Port          // 1 to 65535
	List          // words
	Command       // a program and its arguments, run without a shell
	Block
)

var kindNames = [...]string{"text", "path", "duration", "count", "true or false", "port", "list", "command", "block"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Key is one setting.
type Key struct {
	// Name is the path in the file with dots, below clusters.NAME or defaults if
	// Cluster is true, else at the top.
	Name    string
	Cluster bool
	Kind    Kind
	// Unit is said in the documentation where the kind does not tell it.
	Unit string
	// Default is written as in the file; "" means nothing, or what Doc says.
	Default string
	// Choices, if any, are all values a Text or List may have.
	Choices []string
	// Profile: without a setting the profile decides.
	Profile bool
	// Flag is the global flag that sets it, without the dashes.
	Flag string
	// Doc is a sentence or two.
	Doc string
	// check looks at the parsed value.
	check func(any) error
}

// Env is the environment variable that sets the key, "" for a [Block].
func (k Key) Env() string {
	if k.Kind == Block {
		return ""
	}
	return "FAILWISE_" + strings.ToUpper(strings.ReplaceAll(k.Name, ".", "_"))
}

// parse reads a value written as one word or line: in the environment, a flag, or
// as a YAML scalar. List and Command are split at blanks, List at commas as well.
func (k Key) parse(s string) (any, error) {
	v, err := k.parseKind(s)
	if err != nil {
		return nil, err
	}
	return v, k.validate(v)
}

func (k Key) validate(v any) error {
	if len(k.Choices) > 0 {
		words, ok := v.([]string)
		if !ok {
			words = []string{fmt.Sprint(v)}
		}
		for _, w := range words {
			if !contains(k.Choices, w) {
				return &choiceError{value: w, choices: k.Choices}
			}
		}
	}
	if k.check != nil {
		return k.check(v)
	}
	return nil
}

// choiceError is a value that is none of the choices.
type choiceError struct {
	value   string
	choices []string
}

func (e *choiceError) Error() string {
	return fmt.Sprintf("%q is not one of %s", e.value, strings.Join(e.choices, ", "))
}

func (k Key) parseKind(s string) (any, error) {
	switch k.Kind {
	case Duration:
		if s == "0" {
			return time.Duration(0), nil
		}
		d, err := time.ParseDuration(s)
		switch {
		case err != nil && isNumber(s):
			return nil, fmt.Errorf("%q has no unit; write %ss", s, s)
		case err != nil:
			return nil, fmt.Errorf("%q is no duration; write 10s, 250ms or 2h", s)
		case d < 0:
			return nil, fmt.Errorf("%q is negative", s)
		}
		return d, nil
	case Count:
		n, err := strconv.Atoi(s)
		if err != nil || n < 0 || n > math.MaxInt32 {
			return nil, fmt.Errorf("%q is no count (0 to %d)", s, math.MaxInt32)
		}
		return n, nil
	case Port:
		n, err := strconv.ParseUint(s, 10, 16)
		if err != nil || n == 0 {
			return nil, fmt.Errorf("%q is no port (1 to 65535)", s)
		}
		return int(n), nil
	case Bool:
		switch s {
		case "true":
			return true, nil
		case "false":
			return false, nil
		}
		return nil, fmt.Errorf("%q is neither true nor false", s)
	case List:
		return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' }), nil
	case Command:
		return strings.Fields(s), nil
	default:
		return s, nil
	}
}

func isNumber(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}

func contains(list []string, s string) bool {
	for _, each := range list {
		if each == s {
			return true
		}
	}
	return false
}

func checkSSLMode(v any) error {
	_, err := check.ParseTLSMode(v.(string))
	return err
}

func checkProfile(v any) error {
	_, err := rules.ParseProfile(v.(string))
	return err
}

func checkPositive(v any) error {
	if v.(time.Duration) == 0 {
		return fmt.Errorf("it must be longer than 0")
	}
	return nil
}

// checkJournalSize: a journal is kept in files of 16 MB, two at the least.
func checkJournalSize(v any) error {
	if least := 2 * journal.DefaultSegmentBytes >> 20; v.(int) != 0 && v.(int) < least {
		return fmt.Errorf("a journal takes at least %d MB; 0 is no bound", least)
	}
	return nil
}

func checkQuotaRefill(v any) error {
	_, err := parseQuotaRefill(v.(string))
	return err
}

func checkMaxLost(v any) error {
	_, err := parseMaxLost(v.(string))
	return err
}
