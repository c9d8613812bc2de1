package rules

import (
	"slices"
	"testing"
)

func TestByServerError(t *testing.T) {
	const none = 0
	for _, tc := range []struct {
		number uint16
		errno  int
		phase  Phase
		write  bool
		want   Outcome
	}{
		{1040, none, PhaseGreeting, false, TooManyConnections},
		{1040, none, PhaseLogin, false, TooManyConnections},
		{1203, none, PhaseLogin, false, TooManyConnections},
		{1226, none, PhaseLogin, false, TooManyConnections},
		{1045, none, PhaseLogin, false, WrongCredentials},
		{1227, none, PhaseLogin, false, WrongCredentials},
		{1227, none, PhaseExecute, false, QueryExecutionFailed},
		{1820, none, PhaseExecute, false, WrongCredentials},
		{1820, none, PhaseLogin, false, WrongCredentials},
		{1862, none, PhaseLogin, false, WrongCredentials},
		{4151, none, PhaseLogin, false, WrongCredentials},
		{1129, none, PhaseGreeting, false, MySQLError},
		{1130, none, PhaseGreeting, false, MySQLError},
		{1053, none, PhaseExecute, false, MySQLError},
		{3032, none, PhaseLogin, false, MySQLError},
		{9999, none, PhaseLogin, false, MySQLError},
		{9999, none, PhaseNone, false, MySQLError},
		{3159, none, PhaseLogin, false, TLSError},
		{1146, none, PhaseExecute, false, QueryExecutionFailed},
		{1146, none, PhaseResults, false, QueryExecutionFailed},
		{1153, none, PhaseSend, false, QueryTooLarge},
		{1969, none, PhaseResults, false, QueryExecTimeout},
		{3024, none, PhaseExecute, false, QueryExecTimeout},
		{1290, none, PhaseExecute, true, ReadOnly},
		{1290, none, PhaseExecute, false, QueryExecutionFailed},
		{1036, none, PhaseExecute, true, ReadOnly},
		{1015, 165, PhaseExecute, true, ReadOnly},
		{1015, 5, PhaseExecute, true, QueryExecutionFailed},
		{3989, none, PhaseExecute, true, ReadOnly},
		{1114, none, PhaseExecute, true, DiskFull},
		{3, 28, PhaseExecute, true, DiskFull},
		{1026, 122, PhaseExecute, true, DiskFull},
		{1030, 28, PhaseExecute, true, DiskFull},
		{3, 30, PhaseExecute, true, StorageError},
		{1030, 5, PhaseExecute, true, StorageError},
		{1030, 168, PhaseExecute, true, QueryExecutionFailed},
		{1030, 28, PhaseExecute, false, QueryExecutionFailed},
		{1598, none, PhaseExecute, true, StorageError},
		{1205, none, PhaseExecute, true, WriteTimeout},
		{1205, none, PhaseExecute, false, QueryExecutionFailed},
		{1213, none, PhaseExecute, true, WriteTimeout},
		{1317, none, PhaseResults, false, QueryExecutionFailed},
	} {
		if got := ByServerError(tc.number, tc.errno, tc.phase, tc.write); got != tc.want {
			t.Errorf("ByServerError(%d, %d, %s, %v) = %s, want %s", tc.number, tc.errno, tc.phase, tc.write, got, tc.want)
		}
	}
}

func TestAServerErrorProvesLifeAndNeverKills(t *testing.T) {
	numbers := []uint16{0, 1, 1146, 9999, 65535}
	for _, e := range serverErrors {
		numbers = append(numbers, e.number, e.number+1)
	}
	for _, number := range numbers {
		for phase := PhaseNone; phase <= PhaseResults; phase++ {
			for _, errno := range []int{0, 5, 28, 165} {
				o := ByServerError(number, errno, phase, true)
				if !o.Valid() || !o.Alive() && o != TLSError {
					t.Fatalf("%d in %s: %s", number, phase, o)
				}
				if Defaults().Fatal(o) {
					t.Fatalf("%d in %s: %s is fatal", number, phase, o)
				}
			}
		}
	}
}

func TestLostSession(t *testing.T) {
	for _, number := range []uint16{1317, 1927, 2006, 2013, 3169, 4031} {
		if !LostSession(number) {
			t.Errorf("%d does not say that the session was lost", number)
		}
	}
	for _, number := range []uint16{0, 1040, 1045, 1053, 1205} {
		if LostSession(number) {
			t.Errorf("%d says that the session was lost", number)
		}
	}
}

func TestServerErrorsListsANumberOnce(t *testing.T) {
	if got, want := ServerErrors(StorageError), []uint16{3, 1026, 1030, 1598, 3675}; !slices.Equal(got, want) {
		t.Errorf("storage_error: %v, want %v", got, want)
	}
	if got := ServerErrors(OK); len(got) > 0 {
		t.Errorf("ok: %v", got)
	}
	if got := ServerErrorName(1040); got != "ER_CON_COUNT_ERROR" {
		t.Errorf("1040 is %q", got)
	}
}
