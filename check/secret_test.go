package check

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func TestSecretNeverPrintsItself(t *testing.T) {
	const password = "correct horse"
	secret := NewSecret(password)
	server := Server{Name: "db1", User: "monitor", Secret: secret}
	hidden := struct{ inner Server }{server}
	var printed []string
	for _, v := range []any{secret, &secret, server, &server, hidden, []Secret{secret}, map[string]Secret{"a": secret}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T"} {
			printed = append(printed, fmt.Sprintf(verb, v))
		}
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		slog.New(slog.NewTextHandler(&b, nil)).Info("x", "v", v)
		slog.New(slog.NewJSONHandler(&b, nil)).Info("x", "v", v)
		printed = append(printed, string(text), b.String(), fmt.Errorf("fail: %v %w", v, errors.New("x")).Error())
	}
	printed = append(printed, fmt.Sprint(secret), fmt.Sprintln(secret), secret.String(), secret.GoString())
	for _, p := range printed {
		for _, leak := range []string{password, fmt.Sprintf("%x", password), fmt.Sprintf("%X", password), fmt.Sprintf("%q", password)} {
			if strings.Contains(p, leak) {
				t.Errorf("the secret shows in %q", p)
			}
		}
	}
	if secret.Reveal() != password || secret.String() != redacted {
		t.Errorf("Reveal %q, String %q", secret.Reveal(), secret.String())
	}
	if !secret.Equal(NewSecret(password)) || secret.Equal(NewSecret("other")) {
		t.Error("Equal compares something else than the text")
	}
	if empty := NewSecret(""); !empty.IsZero() || empty.String() != "" || empty != (Secret{}) {
		t.Errorf("the empty secret shows %q", empty)
	}
}
