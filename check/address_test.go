package check

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseAddress(t *testing.T) {
	long := "unix:/" + strings.Repeat("x", 200)
	tests := []struct {
		in, want string // an empty want is an error
		local    bool
	}{
		{in: "db1", want: "db1:3307"},
		{in: "DB1.Example:3306", want: "db1.example:3306"},
		{in: "db_1.example.", want: "db_1.example.:3307"},
		{in: "10.0.0.1", want: "10.0.0.1:3307"},
		{in: "10.0.0.1:1", want: "10.0.0.1:1"},
		{in: "127.0.0.9:3306", want: "127.0.0.9:3306", local: true},
		{in: "localhost", want: "localhost:3307", local: true},
		{in: "[2001:DB8::1]:3306", want: "[2001:db8::1]:3306"},
		{in: "[::1]", want: "[::1]:3307", local: true},
		{in: "::1", want: "[::1]:3307", local: true},
		{in: "[fe80::1%eth0]:3306", want: "[fe80::1%eth0]:3306"},
		{in: "unix:/run/mysqld/mysqld.sock", want: "unix:/run/mysqld/mysqld.sock", local: true},
		{in: "UNIX:/run/s", want: "unix:/run/s", local: true},
		{in: "unix:/a b:c", want: "unix:/a b:c", local: true},
		{in: ""}, {in: ":"}, {in: ":3306"}, {in: "db1:"}, {in: "db1:0"}, {in: "db1:65536"}, {in: "db1:-1"},
		{in: "db1:mysql"}, {in: "db1:3306:1"}, {in: "db 1"}, {in: "db1,db2"}, {in: "-db1"}, {in: "db..1"},
		{in: "10.0.0.256"}, {in: "10.0.0"}, {in: "[10.0.0.1]:3306"}, {in: "[db1]:3306"}, {in: "[::1"},
		{in: "unix:"}, {in: "uniX"}, {in: "unix:3306"}, {in: "unix."}, {in: "unix:relative"}, {in: "unix:/a\nb"}, {in: long}, {in: "/run/mysqld.sock"},
		{in: "user@db1"}, {in: "tcp(db1)"}, {in: strings.Repeat("a.", 130)},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			a, err := ParseAddress(tt.in, 3307)
			if tt.want == "" {
				if !errors.Is(err, ErrAddress) {
					t.Errorf("got %q, %v", a, err)
				}
				return
			}
			if err != nil || a.String() != tt.want || a.IsLocal() != tt.local {
				t.Errorf("got %q, local %v, %v, want %q, %v", a, a.IsLocal(), err, tt.want, tt.local)
			}
		})
	}
}

func TestAddressIsItsOwnInverse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.StringMatching(`(unix:/[a-z/]{1,20}|[a-z0-9._-]{1,12}|[0-9.]{7,15}|\[[0-9a-f:]{2,20}\])(:[0-9]{1,5})?`).Draw(t, "address")
		a, err := ParseAddress(in, 0)
		if err != nil {
			return
		}
		b, err := ParseAddress(a.String(), 1)
		if err != nil || a != b {
			t.Fatalf("%q → %q → %q, %v", in, a, b, err)
		}
		text, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		var c Address
		if err := json.Unmarshal(text, &c); err != nil || c != a {
			t.Fatalf("%s → %q, %v", text, c, err)
		}
	})
}

func FuzzParseAddress(f *testing.F) {
	for _, s := range []string{"db1:3306", "[::1]:3306", "unix:/run/s", "10.0.0.1", "fe80::1%eth0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := ParseAddress(s, 0)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\r") {
				t.Errorf("%q: the error has two lines: %q", s, err)
			}
			return
		}
		if b, err := ParseAddress(a.String(), 0); err != nil || a != b {
			t.Errorf("%q → %q → %q, %v", s, a, b, err)
		}
	})
}
