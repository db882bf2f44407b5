package machineagent

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"drover/act/unitagent"
	"drover/wire/droverv1"
)

// mirror is what the feed has said, by key. It changes as a whole: while a feed
// that was reset is not complete, readers see what was before. Its methods may
// be called concurrently.
type mirror struct {
	mu        sync.RWMutex // guards all below
	now       *rows
	next      *rows // being filled, after a reset
	revision  uint64
	synced    bool
	connected bool
	changes   uint64
	version   map[string]uint64 // of the world of each unit
}

type rows struct {
	machine *droverv1.MachineState
	units   map[string]*unitRows
}

// unitRows are one unit's keys. state is nil while only relations were heard.
type unitRows struct {
	state     *droverv1.UnitState
	relations map[uint64]*relationRows
}

type relationRows struct {
	state   *droverv1.RelationState
	members map[string]*droverv1.MemberState
}

func newMirror() *mirror { return &mirror{now: newRows(), version: map[string]uint64{}} }

func newRows() *rows { return &rows{units: map[string]*unitRows{}} }

// apply takes one part of the feed and says which units' worlds have changed,
// sorted.
func (m *mirror) apply(f *droverv1.FeedResponse) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f.Reset_ {
		m.next = newRows()
	}
	into := m.now
	if m.next != nil {
		into = m.next
	}
	touched := map[string]bool{}
	for _, d := range f.Deltas {
		into.put(d, touched)
	}
	if f.Synced {
		if m.next != nil {
			for _, r := range []*rows{m.now, m.next} {
				for u := range r.units { // order-free: a set
					touched[u] = true
				}
			}
			m.now, m.next = m.next, nil
		}
		m.synced, m.connected, m.revision = true, true, f.Revision
	} else if m.next == nil && f.Revision > m.revision {
		m.revision = f.Revision
	}
	return m.bump(touched)
}

// bump raises the version of the units and of whoever looks at them: the
// principals of subordinates.
func (m *mirror) bump(touched map[string]bool) []string {
	for u := range touched { // order-free: adds to a set what is in it or a principal
		if r := m.now.units[u]; r != nil && r.state.GetPrincipal() != "" {
			touched[r.state.GetPrincipal()] = true
		}
	}
	m.changes++
	names := make([]string, 0, len(touched))
	for u := range touched { // order-free: sorted below
		m.version[u] = m.changes
		names = append(names, u)
	}
	slices.Sort(names)
	return names
}

// disconnected says that the feed has ended; what was heard stays.
func (m *mirror) disconnected() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.connected, m.next = false, nil
}

// resume is the revision from which the feed is to go on; 0: from the start.
func (m *mirror) resume() uint64 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if !m.synced {
		return 0
	}
	return m.revision
}

func (r *rows) put(d *droverv1.Delta, touched map[string]bool) {
	kind, rest, _ := strings.Cut(d.Key, "/")
	switch kind {
	case "machine":
		r.machine = d.GetMachine()
		for u := range r.units { // order-free: a set
			touched[u] = true
		}
	case "unit":
		touched[rest] = true
		if d.GetUnit() == nil {
			delete(r.units, rest)
			return
		}
		r.unit(rest).state = d.GetUnit()
	case "relation", "member":
		unit, id, remote, ok := splitKey(rest)
		if ok {
			touched[unit] = true
			r.putRelation(d, unit, id, remote)
		}
	}
}

func (r *rows) unit(name string) *unitRows {
	u := r.units[name]
	if u == nil {
		u = &unitRows{relations: map[uint64]*relationRows{}}
		r.units[name] = u
	}
	return u
}

func (r *rows) putRelation(d *droverv1.Delta, unit string, id uint64, remote string) {
	removed := d.GetRelation() == nil && d.GetMember() == nil
	if removed && r.units[unit] == nil {
		return
	}
	u := r.unit(unit)
	rel := u.relations[id]
	switch {
	case removed && rel == nil:
	case removed && remote == "":
		delete(u.relations, id)
	case removed:
		delete(rel.members, remote)
	default:
		if rel == nil {
			rel = &relationRows{members: map[string]*droverv1.MemberState{}}
			u.relations[id] = rel
		}
		if remote == "" {
			rel.state = d.GetRelation()
		} else {
			rel.members[remote] = d.GetMember()
		}
	}
}

// splitKey reads "blog/0/7" and "blog/0/7/mysql/0".
func splitKey(rest string) (unit string, id uint64, remote string, ok bool) {
	parts := strings.SplitN(rest, "/", 4)
	if len(parts) < 3 {
		return "", 0, "", false
	}
	id, err := strconv.ParseUint(parts[2], 10, 64)
	if len(parts) == 4 {
		remote = parts[3]
	}
	return parts[0] + "/" + parts[1], id, remote, err == nil
}

// look is the world of one unit.
func (m *mirror) look(unit string) unitagent.World {
	m.mu.RLock()
	defer m.mu.RUnlock()
	w := unitagent.World{Version: m.version[unit], Synced: m.synced, Connected: m.connected, Machine: m.now.machine}
	u := m.now.units[unit]
	if u == nil || u.state == nil {
		return w
	}
	w.Unit = u.state
	for _, rel := range u.relations { // order-free: the reader sorts
		if rel.state == nil {
			continue
		}
		r := unitagent.Relation{State: rel.state}
		for _, member := range rel.members { // order-free: the reader sorts
			r.Members = append(r.Members, member)
		}
		w.Relations = append(w.Relations, r)
	}
	w.Subordinates = map[string]*droverv1.UnitState{}
	for _, s := range u.state.Subordinates {
		if sub := m.now.units[s.Name]; sub != nil && sub.state != nil {
			w.Subordinates[s.Name] = sub.state
		}
	}
	return w
}

// machine is the machine and its units, sorted by name; synced is false until
// the feed was complete once.
func (m *mirror) machine() (machine *droverv1.MachineState, units []*droverv1.UnitState, synced, connected bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, u := range m.now.units { // order-free: sorted below
		if u.state != nil {
			units = append(units, u.state)
		}
	}
	slices.SortFunc(units, func(a, b *droverv1.UnitState) int { return strings.Compare(a.Name, b.Name) })
	return m.now.machine, units, m.synced, m.connected
}
