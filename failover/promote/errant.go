package promote

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"failwise/failover/gtid"
	"failwise/failover/mysql"
)

// showLimit bounds the reading of a node's binary logs.
const showLimit = time.Minute

// ShowErrant writes what the transactions of a set did: decoded by mysqlbinlog or
// mariadb-binlog where the one for the node's flavour is installed, else as the
// server lists its own binary log events (tables and statements, without rows).
// The node's account needs REPLICATION SLAVE, on MariaDB BINLOG MONITOR.
func ShowErrant(ctx context.Context, env Env, node string, errant gtid.Set, w io.Writer) error {
	n := env.node(node)
	if n == nil {
		return fmt.Errorf("show errant transactions of %s: not a configured node", node)
	}
	ctx, cancel := context.WithTimeout(ctx, showLimit)
	defer cancel()
	v, err := n.Session.Version(ctx)
	if err != nil {
		return err
	}
	db, err := openDB(n)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	files, err := binaryLogs(ctx, db)
	if err != nil {
		return fmt.Errorf("list binary logs of %s: %w", node, err)
	}
	listing := func() error {
		for _, file := range files {
			if err := listEvents(ctx, db, file, errant, w); err != nil {
				return fmt.Errorf("list events of %s on %s: %w", file, node, err)
			}
		}
		return nil
	}
	program := decoder(ctx, v.Flavour)
	if program == "" || len(files) == 0 {
		return listing()
	}
	if err := decode(ctx, program, v.Flavour, n, errant, files, w); err != nil {
		fmt.Fprintf(w, "-- %v; as the server lists them:\n", err)
		return listing()
	}
	return nil
}

func openDB(n *Node) (*sql.DB, error) {
	config, err := n.Session.Server().DriverConfig()
	if err != nil {
		return nil, err
	}
	connector, err := driver.NewConnector(config)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

func binaryLogs(ctx context.Context, db *sql.DB) (files []string, err error) {
	err = eachRow(ctx, db, "SHOW BINARY LOGS", func(row map[string]string) error {
		files = append(files, row["Log_name"])
		return nil
	})
	return files, err
}

// beginsGTID finds the transaction in the server's own words for its first event:
// "SET @@SESSION.GTID_NEXT= 'uuid:tag:7'", or "BEGIN GTID 0-1-7" and "GTID 0-1-7".
var beginsGTID = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`GTID_NEXT= '([^']+)'|GTID (\d+-\d+-\d+)`)
})

func listEvents(ctx context.Context, db *sql.DB, file string, errant gtid.Set, w io.Writer) error {
	ours := false
	query := "SHOW BINLOG EVENTS IN '" + strings.ReplaceAll(file, "'", "''") + "'"
	return eachRow(ctx, db, query, func(row map[string]string) error {
		if kind := row["Event_type"]; strings.EqualFold(kind, "Gtid") || strings.EqualFold(kind, "Gtid_tagged") {
			ours = false
			if m := beginsGTID().FindStringSubmatch(row["Info"]); m != nil {
				text := m[1] + m[2]
				one, err := single(text)
				if err != nil {
					return err
				}
				ours = !one.IsEmpty() && one.Subtract(errant).IsEmpty()
				if ours {
					fmt.Fprintf(w, "%s in %s at %s\n", text, file, row["Pos"])
				}
			}
			return nil
		}
		if ours {
			fmt.Fprintf(w, "    %s %s\n", row["Event_type"], row["Info"])
		}
		return nil
	})
}

// single is the set of one transaction.
func single(text string) (gtid.Set, error) {
	if strings.Contains(text, ":") {
		return gtid.Parse(text)
	}
	position, err := gtid.ParsePosition(text)
	if err != nil {
		return gtid.Set{}, err
	}
	g := position.GTIDs()[0]
	return gtid.NewSet(gtid.Source{Domain: g.Domain, Server: g.Server}, g.Number, g.Number), nil
}

func eachRow(ctx context.Context, db *sql.DB, query string, f func(map[string]string) error) (err error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	values := make([]sql.RawBytes, len(columns))
	targets := make([]any, len(columns))
	for i := range values {
		targets[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return err
		}
		row := make(map[string]string, len(columns))
		for i, name := range columns {
			row[name] = string(values[i])
		}
		if err := f(row); err != nil {
			return err
		}
	}
	return rows.Err()
}

// decoder is the program that reads binary logs of that flavour; empty if there
// is none. Distributions install MariaDB's under MySQL's name too, and the version
// does not tell: the options do.
func decoder(ctx context.Context, flavour mysql.Flavour) string {
	option := "--include-gtids"
	if flavour == mysql.MariaDB {
		option = "--gtid-strict-mode"
	}
	for _, name := range []string{"mariadb-binlog", "mysqlbinlog"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		help, err := exec.CommandContext(ctx, path, "--no-defaults", "--help").Output()
		if err == nil && strings.Contains(string(help), option) {
			return path
		}
	}
	return ""
}

func decode(ctx context.Context, program string, flavour mysql.Flavour, n *Node, errant gtid.Set, files []string, w io.Writer) error {
	server := n.Session.Server()
	arguments := []string{"--no-defaults", "--read-from-remote-server", "--verbose", "--base64-output=decode-rows", "--user=" + server.User}
	if server.Address.IsUnix() {
		arguments = append(arguments, "--socket="+server.Address.Path())
	} else {
		arguments = append(arguments, "--protocol=tcp", "--host="+server.Address.Host(), "--port="+strconv.Itoa(int(server.Address.Port())))
	}
	if flavour == mysql.MySQL {
		arguments = append(append(arguments, "--include-gtids="+errant.String()), files...)
	} else {
		// MariaDB's program takes positions, the first exclusive, one a domain.
		first, last := map[uint32]gtid.GTID{}, map[uint32]gtid.GTID{}
		for source, intervals := range errant.All() {
			low, high := intervals[0].First, intervals[len(intervals)-1].Last
			if g, known := first[source.Domain]; !known || low-1 < g.Number {
				first[source.Domain] = gtid.GTID{Domain: source.Domain, Server: source.Server, Number: low - 1}
			}
			if g, known := last[source.Domain]; !known || high > g.Number {
				last[source.Domain] = gtid.GTID{Domain: source.Domain, Server: source.Server, Number: high}
			}
		}
		arguments = append(arguments, "--start-position="+list(first), "--stop-position="+list(last), "--to-last-log", files[0])
	}
	cmd := exec.CommandContext(ctx, program, arguments...)
	cmd.Env = append(os.Environ(), "MYSQL_PWD="+server.Secret.Reveal())
	cmd.Stdout = w
	var complaint strings.Builder
	cmd.Stderr = &complaint
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(program), err, strings.TrimSpace(complaint.String()))
	}
	return nil
}

func list(gtids map[uint32]gtid.GTID) string {
	var parts []string
	for _, g := range gtids {
		parts = append(parts, g.String())
	}
	slices.Sort(parts)
	return strings.Join(parts, ",")
}
