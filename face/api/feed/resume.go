package feed

import (
	"drover/keep/board"
	"drover/keep/registry"
	"drover/keep/store"
	"drover/noun/entity"
	"drover/noun/work"
)

// touched is what changes did to a feed: topics whose parts are sent again, and
// keys that may have gone.
type touched struct {
	topics map[store.Topic]bool
	gone   map[string]bool
	born   map[entity.UnitName]bool // units that came to a machine: their relations are new to it
	beside map[string]string        // records of other cells: gone if the other one of the index is known

	units     map[entity.UnitName]entity.Unit         // of this machine, before or after
	relations map[entity.RelationID]entity.Relation   // changed
	members   map[entity.RelationID][]entity.UnitName // that left or changed
}

// touchedSince reads the changes after the revision up to the view's. The error
// is store.ErrCompacted when they are not retained.
func (s *Source) touchedSince(m Machine, from store.Revision, view *store.View) (*touched, error) {
	t := &touched{
		topics: map[store.Topic]bool{}, gone: map[string]bool{}, beside: map[string]string{}, born: map[entity.UnitName]bool{},
		units: map[entity.UnitName]entity.Unit{}, relations: map[entity.RelationID]entity.Relation{}, members: map[entity.RelationID][]entity.UnitName{},
	}
	changes := s.Store.Changes(from)
	defer changes.Close()
	for at := from; at < view.Revision(); {
		set, err := changes.Next()
		if err != nil {
			return nil, err
		}
		if set == nil || set.Revision > view.Revision() {
			break
		}
		at = set.Revision
		for _, change := range set.Changes {
			t.noteBirth(change)
			s.note(t, m, change.Old)
			s.note(t, m, change.New)
		}
	}
	for _, u := range s.Registry.AllUnitsOn(view, m.Model, m.ID) {
		t.units[u.Name] = u
	}
	s.noteGone(t, m, view)
	return t, nil
}

func (t *touched) noteBirth(change store.Change) {
	now, _ := change.New.(*entity.Unit)
	old, _ := change.Old.(*entity.Unit)
	if now != nil && (old == nil || old.Machine != now.Machine || old.UID != now.UID) {
		t.born[now.Name] = true
	}
}

// note records what a row of a change touches. Rows come as pointers; a nil one
// means absence.
func (s *Source) note(t *touched, m Machine, row any) {
	switch r := row.(type) {
	case *entity.Model:
		t.topics[registry.ModelTopic(r.UID)] = true
	case *entity.Machine:
		t.topics[registry.MachineTopic(r.Model, r.ID)] = true
	case *entity.Application:
		t.topics[registry.AppTopic(r.Model, r.Name)] = true
	case *entity.AppConfig:
		t.topics[registry.ConfigTopic(r.Model, r.App)] = true
	case *entity.Unit:
		t.topics[registry.UnitTopic(r.Model, r.Name)] = true
		if r.Machine != "" {
			t.topics[registry.MachineTopic(r.Model, r.Machine)] = true
		}
		if r.Principal != "" {
			t.topics[registry.UnitTopic(r.Model, r.Principal)] = true
		}
		if r.Model == m.Model && (r.Machine == m.ID || r.IsSubordinate()) {
			t.units[r.Name] = *r
		}
	case *entity.Relation:
		t.topics[registry.RelationTopic(r.Model, r.ID)] = true
		for _, e := range r.Endpoints {
			t.topics[registry.AppTopic(r.Model, e.App)] = true
		}
		if r.Model == m.Model {
			t.relations[r.ID] = *r
		}
	case *entity.Member:
		t.topics[registry.RelationTopic(r.Model, r.Relation)] = true
		if r.Model == m.Model {
			t.members[r.Relation] = append(t.members[r.Relation], r.Unit)
		}
	case *entity.Settings:
		t.topics[registry.RelationTopic(r.Model, r.Relation)] = true
	case *work.Cell:
		t.topics[board.CellTopic(r.ID)] = true
	case *work.Task:
		if r.Cell == m.Cell {
			t.topics[board.CellTopic(r.Cell)] = true
			t.gone["task/"+string(r.GUID)] = true
		}
	case *work.ActualLRP:
		s.noteLRP(t, m, r)
	}
}

// noteLRP: an agent knows both records of an index while its cell holds one.
func (s *Source) noteLRP(t *touched, m Machine, r *work.ActualLRP) {
	t.topics[board.LRPTopic(r.ProcessGUID)] = true
	own := lrpKey(r.LRPKey, r.Evacuating)
	other := lrpKey(r.LRPKey, !r.Evacuating)
	if r.Holder.Cell != m.Cell {
		t.beside[own] = other
		return
	}
	t.topics[board.CellTopic(m.Cell)] = true
	t.gone[own], t.gone[other] = true, true
}

// noteGone adds the keys that the machine may have known before the changes:
// those of its units then and now, in the relations then and now. Keys that are
// still there are taken out by the caller.
func (s *Source) noteGone(t *touched, m Machine, view *store.View) {
	for name, u := range t.units { // order-free: fills a set
		t.gone["unit/"+string(name)] = true
		seen := map[entity.RelationID]bool{}
		for id, rel := range t.relations { // order-free: fills a set
			if _, concerns := rel.Endpoint(u.App); concerns {
				seen[id] = true
			}
		}
		for _, ur := range s.Registry.UnitRelations(view, m.Model, name) {
			seen[ur.Relation.ID] = true
		}
		if _, here := s.Registry.Unit(view, m.Model, name); !here {
			for _, rel := range s.Registry.ListRelations(view, m.Model) {
				if _, concerns := rel.Endpoint(u.App); concerns {
					seen[rel.ID] = true
				}
			}
		}
		for id := range seen { // order-free: fills a set
			t.gone[relationKey(name, id)] = true
			for _, other := range t.members[id] {
				t.gone[memberKey(name, id, other)] = true
			}
			for _, other := range s.Registry.Members(view, m.Model, id, 0) {
				t.gone[memberKey(name, id, other.Unit)] = true
			}
		}
	}
}
