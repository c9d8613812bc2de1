package mysql

import "encoding/json"

// Fact is a value that may be unknown: the query for it failed, or the server
// answered NULL. The zero value is unknown; in JSON that is null.
type Fact[T any] struct {
	value T
	known bool
}

// Known makes a known fact.
func Known[T any](v T) Fact[T] { return Fact[T]{v, true} }

// Get is the value and whether it is known.
func (f Fact[T]) Get() (T, bool) { return f.value, f.known }

// Or is the value, or the given one when it is unknown.
func (f Fact[T]) Or(unknown T) T {
	if !f.known {
		return unknown
	}
	return f.value
}

// IsKnown tells whether the value is known.
func (f Fact[T]) IsKnown() bool { return f.known }

// MarshalJSON gives the value, or null.
func (f Fact[T]) MarshalJSON() ([]byte, error) {
	if !f.known {
		return []byte("null"), nil
	}
	return json.Marshal(f.value)
}

// UnmarshalJSON takes the value, or null.
func (f *Fact[T]) UnmarshalJSON(data []byte) error {
	*f = Fact[T]{}
	if string(data) == "null" {
		return nil
	}
	if err := json.Unmarshal(data, &f.value); err != nil {
		return err
	}
	f.known = true
	return nil
}
