package gtid

import (
	"errors"
	"strings"
	"testing"
)

const uuid = "3e11fa47-71ca-11e1-9e33-c80aa9429562"

func TestParseReadsTheServersForms(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"empty", "", ""},
		{"blanks and commas alone", " ,\n, ", ""},
		{"one transaction", uuid + ":5", uuid + ":5"},
		{"touching intervals join", uuid + ":1-3:4-5", uuid + ":1-5"},
		{"unsorted intervals", uuid + ":7:1-3", uuid + ":1-3:7"},
		{"upper case and line breaks", strings.ToUpper(uuid) + ":1-2,\n" + uuid + ":3", uuid + ":1-3"},
		{"no dashes", strings.ReplaceAll(uuid, "-", "") + ":1", uuid + ":1"},
		{"backward interval is empty", uuid + ":5-3", ""},
		{"tags", uuid + ":1-2:Nightly:1:3-4:_a1:9", uuid + ":1-2:_a1:9:nightly:1:3-4"},
		{"tag alone", uuid + ":nightly:1", uuid + ":nightly:1"},
		{"uuid alone is empty", uuid, ""},
		{"tag without interval is empty", uuid + ":nightly:other:2", uuid + ":other:2"},
		{"mariadb state", "0-1-8,0-2-9", "0-1-8,0-2-9"},
		{"mariadb range", "0-1-6..9", "0-1-6..9"},
		{"mariadb range from 1", "0-1-1..9", "0-1-9"},
		{"mariadb number 0 is empty", "0-1-0", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Parse(c.in)
			if err != nil || got.String() != c.want {
				t.Errorf("Parse(%q) = %q, %v; want %q", c.in, got, err, c.want)
			}
		})
	}
}

func TestParseRefusesWhatIsNoSet(t *testing.T) {
	for _, in := range []string{
		"x", uuid + ":", uuid + ":0", uuid + ":1-", uuid + ":-1", uuid + ":1--2", uuid + ":9223372036854775807",
		uuid + ":9tly:1", uuid + ":night-ly:1", uuid + "x:1", "3e11fa47:1", uuid + ":1-2-3",
		uuid + ":+1", "0-1", "0-1-2-3", "0-1-x", "-1-1-1", "0-4294967296-1", "0-1-9..6", "0-1-0..6", "0-1-1.." + "x",
		uuid + ":1,0-1-2", uuid + ":" + strings.Repeat("a", 33) + ":1",
	} {
		if got, err := Parse(in); err == nil {
			t.Errorf("Parse(%q) = %q, want an error", in, got)
		} else if _, ok := errors.AsType[*SyntaxError](err); !ok || strings.Contains(err.Error(), "\n") {
			t.Errorf("Parse(%q): %v: want a one-line *SyntaxError", in, err)
		}
	}
}

func TestPositionRefusesWhatNamesADomainTwice(t *testing.T) {
	if p, err := ParsePosition("0-1-2,0-2-3"); err == nil {
		t.Errorf("got %q, want an error", p)
	}
	if st, err := ParseState("0-1-2,0-1-3"); err == nil {
		t.Errorf("got %q, want an error", st)
	}
}

func TestStateNewestIsTheLastOfItsDomain(t *testing.T) {
	st, err := ParseState("0-2-9,0-1-8,7-3-1")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := st.Position().String(), "0-1-8,7-3-1"; got != want {
		t.Errorf("position %q, want %q", got, want)
	}
	if got, want := st.String(), "0-2-9,0-1-8,7-3-1"; got != want {
		t.Errorf("state %q, want the server's order %q", got, want)
	}
}

func TestPositionsCompareByDomain(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want Relation
	}{
		{"", "", Equal},
		{"0-1-5", "0-1-5", Equal},
		{"0-2-6", "0-1-5", Ahead},
		{"0-1-5", "0-1-5,7-1-1", Behind},
		{"0-1-6", "0-1-5,7-1-1", Incomparable},
		{"0-1-5", "0-2-5", Incomparable},
	} {
		a, _ := ParsePosition(c.a)
		b, _ := ParsePosition(c.b)
		if got := a.Compare(b); got != c.want {
			t.Errorf("%q compared to %q = %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

func TestErrantTransactionsAreFoundWherePositionsHideThem(t *testing.T) {
	progress := func(state string) Progress {
		st, err := ParseState(state)
		if err != nil {
			t.Fatal(err)
		}
		return Progress{Executed: st.Set(), Applied: st.Position()}
	}
	primary, replica := progress("0-21-8"), progress("0-23-6,0-21-8")
	if got := replica.Errant(primary, "", 21).String(); got != "0-23-6" {
		t.Errorf("errant %q, want 0-23-6", got)
	}
	newer := progress("0-21-12")
	if got := newer.Errant(primary, "", 21); !got.IsEmpty() {
		t.Errorf("errant %q: the primary's own newer transactions are none", got)
	}
}

func TestRestoredReplicaIsNoStrangerWhenHistoryIsKnown(t *testing.T) {
	position := func(s string) Position { p, _ := ParsePosition(s); return p }
	set := func(s string) Set { p, _ := Parse(s); return p }
	restored := Progress{Executed: set("0-3-200"), Applied: position("0-3-200")}
	old := Progress{Executed: set("0-1-50,0-3-200"), Applied: position("0-3-200")}
	if got := restored.Compare(old, Set{}); got != Behind {
		t.Errorf("without history: %v, want behind", got)
	}
	if got := restored.Compare(old, set("0-1-50,0-3-190")); got != Equal {
		t.Errorf("with history: %v, want equal", got)
	}
}

func TestFlavoursDoNotCompare(t *testing.T) {
	my, _ := Parse(uuid + ":1-5")
	pos, _ := ParsePosition("0-1-5")
	a, b := Progress{Executed: my}, Progress{Applied: pos}
	if got := a.Compare(b, Set{}); got != Incomparable {
		t.Errorf("got %v, want incomparable", got)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"", uuid + ":1-5:nightly:1", "0-1-8,0-2-9", "0-1-6..9", uuid + ":5-3", strings.ToUpper(uuid) + ":1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		set, err := Parse(in)
		if err != nil {
			return
		}
		again, err := Parse(set.String())
		if err != nil || !again.Equal(set) {
			t.Fatalf("%q parses to %q, which parses to %q, %v", in, set, again, err)
		}
	})
}

func FuzzParsePosition(f *testing.F) {
	for _, s := range []string{"", "0-1-8", "0-1-8,7-2-9", "0-1-8,0-2-9"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		if p, err := ParsePosition(in); err == nil {
			again, err := ParsePosition(p.String())
			if err != nil || again.String() != p.String() {
				t.Fatalf("%q parses to %q, which parses to %q, %v", in, p, again, err)
			}
		}
		if st, err := ParseState(in); err == nil {
			again, err := ParseState(st.String())
			if err != nil || again.String() != st.String() || !again.Set().Equal(st.Set()) {
				t.Fatalf("%q parses to %q, which parses to %q, %v", in, st, again, err)
			}
		}
	})
}
