package placement

import (
	"cmp"
	"slices"

	"drover/noun/work"
)

// Item is one piece of work: an index of an LRP, or with a Task a task.
type Item struct {
	LRP       work.LRPKey
	Task      work.TaskGUID
	Spec      *work.Spec
	Resources work.Resources
}

// IsTask reports whether the item is a task.
func (i *Item) IsTask() bool { return i.Task != "" }

// group is the item's place in a batch: index 0, tasks, index 1, index 2, …
func (i *Item) group() int {
	switch {
	case i.IsTask():
		return 1
	case i.LRP.Index == 0:
		return 0
	}
	return i.LRP.Index + 1
}

func compareKeys(a, b *Item) int {
	return cmp.Or(
		cmp.Compare(a.Task, b.Task),
		cmp.Compare(a.LRP.ProcessGUID, b.LRP.ProcessGUID),
		cmp.Compare(a.LRP.Index, b.LRP.Index))
}

// Order is the batch in the order in which it is placed: by group, in a group by
// decreasing memory, then by key. Identical work is kept once (P10). The argument
// is left as it is.
func Order(batch []Item) []Item {
	out := slices.Clone(batch)
	slices.SortStableFunc(out, func(a, b Item) int {
		return cmp.Or(
			cmp.Compare(a.group(), b.group()),
			cmp.Compare(b.Resources.MemoryMB, a.Resources.MemoryMB),
			compareKeys(&a, &b))
	})
	seen := make(map[key]struct{}, len(out))
	return slices.DeleteFunc(out, func(i Item) bool {
		k := key{i.LRP, i.Task}
		_, dup := seen[k]
		seen[k] = struct{}{}
		return dup
	})
}

type key struct {
	lrp  work.LRPKey
	task work.TaskGUID
}
