package config

import (
	"strings"
	"testing"
)

func TestKeysAreSound(t *testing.T) {
	names, envs := map[string]bool{}, map[string]string{}
	for _, k := range Keys() {
		if names[k.Name] {
			t.Errorf("%s stands twice", k.Name)
		}
		names[k.Name] = true
		if !strings.HasSuffix(k.Doc, ".") {
			t.Errorf("%s: its text %q is no sentence", k.Name, k.Doc)
		}
		if env := k.Env(); env != "" {
			if other := envs[env]; other != "" || contains(reserved[:], env) {
				t.Errorf("%s and %s share %s", k.Name, other, env)
			}
			envs[env] = k.Name
		}
		if k.Profile && !k.Cluster {
			t.Errorf("%s: the process has no profile", k.Name)
		}
	}
	for k := range names {
		for other := range names {
			if strings.HasPrefix(other, k+".") {
				t.Errorf("%s is a setting and the beginning of %s", k, other)
			}
		}
	}
	defaultLayer(true) // panics at a bad default
	defaultLayer(false)
}
