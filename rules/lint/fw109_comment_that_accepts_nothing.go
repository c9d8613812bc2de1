package lint

var fw109 = Check{
	Code:     "FW109",
	Severity: Warning,
	Title:    "comment that accepts nothing",
	What: "A `failwise:ignore` comment names no code or one that does not exist, has no reason, or stands " +
		"where its check finds nothing.",
	Why: "A comment that outlives its cause would hide the next finding of that kind. A reason is asked " +
		"for because the next reader needs it.",
	Fix: "Delete the comment or give its reason: `# failwise:ignore FW203 why this is meant`.",
	Bad: `# failwise:ignore FW203 we want this
query_results_timeout.state     = timeout
query_results_timeout.threshold = 8
query_results_timeout.action    = alert
`,
	Good: `query_results_timeout.state     = timeout
query_results_timeout.threshold = 8
query_results_timeout.action    = alert
`,
	// run is nil: [suppress] reports it, once all findings are known.
}
