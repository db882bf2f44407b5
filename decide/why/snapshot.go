package why

import (
	"drover/noun/entity"
	"drover/noun/when"
	"drover/noun/work"
)

// Entities is one model as the reasons are looked for in it. A limit of 0 means
// all. Lists are sorted.
type Entities interface {
	Machine(entity.MachineID) (entity.Machine, bool)
	Application(entity.AppName) (entity.Application, bool)
	Unit(entity.UnitName) (entity.Unit, bool)
	Relation(entity.RelationID) (entity.Relation, bool)
}

// Referrers tells what still refers to an entity.
type Referrers interface {
	UnitsOf(app entity.AppName, limit int) []entity.Unit
	RelationsOf(entity.AppName) []entity.Relation
	MembersOf(rel entity.RelationID, limit int) []entity.Member
	ScopesOf(entity.UnitName) []entity.Member
	SubordinatesOf(entity.UnitName) []entity.Unit
	PrincipalsOn(entity.MachineID) []entity.Unit
	ChildMachines(entity.MachineID) []entity.MachineID
	HoldsWork(entity.MachineID) bool
}

// World is a model with its references.
type World interface {
	Entities
	Referrers
}

// Agents tells when a machine's agent was last heard, and whether it counts as
// there. A zero moment means never.
type Agents interface {
	Heard(entity.MachineID) (last when.Instant, there bool)
}

// Board is the world of processes and tasks. Actual is the instance's record,
// not the evacuating one. RestartAt is when a CRASHED record is started again;
// false: never.
type Board interface {
	Desired(work.ProcessGUID) (work.DesiredLRP, bool)
	Actual(work.LRPKey) (work.ActualLRP, bool)
	Task(work.TaskGUID) (work.Task, bool)
	Cells() []Cell
	Fresh(work.Domain) bool
	RestartAt(*work.ActualLRP) (when.Instant, bool)
}

// Cell is a cell with what is free on it. Known is false while it has not
// reported to this leader.
type Cell struct {
	work.Cell
	Free  work.Resources
	Known bool
}

// Snapshot is everything that reasons are found in. World and Agents are needed
// for entities, Board for work. The zero Now leaves durations out; AllCells asks
// for the reason of every cell, not only of the first.
type Snapshot struct {
	World    World
	Agents   Agents
	Board    Board
	Now      when.Instant
	AllCells bool
}
