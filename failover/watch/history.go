package watch

import (
	"time"

	"failwise/rules"
)

// historySeconds is how much of the past a node's sparkline shows.
const historySeconds = 60

// history keeps the worst state of each of the last seconds.
type history struct {
	second [historySeconds]int64
	state  [historySeconds]rules.State
}

func (h *history) add(at time.Time, s rules.State) {
	second := at.Unix()
	i := second % historySeconds
	if h.second[i] != second || s.Worse(h.state[i]) {
		h.second[i], h.state[i] = second, s
	}
}

// last returns the states of the last seconds, oldest first; the zero state for
// a second without a probe.
func (h *history) last(now time.Time) []rules.State {
	states := make([]rules.State, historySeconds)
	for k := range states {
		second := now.Unix() - int64(historySeconds-1-k)
		if i := second % historySeconds; h.second[i] == second {
			states[k] = h.state[i]
		}
	}
	return states
}
