package commands

// tree is the whole command line: the root and every subcommand, in the order in
// which help lists them. A new command is one file with one function and one
// line here.
func tree() *command {
	return &command{
		name:    "failwise",
		summary: "say what is wrong with a MySQL or MariaDB server, what that means, and act on it",
		about: "failwise probes servers, judges each outcome by your rules, and fails over a cluster when the rules, the\n" +
			"replicas and the safety checks agree. Every step that says no is recorded with its reason.",
		examples: []example{
			{"check connect db1", "one probe of one server, as a monitoring plugin"},
			{"help check connect", "what a command does and takes"},
		},
		branches: []branch{
			{"check", checkCommand},
			{"watch", watchCommand},
			{"explain", explainCommand},
			{"lint", lintCommand},
			{"replay", replayCommand},
			{"test", testCommand},
			{"rules", rulesCommand},
			{"status", statusCommand},
			{"why", whyCommand},
			{"history", historyCommand},
			{"topology", topologyCommand},
			{"candidates", candidatesCommand},
			{"policy", policyCommand},
			{"quota", quotaCommand},
			{"switch", switchCommand},
			{"failover", failoverCommand},
			{"recover", recoverCommand},
			{"demo", demoCommand},
			{"doctor", doctorCommand},
			{"config", configCommand},
			{"import", importCommand},
			{"version", versionCommand},
			{"completion", completionCommand},
			{"help", helpCommand},
			{completeName, completeCommand},
			{"__reference", referenceCommand},
		},
	}
}
