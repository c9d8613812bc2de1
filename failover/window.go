package failover

// window remembers which of the last ticks of a windowed alarm were bad.
type window struct {
	// bits is a ring of the last size complete ticks, 1 for bad.
	bits []uint64
	size int
	// current is the number of the incomplete tick, counted from the raise.
	current int64
	// bad counts the bad ticks in the ring.
	bad int
	// seen and seenBad are about the incomplete tick; last is the complete tick
	// before it, which a tick without any observation repeats.
	seen, seenBad, last bool
}

func newWindow(size int) *window {
	return &window{bits: make([]uint64, (size+63)/64), size: size}
}

// observe takes in an observation in tick k.
func (w *window) observe(k int64, bad bool) {
	w.roll(k)
	w.seen = true
	w.seenBad = w.seenBad || bad
}

// roll completes every tick before k.
func (w *window) roll(k int64) {
	for n := 0; w.current < k; n++ {
		v := w.last
		if w.seen {
			v = w.seenBad
		}
		if n > w.size {
			// The ring is full of the repeated value.
			w.current = k
			return
		}
		w.push(v)
	}
}

func (w *window) push(bad bool) {
	i := int(w.current % int64(w.size))
	mask := uint64(1) << (i % 64)
	if w.bits[i/64]&mask != 0 {
		w.bad--
	}
	if bad {
		w.bits[i/64] |= mask
		w.bad++
	} else {
		w.bits[i/64] &^= mask
	}
	w.last, w.seen, w.seenBad = bad, false, false
	w.current++
}

// empty reports whether neither a complete tick of the window nor the running
// one is bad.
func (w *window) empty() bool { return w.bad == 0 && !w.seenBad }

func (w *window) clone() *window {
	c := *w
	c.bits = append([]uint64(nil), w.bits...)
	return &c
}
