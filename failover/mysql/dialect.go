package mysql

import (
	"strconv"
	"strings"
	"time"
)

// dialect spells statements and names for one version. MySQL's newer words came
// in 8.0.22 (REPLICA), 8.0.23 (CHANGE REPLICATION SOURCE) and 8.0.26 (variables),
// and 8.4 removed the older ones; MariaDB keeps the older ones throughout.
type dialect struct {
	version Version
}

func (d dialect) mariaDB() bool { return d.version.Flavour == MariaDB }

func (d dialect) newWords() bool {
	return !d.mariaDB() && d.version.AtLeast(8, 0, 22)
}

func (d dialect) newChange() bool {
	return !d.mariaDB() && d.version.AtLeast(8, 0, 23)
}

func (d dialect) newVariables() bool {
	return !d.mariaDB() && d.version.AtLeast(8, 0, 26)
}

// column spells a column of the channel status, given in the newer words.
func (d dialect) column(name string) string {
	if d.newWords() {
		return name
	}
	return strings.NewReplacer("Source", "Master", "Replica", "Slave").Replace(name)
}

func (d dialect) showChannels() string {
	switch {
	case d.mariaDB():
		return "SHOW ALL SLAVES STATUS"
	case d.newWords():
		return "SHOW REPLICA STATUS"
	default:
		return "SHOW SLAVE STATUS"
	}
}

func (d dialect) logReplicaUpdates() string {
	if d.newVariables() {
		return "log_replica_updates"
	}
	return "log_slave_updates"
}

// thread names what a start or stop is about.
type thread string

const (
	bothThreads thread = ""
	ioThread    thread = "IO_THREAD"
	sqlThread   thread = "SQL_THREAD"
)

// replication spells START, STOP and RESET for one channel; the empty channel
// is the default one.
func (d dialect) replication(verb string, of thread, channel string) string {
	words := []string{verb, "SLAVE"}
	if d.newWords() {
		words[1] = "REPLICA"
	}
	if d.mariaDB() {
		words = append(words, quote(channel))
	}
	if of != bothThreads {
		words = append(words, string(of))
	}
	if verb == "RESET" {
		words = append(words, "ALL")
	}
	if !d.mariaDB() {
		words = append(words, "FOR CHANNEL "+quote(channel))
	}
	return strings.Join(words, " ")
}

// changeSource spells CHANGE MASTER or CHANGE REPLICATION SOURCE.
func (d dialect) changeSource(o SourceOptions) string {
	prefix := "MASTER_"
	if d.newChange() {
		prefix = "SOURCE_"
	}
	var items []string
	text := func(name, value string) { items = append(items, prefix+name+"="+quote(value)) }
	number := func(name, value string) { items = append(items, prefix+name+"="+value) }

	text("HOST", o.Host)
	number("PORT", strconv.Itoa(o.Port))
	if o.User != "" {
		text("USER", o.User)
		text("PASSWORD", o.Password.Reveal())
		if d.newChange() && o.TLS == nil {
			// caching_sha2_password needs the source's key on a plain connection.
			items = append(items, "GET_SOURCE_PUBLIC_KEY=1")
		}
	}
	if o.TLS != nil {
		number("SSL", "1")
		for _, f := range []struct{ name, value string }{
			{"SSL_CA", o.TLS.CA}, {"SSL_CERT", o.TLS.Cert}, {"SSL_KEY", o.TLS.Key},
		} {
			if f.value != "" {
				text(f.name, f.value)
			}
		}
		if o.TLS.Verify {
			number("SSL_VERIFY_SERVER_CERT", "1")
		}
	}
	if d.mariaDB() {
		number("USE_GTID", "slave_pos")
	} else {
		number("AUTO_POSITION", "1")
	}
	if o.HeartbeatPeriod > 0 {
		number("HEARTBEAT_PERIOD", seconds(o.HeartbeatPeriod))
	}
	if o.ConnectRetry >= time.Second {
		number("CONNECT_RETRY", strconv.FormatInt(int64(o.ConnectRetry/time.Second), 10))
	}
	if o.RetryCount > 0 && !d.mariaDB() {
		number("RETRY_COUNT", strconv.FormatUint(o.RetryCount, 10))
	}
	list := strings.Join(items, ", ")
	switch {
	case d.mariaDB():
		return "CHANGE MASTER " + quote(o.Channel) + " TO " + list
	case d.newChange():
		return "CHANGE REPLICATION SOURCE TO " + list + " FOR CHANNEL " + quote(o.Channel)
	default:
		return "CHANGE MASTER TO " + list + " FOR CHANNEL " + quote(o.Channel)
	}
}

// waitForGTID spells the wait for a set or position, in whole milliseconds.
func (d dialect) waitForGTID(position string, limit time.Duration) string {
	name := "WAIT_FOR_EXECUTED_GTID_SET"
	if d.mariaDB() {
		name = "MASTER_GTID_WAIT"
	}
	return "SELECT " + name + "(" + quote(position) + ", " + seconds(limit) + ")"
}

func seconds(d time.Duration) string {
	return strconv.FormatFloat(d.Round(time.Millisecond).Seconds(), 'f', 3, 64)
}

// quote gives a string literal. The session's sql_mode is empty, so backslash
// escapes are on.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('\'')
	for i := range len(s) {
		switch c := s[i]; c {
		case 0:
			b.WriteString(`\0`)
		case '\n':
			b.WriteString(`\n`)
		case '\r':
			b.WriteString(`\r`)
		case 0x1a:
			b.WriteString(`\Z`)
		case '\'', '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('\'')
	return b.String()
}
