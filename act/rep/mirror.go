package rep

import (
	"maps"
	"slices"
	"strings"

	"drover/noun/work"
	"drover/wire/convert"
	"drover/wire/droverv1"
)

// records are the board's records of one key with their revisions. Nil: none.
type records struct {
	instance, evacuating       *work.ActualLRP
	instanceRev, evacuatingRev uint64
	task                       *work.Task
	taskRev                    uint64
}

func (v *records) empty() bool { return v.instance == nil && v.evacuating == nil && v.task == nil }

// mirror is what the feed says of the cell's records: complete for every key of
// which it has a record, silent about the others.
type mirror struct {
	synced   bool // once complete, it stays usable: steps are checked by revision
	rows     map[string]*records
	incoming map[string]*records // between a reset and its end
	doubted  map[string]bool     // a step met another revision: look before the next decision
	hints    map[string]*records // what the auction saw of work just sent
}

func newMirror() mirror {
	return mirror{rows: map[string]*records{}, doubted: map[string]bool{}, hints: map[string]*records{}}
}

// keys lists the keys with records, sorted: the loop steps in the order of waking.
func (m *mirror) keys() []string { return slices.Sorted(maps.Keys(m.rows)) }

// rowKey splits a feed key into the loop's key and the kind of record.
func rowKey(key string) (loopKey string, evacuating, ok bool) {
	if strings.HasPrefix(key, "task/") {
		return key, false, true
	}
	if !strings.HasPrefix(key, "lrp/") {
		return "", false, false
	}
	if k, found := strings.CutSuffix(key, "/i"); found {
		return k, false, true
	}
	k, found := strings.CutSuffix(key, "/e")
	return k, true, found
}

// feed takes a part of the feed in and returns the keys that changed.
func (m *mirror) feed(f *droverv1.FeedResponse) []string {
	var woken []string
	if f.GetReset_() {
		m.incoming = map[string]*records{}
	}
	rows := m.rows
	if m.incoming != nil {
		rows = m.incoming
	}
	for _, d := range f.GetDeltas() {
		key, evacuating, ok := rowKey(d.GetKey())
		if !ok || !put(rows, key, evacuating, d, f.GetRevision()) {
			continue
		}
		delete(m.doubted, key)
		delete(m.hints, key)
		woken = append(woken, key)
	}
	if !f.GetSynced() {
		if m.incoming != nil {
			return nil
		}
		return woken
	}
	if m.incoming != nil {
		woken = append(woken, m.keys()...)
		m.rows, m.incoming = m.incoming, nil
		clear(m.doubted)
		woken = append(woken, m.keys()...)
	}
	m.synced = true
	return woken
}

// put changes one record; older news than what is known is ignored.
func put(rows map[string]*records, key string, evacuating bool, d *droverv1.Delta, revision uint64) bool {
	v := rows[key]
	if v == nil {
		v = &records{}
	}
	next := *v
	switch {
	case d.GetTask() != nil:
		if d.GetTask().GetRevision() < v.taskRev {
			return false
		}
		t := convert.TaskStateFromWire(d.GetTask())
		next.task, next.taskRev = &t, d.GetTask().GetRevision()
	case d.GetLrp() != nil && evacuating:
		if d.GetLrp().GetRevision() < v.evacuatingRev {
			return false
		}
		a := convert.ActualFromWire(d.GetLrp())
		next.evacuating, next.evacuatingRev = &a, d.GetLrp().GetRevision()
	case d.GetLrp() != nil:
		if d.GetLrp().GetRevision() < v.instanceRev {
			return false
		}
		a := convert.ActualFromWire(d.GetLrp())
		next.instance, next.instanceRev = &a, d.GetLrp().GetRevision()
	case !d.GetRemoved():
		return false
	case strings.HasPrefix(key, "task/"):
		if revision < v.taskRev {
			return false
		}
		next.task, next.taskRev = nil, 0
	case evacuating:
		if revision < v.evacuatingRev {
			return false
		}
		next.evacuating, next.evacuatingRev = nil, 0
	default:
		if revision < v.instanceRev {
			return false
		}
		next.instance, next.instanceRev = nil, 0
	}
	if rows[key] = &next; next.empty() {
		delete(rows, key)
	}
	return true
}

// known is what the mirror can say of a key; false when the board must be asked.
func (m *mirror) known(key string) (records, bool) {
	if m.doubted[key] {
		return records{}, false
	}
	if v := m.rows[key]; v != nil {
		return *v, true
	}
	if v := m.hints[key]; v != nil {
		return *v, true
	}
	return records{}, false
}

// learn takes in what the board answered about a key. Records that this cell
// does not hold are not kept: the feed would not tell of their changes.
func (m *mirror) learn(key string, self work.CellID, v records) {
	delete(m.doubted, key)
	delete(m.hints, key)
	ours := v.instance != nil && v.instance.Holder.Cell == self ||
		v.evacuating != nil && v.evacuating.Holder.Cell == self ||
		v.task != nil && v.task.Cell == self
	if ours {
		m.rows[key] = &v
	} else {
		delete(m.rows, key)
	}
}

func (m *mirror) doubt(key string) {
	delete(m.hints, key)
	m.doubted[key] = true
}

// ofResult reads the records of a step's answer.
func ofResult(res *droverv1.StepResult) records {
	var v records
	if p := res.GetInstance(); p != nil {
		a := convert.ActualFromWire(p)
		v.instance, v.instanceRev = &a, p.GetRevision()
	}
	if p := res.GetEvacuating(); p != nil {
		a := convert.ActualFromWire(p)
		v.evacuating, v.evacuatingRev = &a, p.GetRevision()
	}
	if p := res.GetTask(); p != nil {
		t := convert.TaskStateFromWire(p)
		v.task, v.taskRev = &t, p.GetRevision()
	}
	return v
}

// Feed takes a part of the machine's feed in; what is not of the cell's records
// is ignored. Parts must come in order.
func (r *Rep) Feed(f *droverv1.FeedResponse) {
	r.mu.Lock()
	r.epoch = max(r.epoch, f.GetEpoch())
	before := r.mirror.synced
	woken := r.mirror.feed(f)
	first := r.mirror.synced && !before
	if !r.mirror.synced {
		woken = nil
	}
	r.mu.Unlock()
	r.loop.Wake(woken...)
	if first {
		r.Poll()
	}
}

// Synced reports whether the feed was complete once.
func (r *Rep) Synced() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mirror.synced
}

// Epoch is the newest leader's that the rep has heard of.
func (r *Rep) Epoch() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.epoch
}

// Records counts the records of the mirror by key, for tests and status.
func (r *Rep) Records() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := map[string]int{}
	for k, v := range maps.All(r.mirror.rows) { // order-free: into a map
		for _, there := range []bool{v.instance != nil, v.evacuating != nil, v.task != nil} {
			if there {
				n[k]++
			}
		}
	}
	return n
}
