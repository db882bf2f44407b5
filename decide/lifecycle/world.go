package lifecycle

import (
	"fmt"

	"drover/noun/entity"
)

// Entities finds the entities of one model by name.
type Entities interface {
	Model() entity.Model
	Machine(entity.MachineID) (entity.Machine, bool)
	Application(entity.AppName) (entity.Application, bool)
	Unit(entity.UnitName) (entity.Unit, bool)
	Relation(entity.RelationID) (entity.Relation, bool)
}

// References tells who refers to applications, relations and units. Lists are
// sorted by name, number or id.
type References interface {
	UnitCount(entity.AppName) int
	RelationsOf(entity.AppName) []entity.Relation
	ScopeCount(entity.RelationID) int
	ScopesOf(entity.UnitName) []entity.Member
	SubordinatesOf(entity.UnitName) []entity.Unit
}

// Hosting tells what is on machines. AliveManagers counts the Alive machines
// with the manage job in all models; HoldsWork is about instances and tasks.
type Hosting interface {
	PrincipalsOn(entity.MachineID) []entity.Unit
	ChildMachines(entity.MachineID) []entity.MachineID
	AliveManagers() int
	HoldsWork(entity.MachineID) bool
}

// World is one model as decisions read it. A transaction satisfies it, and so
// does a test's handful of rows.
type World interface {
	Entities
	References
	Hosting
}

// Verb is what a step does.
type Verb uint8

// The verbs. Removing a unit unassigns it; removing a relation records one
// cleanup for its settings; removing an application deletes its config.
const (
	_ Verb = iota
	MachineDying
	MachineDead
	RemoveMachineRow
	DropManageJob
	UnitDying
	UnitDead
	RemoveUnitRow
	RelationDying
	RemoveRelationRow
	ApplicationDying
	RemoveApplicationRow
	LeaveRelation
	CleanUnits
	numVerbs
)

var verbFormats = [numVerbs]string{
	MachineDying:         "machine %[1]s becomes dying",
	MachineDead:          "machine %[1]s becomes dead",
	RemoveMachineRow:     "machine %[1]s is removed",
	DropManageJob:        "machine %[1]s loses the manage-model job",
	UnitDying:            "unit %[2]s becomes dying",
	UnitDead:             "unit %[2]s becomes dead",
	RemoveUnitRow:        "unit %[2]s is removed",
	RelationDying:        "relation %[4]d becomes dying",
	RemoveRelationRow:    "relation %[4]d is removed",
	ApplicationDying:     "application %[3]s becomes dying",
	RemoveApplicationRow: "application %[3]s is removed",
	LeaveRelation:        "unit %[2]s leaves relation %[4]d",
	CleanUnits:           "units of %[3]s that were never deployed are removed",
}

// Step is one change of one entity, to be done in the order of the answer.
type Step struct {
	Verb     Verb
	Machine  entity.MachineID
	Unit     entity.UnitName
	App      entity.AppName
	Relation entity.RelationID
}

// String says the step in words: "unit blog/0 becomes dying".
func (s Step) String() string {
	if s.Verb == 0 || s.Verb >= numVerbs {
		return "nothing"
	}
	return fmt.Sprintf(verbFormats[s.Verb]+"%[5]s", s.Machine, s.Unit, s.App, uint64(s.Relation), "")
}

func onMachine(v Verb, id entity.MachineID) Step   { return Step{Verb: v, Machine: id} }
func onUnit(v Verb, u entity.UnitName) Step        { return Step{Verb: v, Unit: u} }
func onApp(v Verb, a entity.AppName) Step          { return Step{Verb: v, App: a} }
func onRelation(v Verb, id entity.RelationID) Step { return Step{Verb: v, Relation: id} }
func leave(u entity.UnitName, id entity.RelationID) Step {
	return Step{Verb: LeaveRelation, Unit: u, Relation: id}
}
