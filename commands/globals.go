package commands

import (
	"failwise/commands/cli"
)

// Names of the two global flags that are handled before any command runs.
const (
	helpFlag    = "help"
	versionFlag = "version"
)

// globalFlags returns the flags that every command accepts, new ones at each
// call because the parser keeps values in them.
func globalFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "config", Usage: "read the configuration from `FILE`"},
		&cli.StringFlag{Name: "cluster", Usage: "the cluster to work on, if the configuration has several (`NAME`)"},
		&cli.StringSliceFlag{Name: "host", Aliases: []string{"H"}, Usage: "a node of a cluster given by flags alone (`HOST[:PORT]`, repeatable)"},
		&cli.IntFlag{Name: "port", Aliases: []string{"P"}, Usage: "`PORT` of servers given without one (default 3306)"},
		&cli.StringFlag{Name: "socket", Aliases: []string{"S"}, Usage: "the server's unix socket, instead of a host (`PATH`)"},
		&cli.StringFlag{Name: "user", Aliases: []string{"u"}, Usage: "log in as `USER`"},
		&cli.StringFlag{Name: "password-file", Usage: "read the password from the first line of `FILE`"},
		&cli.BoolFlag{Name: "ask-password", Aliases: []string{"p"}, Usage: "ask for the password on the terminal"},
		&cli.StringFlag{Name: "defaults-file", Usage: "read user, password, socket and TLS options from the option `FILE` only"},
		&cli.StringFlag{Name: "ssl-mode", Usage: "DISABLED, PREFERRED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY (`MODE`)"},
		&cli.StringFlag{Name: "ssl-ca", Usage: "trust the certificate authorities in `FILE`"},
		&cli.StringFlag{Name: "ssl-cert", Usage: "present the client certificate in `FILE`"},
		&cli.StringFlag{Name: "ssl-key", Usage: "the client certificate's key in `FILE`"},
		&cli.StringFlag{Name: "policy", Usage: "`POLICY` of a cluster given by flags alone: manual (default) or automatic"},
		&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Value: "text", Usage: "`FORMAT` of the result: text or json"},
		&cli.BoolFlag{Name: "json", Usage: "short for --output json"},
		&cli.StringFlag{Name: "color", Aliases: []string{"colour"}, Value: "auto", Usage: "colour output `WHEN`: auto, always or never"},
		&cli.BoolFlag{Name: "verbose", Aliases: []string{"v"}, Usage: "show evidence; repeat for more"},
		&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "no progress and no remarks on standard error"},
		&cli.ValueFlag{Name: "timeout", Aliases: []string{"t"}, Value: &durationValue{}, Usage: "give up after `DURATION` (check: default 10s)"},
		&cli.BoolFlag{Name: helpFlag, Aliases: []string{"h"}, Usage: "show help"},
		&cli.BoolFlag{Name: versionFlag, Aliases: []string{"V"}, Usage: "show the version"},
	}
}
