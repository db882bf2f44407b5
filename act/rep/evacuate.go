package rep

// Evacuate begins or ends an evacuation of the cell. While it lasts no work is
// taken, and the tables for evacuation hold; when its time is over, what is left
// is given up, records first. Repeating it changes nothing.
// Spec: 002 "Harmonizing during evacuation"; SEMANTICS 71.
func (r *Rep) Evacuate(on bool) {
	r.mu.Lock()
	changed := r.draining != on
	if changed {
		r.draining = on
		r.drainEnd = r.cfg.Now().Add(r.cfg.Evacuation)
	}
	r.mu.Unlock()
	if changed {
		r.Poll()
	}
}

// drain reports whether the cell evacuates, and whether the time for it is over.
func (r *Rep) drain() (draining, over bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.draining, r.draining && !r.cfg.Now().Before(r.drainEnd)
}

// Evacuated reports whether an evacuation is done: no containers are left, and no
// records of this cell.
func (r *Rep) Evacuated() bool {
	if len(r.cfg.Containers.List()) > 0 {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.draining && r.mirror.synced && len(r.mirror.rows) == 0
}
