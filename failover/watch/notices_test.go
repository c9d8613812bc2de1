package watch

import (
	"strings"
	"testing"
	"time"
)

func TestAReaderThatStandsStillHoldsUpNoNotice(t *testing.T) {
	stop, reading := make(chan struct{}), make(chan struct{}, noticesSize+8)
	var got []Notice
	n := newNotices(func(x Notice) {
		reading <- struct{}{}
		<-stop
		got = append(got, x)
	})
	n.put(Notice{Text: "first"})
	<-reading
	for range noticesSize + 3 { // three more than there is place for
		n.put(Notice{Text: "one"})
	}
	close(stop)
	for range noticesSize { // the queue is empty again
		<-reading
	}
	n.put(Notice{Text: "last"})
	n.close(30 * time.Second)
	if len(got) != 1+noticesSize+2 || got[len(got)-1].Text != "last" {
		t.Fatalf("%d notices arrived, the last is %q", len(got), got[len(got)-1].Text)
	}
	if gap := got[len(got)-2].Text; !strings.HasPrefix(gap, "3 lines") {
		t.Errorf("what was dropped is told as %q", gap)
	}
}

func TestAWatcherEndsAlthoughNobodyReads(t *testing.T) {
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	running(t, func(c *Config) { c.Notify = func(Notice) { <-never } })
}
