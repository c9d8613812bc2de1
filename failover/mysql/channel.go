package mysql

import (
	"fmt"
	"strings"
	"time"

	"failwise/failover/gtid"
)

// ThreadState is what the server says of a replication thread.
type ThreadState uint8

// The states; the zero value is unknown. MariaDB's IO thread is Preparing
// between its login and the first event.
const (
	ThreadUnknown ThreadState = iota
	ThreadNo
	ThreadConnecting
	ThreadPreparing
	ThreadYes
)

var threadNames = [...]string{"unknown", "No", "Connecting", "Preparing", "Yes"}

func (t ThreadState) String() string {
	if int(t) < len(threadNames) {
		return threadNames[t]
	}
	return fmt.Sprintf("thread(%d)", uint8(t))
}

// ParseThreadState is the inverse of [ThreadState.String].
func ParseThreadState(s string) (ThreadState, error) {
	for i, n := range threadNames {
		if strings.EqualFold(n, s) {
			return ThreadState(i), nil
		}
	}
	return ThreadUnknown, fmt.Errorf("unknown state of a replication thread %q", s)
}

// MarshalText is [ThreadState.String].
func (t ThreadState) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText is [ParseThreadState].
func (t *ThreadState) UnmarshalText(text []byte) (err error) {
	*t, err = ParseThreadState(string(text))
	return err
}

// Channel is one replication channel of a replica: SHOW REPLICA STATUS and, on
// MySQL, the replication tables of performance_schema.
type Channel struct {
	Name           string `json:"name"` // empty is the default channel
	SourceHost     string `json:"source_host"`
	SourcePort     int    `json:"source_port"`
	SourceUser     string `json:"source_user"`
	SourceServerID uint32 `json:"source_server_id"` // 0 before the first connection
	SourceUUID     string `json:"source_uuid"`      // MySQL; empty before the first connection

	IO       ThreadState `json:"io"`
	SQL      ThreadState `json:"sql"`
	IOErrno  int         `json:"io_errno"`
	SQLErrno int         `json:"sql_errno"`
	// IOError and SQLError are the server's texts, for people: no decision reads them.
	IOError  string `json:"io_error,omitempty"`
	SQLError string `json:"sql_error,omitempty"`
	SQLState string `json:"sql_state,omitempty"` // what the SQL thread does

	// Lag is Seconds_Behind_Source; unknown where the server says NULL, which is
	// normal once the source has died.
	Lag   Fact[time.Duration] `json:"lag"`
	Delay time.Duration       `json:"delay"` // configured, SOURCE_DELAY

	AutoPosition bool   `json:"auto_position"` // MySQL's SOURCE_AUTO_POSITION, or MariaDB's Using_Gtid other than No
	UsingGTID    string `json:"using_gtid,omitempty"`
	// Filters are the settings that keep events from this replica, each name=value.
	Filters []string      `json:"filters,omitempty"`
	TLS     ChannelTLS    `json:"tls"`
	Retry   time.Duration `json:"connect_retry"`
	// RetryCount is how many attempts to connect are made; 0 where the server does
	// not tell, as MariaDB 10.
	RetryCount uint64   `json:"retry_count,omitempty"`
	Fetched    gtid.Set `json:"retrieved,omitzero"` // MySQL's Retrieved_Gtid_Set
	// IOPos is MariaDB's Gtid_IO_Pos. It is empty while both threads are stopped:
	// the next start of either deletes what was received and not applied.
	IOPos gtid.Position  `json:"io_pos,omitzero"`
	Read  ReadCoordinate `json:"read"`
	Relay RelayLog       `json:"relay"`

	// HeartbeatPeriod is what the replica asked its source for; Heartbeats
	// counts those received since the start of the IO thread; HeartbeatAge is
	// the age of the last one, which MariaDB does not tell.
	HeartbeatPeriod Fact[time.Duration] `json:"heartbeat_period"`
	Heartbeats      Fact[uint64]        `json:"heartbeats"`
	HeartbeatAge    Fact[time.Duration] `json:"heartbeat_age"`
}

// ReadCoordinate is where the IO thread reads in the source's binary log. It is
// evidence of progress, never a position to compare servers by.
type ReadCoordinate struct {
	File string `json:"file"`
	Pos  uint64 `json:"pos"`
}

// RelayLog is what a channel has written and applied. A new connection writes to
// it even where its source has nothing to send: a rotate and a format description
// event.
type RelayLog struct {
	File  string `json:"file"`  // where the SQL thread is
	Pos   uint64 `json:"pos"`   // where the SQL thread is
	Space uint64 `json:"space"` // bytes of all relay logs together
}

// ChannelTLS are the TLS settings of a channel.
type ChannelTLS struct {
	Enabled bool   `json:"enabled"`
	CA      string `json:"ca,omitempty"`
	Cert    string `json:"cert,omitempty"`
	Key     string `json:"key,omitempty"` // the path of the key, not the key
	Verify  bool   `json:"verify"`
}

// filterColumns are the columns of the channel status that keep events away, or
// change them, when not empty.
var filterColumns = []string{
	"Replicate_Do_DB", "Replicate_Ignore_DB", "Replicate_Do_Table", "Replicate_Ignore_Table",
	"Replicate_Wild_Do_Table", "Replicate_Wild_Ignore_Table", "Replicate_Rewrite_DB",
	"Replicate_Ignore_Server_Ids", "Replicate_Do_Domain_Ids", "Replicate_Ignore_Domain_Ids",
}

// channel reads one row of the channel status.
func (d dialect) channel(r row) (Channel, error) {
	col := func(name string) string { return r.text(d.column(name)) }
	num := func(name string) uint64 { return r.number(d.column(name)).Or(0) }
	c := Channel{
		Name:           r.text("Channel_Name"),
		SourceHost:     col("Source_Host"),
		SourcePort:     int(num("Source_Port")),
		SourceUser:     col("Source_User"),
		SourceServerID: uint32(num("Source_Server_Id")),
		SourceUUID:     strings.ToLower(col("Source_UUID")),
		IOErrno:        int(num("Last_IO_Errno")),
		SQLErrno:       int(num("Last_SQL_Errno")),
		IOError:        col("Last_IO_Error"),
		SQLError:       col("Last_SQL_Error"),
		SQLState:       col("Replica_SQL_Running_State"),
		Lag:            r.duration(d.column("Seconds_Behind_Source")),
		Delay:          r.duration("SQL_Delay").Or(0),
		Retry:          r.duration("Connect_Retry").Or(0),
		RetryCount:     num("Source_Retry_Count"),
		Read:           ReadCoordinate{File: col("Source_Log_File"), Pos: num("Read_Source_Log_Pos")},
		Relay:          RelayLog{File: r.text("Relay_Log_File"), Pos: num("Relay_Log_Pos"), Space: num("Relay_Log_Space")},
		TLS: ChannelTLS{
			Enabled: col("Source_SSL_Allowed") == "Yes",
			CA:      col("Source_SSL_CA_File"),
			Cert:    col("Source_SSL_Cert"),
			Key:     col("Source_SSL_Key"),
			Verify:  col("Source_SSL_Verify_Server_Cert") == "Yes",
		},
	}
	var err error
	if c.IO, err = ParseThreadState(col("Replica_IO_Running")); err != nil {
		return c, err
	}
	if c.SQL, err = ParseThreadState(col("Replica_SQL_Running")); err != nil {
		return c, err
	}
	for _, f := range filterColumns {
		if v := r.text(f); v != "" {
			c.Filters = append(c.Filters, strings.ToLower(f)+"="+v)
		}
	}
	if d.mariaDB() {
		return c, c.readMariaDB(r)
	}
	c.AutoPosition = r.text("Auto_Position") == "1"
	c.Fetched, err = gtid.Parse(r.text("Retrieved_Gtid_Set"))
	return c, err
}

func (c *Channel) readMariaDB(r row) (err error) {
	c.Name = r.text("Connection_name")
	c.SQLState = r.text("Slave_SQL_State")
	c.UsingGTID = r.text("Using_Gtid")
	c.AutoPosition = c.UsingGTID != "" && c.UsingGTID != "No"
	c.HeartbeatPeriod = r.duration("Slave_heartbeat_period")
	c.Heartbeats = r.number("Slave_received_heartbeats")
	if c.IO == ThreadNo && c.SQL != ThreadYes {
		return nil
	}
	c.IOPos, err = gtid.ParsePosition(r.text("Gtid_IO_Pos"))
	return err
}
