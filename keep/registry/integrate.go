package registry

import (
	"drover/decide/lifecycle"
	"drover/keep/store"
	"drover/noun/entity"
	"drover/noun/fault"
	"drover/noun/when"
)

// Integrate adds a relation between a and b, each "app" or "app:endpoint". The
// endpoints are inferred; Invalid explains an ambiguity with its candidates, and
// a mismatch with what would match. Spec: 000 "juju integrate".
func (r *Registry) Integrate(tx *store.Txn, now when.Instant, m entity.ModelUID, a, b string) (entity.Relation, error) {
	c := r.change(tx, now, m)
	endpoints, err := c.infer(a, b)
	if err != nil {
		return entity.Relation{}, err
	}
	var existing *entity.Relation
	if rel, ok := c.named(entity.CanonicalName(endpoints)); ok {
		existing = &rel
	}
	if err := lifecycle.MayIntegrate(c, endpoints, existing); err != nil {
		return entity.Relation{}, err
	}
	return c.addRelation(endpoints), nil
}

func (w World) infer(a, b string) ([]entity.Endpoint, error) {
	var specs [2]lifecycle.Spec
	var apps [2]entity.Application
	for i, text := range []string{a, b} {
		s, err := lifecycle.ParseSpec(text)
		if err != nil {
			return nil, err
		}
		app, ok := w.Application(s.App)
		if !ok {
			return nil, lifecycle.NoApplication(s.App)
		}
		specs[i], apps[i] = s, app
	}
	return lifecycle.InferEndpoints(specs[0], specs[1], apps[0], apps[1])
}

func (w World) named(canonical string) (entity.Relation, bool) {
	for rel := range w.r.relationByName.Rows(w.rd, string(w.m)+"/"+canonical) {
		return rel, true
	}
	return entity.Relation{}, false
}

func (c change) addRelation(endpoints []entity.Endpoint) entity.Relation {
	rel := entity.Relation{
		Model: c.m, ID: entity.RelationID(c.r.next(c.tx, c.m, "relation", 1)), UID: entity.UID(c.r.NewID()),
		Life: entity.Alive, Endpoints: entity.SortEndpoints(endpoints), Since: c.now, Created: c.now,
	}
	c.r.relations.Put(c.tx, rel)
	return rel
}

// FindRelation finds the existing relation that a and b name, each "app" or
// "app:endpoint"; an empty b names a peer relation. NotFound without one, and
// Invalid when several fit.
func (r *Registry) FindRelation(rd store.Reader, m entity.ModelUID, a, b string) (entity.Relation, error) {
	if b == "" {
		b = a
	}
	sa, err := lifecycle.ParseSpec(a)
	if err != nil {
		return entity.Relation{}, err
	}
	sb, err := lifecycle.ParseSpec(b)
	if err != nil {
		return entity.Relation{}, err
	}
	var found []entity.Relation
	for _, rel := range (World{r, rd, m}).RelationsOf(sa.App) {
		if rel.Counterpart(sa.App) == sb.App && fits(rel, sa) && fits(rel, sb) {
			found = append(found, rel)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return entity.Relation{}, fault.New(fault.NotFound, "there is no relation between %q and %q", a, b).Coded(fault.CodeNoSuchRelation).Try("drover status")
	}
	var next []string
	for _, rel := range found[:min(len(found), 3)] {
		next = append(next, "drover remove-relation "+rel.CanonicalName())
	}
	return entity.Relation{}, fault.New(fault.Invalid, "there are %d relations between %q and %q", len(found), a, b).
		Why("name an endpoint").Try(next...)
}

func fits(rel entity.Relation, s lifecycle.Spec) bool {
	e, ok := rel.Endpoint(s.App)
	return ok && (s.Endpoint == "" || s.Endpoint == e.Name)
}
