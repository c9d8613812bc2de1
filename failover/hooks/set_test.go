package hooks

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestFireRunsHooksInOrderAndStopsAtAnAbort(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	say := func(word, then string) Hook {
		return Hook{Argv: []string{script(t, "hook", "echo "+word+" >> "+out+"; "+then)}}
	}
	aborting := say("second", "exit 1")
	aborting.OnFailure = Abort
	set := Set{Hooks: map[Event][]Hook{Fence: {say("first", "exit 1"), aborting, say("third", "exit 0")}}}
	report := set.Fire(t.Context(), failoverCall(Fence))
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != "first\nsecond\n" || !report.Aborts || report.Proof || len(report.Results) != 2 {
		t.Fatalf("ran %q, report %+v", text, report)
	}
}

func TestNoHookIsNoProof(t *testing.T) {
	if report := (Set{}).Fire(t.Context(), failoverCall(Fence)); report.Proof || report.Aborts || report.Err() != nil {
		t.Fatalf("%+v", report)
	}
}

func TestWebhookPostsTheSameJSON(t *testing.T) {
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, r.Method+" "+r.Header.Get("Content-Type")+" "+r.Header.Get("Authorization")+" "+string(body))
	}))
	defer server.Close()
	set := Set{Webhooks: []Webhook{{URL: server.URL, Events: []Event{Finished}, Header: http.Header{"Authorization": {"Bearer t"}}}}}
	call := failoverCall(Finished)
	if report := set.Fire(t.Context(), call); report.Err() != nil {
		t.Fatal(report.Err())
	}
	set.Fire(t.Context(), failoverCall(Alert))
	want, err := call.JSON()
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0] != "POST application/json Bearer t "+string(want) {
		t.Fatalf("server got %q", got)
	}
}

func TestWebhookFailures(t *testing.T) {
	refused, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := refused.Addr().String()
	refused.Close()
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/hang":
			<-release
		case "/redirect":
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		default:
			http.Error(w, "no", http.StatusTeapot)
		}
	}))
	defer server.Close()
	defer close(release)
	host := strings.TrimPrefix(server.URL, "http://")
	for _, tc := range []struct{ url, want string }{
		{"http://" + gone + "/?token=geheim", "webhook " + gone + ": dial tcp"},
		{server.URL + "/hang?token=geheim", "webhook " + host + ": ran into its time limit of 200ms"},
		{server.URL + "/redirect?token=geheim", "webhook " + host + ": answered 307 Temporary Redirect"},
		{server.URL + "/teapot?token=geheim", "webhook " + host + ": answered 418 I'm a teapot"},
	} {
		err := Webhook{URL: tc.url, Timeout: 200 * time.Millisecond}.Post(t.Context(), failoverCall(Alert))
		if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %s", tc.url, err, tc.want)
		}
		if err != nil && strings.Contains(err.Error(), "geheim") {
			t.Errorf("the error shows the token: %v", err)
		}
	}
	for _, bad := range []string{"", "ftp://x/", "http://", ":"} {
		if (Webhook{URL: bad}).Validate() == nil {
			t.Errorf("%q is taken for a webhook", bad)
		}
	}
}

func TestNamesAreInverse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := rapid.SampledFrom(Events()).Draw(t, "event")
		if got, err := ParseEvent(e.String()); err != nil || got != e {
			t.Fatalf("%v: %v, %v", e, got, err)
		}
		o := Operation(rapid.IntRange(0, 3).Draw(t, "operation"))
		if got, err := ParseOperation(o.String()); err != nil || got != o {
			t.Fatalf("%v: %v, %v", o, got, err)
		}
		s := MHAScript(rapid.IntRange(1, 4).Draw(t, "script"))
		if got, err := ParseMHAScript(s.String() + rapid.SampledFrom([]string{"", "_script"}).Draw(t, "suffix")); err != nil || got != s {
			t.Fatalf("%v: %v, %v", s, got, err)
		}
		f := OnFailure(rapid.IntRange(0, 1).Draw(t, "on_failure"))
		if got, err := ParseOnFailure(f.String()); err != nil || got != f {
			t.Fatalf("%v: %v, %v", f, got, err)
		}
		c := Contract(rapid.IntRange(0, 1).Draw(t, "contract"))
		if got, err := ParseContract(c.String()); err != nil || got != c {
			t.Fatalf("%v: %v, %v", c, got, err)
		}
	})
	for _, bad := range []string{"", "Fence", "event(0)"} {
		if _, err := ParseEvent(bad); err == nil {
			t.Errorf("%q is taken for an event", bad)
		}
	}
}
