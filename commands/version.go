package commands

import (
	"context"
	"fmt"
	"runtime"
)

// versionReport is the JSON output of version.
type versionReport struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Date     string `json:"date,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func versionCommand() *command {
	return &command{
		name:     "version",
		brief:    true,
		summary:  "show which build of failwise this is",
		examples: []example{{"version --output json", "for an inventory"}},
		run: func(_ context.Context, in *invocation) error {
			if in.JSON() {
				b := in.Build
				return in.printJSON(versionReport{b.Version, b.Commit, b.Date, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH})
			}
			_, err := fmt.Fprintln(in.Out, in.Build)
			return err
		},
	}
}
