package feed

import (
	"cmp"
	"maps"
	"slices"

	"drover/keep/store"
	"drover/wire/droverv1"
)

// batch collects the deltas of one poll.
type batch struct {
	cursor  *Cursor
	view    *store.View
	visited map[group]bool
	fresh   map[group]struct{} // parts that listen to topics they did not before
	deltas  []*droverv1.Delta
}

// advance brings the cursor's parts to the latest view: the given groups, and
// those that topics touched. It reports whether there was anything to do.
//
// A topic is heard from the moment a part listens to it, so a commit between the
// view and that moment is looked for in another round. Topics taken after the
// view may belong to it or to a later one, and are kept for the next poll too.
func (b *batch) advance(dirty map[group]struct{}) bool {
	c := b.cursor
	for did := false; ; did = true {
		hit := append(c.late, c.sub.Take()...)
		b.view = c.source.Store.Announced()
		c.late = c.sub.Take()
		todo := maps.Clone(dirty)
		if todo == nil {
			todo = map[group]struct{}{}
		}
		for _, t := range append(hit, c.late...) { // order-free: a set of groups
			maps.Copy(todo, c.byTopic[t])
		}
		if len(todo) == 0 {
			return did
		}
		b.visited, b.fresh = map[group]bool{}, map[group]struct{}{}
		for _, g := range sortGroups(todo) {
			if _, still := c.parts[g]; still || !c.began {
				b.refresh(g)
			}
		}
		c.began = true
		c.rev = b.view.Revision()
		if len(b.fresh) == 0 || c.source.Store.View().Revision() == b.view.Revision() {
			return true
		}
		dirty = b.fresh
	}
}

// refresh computes a part again, and those below it that are new.
func (b *batch) refresh(g group) {
	if b.visited[g] {
		return
	}
	b.visited[g] = true
	c := b.cursor
	old := c.parts[g]
	if old == nil {
		old = &known{}
	}
	now := c.source.compute(b.view, c.machine, g)
	for _, key := range slices.Sorted(maps.Keys(old.stamps)) {
		if _, still := now.values[key]; !still {
			b.removed(key)
		}
	}
	stamps := make(map[string]string, len(now.values))
	for _, key := range slices.Sorted(maps.Keys(now.values)) {
		v := now.values[key]
		stamps[key] = v.stamp
		if before, had := old.stamps[key]; !had || before != v.stamp {
			d := v.delta()
			d.Key = key
			b.deltas = append(b.deltas, d)
		}
	}
	c.parts[g] = &known{deps: now.deps, stamps: stamps, children: now.children}
	if c.listen(g, old.deps, now.deps) {
		b.fresh[g] = struct{}{}
	}
	for _, child := range old.children {
		if !slices.Contains(now.children, child) {
			b.drop(child)
		}
	}
	for _, child := range now.children {
		if c.parts[child] == nil {
			b.refresh(child)
		}
	}
}

// drop forgets a part and those below it, leaves first.
func (b *batch) drop(g group) {
	c := b.cursor
	old := c.parts[g]
	if old == nil {
		return
	}
	for _, child := range old.children {
		b.drop(child)
	}
	for _, key := range slices.Sorted(maps.Keys(old.stamps)) {
		b.removed(key)
	}
	c.listen(g, old.deps, nil)
	delete(c.parts, g)
}

func (b *batch) removed(key string) {
	b.deltas = append(b.deltas, &droverv1.Delta{Key: key, Value: &droverv1.Delta_Removed{Removed: true}})
}

// sortGroups orders groups so that a part comes before those below it.
func sortGroups(set map[group]struct{}) []group {
	rank := map[string]int{"machine": 0, "unit": 1, "relation": 2, "cell": 3}
	return slices.SortedFunc(maps.Keys(set), func(a, b group) int {
		return cmp.Or(cmp.Compare(rank[a.kind], rank[b.kind]), cmp.Compare(a.unit, b.unit), cmp.Compare(a.rel, b.rel))
	})
}
