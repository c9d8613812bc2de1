package rules

import (
	"fmt"
	"strings"
)

// UnknownError is returned for a word that is not in the list it is looked up
// in.
type UnknownError struct {
	// Kind is what the word should have been: "outcome", "state", "profile" …
	Kind string
	// Value is the word as it was given.
	Value string
	// Suggestion is the word that was probably meant, or empty.
	Suggestion string
	// Known are all words that would do. It is empty where there are too many
	// to print.
	Known []string
}

func (e *UnknownError) Error() string {
	message, hint := e.parts()
	if hint == "" {
		return message
	}
	return message + "; " + hint
}

// parts returns what is wrong and what to try.
func (e *UnknownError) parts() (message, hint string) {
	message = fmt.Sprintf("unknown %s %q", e.Kind, shorten(e.Value))
	switch {
	case e.Suggestion != "":
		hint = "did you mean " + e.Suggestion + "?"
	case len(e.Known) > 0:
		hint = "it is one of " + strings.Join(e.Known, ", ")
	}
	return message, hint
}

// lookUp finds word in names without regard to ASCII case and surrounding
// blanks. Only ASCII letters fold: under Unicode's rules the Kelvin sign would
// equal a k.
func lookUp(kind, word string, names []string, list bool) (int, error) {
	w := fold(word)
	for i, n := range names {
		if n != "" && fold(n) == w {
			return i, nil
		}
	}
	e := &UnknownError{Kind: kind, Value: word, Suggestion: nearest(word, names)}
	if list {
		for _, n := range names {
			if n != "" {
				e.Known = append(e.Known, n)
			}
		}
	}
	return 0, e
}

// fold trims blanks and lowers ASCII letters.
func fold(s string) string {
	s = strings.Trim(s, " \t\f\r\n")
	for i := 0; i < len(s); i++ {
		if c := s[i]; 'A' <= c && c <= 'Z' {
			b := []byte(s)
			for ; i < len(b); i++ {
				if 'A' <= b[i] && b[i] <= 'Z' {
					b[i] += 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return s
}

// nearest returns the name closest to word, or "" when none is close enough to
// be meant: at most one edit for each three letters. A name of which word is a
// part of at least four letters is taken when no name is close.
func nearest(word string, names []string) string {
	if len(word) > 64 {
		return ""
	}
	word = strings.NewReplacer("-", "_", " ", "_").Replace(fold(word))
	best, bestName := len(word)/3+1, ""
	for _, n := range names {
		if n == "" {
			continue
		}
		if d := editDistance(word, fold(n)); d < best {
			best, bestName = d, n
		}
	}
	if bestName != "" || len(word) < 4 {
		return bestName
	}
	for _, n := range names {
		if strings.Contains(n, word) {
			return n
		}
	}
	return ""
}

// editDistance counts insertions, deletions, substitutions and swaps of
// neighbours.
func editDistance(a, b string) int {
	before := make([]int, len(b)+1)
	last := make([]int, len(b)+1)
	row := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(row[j-1]+1, last[j]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
