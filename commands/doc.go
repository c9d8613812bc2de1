// Package commands is the command line of failwise: one file per subcommand,
// which turns flags into calls of the other packages and their answers into
// text, JSON and an exit code. It is the only place that knows flags, colour, and
// exit codes. Flags are declared to and kept by pflag; the order of the words, which may
// be any, and every complaint about them are this package's own (arguments.go).
//
// [Main] runs one command line in a [Process], a value that holds the streams and
// the environment, so that a test can drive it without a process of its own.
//
// # Adding a command
//
// Write one file with one function that returns a *command, and add one line to
// tree in registry.go:
//
//	func quotaCommand() *command {
//		return &command{
//			name:     "quota",
//			operands: "[reset]",
//			summary:  "show or reset the number of automatic failovers left",
//			examples: []example{{"quota reset", "after the cause was mended"}},
//			flags:    func(f *pflag.FlagSet) { f.String("reason", "", "`TEXT` for the journal") },
//			max:      1,
//			run: func(ctx context.Context, in *invocation) error {
//				cluster, err := in.cluster()
//				if err != nil {
//					return err
//				}
//				…
//			},
//		}
//	}
//
// What the framework does for it:
//   - Flags may stand before, between and after the operands; the run function
//     sees flags by in.String and its kin, operands by in.Operands().
//   - The global flags are there for every command: a flag of your own may not
//     use one of their names (globals.go); a test finds that.
//   - Operands are counted against min and max (max -1: any number).
//   - -h, -V, completion, man page and docs/cli.md come from the description.
//     Every command needs an example; regenerate docs/cli.md with go generate.
//   - A command is made when it is run or asked about, and only that one.
//   - A duration flag is declared by Var with a &durationValue{}, and read by
//     in.duration(name): it takes Go's notation and bare seconds.
//
// What the run function owes:
//   - Results go to in.Out, everything else to in.Err (in.remark for a remark that
//     -q silences). Under in.JSON() the result is one value given to in.printJSON,
//     with snake_case keys, durations in seconds, and times as [jsonTime]; each
//     field has a row in docs/json.md, which a test compares.
//   - Colour comes from in.paint(Stdout) or in.paint(Stderr), nowhere else.
//   - It returns an error instead of printing it: usagef for a wrong command line,
//     misconfigured for a wrong file, refused for work that was not done, each with
//     hints; any other error is exit code 1. An error of another package that
//     implements [Hinter] brings its own hints. exitWith(code) ends a command
//     that has said everything itself.
//   - It obeys ctx: SIGINT and SIGTERM cancel it.
//
// in.config, in.cluster and in.target give the configuration: see config.go and
// the package failwise/commands/config.
package commands

//go:generate sh -c "go run .. __reference markdown > ../docs/cli.md"
