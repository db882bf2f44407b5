package loop

import (
	"cmp"
	"container/heap"
	"container/list"
	"slices"
	"time"
)

// queue holds the keys a loop knows: those that were woken in the order of
// waking, and those with a time in a heap, so that what is due and the next
// deadline cost nothing for the keys that only wait.
//
// Invariant: an entry is in timers exactly when its due time is set, and in
// woken exactly when its place there is; a busy entry has no due time.
type queue struct {
	keys   map[string]*entry
	woken  *list.List // of *entry, the first woken first
	timers timers
}

type entry struct {
	key      string
	due      time.Time     // zero: not due by itself
	at       int           // place in timers when due is set
	place    *list.Element // place in woken; nil: not woken
	busy     bool
	failures int
}

func newQueue() queue { return queue{keys: map[string]*entry{}, woken: list.New()} }

// entry is the key's entry, a new one if there is none.
func (q *queue) entry(key string) *entry {
	e, ok := q.keys[key]
	if !ok {
		e = &entry{key: key}
		q.keys[key] = e
	}
	return e
}

// wake puts the entry behind all that are woken; one that is woken stays.
func (q *queue) wake(e *entry) {
	if e.place == nil {
		e.place = q.woken.PushBack(e)
	}
}

// again puts the entry behind all that are woken, even if it is one of them.
func (q *queue) again(e *entry) {
	if e.place != nil {
		q.woken.MoveToBack(e.place)
		return
	}
	q.wake(e)
}

// schedule sets the time at which the entry is due by itself; zero: never.
func (q *queue) schedule(e *entry, due time.Time) {
	was, is := !e.due.IsZero(), !due.IsZero()
	switch {
	case was && is:
		e.due = due
		heap.Fix(&q.timers, e.at)
	case was:
		heap.Remove(&q.timers, e.at)
		e.due = due
	case is:
		e.due = due
		heap.Push(&q.timers, e)
	}
}

// calm takes the entry out of what is woken and out of the timers.
func (q *queue) calm(e *entry) {
	if e.place != nil {
		q.woken.Remove(e.place)
		e.place = nil
	}
	q.schedule(e, time.Time{})
}

func (q *queue) forget(e *entry) {
	q.calm(e)
	delete(q.keys, e.key)
}

// due lists the keys that are not busy and woken, or due at the time.
func (q *queue) due(now time.Time) []string {
	var keys []string
	for el := q.woken.Front(); el != nil; el = el.Next() {
		if e := el.Value.(*entry); !e.busy {
			keys = append(keys, e.key)
		}
	}
	ripe := q.timers.until(now)
	slices.SortFunc(ripe, order)
	for _, e := range ripe {
		if e.place == nil {
			keys = append(keys, e.key)
		}
	}
	return keys
}

// order is the order of entries with a time: the time, then the key.
func order(a, b *entry) int {
	return cmp.Or(a.due.Compare(b.due), cmp.Compare(a.key, b.key))
}

// timers is a heap of entries with a time, the earliest first.
type timers []*entry

// until is every entry whose time is not after now, in no order; it looks at no
// more than twice as many.
func (t timers) until(now time.Time) []*entry {
	var ripe []*entry
	var walk func(i int)
	walk = func(i int) {
		if i >= len(t) || t[i].due.After(now) {
			return
		}
		ripe = append(ripe, t[i])
		walk(2*i + 1)
		walk(2*i + 2)
	}
	walk(0)
	return ripe
}

func (t timers) Len() int           { return len(t) }
func (t timers) Less(i, j int) bool { return order(t[i], t[j]) < 0 }
func (t timers) Swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].at, t[j].at = i, j
}

func (t *timers) Push(x any) {
	e := x.(*entry)
	e.at = len(*t)
	*t = append(*t, e)
}

func (t *timers) Pop() any {
	last := len(*t) - 1
	e := (*t)[last]
	(*t)[last] = nil
	*t = (*t)[:last]
	return e
}
