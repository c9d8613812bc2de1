package topology

import (
	"testing"
	"time"
)

// A primary that was failed over does not become the primary again because a
// replica that was out of reach still follows it.
func TestDeposedPrimaryStaysDeposed(t *testing.T) {
	memory := Memory{Primary: "db1", Deposed: map[string]string{"db1": "db3"}}
	twice := Memory{Primary: "db1", Deposed: map[string]string{"db1": "db3", "db3": "db2"}}
	for _, c := range []struct {
		name     string
		memory   Memory
		readings []Reading
		primary  string
	}{
		{"it is back and a replica still follows it", memory, []Reading{node(1), replica(2, 1), node(3)}, "db3"},
		{"it is dead and a replica still follows it", memory, []Reading{node(1, unreadable), replica(2, 1), node(3)}, "db3"},
		{"a replica follows each of them", memory, []Reading{node(1), replica(2, 1), node(3), replica(4, 3)}, "db3"},
		{"all others follow its successor", memory, []Reading{node(1), replica(2, 3), node(3)}, "db3"},
		{"its successor cannot be read", memory, []Reading{node(1), replica(2, 1), node(3, unreadable)}, ""},
		{"somebody has switched back by hand", memory, []Reading{node(1), replica(2, 1), replica(3, 1)}, "db1"},
		{"its successor was deposed as well", twice, []Reading{node(1), node(2), node(3), replica(4, 1)}, "db2"},
		{"its successor was deposed as well and comes back", twice, []Reading{node(1), node(2), node(3), replica(4, 3)}, "db2"},
		{"nobody was deposed", Memory{Primary: "db1"}, []Reading{node(1), replica(2, 1), node(3)}, "db1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Judge(c.readings, c.memory, time.Time{}).Primary; got != c.primary {
				t.Errorf("the primary is %q, want %q", got, c.primary)
			}
		})
	}
}
