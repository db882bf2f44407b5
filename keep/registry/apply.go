package registry

import (
	"drover/decide/lifecycle"
	"drover/keep/store"
	"drover/noun/entity"
	"drover/noun/when"
)

// change is one request being executed: a transaction on one model at a time.
type change struct {
	World
	tx  *store.Txn
	now when.Instant
}

func (r *Registry) change(tx *store.Txn, now when.Instant, m entity.ModelUID) change {
	return change{World{r, tx, m}, tx, now}
}

// do executes the steps in order.
func (c change) do(steps []lifecycle.Step) {
	for _, s := range steps {
		switch s.Verb {
		case lifecycle.MachineDying, lifecycle.MachineDead, lifecycle.DropManageJob, lifecycle.RemoveMachineRow:
			c.stepMachine(s)
		case lifecycle.UnitDying, lifecycle.UnitDead, lifecycle.RemoveUnitRow, lifecycle.LeaveRelation:
			c.stepUnit(s)
		case lifecycle.RelationDying:
			rel, _ := c.Relation(s.Relation)
			rel.Life, rel.Since = entity.Dying, c.now
			c.r.relations.Put(c.tx, rel)
		case lifecycle.RemoveRelationRow:
			c.removeRelation(s.Relation)
		case lifecycle.ApplicationDying:
			app, _ := c.Application(s.App)
			app.Life, app.Since = entity.Dying, c.now
			c.r.apps.Put(c.tx, app)
		case lifecycle.RemoveApplicationRow:
			c.r.apps.Delete(c.tx, appKey(c.m, s.App))
			c.r.configs.Delete(c.tx, appKey(c.m, s.App))
		case lifecycle.CleanUnits:
			app, _ := c.Application(s.App)
			c.cleanup(entity.Cleanup{Kind: entity.CleanDyingUnits, Target: string(s.App), UID: app.UID})
		}
	}
}

func (c change) stepMachine(s lifecycle.Step) {
	m, _ := c.Machine(s.Machine)
	switch s.Verb {
	case lifecycle.MachineDying:
		m.Life, m.Since = entity.Dying, c.now
		if c.r.Work != nil {
			c.r.Work.EvacuateCell(c.tx, c.now, c.cell(m.ID))
		}
	case lifecycle.MachineDead:
		m.Life, m.Since = entity.Dead, c.now
	case lifecycle.DropManageJob:
		var jobs []entity.Job
		for _, j := range m.Jobs {
			if j != entity.ManageModel {
				jobs = append(jobs, j)
			}
		}
		m.Jobs = jobs
	case lifecycle.RemoveMachineRow:
		c.r.machines.Delete(c.tx, machineKey(c.m, m.ID))
		if c.r.Work != nil {
			c.r.Work.RemoveCell(c.tx, c.now, c.cell(m.ID))
		}
		return
	}
	c.r.machines.Put(c.tx, m)
}

func (c change) stepUnit(s lifecycle.Step) {
	u, _ := c.Unit(s.Unit)
	switch s.Verb {
	case lifecycle.LeaveRelation:
		c.r.members.Delete(c.tx, memberKey(c.m, s.Relation, s.Unit))
		return
	case lifecycle.UnitDying:
		u.Life, u.Since = entity.Dying, c.now
		c.r.units.Put(c.tx, u)
	case lifecycle.UnitDead:
		u.Life, u.Since = entity.Dead, c.now
		c.r.units.Put(c.tx, u)
	case lifecycle.RemoveUnitRow:
		c.r.units.Delete(c.tx, unitKey(c.m, u.Name))
		c.wantOneLess(u.App)
	}
	if app, ok := c.Application(u.App); ok && app.Leader == u.Name {
		c.electLeader(app)
	}
}

// wantOneLess keeps the cleaner from creating again what was removed
// (SEMANTICS 41: a remove meanwhile wins).
func (c change) wantOneLess(name entity.AppName) {
	if app, ok := c.Application(name); ok && app.WantUnits > 0 {
		app.WantUnits--
		c.r.apps.Put(c.tx, app)
	}
}

// electLeader makes the lowest-numbered Alive, deployed unit the leader, or
// nobody.
func (c change) electLeader(app entity.Application) {
	app.Leader = ""
	for u := range c.r.unitByApp.Rows(c.tx, appKey(c.m, app.Name)) {
		if u.Life == entity.Alive && u.Deployed && (app.Leader == "" || u.Name.Number() < app.Leader.Number()) {
			app.Leader = u.Name
		}
	}
	c.r.apps.Put(c.tx, app)
}

// removeRelation deletes the relation and marks its settings by one record.
func (c change) removeRelation(id entity.RelationID) {
	rel, _ := c.Relation(id)
	c.r.relations.Delete(c.tx, relationKey(c.m, id))
	c.cleanup(entity.Cleanup{Kind: entity.CleanSettings, Target: id.String(), UID: rel.UID})
}

// cleanup records bulk work for the cleaner.
func (c change) cleanup(q entity.Cleanup) {
	q.ID = pad(c.r.next(c.tx, "", "cleanup", 1))
	q.Model, q.Created = c.m, c.now
	c.r.cleanups.Put(c.tx, q)
}
