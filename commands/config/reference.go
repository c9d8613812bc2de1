package config

import (
	"fmt"
	"strings"
)

// Reference is the part of docs/configuration.md that lists all keys, in
// Markdown.
func Reference() string {
	var b strings.Builder
	for _, part := range []struct {
		title   string
		cluster bool
	}{
		{"Keys at the top of the file", false},
		{"Keys of a cluster (below `clusters.NAME` or `defaults`)", true},
	} {
		fmt.Fprintf(&b, "### %s\n\n| key | value | default | meaning | environment, flag |\n|---|---|---|---|---|\n", part.title)
		for _, k := range Keys() {
			if k.Cluster == part.cluster {
				fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", k.Name, k.value(), k.shownDefault(), k.Doc, k.elsewhere())
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

func (k Key) value() string {
	switch {
	case len(k.Choices) > 0 && k.Kind == List:
		return "list of " + strings.Join(k.Choices, ", ")
	case len(k.Choices) > 0:
		return strings.Join(k.Choices, ", ")
	case k.Unit != "":
		return k.Kind.String() + ", " + k.Unit
	default:
		return k.Kind.String()
	}
}

func (k Key) shownDefault() string {
	switch {
	case k.Profile:
		return "the profile's"
	case k.Default == "":
		return ""
	default:
		return "`" + k.Default + "`"
	}
}

func (k Key) elsewhere() string {
	var all []string
	if env := k.Env(); env != "" {
		all = append(all, "`"+env+"`")
	}
	if k.Flag != "" {
		all = append(all, "`--"+k.Flag+"`")
	}
	return strings.Join(all, ", ")
}
