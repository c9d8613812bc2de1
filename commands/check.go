package commands

func checkCommand() *command {
	return &command{
		name:    "check",
		summary: "check one thing and exit as a monitoring plugin",
		about: "Exit code 0 is OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN. One line on standard output tells the state, with\n" +
			"performance data after a bar; -v adds the evidence. A check ends within --timeout (default 10s).",
		examples: []example{
			{"check connect db1", "one probe of one server"},
			{"check replica db2 -w 10s -c 60s", "the replication of one server"},
		},
		check: true,
		branches: []branch{
			{"connect", func() *command { return checkProbeCommand("connect") }},
			{"select", func() *command { return checkProbeCommand("select") }},
			{"insert", func() *command { return checkProbeCommand("insert") }},
			{"storage", checkStorageCommand},
			{"replica", checkReplicaCommand},
			{"cluster", checkClusterCommand},
			{"watch", checkWatchCommand},
		},
	}
}
