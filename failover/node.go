package failover

// Role is what a node is in its cluster.
type Role uint8

// The roles. The zero value is Replica: a node that nobody called the primary
// is not treated as one.
const (
	Replica Role = iota
	Primary
)

var roleNames = []string{"replica", "primary"}

func (r Role) String() string { return nameOf("role", roleNames, r) }

// ParseRole is the inverse of [Role.String].
func ParseRole(s string) (Role, error) { return parseName[Role]("role", roleNames, s) }

// MarshalText implements encoding.TextMarshaler.
func (r Role) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (r *Role) UnmarshalText(b []byte) (err error) { *r, err = ParseRole(string(b)); return err }

// Node is one server as the engine knows it.
type Node struct {
	// Name identifies the node: unique in its cluster, not empty.
	Name string `json:"name"`
	// Role is the node's role; at most one node is [Primary].
	Role Role `json:"role"`
	// Local is true for a node on the watcher's own host (loopback, unix
	// socket, an own address). Its answers prove nothing about the network if
	// the cluster also has nodes elsewhere.
	Local bool `json:"local,omitempty"`
}
