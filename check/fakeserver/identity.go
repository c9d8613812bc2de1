package fakeserver

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
)

// identity is what a fake node says of itself and of its replication.
type identity struct {
	number  int // server id
	mariaDB bool
	address string
	source  *identity // nil for a primary
}

func (i identity) version() string {
	if i.mariaDB {
		return "5.5.5-10.11.9-MariaDB-log"
	}
	return "8.4.3"
}

func (i identity) uuid() string { return fmt.Sprintf("00000000-0000-0000-0000-%012d", i.number) }

// written are the transactions that every node of the cluster has.
func (i identity) written() string {
	primary := i
	if i.source != nil {
		primary = *i.source
	}
	if i.mariaDB {
		return fmt.Sprintf("0-%d-1000", primary.number)
	}
	return primary.uuid() + ":1-1000"
}

// isProbe tells the statement of a connect or select probe.
func isProbe(text string) bool {
	return strings.HasPrefix(text, "SELECT /*+ MAX_EXECUTION_TIME(") && strings.HasSuffix(text, "*/ 1") ||
		strings.HasPrefix(text, "SET STATEMENT max_statement_time=") && strings.HasSuffix(text, "FOR SELECT 1")
}

// answer is the answer to a statement: nil where it is not known, empty for one
// without rows.
func (i identity) answer(text string) []byte {
	has := func(part string) bool { return strings.Contains(text, part) }
	switch {
	case isProbe(text):
		return resultSet([]string{"1"}, []string{"1"})
	case strings.HasPrefix(text, "SET SESSION"):
		return []byte{}
	case has("CONNECTION_ID(), @@version"):
		version := strings.TrimPrefix(i.version(), "5.5.5-")
		return resultSet([]string{"CONNECTION_ID()", "@@version", "@@version_comment"}, []string{"1", version, "fake"})
	case strings.HasPrefix(text, "SELECT @@global."):
		return i.globals(text)
	case has("STATUS LIKE 'Rpl"):
		return resultSet([]string{"Variable_name", "Value"})
	case strings.HasPrefix(text, "SHOW REPLICA STATUS"), strings.HasPrefix(text, "SHOW ALL SLAVES STATUS"):
		return i.channels()
	case has("replication_connection_configuration"):
		columns := []string{"name", "period", "count", "age"}
		if i.source == nil {
			return resultSet(columns)
		}
		return resultSet(columns, []string{"", "30.000", "7", "3.2"})
	case has("metadata_locks"), has("METADATA_LOCK_INFO"):
		return resultSet([]string{"id", "type"})
	case text == "SHOW BINARY LOGS":
		return resultSet([]string{"Log_name", "File_size"}, []string{"binlog.000001", "4242"})
	case has("BINLOG_GTID_POS"):
		return resultSet([]string{"BINLOG_GTID_POS"}, []string{""})
	}
	return nil
}

// globals answers a list of @@global.NAME AS NAME.
func (i identity) globals(text string) []byte {
	host, port, _ := net.SplitHostPort(i.address)
	readOnly := "0"
	if i.source != nil {
		readOnly = "1"
	}
	values := map[string]string{
		"server_id": strconv.Itoa(i.number), "server_uuid": i.uuid(), "hostname": host, "port": port,
		"report_host": "", "report_port": port, "read_only": readOnly, "super_read_only": readOnly, "offline_mode": "0",
		"log_bin": "1", "log_replica_updates": "1", "log_slave_updates": "1", "relay_log_recovery": "1",
		"gtid_mode": "ON", "gtid_executed": i.written(), "gtid_purged": "",
		"gtid_strict_mode": "1", "gtid_slave_pos": "", "gtid_binlog_pos": i.written(), "gtid_current_pos": i.written(),
		"gtid_binlog_state": i.written(),
	}
	if i.mariaDB && i.source != nil {
		values["gtid_slave_pos"] = i.written()
	}
	var columns, row []string
	for _, item := range strings.Split(strings.TrimPrefix(text, "SELECT "), ", ") {
		name, as, _ := strings.Cut(strings.TrimPrefix(item, "@@global."), " AS ")
		value, known := values[name]
		if !known {
			return nil
		}
		columns, row = append(columns, as), append(row, value)
	}
	return resultSet(columns, row)
}

// channels is the answer to SHOW REPLICA STATUS: MySQL 8.4's or MariaDB's columns,
// as many as a server sends.
func (i identity) channels() []byte {
	columns := slices.Clone(mysqlChannel)
	if i.mariaDB {
		words := strings.NewReplacer("Source", "Master", "Replica", "Slave")
		for k, c := range columns {
			columns[k] = words.Replace(c)
		}
		columns = append(columns, mariaDBChannel...)
	}
	if i.source == nil {
		return resultSet(columns)
	}
	host, port, _ := net.SplitHostPort(i.source.address)
	values := map[string]string{
		"Source_Host": host, "Source_Port": port, "Source_User": "repl", "Connect_Retry": "60",
		"Source_Log_File": "binlog.000001", "Read_Source_Log_Pos": "4242", "Relay_Source_Log_File": "binlog.000001", "Exec_Source_Log_Pos": "4242",
		"Relay_Log_File": "relay.000002", "Relay_Log_Pos": "371", "Relay_Log_Space": "742",
		"Replica_IO_Running": "Yes", "Replica_SQL_Running": "Yes", "Last_Errno": "0", "Last_IO_Errno": "0", "Last_SQL_Errno": "0",
		"Until_Condition": "None", "Source_SSL_Allowed": "No", "Seconds_Behind_Source": "0", "Source_SSL_Verify_Server_Cert": "No",
		"Source_Server_Id": strconv.Itoa(i.source.number), "SQL_Delay": "0", "SQL_Remaining_Delay": null, "Source_Retry_Count": "10",
		"Replica_IO_State": "Waiting for source to send event", "Replica_SQL_Running_State": "Replica has read all relay log; waiting for more updates",
	}
	if i.mariaDB {
		values["Using_Gtid"], values["Gtid_IO_Pos"] = "Slave_Pos", i.written()
		values["Slave_heartbeat_period"], values["Slave_received_heartbeats"] = "30.000", "7"
		values["Slave_SQL_State"] = "Slave has read all relay log; waiting for more updates"
	} else {
		values["Source_UUID"], values["Auto_Position"] = i.source.uuid(), "1"
		values["Retrieved_Gtid_Set"], values["Executed_Gtid_Set"] = i.written(), i.written()
	}
	back := strings.NewReplacer("Master", "Source", "Slave", "Replica")
	row := make([]string, len(columns))
	for k, c := range columns {
		v, known := values[c]
		if !known {
			v = values[back.Replace(c)]
		}
		row[k] = v
	}
	return resultSet(columns, row)
}

// mysqlChannel are the columns of SHOW REPLICA STATUS (MySQL 8.4 manual 15.7.7.35);
// mariaDBChannel those that SHOW ALL SLAVES STATUS of MariaDB 10.11 has besides.
var (
	mysqlChannel = []string{
		"Replica_IO_State", "Source_Host", "Source_User", "Source_Port", "Connect_Retry", "Source_Log_File", "Read_Source_Log_Pos",
		"Relay_Log_File", "Relay_Log_Pos", "Relay_Source_Log_File", "Replica_IO_Running", "Replica_SQL_Running", "Replicate_Do_DB",
		"Replicate_Ignore_DB", "Replicate_Do_Table", "Replicate_Ignore_Table", "Replicate_Wild_Do_Table", "Replicate_Wild_Ignore_Table",
		"Last_Errno", "Last_Error", "Skip_Counter", "Exec_Source_Log_Pos", "Relay_Log_Space", "Until_Condition", "Until_Log_File",
		"Until_Log_Pos", "Source_SSL_Allowed", "Source_SSL_CA_File", "Source_SSL_CA_Path", "Source_SSL_Cert", "Source_SSL_Cipher",
		"Source_SSL_Key", "Seconds_Behind_Source", "Source_SSL_Verify_Server_Cert", "Last_IO_Errno", "Last_IO_Error", "Last_SQL_Errno",
		"Last_SQL_Error", "Replicate_Ignore_Server_Ids", "Source_Server_Id", "Source_UUID", "Source_Info_File", "SQL_Delay",
		"SQL_Remaining_Delay", "Replica_SQL_Running_State", "Source_Retry_Count", "Source_Bind", "Last_IO_Error_Timestamp",
		"Last_SQL_Error_Timestamp", "Source_SSL_Crl", "Source_SSL_Crlpath", "Retrieved_Gtid_Set", "Executed_Gtid_Set", "Auto_Position",
		"Replicate_Rewrite_DB", "Channel_Name", "Source_TLS_Version", "Source_public_key_path", "Get_Source_public_key", "Network_Namespace",
	}
	mariaDBChannel = []string{
		"Connection_name", "Slave_SQL_State", "Using_Gtid", "Gtid_IO_Pos", "Replicate_Do_Domain_Ids", "Replicate_Ignore_Domain_Ids",
		"Parallel_Mode", "Slave_DDL_Groups", "Slave_Non_Transactional_Groups", "Slave_Transactional_Groups", "Retried_transactions",
		"Max_relay_log_size", "Executed_log_entries", "Slave_received_heartbeats", "Slave_heartbeat_period", "Gtid_Slave_Pos",
	}
)
