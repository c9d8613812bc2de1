package rules

// TimeoutOf returns the outcome of a probe whose time was over in a phase. write
// says that the statement was the insert probe's: from the statement on it is
// then [WriteTimeout], since login and reads worked.
func TimeoutOf(phase Phase, write bool) Outcome {
	switch phase {
	case PhaseNone:
		return Undefined
	case PhaseResolve:
		return UnknownHost
	case PhaseConnect:
		return SocketConnectTimeout
	case PhaseGreeting, PhaseLogin:
		return LoginResponseTimeout
	}
	if write {
		return WriteTimeout
	}
	switch phase {
	case PhaseSend:
		return SendQueryTimeout
	case PhaseExecute:
		return QueryExecTimeout
	}
	return QueryResultsTimeout
}
