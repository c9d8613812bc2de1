package mha

import "strings"

// words splits a command line as a shell does: blanks, quotes, backslashes. ok is
// false where only a shell can read it, because of a variable, a pipe, a pattern
// or an unclosed quote.
func words(line string) (list []string, ok bool) {
	const special = "|&;<>()$`*?[]{}#~!"
	var word strings.Builder
	open, quote := false, rune(0)
	escaped := false
	for _, r := range line {
		switch {
		case escaped:
			if quote == '"' && !strings.ContainsRune("\"\\$`", r) {
				word.WriteByte('\\')
			}
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, open = true, true
		case quote != 0:
			switch {
			case r == quote:
				quote = 0
			case quote == '"' && (r == '$' || r == '`'):
				return nil, false
			default:
				word.WriteRune(r)
			}
		case r == '"' || r == '\'':
			quote, open = r, true
		case r == ' ' || r == '\t':
			if open {
				list, open = append(list, word.String()), false
				word.Reset()
			}
		case strings.ContainsRune(special, r):
			return nil, false
		default:
			word.WriteRune(r)
			open = true
		}
	}
	if quote != 0 || escaped {
		return nil, false
	}
	if open {
		list = append(list, word.String())
	}
	return list, true
}

// command makes an argument list of a script setting. MHA lets a shell read it and
// puts its own arguments behind; where a shell is needed the list begins with one.
func command(line string) []string {
	if list, ok := words(line); ok {
		return list
	}
	return []string{"/bin/sh", "-c", line + ` "$@"`, "mha"}
}

// secrets are the passwords of a configuration.
type secrets []string

// longEnough is the length from which a password is looked for inside of words. A
// shorter one stands in many a path by chance.
const longEnough = 6

// shows reports whether a text holds one of the passwords.
func (s secrets) shows(text string) bool {
	for _, secret := range s {
		if len(secret) >= longEnough && strings.Contains(text, secret) {
			return true
		}
		for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t='\",:@", r) }) {
			if word == secret || word == "-p"+secret {
				return true
			}
		}
	}
	return false
}

// isSecret reports whether a word of a command is, or looks like, a password.
// before is the word in front of it.
func (s secrets) isSecret(before, word string) bool {
	name, _, joined := strings.Cut(word, "=")
	switch {
	case s.shows(word), joined && namesSecret(name):
		return true
	case strings.HasPrefix(before, "-") && !strings.Contains(before, "=") && namesSecret(before):
		return true
	}
	return false
}

func namesSecret(name string) bool {
	name = strings.ToLower(strings.TrimLeft(name, "-"))
	if strings.Contains(name, "file") {
		return false
	}
	for _, part := range []string{"passw", "passphrase", "pwd", "secret", "token"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return name == "pass" || strings.HasSuffix(name, "_pass")
}
