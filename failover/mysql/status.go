package mysql

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"failwise/failover"
	"failwise/failover/gtid"
)

// Status is what one server says of itself. Everything up to SQL thread
// settings comes from one SELECT; what else could not be read is an unknown
// [Fact] with its reason in Unknown.
type Status struct {
	Version      Version   `json:"version"`
	ReadAt       time.Time `json:"read_at"`
	ConnectionID uint64    `json:"-"`

	ServerID   uint32 `json:"server_id"`
	ServerUUID string `json:"server_uuid,omitempty"` // MySQL; lower case
	Hostname   string `json:"hostname"`
	Port       int    `json:"port"`
	ReportHost string `json:"report_host,omitempty"`
	ReportPort int    `json:"report_port,omitempty"`

	ReadOnly      ReadOnly `json:"read_only"`
	SuperReadOnly bool     `json:"super_read_only"` // MySQL
	OfflineMode   bool     `json:"offline_mode"`    // MySQL

	// GTIDMode is MySQL's gtid_mode; MariaDB always has GTIDs and says ON.
	GTIDMode   string `json:"gtid_mode"`
	GTIDStrict bool   `json:"gtid_strict_mode,omitempty"` // MariaDB
	// Executed and Purged are MySQL's gtid_executed and gtid_purged.
	Executed gtid.Set `json:"gtid_executed,omitzero"`
	Purged   gtid.Set `json:"gtid_purged,omitzero"`
	// The positions of MariaDB.
	SlavePos    gtid.Position `json:"gtid_slave_pos,omitzero"`
	BinlogPos   gtid.Position `json:"gtid_binlog_pos,omitzero"`
	CurrentPos  gtid.Position `json:"gtid_current_pos,omitzero"`
	BinlogState gtid.State    `json:"gtid_binlog_state,omitzero"`

	LogBin            bool `json:"log_bin"`
	LogReplicaUpdates bool `json:"log_replica_updates"`
	RelayLogRecovery  bool `json:"relay_log_recovery"`

	SemiSync Fact[SemiSync]  `json:"semi_sync"`
	Channels Fact[[]Channel] `json:"channels"`

	// Unknown says, for each fact that is unknown, why.
	Unknown []string `json:"unknown,omitempty"`
}

// MarshalJSON writes the time with milliseconds.
func (s Status) MarshalJSON() ([]byte, error) {
	type plain Status
	return json.Marshal(struct {
		ReadAt string `json:"read_at"`
		plain
	}{failover.Stamp(s.ReadAt), plain(s)})
}

// Writable tells whether ordinary users can write here.
func (s Status) Writable() bool { return s.ReadOnly.Writable() && !s.SuperReadOnly }

// Identity names the server whatever its address: the uuid on MySQL, the
// server id on MariaDB.
func (s Status) Identity() string {
	if s.ServerUUID != "" {
		return s.ServerUUID
	}
	return fmt.Sprintf("server-id-%d", s.ServerID)
}

// Progress is all that the server has, for comparison with others.
func (s Status) Progress() gtid.Progress {
	p := gtid.Progress{}
	channels := s.Channels.Or(nil)
	if s.Version.Flavour == MariaDB {
		p.Executed = s.BinlogState.Set()
		p.Applied = s.CurrentPos.Max(s.SlavePos).Max(s.BinlogPos)
		for _, c := range channels {
			p.Fetched = p.Fetched.Max(c.IOPos)
		}
		return p
	}
	p.Executed = s.Executed
	for _, c := range channels {
		p.Received = p.Received.Union(c.Fetched)
	}
	return p
}

// ReceivedText is what the channel has received, in the form that
// [Session.WaitForGTID] takes. It must be read before anything of the replica
// is restarted.
func (c Channel) ReceivedText() string {
	if !c.IOPos.IsEmpty() {
		return c.IOPos.String()
	}
	return c.Fetched.String()
}

// Status reads the server's state. The error tells that not even the global
// variables could be read; anything less is an unknown fact. The replication
// channels are asked for last, since on a replica with a hanging disk their
// status hangs.
func (s *Session) Status(ctx context.Context) (Status, error) {
	var d dialect
	rows, err := s.runWith(ctx, "read global variables", "", func(c *connection) (string, error) {
		d = dialect{c.version}
		return d.selectGlobals(), nil
	})
	if err != nil {
		return Status{}, err
	}
	st := Status{Version: d.version, ReadAt: time.Now(), ConnectionID: s.ConnectionID()}
	if len(rows) != 1 {
		return Status{}, s.fail("read global variables", errors.New("unexpected empty answer"), "")
	}
	if err := st.readGlobals(d, rows[0]); err != nil {
		return Status{}, s.fail("read global variables", err, "")
	}
	if semi, err := s.SemiSync(ctx); err != nil {
		st.unknown("semi-sync", err)
	} else {
		st.SemiSync = Known(semi)
	}
	beats, beatsErr := s.heartbeats(ctx, d)
	channels, err := s.channels(ctx, d)
	if err != nil {
		st.unknown("replication channels", err)
		return st, nil
	}
	if beatsErr != nil && len(channels) > 0 {
		st.unknown("heartbeats", beatsErr)
	}
	for i, c := range channels {
		if b, ok := beats[c.Name]; ok {
			channels[i].HeartbeatPeriod, channels[i].Heartbeats, channels[i].HeartbeatAge = b.period, b.count, b.age
		}
	}
	st.Channels = Known(channels)
	return st, nil
}

func (s *Status) unknown(fact string, err error) {
	s.Unknown = append(s.Unknown, fact+": "+err.Error())
}

// selectGlobals spells the one query for all plain facts.
func (d dialect) selectGlobals() string {
	names := []string{
		"server_id", "hostname", "port", "report_host", "report_port", "read_only", "log_bin",
		d.logReplicaUpdates() + " AS log_replica_updates", "relay_log_recovery",
	}
	if d.mariaDB() {
		names = append(names, "gtid_strict_mode", "gtid_slave_pos", "gtid_binlog_pos", "gtid_current_pos", "gtid_binlog_state")
	} else {
		names = append(names, "server_uuid", "super_read_only", "offline_mode", "gtid_mode", "gtid_executed", "gtid_purged")
	}
	items := make([]string, len(names))
	for i, n := range names {
		if !strings.Contains(n, " AS ") {
			n += " AS " + n
		}
		items[i] = "@@global." + n
	}
	return "SELECT " + strings.Join(items, ", ")
}

func (s *Status) readGlobals(d dialect, r row) error {
	s.ServerID = uint32(r.number("server_id").Or(0))
	s.ServerUUID = strings.ToLower(r.text("server_uuid"))
	s.Hostname, s.Port = r.text("hostname"), int(r.number("port").Or(0))
	s.ReportHost, s.ReportPort = r.text("report_host"), int(r.number("report_port").Or(0))
	s.SuperReadOnly, s.OfflineMode = isOn(r.text("super_read_only")), isOn(r.text("offline_mode"))
	s.LogBin, s.LogReplicaUpdates = isOn(r.text("log_bin")), isOn(r.text("log_replica_updates"))
	s.RelayLogRecovery = isOn(r.text("relay_log_recovery"))
	var errs [8]error
	s.ReadOnly, errs[0] = ParseReadOnly(r.text("read_only"))
	if d.mariaDB() {
		s.GTIDMode, s.GTIDStrict = "ON", isOn(r.text("gtid_strict_mode"))
		s.SlavePos, errs[1] = gtid.ParsePosition(r.text("gtid_slave_pos"))
		s.BinlogPos, errs[2] = gtid.ParsePosition(r.text("gtid_binlog_pos"))
		s.CurrentPos, errs[3] = gtid.ParsePosition(r.text("gtid_current_pos"))
		s.BinlogState, errs[4] = gtid.ParseState(r.text("gtid_binlog_state"))
		return errors.Join(errs[:]...)
	}
	s.GTIDMode = r.text("gtid_mode")
	s.Executed, errs[1] = gtid.Parse(r.text("gtid_executed"))
	s.Purged, errs[2] = gtid.Parse(r.text("gtid_purged"))
	return errors.Join(errs[:]...)
}

func isOn(s string) bool {
	return s == "1" || strings.EqualFold(s, "ON") || strings.EqualFold(s, "YES")
}

// Channels reads the replication channels alone: a server that is no replica
// has none.
func (s *Session) Channels(ctx context.Context) ([]Channel, error) {
	v, err := s.Version(ctx)
	if err != nil {
		return nil, err
	}
	return s.channels(ctx, dialect{v})
}

func (s *Session) channels(ctx context.Context, d dialect) ([]Channel, error) {
	const op = "read replica status"
	rows, err := s.run(ctx, op, d.showChannels(), "")
	if err != nil {
		return nil, err
	}
	channels := make([]Channel, 0, len(rows))
	for _, r := range rows {
		if strings.HasPrefix(r.text("Channel_Name"), groupReplication) {
			continue
		}
		c, err := d.channel(r)
		if err != nil {
			return nil, s.fail(op, err, "")
		}
		channels = append(channels, c)
	}
	return channels, nil
}

// groupReplication begins the names of MySQL's own channels for group
// replication, which follow no source.
const groupReplication = "group_replication_"

// heartbeat is what performance_schema knows of a channel's heartbeats.
type heartbeat struct {
	period, age Fact[time.Duration]
	count       Fact[uint64]
}

func (s *Session) heartbeats(ctx context.Context, d dialect) (map[string]heartbeat, error) {
	if d.mariaDB() {
		return nil, nil
	}
	rows, err := s.run(ctx, "read heartbeats", `SELECT c.CHANNEL_NAME AS name, c.HEARTBEAT_INTERVAL AS period,
 s.COUNT_RECEIVED_HEARTBEATS AS count,
 IF(s.LAST_HEARTBEAT_TIMESTAMP > 0, TIMESTAMPDIFF(MICROSECOND, s.LAST_HEARTBEAT_TIMESTAMP, NOW(6)) / 1e6, NULL) AS age
 FROM performance_schema.replication_connection_configuration c
 JOIN performance_schema.replication_connection_status s USING (CHANNEL_NAME)`, "")
	if err != nil {
		return nil, err
	}
	beats := make(map[string]heartbeat, len(rows))
	for _, r := range rows {
		beats[r.text("name")] = heartbeat{r.duration("period"), r.duration("age"), r.number("count")}
	}
	return beats, nil
}

// Uptime is how long the server has been running, to the second.
func (s *Session) Uptime(ctx context.Context) (time.Duration, error) {
	const op = "read the uptime"
	rows, err := s.run(ctx, op, "SHOW GLOBAL STATUS LIKE 'Uptime'", "")
	if err != nil {
		return 0, err
	}
	if len(rows) != 1 {
		return 0, s.fail(op, errors.New("the server has no status variable Uptime"), "")
	}
	seconds, err := strconv.ParseUint(rows[0].text("Value"), 10, 32)
	if err != nil {
		return 0, s.fail(op, err, "")
	}
	return time.Duration(seconds) * time.Second, nil
}

// Globals reads global variables by name in one query. It is for settings that
// exist on the server's version: one unknown name fails the whole query (1193).
func (s *Session) Globals(ctx context.Context, names ...string) (map[string]string, error) {
	const op = "read global variables"
	if len(names) == 0 {
		return map[string]string{}, nil
	}
	items := make([]string, len(names))
	for i, n := range names {
		if strings.Trim(n, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
			return nil, s.fail(op, fmt.Errorf("%q is no name of a variable", n), "")
		}
		items[i] = "@@global." + n + " AS " + n
	}
	rows, err := s.run(ctx, op, "SELECT "+strings.Join(items, ", "), "")
	if err != nil {
		return nil, err
	}
	values := make(map[string]string, len(names))
	for _, n := range names {
		if len(rows) == 1 {
			values[n] = rows[0].text(n)
		}
	}
	return values, nil
}
