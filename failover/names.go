package failover

import "fmt"

// nameOf returns the word of v in names, or a numbered stand-in.
func nameOf[T ~uint8](what string, names []string, v T) string {
	if int(v) < len(names) && names[v] != "" {
		return names[v]
	}
	return fmt.Sprintf("%s(%d)", what, uint8(v))
}

// parseName is the inverse of nameOf.
func parseName[T ~uint8](what string, names []string, s string) (T, error) {
	for i, n := range names {
		if n != "" && n == s {
			return T(i), nil
		}
	}
	return 0, &NameError{What: what, Name: s, Known: names}
}

// NameError says that a word is none of a vocabulary's.
type NameError struct {
	// What is the vocabulary: "stage", "policy", "event" ….
	What string
	Name string
	// Known are the vocabulary's words; empty ones are to be skipped.
	Known []string
}

func (e *NameError) Error() string { return fmt.Sprintf("unknown %s %q", e.What, e.Name) }
