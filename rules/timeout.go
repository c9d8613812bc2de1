package rules

// TimeoutOf returns the outcome of a probe whose time was over in a phase. write
// says that the statement was the insert probe's: from the statement on it is
// then [WriteTimeout], since login and reads worked.
func TimeoutOf(phase Phase, write bool) Outcome {
	switch {
	case phase == PhaseNone:
		return Undefined
	case phase == PhaseResolve:
		return UnknownHost
	case phase == PhaseConnect:
		return SocketConnectTimeout
	case phase <= PhaseLogin:
		return LoginResponseTimeout
	case write:
		return WriteTimeout
	case phase == PhaseSend:
		return SendQueryTimeout
	case phase == PhaseExecute:
		return QueryExecTimeout
	}
	return QueryResultsTimeout
}
