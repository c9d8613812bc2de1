package promote

import (
	"cmp"
	"context"
	"errors"
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

// changeSource points a node's channel elsewhere. Where the server cannot read its own
// notes on the channel, since it died while it wrote them, they are thrown away and the
// channel is made anew with our account: it begins where the node's GTIDs end.
func (r *run) changeSource(ctx context.Context, n *Node, limit time.Duration, options mysql.SourceOptions) error {
	change := func(ctx context.Context) error { return n.Session.ChangeSource(ctx, options) }
	err := firmly(ctx, n.Session, limit, change)
	if number := mysql.Number(err); number != errConnectionMetadata && number != errRelayLogMetadata {
		return err
	}
	account := r.env.Account
	switch before, known := r.before(n.Name); {
	case known && before.Options["delay"] != "" && before.Options["delay"] != "0s":
		return fmt.Errorf("%w; what it notes of its channel is damaged, and it is to apply late: make the channel anew by hand, with its delay", err)
	case account.User == "":
		return fmt.Errorf("%w; what it notes of its channel is damaged and must be made anew: set replication.user and replication.password_file in the configuration", err)
	}
	reset := firmly(ctx, n.Session, limit, func(ctx context.Context) error { return n.Session.ResetReplication(ctx, options.Channel) })
	if reset != nil {
		return errors.Join(err, reset)
	}
	r.warn(fmt.Sprintf("%s could not read its notes on its replication channel (error %d): the channel is made anew, other options than ours are the server's defaults", n.Name, mysql.Number(err)))
	options.User, options.Password, options.TLS = account.User, account.Secret, account.TLS
	if options.ConnectRetry == 0 {
		period, retry, retries := r.usual()
		options.ConnectRetry, options.RetryCount = retry, retries
		options.HeartbeatPeriod = cmp.Or(options.HeartbeatPeriod, period)
	}
	return firmly(ctx, n.Session, limit, change)
}

// Error numbers of a server that cannot read what it noted of a channel: MariaDB's and
// MySQL's ER_MASTER_INFO, and MySQL's ER_REPLICA_RLI_INIT_REPOSITORY.
const (
	errConnectionMetadata = 1201
	errRelayLogMetadata   = 1872
)
