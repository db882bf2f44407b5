package board

import (
	"crypto/rand"
	"fmt"
	"math"
	"strings"

	"drover/decide/convergence"
	"drover/keep/store"
	"drover/noun/work"
)

// The names of the board's tables, as changes carry them.
const (
	TableDesired = "desired"
	TableActual  = "actual"
	TableTask    = "task"
	TableDomain  = "domain"
	TableCell    = "cell"
)

// AnyRevision as the revision seen stands for whatever is there.
const AnyRevision store.Revision = math.MaxUint64

// Board is the tables and what may be done to them. It has no state of its own:
// methods may be called concurrently as far as the store allows (writes inside
// Update).
type Board struct {
	// NewID makes incarnations and epochs; random unless a simulation sets it.
	NewID func() string
	// Crashes is the restart policy.
	Crashes convergence.CrashPolicy

	desired *store.Table[work.DesiredLRP]
	actual  *store.Table[work.ActualLRP]
	tasks   *store.Table[work.Task]
	domains *store.Table[work.DomainRow]
	cells   *store.Table[work.Cell]

	desiredByDomain *store.Index[work.DesiredLRP]
	actualByDomain  *store.Index[work.ActualLRP]
	actualByCell    *store.Index[work.ActualLRP]
	actualByState   *store.Index[work.ActualLRP]
	taskByDomain    *store.Index[work.Task]
	taskByCell      *store.Index[work.Task]
	taskByState     *store.Index[work.Task]
	cellByMachine   *store.Index[work.Cell]
}

// New adds the board's tables to the schema.
func New(s *store.Schema) *Board {
	b := &Board{NewID: rand.Text, Crashes: convergence.DefaultCrashPolicy}
	b.desired = store.Add(s, store.Def[work.DesiredLRP]{
		Name: TableDesired, Version: 1,
		Key:    func(d *work.DesiredLRP) string { return string(d.ProcessGUID) },
		Topics: func(d *work.DesiredLRP) []store.Topic { return []store.Topic{LRPTopic(d.ProcessGUID)} },
	})
	b.actual = store.Add(s, store.Def[work.ActualLRP]{
		Name: TableActual, Version: 1,
		Key:    func(a *work.ActualLRP) string { return ActualKey(a.LRPKey, a.Evacuating) },
		Topics: actualTopics,
	})
	b.tasks = store.Add(s, store.Def[work.Task]{
		Name: TableTask, Version: 1,
		Key:    func(t *work.Task) string { return string(t.GUID) },
		Topics: taskTopics,
	})
	b.domains = store.Add(s, store.Def[work.DomainRow]{
		Name: TableDomain, Version: 1,
		Key:    func(d *work.DomainRow) string { return string(d.Name) },
		Topics: func(d *work.DomainRow) []store.Topic { return []store.Topic{DomainTopic(d.Name)} },
	})
	b.cells = store.Add(s, store.Def[work.Cell]{
		Name: TableCell, Version: 1,
		Key:    func(c *work.Cell) string { return string(c.ID) },
		Topics: func(c *work.Cell) []store.Topic { return []store.Topic{CellTopic(c.ID)} },
	})
	b.addIndexes()
	return b
}

func (b *Board) addIndexes() {
	b.desiredByDomain = b.desired.AddIndex("domain", func(d *work.DesiredLRP) []string { return []string{string(d.Domain)} })
	b.actualByDomain = b.actual.AddIndex("domain", func(a *work.ActualLRP) []string { return []string{string(a.Domain)} })
	b.actualByCell = b.actual.AddIndex("cell", func(a *work.ActualLRP) []string { return some(string(a.Holder.Cell)) })
	b.actualByState = b.actual.AddIndex("state", func(a *work.ActualLRP) []string { return waitingState(a) })
	b.taskByDomain = b.tasks.AddIndex("domain", func(t *work.Task) []string { return []string{string(t.Domain)} })
	b.taskByCell = b.tasks.AddIndex("cell", func(t *work.Task) []string { return some(string(t.Cell)) })
	b.taskByState = b.tasks.AddIndex("state", func(t *work.Task) []string { return []string{t.State.String()} })
	b.cellByMachine = b.cells.AddIndex("machine", func(c *work.Cell) []string { return some(c.Machine) })
}

// waitingState indexes only the records that somebody has to do something about.
func waitingState(a *work.ActualLRP) []string {
	if a.State == work.Unclaimed || a.State == work.Crashed {
		return []string{a.State.String()}
	}
	return nil
}

func some(value string) []string {
	if value == "" {
		return nil
	}
	return []string{value}
}

// ActualKey is the key of an actual LRP's row: "guid/000003/i", or "/e" for the
// evacuating one.
func ActualKey(k work.LRPKey, evacuating bool) string {
	kind := "i"
	if evacuating {
		kind = "e"
	}
	return fmt.Sprintf("%s/%06d/%s", k.ProcessGUID, k.Index, kind)
}

// LRPTopic wakes who cares about a desired LRP and its records.
func LRPTopic(g work.ProcessGUID) store.Topic { return store.Topic("lrp/" + string(g)) }

// TaskTopic wakes who cares about a task.
func TaskTopic(g work.TaskGUID) store.Topic { return store.Topic("task/" + string(g)) }

// CellTopic wakes who cares about a cell, or about a record that it holds or
// held just before.
func CellTopic(c work.CellID) store.Topic { return store.Topic("cell/" + string(c)) }

// DomainTopic wakes who cares about a domain's freshness.
func DomainTopic(d work.Domain) store.Topic { return store.Topic("domain/" + string(d)) }

func actualTopics(a *work.ActualLRP) []store.Topic {
	topics := []store.Topic{LRPTopic(a.ProcessGUID)}
	if a.Holder.Cell != "" {
		topics = append(topics, CellTopic(a.Holder.Cell))
	}
	return topics
}

func taskTopics(t *work.Task) []store.Topic {
	topics := []store.Topic{TaskTopic(t.GUID)}
	if t.Cell != "" {
		topics = append(topics, CellTopic(t.Cell))
	}
	return topics
}

// truncate bounds reasons that come from outside.
func truncate(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "")
}
