package registry

import (
	"fmt"
	"maps"
	"slices"

	"drover/keep/store"
	"drover/noun/entity"
	"drover/noun/fault"
	"drover/noun/when"
)

// CommitHook applies what a hook that exited 0 wrote, once: a commit whose
// number is not above the last one of this incarnation changes nothing. Writes
// that have no place to go any more are dropped and told; the rest commits.
// Conflict for an earlier incarnation, ResourceExhausted for settings too large.
// Spec: 003 "Hooks"; SEMANTICS 25, 35, 40, 61.
func (r *Registry) CommitHook(tx *store.Txn, now when.Instant, m entity.ModelUID, ref UnitRef, h HookCommit) (HookCommitted, error) {
	c := r.change(tx, now, m)
	u, err := c.unit(ref)
	if err != nil {
		return HookCommitted{}, err
	}
	if err := sameIncarnation(u, h.Incarnation); err != nil {
		return HookCommitted{}, err
	}
	if h.Number <= u.Commits {
		return HookCommitted{Repeated: true}, nil
	}
	var out HookCommitted
	for _, w := range h.Settings {
		owner, dropped := c.ownerOf(u, w)
		if dropped != "" {
			out.Dropped = append(out.Dropped, dropped)
			continue
		}
		if err := c.writeSettings(w.Relation, owner, w.Set, w.Delete); err != nil {
			return HookCommitted{}, err
		}
	}
	u.Commits = h.Number
	u.Ports = ports(u.Ports, h.Open, h.Close)
	u.LastHook, u.LastHookMS = short(h.Hook), h.HookMS
	if h.Version != "" {
		u.Version = short(h.Version)
	}
	if h.Workflow != "" {
		u.Workflow = h.Workflow
	}
	r.units.Put(tx, u)
	return out, nil
}

// ownerOf is whose settings the write changes, or why it is dropped.
func (c change) ownerOf(u entity.Unit, w SettingsWrite) (owner, dropped string) {
	rel, ok := c.Relation(w.Relation)
	if !ok {
		return "", fmt.Sprintf("relation %d is gone", w.Relation)
	}
	if _, ok := rel.Endpoint(u.App); !ok {
		return "", fmt.Sprintf("relation %q is none of %s's", rel.CanonicalName(), u.Name)
	}
	if !w.Application {
		return string(u.Name), ""
	}
	app, _ := c.Application(u.App)
	if app.Leader != u.Name {
		return "", fmt.Sprintf("%s does not lead %s: application settings of %q are unchanged", u.Name, u.App, rel.CanonicalName())
	}
	return string(u.App), ""
}

// writeSettings changes an owner's settings. Values that are the same make no
// new version (SEMANTICS 61); an empty value deletes its key.
func (c change) writeSettings(id entity.RelationID, owner string, set map[string]string, del []string) error {
	s, ok := c.r.settings.Get(c.tx, settingsKey(c.m, id, owner))
	if !ok {
		s = entity.Settings{Model: c.m, Relation: id, Owner: owner}
	}
	values := maps.Clone(s.Values)
	if values == nil {
		values = map[string]string{}
	}
	for _, k := range del {
		delete(values, k)
	}
	for k, v := range set { // order-free: each key once
		if v == "" {
			delete(values, k)
		} else {
			values[k] = v
		}
	}
	if ok && maps.Equal(values, s.Values) || !ok && len(values) == 0 {
		return nil
	}
	size := 0
	for k, v := range values { // order-free: a sum
		size += len(k) + len(v)
	}
	if size > MaxSettings {
		return fault.New(fault.ResourceExhausted, "the settings of %s are too large", owner).
			Why("they would be %d bytes, the limit is %d", size, MaxSettings)
	}
	s.Values, s.Version = values, s.Version+1
	c.r.settings.Put(c.tx, s)
	return nil
}

// ports are the ports open after a commit, sorted, each once.
func ports(old, open, closed []entity.Port) []entity.Port {
	out := slices.Concat(old, open)
	out = slices.DeleteFunc(out, func(p entity.Port) bool { return slices.Contains(closed, p) })
	slices.SortFunc(out, comparePorts)
	out = slices.Compact(out)
	if len(out) == 0 {
		return nil
	}
	return out
}

func comparePorts(a, b entity.Port) int {
	if a.Protocol != b.Protocol {
		if a.Protocol < b.Protocol {
			return -1
		}
		return 1
	}
	if a.From != b.From {
		return a.From - b.From
	}
	return a.To - b.To
}

// ReadSettings is what owner, a unit or an application, published in the
// relation, as the unit may read it: also after owner departed, until the
// relation is gone (G4). NotFound without the relation, or for an owner that the
// unit never sees there; an owner that published nothing has no values.
func (r *Registry) ReadSettings(rd store.Reader, m entity.ModelUID, ref UnitRef, id entity.RelationID, owner string) (entity.Settings, error) {
	w := World{r, rd, m}
	u, err := w.unit(ref)
	if err != nil {
		return entity.Settings{}, err
	}
	rel, ok := w.Relation(id)
	if _, ours := rel.Endpoint(u.App); !ok || !ours {
		return entity.Settings{}, noRelation(id)
	}
	name := entity.UnitName(owner)
	app := entity.AppName(owner)
	if name.Number() >= 0 {
		app = name.App()
	}
	if _, ok := rel.Endpoint(app); !ok {
		return entity.Settings{}, fault.New(fault.NotFound, "%.60q is not in relation %q", owner, rel.CanonicalName())
	}
	if rel.Scope() == entity.ScopeContainer && name.Number() >= 0 {
		if other, ok := w.Unit(name); ok && other.Root() != u.Root() {
			return entity.Settings{}, fault.New(fault.NotFound, "%.60q is not beside %s in relation %q", owner, u.Name, rel.CanonicalName())
		}
	}
	s, ok := r.settings.Get(rd, settingsKey(m, id, owner))
	if !ok {
		s = entity.Settings{Model: m, Relation: id, Owner: owner}
	}
	return s, nil
}
