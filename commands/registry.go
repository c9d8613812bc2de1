package commands

// tree is the whole command line: the root and every subcommand, in the order in
// which help lists them. A new command is one file with one function and one
// line here.
func tree() *command {
	root := &command{
		name:    "failwise",
		summary: "say what is wrong with a MySQL or MariaDB server, what that means, and act on it",
		about: "failwise probes servers, judges each outcome by your rules, and fails over a cluster when the rules, the\n" +
			"replicas and the safety checks agree. Every step that says no is recorded with its reason.",
		examples: []example{
			{"check connect db1", "one probe of one server, as a monitoring plugin"},
			{"help check connect", "what a command does and takes"},
		},
		subcommands: []*command{
			checkCommand(),
			watchCommand(),
			explainCommand(),
			lintCommand(),
			replayCommand(),
			testCommand(),
			rulesCommand(),
			statusCommand(),
			whyCommand(),
			historyCommand(),
			topologyCommand(),
			candidatesCommand(),
			policyCommand(),
			quotaCommand(),
			switchCommand(),
			failoverCommand(),
			recoverCommand(),
			demoCommand(),
			doctorCommand(),
			configCommand(),
			importCommand(),
			versionCommand(),
			completionCommand(),
			helpCommand(),
			completeCommand(),
			referenceCommand(),
		},
	}
	root.link(nil)
	return root
}
