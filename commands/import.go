package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"failwise/commands/mha"
)

func importCommand() *command {
	return &command{
		name:     "import",
		summary:  "turn another tool's configuration into failwise's",
		examples: []example{{"import mha app1.cnf --global default.cnf > failwise.yaml", ""}},
		branches: []branch{{"mha", importMHACommand}},
	}
}

func importMHACommand() *command {
	return &command{
		name:     "mha",
		operands: "FILE",
		summary:  "turn an MHA manager's configuration into a failwise.yaml",
		about: "Reads an application's file, and the global one with --global, and writes a failwise.yaml to standard\n" +
			"output. Settings that have no equal are named in comments, with the reason. Passwords are not copied: the\n" +
			"result names password files to be written. The cluster is called as the file is, or as --cluster says.\n" +
			"docs/coming-from-mha.md tells what differs.\n" +
			"\n" +
			"Exit code 0; 2 if a file is wrong: then every mistake is listed, and nothing is written.",
		examples: []example{
			{"import mha app1.cnf --global default.cnf > failwise.yaml", ""},
			{"import mha app1.cnf --cluster shop", "under another name"},
		},
		flags: func(f *pflag.FlagSet) {
			f.String("global", "", "the global configuration, masterha_default.cnf (`FILE`)")
		},
		outputs: []string{"text"},
		min:     1, max: 1,
		run: runImportMHA,
	}
}

func runImportMHA(_ context.Context, in *invocation) error {
	app, err := in.readMHA(in.Operand(0))
	if err != nil {
		return err
	}
	var global *mha.File
	if name := in.String("global"); name != "" {
		if global, err = in.readMHA(name); err != nil {
			return err
		}
	}
	name := in.clusterName()
	if name == "" {
		name = clusterNameOf(in.Operand(0))
	}
	result, err := mha.Convert(name, app, global)
	if err != nil {
		return in.mhaProblems(err)
	}
	return result.WriteYAML(in.Out)
}

// readMHA reads one file of MHA's.
func (in *invocation) readMHA(name string) (*mha.File, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, misconfigured(fmt.Errorf("read the MHA configuration: %w", err),
			"name the application's file, often /etc/masterha/NAME.cnf, or with --global masterha_default.cnf")
	}
	defer file.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(io.LimitReader(file, mha.MaxFile+1))
	if err != nil {
		return nil, misconfigured(fmt.Errorf("read the MHA configuration: %w", err))
	}
	parsed, err := mha.Parse(name, text)
	if err != nil {
		return nil, in.mhaProblems(err)
	}
	return parsed, nil
}

// mhaProblems lists everything that is wrong with a file, each with its place.
func (in *invocation) mhaProblems(err error) error {
	var wrong *mha.Error
	if !errors.As(err, &wrong) {
		return err
	}
	for _, p := range wrong.Problems {
		fmt.Fprintln(in.Err, "failwise: "+p.String())
		if p.Hint != "" {
			fmt.Fprintln(in.Err, "hint: "+p.Hint)
		}
	}
	return exitWith(ExitUsage)
}

// clusterNameOf makes a cluster's name of a file's.
func clusterNameOf(path string) string {
	name := filepath.Base(path)
	name = strings.TrimSuffix(name, filepath.Ext(name))
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, name)
	const longest = 64
	if name = strings.TrimLeft(name, "-_"); len(name) > longest {
		name = name[:longest]
	}
	if name == "" {
		return "mha"
	}
	return name
}
