package commands

import (
	"github.com/spf13/pflag"
)

// Names of the two global flags that are handled before any command runs.
const (
	helpFlag    = "help"
	versionFlag = "version"
)

// globalFlags are the flags that every command accepts.
func globalFlags(f *pflag.FlagSet) {
	f.String("config", "", "read the configuration from `FILE`")
	f.String("cluster", "", "the cluster to work on, if the configuration has several (`NAME`)")
	f.StringArrayP("host", "H", nil, "a node of a cluster given by flags alone (`HOST[:PORT]`, repeatable)")
	f.VarP(new(portValue), "port", "P", "`PORT` of servers given without one (default 3306)")
	f.StringP("socket", "S", "", "the server's unix socket, instead of a host (`PATH`)")
	f.StringP("user", "u", "", "log in as `USER`")
	f.String("password-file", "", "read the password from the first line of `FILE`")
	f.BoolP("ask-password", "p", false, "ask for the password on the terminal")
	f.String("defaults-file", "", "read user, password, socket and TLS options from the option `FILE` only")
	f.String("ssl-mode", "", "DISABLED, PREFERRED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY (`MODE`)")
	f.String("ssl-ca", "", "trust the certificate authorities in `FILE`")
	f.String("ssl-cert", "", "present the client certificate in `FILE`")
	f.String("ssl-key", "", "the client certificate's key in `FILE`")
	f.String("policy", "", "`POLICY` of a cluster given by flags alone: manual (default) or automatic")
	f.StringP("output", "o", "text", "`FORMAT` of the result: text or json")
	f.Bool("json", false, "short for --output json")
	f.String("color", "auto", "colour output `WHEN`: auto, always or never")
	f.CountP("verbose", "v", "show evidence; repeat for more")
	f.BoolP("quiet", "q", false, "no progress and no remarks on standard error")
	f.VarP(&durationValue{}, "timeout", "t", "give up after `DURATION` (check: default 10s)")
	f.BoolP(helpFlag, "h", false, "show help")
	f.BoolP(versionFlag, "V", false, "show the version")
}
