package lock

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"failwise/failover/journal"
)

const tokenName = "token"

// nextToken draws the next token in dir and makes it durable before it is used.
// last is the last holder's own, which stands in when the token file was removed.
// The caller holds the lock.
func nextToken(dir string, last Token) (Token, error) {
	name := filepath.Join(dir, tokenName)
	data, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return 0, fmt.Errorf("read the fencing token: %w", err)
	}
	var stored uint64
	if err == nil {
		text := strings.TrimSpace(string(data))
		if stored, err = strconv.ParseUint(text, 10, 64); err != nil {
			return 0, fmt.Errorf("fencing token in %s is %q, not a number; write one larger than any used before into it", name, text)
		}
	}
	next := max(Token(stored), last) + 1
	if err := journal.ReplaceFile(name, fmt.Appendln(nil, uint64(next))); err != nil {
		return 0, fmt.Errorf("write the fencing token: %w", err)
	}
	return next, nil
}
