package failover

// Disturb makes the next Advance judge everything, whatever has changed.
func (e *Engine) Disturb() { e.dirty = true }
