// Package suggest finds what a user probably meant when a name is unknown.
package suggest

import "strings"

// Nearest returns the candidate closest to word by the number of letters to
// insert, delete, replace or swap, or "" if none is close enough to be worth
// saying: at most two letters off, and at most a third of the word. A candidate
// that word begins, of at least three letters, is close as well.
func Nearest(word string, candidates []string) string {
	word = strings.ToLower(word)
	best, distance := "", 1+min(2, max(1, len([]rune(word))/3))
	for _, c := range candidates {
		if d := edits([]rune(word), []rune(strings.ToLower(c))); d < distance {
			best, distance = c, d
		}
	}
	if best != "" || len(word) < 3 {
		return best
	}
	for _, c := range candidates {
		if strings.HasPrefix(strings.ToLower(c), word) {
			return c
		}
	}
	return ""
}

// edits is the optimal string alignment distance.
func edits(a, b []rune) int {
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	for j := range rows[1] {
		rows[1][j] = j
	}
	for i := 1; i <= len(a); i++ {
		beforeLast, last, current := rows[0], rows[1], rows[2]
		current[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			current[j] = min(last[j]+1, current[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				current[j] = min(current[j], beforeLast[j-2]+1)
			}
		}
		rows = [3][]int{last, current, beforeLast}
	}
	return rows[1][len(b)]
}
