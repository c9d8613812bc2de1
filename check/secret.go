package check

import (
	"fmt"
	"log/slog"
)

// redacted is what a set secret shows in place of itself.
const redacted = "[secret]"

// Secret is a password. It never prints itself: every verb of fmt, JSON, text
// encodings, slog and error texts show "[secret]", or nothing when it is empty.
// Only [Secret.Reveal] gives the text, to a driver or a child's environment.
// The zero value is the empty password.
type Secret struct {
	// The text hides behind a pointer because fmt prints unexported fields of
	// an enclosing struct by reflection, past every method.
	text *string
}

// NewSecret wraps a password.
func NewSecret(s string) Secret {
	if s == "" {
		return Secret{}
	}
	return Secret{text: &s}
}

// Reveal returns the password itself.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsZero reports whether the password is empty.
func (s Secret) IsZero() bool { return s.text == nil }

// Equal reports whether two secrets hold the same text.
func (s Secret) Equal(o Secret) bool { return s.Reveal() == o.Reveal() }

// String is "[secret]", or "" for the empty password.
func (s Secret) String() string {
	if s.IsZero() {
		return ""
	}
	return redacted
}

// Format prints the same for every verb, %x and %#v included.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(s.String())) }

// GoString is [Secret.String].
func (s Secret) GoString() string { return s.String() }

// MarshalText is [Secret.String], so that no encoder gets the password.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue is [Secret.String], so that no log gets the password.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
