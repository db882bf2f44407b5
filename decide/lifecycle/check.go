package lifecycle

import (
	"errors"
	"fmt"

	"drover/noun/entity"
)

// Snapshot is a whole model, for Check.
type Snapshot interface {
	World
	Machines() []entity.Machine
	Applications() []entity.Application
	Units() []entity.Unit
	Relations() []entity.Relation
	Members() []entity.Member
	AllSettings() []entity.Settings
	Cleanups() []entity.Cleanup
}

// Check verifies the Life, Reference and Scope invariants of the semantics that
// one state can show, and lists every breach. Invariants: L3–L5, R1–R9, G1, G2.
func Check(w Snapshot) error {
	c := checker{w: w}
	c.machines()
	c.applications()
	c.units()
	c.relations()
	c.members()
	c.settings()
	return errors.Join(c.found...)
}

type checker struct {
	w     Snapshot
	found []error
}

func (c *checker) breach(rule, format string, args ...any) {
	c.found = append(c.found, fmt.Errorf("%s: %s", rule, fmt.Sprintf(format, args...)))
}

func (c *checker) machines() {
	for _, m := range c.w.Machines() {
		if m.Life < entity.Alive || m.Life > entity.Dead {
			c.breach("L1", "machine %s has life %s", m.ID, m.Life)
		}
		if p := m.ID.Parent(); p != "" {
			if _, ok := c.w.Machine(p); !ok {
				c.breach("R6", "machine %s refers to machine %s, which is gone", m.ID, p)
			}
		}
		if m.Life == entity.Alive {
			continue
		}
		if m.HasJob(entity.ManageModel) {
			c.breach("L5", "machine %s has the manage job and is %s", m.ID, m.Life)
		}
		principals := c.w.PrincipalsOn(m.ID)
		for _, u := range principals {
			if u.Life == entity.Alive {
				c.breach("L5", "machine %s is %s and hosts the Alive %s", m.ID, m.Life, u.Name)
			}
		}
		if m.Life == entity.Dead && (len(principals) > 0 || len(c.w.ChildMachines(m.ID)) > 0 || c.w.HoldsWork(m.ID)) {
			c.breach("L5", "machine %s is dead and not empty", m.ID)
		}
	}
}

func (c *checker) applications() {
	units := map[entity.AppName]int{}
	for _, u := range c.w.Units() {
		units[u.App]++
	}
	relations := map[entity.AppName]int{}
	peers := map[string]bool{}
	for _, rel := range c.w.Relations() {
		relations[rel.Endpoints[0].App]++
		if !rel.IsPeer() {
			relations[rel.Endpoints[1].App]++
		} else {
			peers[rel.CanonicalName()] = true
		}
	}
	for _, a := range c.w.Applications() {
		if n := c.w.UnitCount(a.Name); n != units[a.Name] {
			c.breach("R1", "application %s counts %d units and has %d", a.Name, n, units[a.Name])
		}
		if n := len(c.w.RelationsOf(a.Name)); n != relations[a.Name] {
			c.breach("R2", "application %s counts %d relations and has %d", a.Name, n, relations[a.Name])
		}
		switch a.Life {
		case entity.Alive:
			for _, p := range PeerRelations(a.Endpoints) {
				if !peers[entity.CanonicalName(p)] {
					c.breach("R8", "the peer relation %s is missing", entity.CanonicalName(p))
				}
			}
		case entity.Dying:
			if units[a.Name] == 0 && relations[a.Name] == 0 {
				c.breach("R7", "application %s is dying with nothing that refers to it", a.Name)
			}
		default:
			c.breach("L3", "application %s is stored %s", a.Name, a.Life)
		}
		if u, ok := c.w.Unit(a.Leader); a.Leader != "" && (!ok || u.App != a.Name) {
			c.breach("R6", "application %s refers to leader %s, which is gone", a.Name, a.Leader)
		}
	}
}

func (c *checker) units() {
	under := map[string]entity.UnitName{}
	for _, u := range c.w.Units() {
		if _, ok := c.w.Application(u.App); !ok {
			c.breach("R6", "unit %s refers to application %s, which is gone", u.Name, u.App)
		}
		if _, ok := c.w.Machine(u.Machine); u.Machine != "" && !ok {
			c.breach("R6", "unit %s refers to machine %s, which is gone", u.Name, u.Machine)
		}
		if u.IsSubordinate() {
			if _, ok := c.w.Unit(u.Principal); !ok {
				c.breach("R6", "unit %s refers to principal %s, which is gone", u.Name, u.Principal)
			}
			pair := string(u.Principal) + " " + string(u.App)
			if other, dup := under[pair]; dup {
				c.breach("L8", "%s and %s are both subordinates of %s", other, u.Name, u.Principal)
			}
			under[pair] = u.Name
		}
		if u.Life != entity.Dead {
			continue
		}
		if n := len(c.w.ScopesOf(u.Name)); n > 0 {
			c.breach("L4", "unit %s is dead and in %d scopes", u.Name, n)
		}
		if subs := c.w.SubordinatesOf(u.Name); len(subs) > 0 {
			c.breach("L4", "unit %s is dead and has subordinate %s", u.Name, subs[0].Name)
		}
	}
}

func (c *checker) relations() {
	inScope := map[entity.RelationID]int{}
	for _, m := range c.w.Members() {
		inScope[m.Relation]++
	}
	names := map[string]bool{}
	for _, rel := range c.w.Relations() {
		if n := c.w.ScopeCount(rel.ID); n != inScope[rel.ID] {
			c.breach("R3", "relation %d counts %d in scope and has %d", rel.ID, n, inScope[rel.ID])
		}
		if names[rel.CanonicalName()] {
			c.breach("L10", "two relations are called %q", rel.CanonicalName())
		}
		names[rel.CanonicalName()] = true
		for _, e := range rel.Endpoints {
			app, ok := c.w.Application(e.App)
			if !ok {
				c.breach("R6", "relation %q refers to application %s, which is gone", rel.CanonicalName(), e.App)
			} else if rel.Life == entity.Alive && app.Life != entity.Alive {
				c.breach("L7", "relation %q is alive and its application %s is %s", rel.CanonicalName(), e.App, app.Life)
			}
		}
		switch {
		case rel.Life != entity.Alive && rel.Life != entity.Dying:
			c.breach("L3", "relation %q is stored %s", rel.CanonicalName(), rel.Life)
		case rel.Life == entity.Dying && inScope[rel.ID] == 0:
			c.breach("R7", "relation %q is dying with nobody in scope", rel.CanonicalName())
		}
	}
}

func (c *checker) members() {
	published := map[string]bool{}
	for _, s := range c.w.AllSettings() {
		if s.Values["private-address"] != "" {
			published[s.Relation.String()+" "+s.Owner] = true
		}
	}
	for _, m := range c.w.Members() {
		u, ok := c.w.Unit(m.Unit)
		if !ok || u.UID != m.UnitUID {
			c.breach("R6", "relation %d refers to unit %s, which is gone", m.Relation, m.Unit)
			continue
		}
		rel, ok := c.w.Relation(m.Relation)
		if !ok {
			c.breach("R6", "unit %s refers to relation %d, which is gone", m.Unit, m.Relation)
			continue
		}
		if !published[m.Relation.String()+" "+string(m.Unit)] {
			c.breach("G1", "unit %s is in scope of relation %d without a private-address", m.Unit, m.Relation)
		}
		own, ok := rel.Endpoint(u.App)
		if !ok || own.Role != m.Role {
			c.breach("G3", "unit %s is in scope of relation %q as %s", m.Unit, rel.CanonicalName(), m.Role)
		}
		if container := rel.Scope() == entity.ScopeContainer; container != (m.Root != "") || container && m.Root != u.Root() {
			c.breach("G2", "unit %s is in scope of relation %q under %q", m.Unit, rel.CanonicalName(), m.Root)
		}
	}
}

func (c *checker) settings() {
	marked := map[string]bool{}
	for _, cl := range c.w.Cleanups() {
		if cl.Kind == entity.CleanSettings {
			marked[cl.Target] = true
		}
	}
	for _, s := range c.w.AllSettings() {
		if _, ok := c.w.Relation(s.Relation); !ok && !marked[s.Relation.String()] {
			c.breach("R9", "settings of %s are left of relation %d", s.Owner, s.Relation)
		}
	}
}
