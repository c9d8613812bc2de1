package mysql

import (
	"context"
	"errors"
	"strings"
)

// SemiSync is the state of semi-synchronous replication on both sides. A
// server without the plugin has Installed false.
type SemiSync struct {
	SourceInstalled  bool   `json:"source_installed"`
	ReplicaInstalled bool   `json:"replica_installed"`
	SourceEnabled    bool   `json:"source_enabled"`
	ReplicaEnabled   bool   `json:"replica_enabled"`
	SourceActive     bool   `json:"source_active"`  // Rpl_semi_sync_source_status
	ReplicaActive    bool   `json:"replica_active"` // Rpl_semi_sync_replica_status
	Clients          uint64 `json:"clients"`        // counts zombie dump threads on MySQL
	YesTx            uint64 `json:"yes_tx"`         // commits acknowledged by a replica
	NoTx             uint64 `json:"no_tx"`          // commits that were not
	TimeoutMS        uint64 `json:"timeout_ms"`
	WaitCount        uint64 `json:"wait_count"` // acknowledgements a commit waits for
	WaitNoReplica    bool   `json:"wait_no_replica"`
}

// semiSyncWords are the two spellings of the variables, empty where the plugin
// is not installed.
type semiSyncWords struct{ source, replica string }

// wordsOf reads from the status variables that exist which plugin is there:
// MySQL 8.0.26 to 8.4 has both the old and the new ones.
func wordsOf(status map[string]string) semiSyncWords {
	var w semiSyncWords
	for _, n := range []string{"source", "master"} {
		if _, ok := status["rpl_semi_sync_"+n+"_status"]; ok && w.source == "" {
			w.source = n
		}
	}
	for _, n := range []string{"replica", "slave"} {
		if _, ok := status["rpl_semi_sync_"+n+"_status"]; ok && w.replica == "" {
			w.replica = n
		}
	}
	return w
}

// SemiSync reads the state of both sides with statements that do not hang on a
// sick server.
func (s *Session) SemiSync(ctx context.Context) (SemiSync, error) { return s.semiSync(ctx) }

func (s *Session) semiSync(ctx context.Context) (SemiSync, error) {
	rows, err := s.run(ctx, "read semi-sync status", "SHOW GLOBAL STATUS LIKE 'Rpl\\_semi\\_sync\\_%'", "")
	if err != nil {
		return SemiSync{}, err
	}
	status := make(map[string]string, len(rows))
	for _, r := range rows {
		status[strings.ToLower(r.text("Variable_name"))] = r.text("Value")
	}
	w := wordsOf(status)
	s.rememberWords(w)
	semi := SemiSync{SourceInstalled: w.source != "", ReplicaInstalled: w.replica != ""}
	number := func(name string) uint64 {
		return row{map[string]int{"n": 0}, []Fact[string]{Known(status[name])}}.number("n").Or(0)
	}
	var names []string
	version, err := s.Version(ctx)
	if err != nil {
		return SemiSync{}, err
	}
	source, replica := "rpl_semi_sync_"+w.source, "rpl_semi_sync_"+w.replica
	// MariaDB waits for one acknowledgement and has no variable for it.
	waitCount := source + "_wait_for_" + map[string]string{"source": "replica", "master": "slave"}[w.source] + "_count"
	waitNone := source + "_wait_no_" + map[string]string{"source": "replica", "master": "slave"}[w.source]
	if w.source != "" {
		semi.SourceActive = isOn(status[source+"_status"])
		semi.Clients, semi.YesTx, semi.NoTx = number(source+"_clients"), number(source+"_yes_tx"), number(source+"_no_tx")
		names = append(names, source+"_enabled", source+"_timeout", waitNone)
		if version.Flavour == MySQL {
			names = append(names, waitCount)
		}
	}
	if w.replica != "" {
		semi.ReplicaActive = isOn(status[replica+"_status"])
		names = append(names, replica+"_enabled")
	}
	values, err := s.Globals(ctx, names...)
	if err != nil {
		return SemiSync{}, err
	}
	status = values
	semi.SourceEnabled, semi.ReplicaEnabled = isOn(values[source+"_enabled"]), isOn(values[replica+"_enabled"])
	semi.TimeoutMS, semi.WaitNoReplica = number(source+"_timeout"), isOn(values[waitNone])
	if semi.WaitCount = number(waitCount); semi.WaitCount == 0 && semi.SourceInstalled {
		semi.WaitCount = 1
	}
	return semi, nil
}

func (s *Session) rememberWords(w semiSyncWords) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil {
		s.conn.semiSync = w
	}
}

// errNoSemiSync tells that there is nothing to switch.
var errNoSemiSync = errors.New("the semi-sync plugin is not installed")

// words are the spellings on this connection, asked for once.
func (s *Session) words(ctx context.Context) (semiSyncWords, error) {
	c, err := s.peek(ctx)
	if err != nil {
		return semiSyncWords{}, err
	}
	s.mu.Lock()
	w := c.semiSync
	s.mu.Unlock()
	if w != (semiSyncWords{}) {
		return w, nil
	}
	if c.version.Flavour == MariaDB {
		return semiSyncWords{"master", "slave"}, nil
	}
	if _, err := s.semiSync(ctx); err != nil {
		return semiSyncWords{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return c.semiSync, nil
}

// SetSemiSyncSource switches the source side. Switching it off while a commit
// waits for an acknowledgement tells the waiting client success although no
// replica has its row; on MySQL it takes up to a second.
func (s *Session) SetSemiSyncSource(ctx context.Context, on bool) error {
	w, err := s.words(ctx)
	if err != nil {
		return err
	}
	return s.setSemiSync(ctx, "switch semi-sync source "+onOff(on), w.source, on)
}

// SetSemiSyncReplica switches the replica side. A running IO thread takes note
// at its next start.
func (s *Session) SetSemiSyncReplica(ctx context.Context, on bool) error {
	w, err := s.words(ctx)
	if err != nil {
		return err
	}
	return s.setSemiSync(ctx, "switch semi-sync replica "+onOff(on), w.replica, on)
}

func (s *Session) setSemiSync(ctx context.Context, op, word string, on bool) error {
	if word == "" {
		return s.fail(op, errNoSemiSync, "")
	}
	_, err := s.run(ctx, op, "SET GLOBAL rpl_semi_sync_"+word+"_enabled="+onOff(on), "")
	return err
}

func onOff(on bool) string {
	if on {
		return "ON"
	}
	return "OFF"
}
