package mysql

import (
	"context"
	"errors"
	"strconv"
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
	Waiting          uint64 `json:"waiting"`        // sessions that wait for an acknowledgement now
	TimeoutMS        uint64 `json:"timeout_ms"`
	WaitCount        uint64 `json:"wait_count"` // acknowledgements a commit waits for
	WaitNoReplica    bool   `json:"wait_no_replica"`
}

// semiSyncWords are the two spellings of the variables, empty where the plugin
// is not installed.
type semiSyncWords struct{ source, replica string }

// wordsOf reads from the status variables that exist which plugin is there:
// MySQL 8.0.26 to 8.4 has both the old and the new ones.
func wordsOf(status variables) semiSyncWords {
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

// variables are status or system variables by lower-case name.
type variables map[string]string

func (v variables) on(name string) bool { return isOn(v[name]) }

func (v variables) number(name string) uint64 {
	n, err := strconv.ParseUint(v[name], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// SemiSync reads the state of both sides with statements that do not hang on a
// sick server.
func (s *Session) SemiSync(ctx context.Context) (SemiSync, error) {
	rows, err := s.run(ctx, "read semi-sync status", "SHOW GLOBAL STATUS LIKE 'Rpl\\_semi\\_sync\\_%'", "")
	if err != nil {
		return SemiSync{}, err
	}
	version, err := s.Version(ctx)
	if err != nil {
		return SemiSync{}, err
	}
	status := make(variables, len(rows))
	for _, r := range rows {
		status[strings.ToLower(r.text("Variable_name"))] = r.text("Value")
	}
	w := wordsOf(status)
	s.rememberWords(w)
	settings, err := s.Globals(ctx, w.settings(version.Flavour)...)
	if err != nil {
		return SemiSync{}, err
	}
	return w.read(status, settings), nil
}

// acknowledger is the word for the other side in the names of source variables.
func (w semiSyncWords) acknowledger() string {
	if w.source == "source" {
		return "replica"
	}
	return "slave"
}

// settings are the system variables that exist with these words. MariaDB always
// waits for one acknowledgement and has no variable for it.
func (w semiSyncWords) settings(f Flavour) []string {
	var names []string
	if w.source != "" {
		source := "rpl_semi_sync_" + w.source
		names = append(names, source+"_enabled", source+"_timeout", source+"_wait_no_"+w.acknowledger())
		if f == MySQL {
			names = append(names, source+"_wait_for_"+w.acknowledger()+"_count")
		}
	}
	if w.replica != "" {
		names = append(names, "rpl_semi_sync_"+w.replica+"_enabled")
	}
	return names
}

func (w semiSyncWords) read(status, settings variables) SemiSync {
	source, replica := "rpl_semi_sync_"+w.source, "rpl_semi_sync_"+w.replica
	semi := SemiSync{
		SourceInstalled:  w.source != "",
		ReplicaInstalled: w.replica != "",
		SourceEnabled:    settings.on(source + "_enabled"),
		ReplicaEnabled:   settings.on(replica + "_enabled"),
		SourceActive:     status.on(source + "_status"),
		ReplicaActive:    status.on(replica + "_status"),
		Clients:          status.number(source + "_clients"),
		YesTx:            status.number(source + "_yes_tx"),
		NoTx:             status.number(source + "_no_tx"),
		Waiting:          status.number(source + "_wait_sessions"),
		TimeoutMS:        settings.number(source + "_timeout"),
		WaitCount:        settings.number(source + "_wait_for_" + w.acknowledger() + "_count"),
		WaitNoReplica:    settings.on(source + "_wait_no_" + w.acknowledger()),
	}
	if semi.WaitCount == 0 && semi.SourceInstalled {
		semi.WaitCount = 1
	}
	return semi
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
	if _, err := s.SemiSync(ctx); err != nil {
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
