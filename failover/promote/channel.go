package promote

import (
	"fmt"
	"slices"
	"time"

	"failwise/failover/mysql"
)

// channel is what a repoint must keep, and what an undo needs to go back.
type channel struct {
	Name      string        `json:"name"`
	Host      string        `json:"host"`
	Port      int           `json:"port"`
	User      string        `json:"user"`
	Heartbeat time.Duration `json:"heartbeat"`
	Retry     time.Duration `json:"retry,omitempty"`
	Retries   uint64        `json:"retries,omitempty"`
	UsingGTID string        `json:"using_gtid,omitempty"`
	IO        bool          `json:"io"`
	SQL       bool          `json:"sql"`
	// Options are the user's settings in a form that can be compared.
	Options map[string]string `json:"options,omitempty"`
}

func channelOf(c mysql.Channel) channel {
	kept := channel{
		Name: c.Name, Host: c.SourceHost, Port: c.SourcePort, User: c.SourceUser,
		Heartbeat: c.HeartbeatPeriod.Or(0), Retry: c.Retry, Retries: c.RetryCount, UsingGTID: c.UsingGTID,
		IO: c.IO != mysql.ThreadNo, SQL: c.SQL == mysql.ThreadYes,
	}
	kept.Options = map[string]string{
		"user":          c.SourceUser,
		"delay":         c.Delay.String(),
		"connect_retry": c.Retry.String(),
		"tls":           fmt.Sprintf("%v %s %s %s verify=%v", c.TLS.Enabled, c.TLS.CA, c.TLS.Cert, c.TLS.Key, c.TLS.Verify),
		"filters":       fmt.Sprint(c.Filters),
		"auto_position": fmt.Sprint(c.AutoPosition),
	}
	if period, known := c.HeartbeatPeriod.Get(); known {
		kept.Options["heartbeat_period"] = period.String()
	}
	return kept
}

// differences names the options that are not what they were.
func (c channel) differences(after channel) []string {
	var changed []string
	for name, before := range c.Options {
		if now, known := after.Options[name]; known && now != before {
			changed = append(changed, fmt.Sprintf("%s was %s, is %s", name, before, now))
		}
	}
	slices.Sort(changed)
	return changed
}

// soleChannel is the one channel a replica of ours has.
func soleChannel(st mysql.Status) (mysql.Channel, error) {
	channels, known := st.Channels.Get()
	switch {
	case !known:
		return mysql.Channel{}, fmt.Errorf("its replication channels could not be read")
	case len(channels) == 0:
		return mysql.Channel{}, mysql.ErrNotReplica
	case len(channels) > 1:
		return mysql.Channel{}, fmt.Errorf("it has %d replication channels: multi-source replicas are not repointed", len(channels))
	}
	return channels[0], nil
}
