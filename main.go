// Failwise says exactly what is wrong with a MySQL or MariaDB server, what that
// means under the user's own rules, and why a cluster did or did not fail over.
package main

import (
	"os"

	"failwise/commands"
)

// Build information, set by the linker for a release.
var (
	version = ""
	commit  = ""
	date    = ""
)

func main() {
	build := commands.Build{Version: version, Commit: commit, Date: date}
	os.Exit(commands.Main(os.Args, commands.OS(build)))
}
