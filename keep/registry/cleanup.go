package registry

import (
	"strconv"
	"time"

	"drover/decide/lifecycle"
	"drover/keep/store"
	"drover/noun/entity"
	"drover/noun/when"
)

// MaxCleanRows bounds the rows that one step of a cleanup changes, so that no
// transaction grows with what is cleaned.
const MaxCleanRows = 1000

// Bounds of the steps that change several rows for each thing they look at.
const (
	cleanUnits = 150
	addUnits   = 250
)

// CleanStep does one bounded step of a cleanup: at most MaxCleanRows rows. The
// record goes with the last step, and when what it names is gone. A cleanup that
// is not due yet says when it is. Spec: 000 "juju remove-relation" (the document
// "for the attention of some other part of the system"); SEMANTICS 14, 17, 41, 52.
func (r *Registry) CleanStep(tx *store.Txn, now when.Instant, id string) (CleanResult, error) {
	q, ok := r.cleanups.Get(tx, id)
	if !ok {
		return CleanResult{Done: true}, nil
	}
	if now.Before(q.NotUntil) {
		return CleanResult{Until: q.NotUntil}, nil
	}
	c := r.change(tx, now, q.Model)
	var out CleanResult
	switch q.Kind {
	case entity.CleanSettings:
		out = c.cleanSettings(q)
	case entity.CleanDyingUnits:
		out = c.cleanDyingUnits(q)
	case entity.CleanAddUnits:
		out = c.cleanAddUnits(q)
	case entity.CleanForceUnit:
		out = c.cleanForceUnit(q)
	case entity.CleanForceRelation:
		out = c.cleanForceRelation(q)
	case entity.CleanForceApp:
		out = c.cleanForceApp(q)
	case entity.CleanForceMachine:
		out = c.cleanForceMachine(q)
	default:
		out.Done = true // of a later version that was taken back: nobody can do it
	}
	switch {
	case out.Done:
		r.cleanups.Delete(tx, id)
	case !out.Until.IsZero():
		q.NotUntil = out.Until
		q.Step++
		r.cleanups.Put(tx, q)
	}
	return out, nil
}

// cleanSettings deletes settings that nothing refers to: their relation is gone.
func (c change) cleanSettings(q entity.Cleanup) CleanResult {
	id, err := strconv.ParseUint(q.Target, 10, 64)
	if err != nil {
		return CleanResult{Done: true}
	}
	if _, still := c.Relation(entity.RelationID(id)); still {
		return CleanResult{Done: true}
	}
	var keys []string
	for s := range c.r.settings.Prefix(c.tx, relationKey(c.m, entity.RelationID(id))+"/") {
		if keys = append(keys, settingsKey(s.Model, s.Relation, s.Owner)); len(keys) == MaxCleanRows-1 {
			break
		}
	}
	for _, k := range keys {
		c.r.settings.Delete(c.tx, k)
	}
	return CleanResult{Done: len(keys) < MaxCleanRows-1, Rows: len(keys)}
}

// cleanDyingUnits removes the units of a Dying application that no agent will.
func (c change) cleanDyingUnits(q entity.Cleanup) CleanResult {
	app, ok := c.Application(entity.AppName(q.Target))
	if !ok || app.UID != q.UID {
		return CleanResult{Done: true}
	}
	var found []entity.Unit
	for u := range c.r.unitByApp.Rows(c.tx, appKey(c.m, app.Name)) {
		if !u.Deployed {
			if found = append(found, u); len(found) == cleanUnits {
				break
			}
		}
	}
	for _, u := range found {
		if steps, err := lifecycle.AgentDestroysUnit(c, u); err == nil && len(steps) > 0 {
			c.do(steps)
		} else if steps, err := lifecycle.RemoveUnit(c, u); err == nil {
			c.do(steps)
		}
	}
	return CleanResult{Done: len(found) < cleanUnits, Rows: len(found)}
}

// cleanAddUnits creates units until there are as many as are wanted; an
// application that is not Alive any more wants none (SEMANTICS 41).
func (c change) cleanAddUnits(q entity.Cleanup) CleanResult {
	app, ok := c.Application(entity.AppName(q.Target))
	if !ok || app.UID != q.UID || app.Life != entity.Alive {
		return CleanResult{Done: true}
	}
	missing := app.WantUnits - c.UnitCount(app.Name)
	places := &placement{c: c}
	out := Created{App: app}
	for range min(max(missing, 0), addUnits) {
		if _, err := c.addUnit(&out, places, ""); err != nil {
			break
		}
	}
	if missing > addUnits {
		return CleanResult{Rows: addUnits}
	}
	app.WantUnits = 0
	c.r.apps.Put(c.tx, app)
	return CleanResult{Done: true, Rows: max(missing, 0)}
}

// force records that the orderly way is waited for only so long.
func (c change) force(kind entity.CleanupKind, target string, uid entity.UID, o RemoveOptions) {
	wait := o.MaxWait
	if wait <= 0 {
		wait = DefaultMaxWait
	}
	c.cleanup(entity.Cleanup{Kind: kind, Target: target, UID: uid, MaxWait: int64(wait), NotUntil: c.now.Add(wait)})
}

// forceUnit marks a unit that is still there as forced, once.
func (c change) forceUnit(name entity.UnitName, o RemoveOptions) bool {
	u, ok := c.Unit(name)
	if !ok || u.Forced {
		return false
	}
	u.Forced = true
	c.r.units.Put(c.tx, u)
	c.force(entity.CleanForceUnit, string(name), u.UID, o)
	return true
}

func (c change) later(q entity.Cleanup) CleanResult {
	return CleanResult{Until: c.now.Add(time.Duration(q.MaxWait))}
}

// cleanForceUnit does for a unit what its agent did not do in time: leave the
// scopes; a wait later, with its subordinates going the same way, become Dead
// and be removed. Counterparts see departures as always.
func (c change) cleanForceUnit(q entity.Cleanup) CleanResult {
	u, ok := c.Unit(entity.UnitName(q.Target))
	if !ok || u.UID != q.UID {
		return CleanResult{Done: true}
	}
	if u.Life == entity.Alive {
		if c.decided(lifecycle.AgentDestroysUnit(c, u)) != nil {
			return CleanResult{Done: true} // what it was to go with is still wanted
		}
		return c.later(q)
	}
	if scopes := c.ScopesOf(u.Name); len(scopes) > 0 {
		for _, s := range scopes[:min(len(scopes), cleanUnits)] {
			c.leave(u, s.Relation)
		}
		return c.later(q)
	}
	if subs := c.SubordinatesOf(u.Name); len(subs) > 0 {
		for _, s := range subs[:min(len(subs), cleanUnits)] {
			c.forceUnit(s.Name, RemoveOptions{MaxWait: time.Duration(q.MaxWait)})
		}
		return c.later(q)
	}
	if c.decided(lifecycle.SetUnitDead(c, u)) != nil {
		return c.later(q)
	}
	u, _ = c.Unit(u.Name)
	if c.decided(lifecycle.RemoveUnit(c, u)) != nil {
		return c.later(q)
	}
	return CleanResult{Done: true, Rows: 1}
}

// cleanForceRelation makes the units that are left leave.
func (c change) cleanForceRelation(q entity.Cleanup) CleanResult {
	id, _ := strconv.ParseUint(q.Target, 10, 64)
	rel, ok := c.Relation(entity.RelationID(id))
	if !ok || rel.UID != q.UID {
		return CleanResult{Done: true}
	}
	members := c.r.Members(c.tx, c.m, rel.ID, cleanUnits)
	for _, member := range members {
		if u, ok := c.Unit(member.Unit); ok {
			c.leave(u, rel.ID)
		}
	}
	_, still := c.Relation(rel.ID)
	return CleanResult{Done: !still, Rows: len(members)}
}

// cleanForceApp forces the application's units, each with its own waits, and its
// relations.
func (c change) cleanForceApp(q entity.Cleanup) CleanResult {
	app, ok := c.Application(entity.AppName(q.Target))
	if !ok || app.UID != q.UID {
		return CleanResult{Done: true}
	}
	o := RemoveOptions{MaxWait: time.Duration(q.MaxWait)}
	var names []entity.UnitName
	for u := range c.r.unitByApp.Rows(c.tx, appKey(c.m, app.Name)) {
		if !u.Forced {
			if names = append(names, u.Name); len(names) == cleanUnits {
				break
			}
		}
	}
	for _, name := range names {
		c.forceUnit(name, o)
	}
	n := len(names)
	if n == cleanUnits {
		return CleanResult{Rows: n}
	}
	for _, rel := range c.RelationsOf(app.Name) {
		if !rel.Forced && rel.Life != entity.Alive {
			rel.Forced = true
			c.r.relations.Put(c.tx, rel)
			c.force(entity.CleanForceRelation, rel.ID.String(), rel.UID, o)
			n++
		}
	}
	return CleanResult{Done: true, Rows: n}
}

// cleanForceMachine forces what is on the machine, and once it is empty sets it
// Dead in place of its agent.
func (c change) cleanForceMachine(q entity.Cleanup) CleanResult {
	m, ok := c.Machine(entity.MachineID(q.Target))
	if !ok || m.UID != q.UID || m.Life == entity.Dead {
		return CleanResult{Done: true}
	}
	o := RemoveOptions{MaxWait: time.Duration(q.MaxWait), Force: true}
	for _, u := range c.PrincipalsOn(m.ID) {
		c.forceUnit(u.Name, o)
	}
	for _, child := range c.ChildMachines(m.ID) {
		if _, err := c.r.RemoveMachine(c.tx, c.now, c.m, child, o); err != nil {
			return c.later(q)
		}
	}
	if c.decided(lifecycle.SetMachineDead(c, m)) != nil {
		return c.later(q)
	}
	return CleanResult{Done: true, Rows: 1}
}
