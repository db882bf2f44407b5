package board

import "drover/noun/work"

// walker measures a tree of actions and notes the first thing wrong with it.
type walker struct {
	count, bytes int
	wrong        string
}

func (w *walker) fail(why string) {
	if w.wrong == "" {
		w.wrong = why
	}
}

func (w *walker) words(texts []string) {
	for _, t := range texts {
		w.bytes += len(t)
	}
}

func (w *walker) env(vars []work.EnvVar) {
	for _, v := range vars {
		w.bytes += len(v.Name) + len(v.Value)
	}
}

func (w *walker) visit(a *work.Action, depth int) {
	w.count++
	if w.count > maxActions || depth > maxDepth {
		w.fail("its actions nest too deep or are too many")
		return
	}
	kinds := 0
	leaf := func(missing bool, why string, texts ...string) {
		kinds++
		if missing {
			w.fail(why)
		}
		w.words(texts)
	}
	nested := func(inner ...work.Action) {
		kinds++
		for i := range inner {
			w.visit(&inner[i], depth+1)
		}
	}
	if r := a.Run; r != nil {
		leaf(r.Path == "", "a run action has no path", r.Path, r.Dir, r.User)
		w.words(r.Args)
		w.env(r.Env)
	}
	if d := a.Download; d != nil {
		leaf(d.From == "" || d.To == "", "a download action needs from and to", d.From, d.To, d.CacheKey, d.Checksum)
	}
	if u := a.Upload; u != nil {
		leaf(u.From == "" || u.To == "", "an upload action needs from and to", u.From, u.To)
	}
	if c := a.TCPCheck; c != nil {
		leaf(c.Port < 1 || c.Port > 65535, "a check's port must be 1 to 65535")
	}
	if c := a.HTTPCheck; c != nil {
		leaf(c.Port < 1 || c.Port > 65535, "a check's port must be 1 to 65535", c.Path)
	}
	for _, l := range []*work.ListAction{a.Serial, a.Parallel, a.Codependent} {
		if l != nil {
			nested(l.Actions...)
			if len(l.Actions) == 0 {
				w.fail("a list of actions is empty")
			}
		}
	}
	if a.Try != nil {
		nested(*a.Try)
	}
	if t := a.Timeout; t != nil {
		nested(t.Action)
		if t.MS <= 0 {
			w.fail("a timeout action's time must be positive")
		}
	}
	if e := a.EmitProgress; e != nil {
		nested(e.Action)
		w.words([]string{e.Start, e.Success, e.Failure})
	}
	if kinds != 1 {
		w.fail("an action must be of exactly one kind")
	}
}
