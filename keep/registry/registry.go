package registry

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"drover/keep/store"
	"drover/noun/charm"
	"drover/noun/entity"
	"drover/noun/when"
	"drover/noun/work"
)

// The names of the registry's tables, as changes carry them.
const (
	TableModel       = "model"
	TableMachine     = "machine"
	TableApplication = "application"
	TableUnit        = "unit"
	TableRelation    = "relation"
	TableMember      = "member"
	TableSettings    = "settings"
	TableConfig      = "config"
	TableCharm       = "charm"
	TableCleanup     = "cleanup"
	TableSequence    = "sequence"
)

// Work is what the registry must know and say about the containers on a
// machine's cell, in the same transaction. keep/board satisfies it.
type Work interface {
	// CellBusy reports whether instances or tasks are held by the cell.
	CellBusy(r store.Reader, cell work.CellID) bool
	// EvacuateCell marks the cell as evacuating; no such cell is no error.
	EvacuateCell(tx *store.Txn, now when.Instant, cell work.CellID)
	// RemoveCell forgets the cell; no such cell is no error.
	RemoveCell(tx *store.Txn, now when.Instant, cell work.CellID)
}

// Registry is the modelled world's tables and what may be done to them. It has
// no state of its own: methods may be called concurrently as far as the store
// allows (writes inside Update).
type Registry struct {
	// NewID makes the uids of rows; random unless a simulation sets it.
	NewID func() string
	// Work is asked about cells; nil means that no machine holds any work.
	Work Work

	models    *store.Table[entity.Model]
	machines  *store.Table[entity.Machine]
	apps      *store.Table[entity.Application]
	units     *store.Table[entity.Unit]
	relations *store.Table[entity.Relation]
	members   *store.Table[entity.Member]
	settings  *store.Table[entity.Settings]
	configs   *store.Table[entity.AppConfig]
	charms    *store.Table[charm.Charm]
	cleanups  *store.Table[entity.Cleanup]
	sequences *store.Table[entity.Sequence]

	modelByName      *store.Index[entity.Model]
	machineByParent  *store.Index[entity.Machine]
	machineByManager *store.Index[entity.Machine]
	unitByApp        *store.Index[entity.Unit]
	unitByMachine    *store.Index[entity.Unit]
	unitByPrincipal  *store.Index[entity.Unit]
	unitByFailure    *store.Index[entity.Unit]
	relationByApp    *store.Index[entity.Relation]
	relationByName   *store.Index[entity.Relation]
	memberByRelation *store.Index[entity.Member]
	memberByUnit     *store.Index[entity.Member]
	memberByRoot     *store.Index[entity.Member]
	charmByName      *store.Index[charm.Charm]
	cleanupByTarget  *store.Index[entity.Cleanup]
}

// New adds the registry's tables to the schema.
func New(schema *store.Schema) *Registry {
	r := &Registry{NewID: randomID}
	r.addModelTables(schema)
	r.addUnitTables(schema)
	r.addRelationTables(schema)
	return r
}

func randomID() string {
	var b [10]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	return hex.EncodeToString(b[:])
}

func (r *Registry) addModelTables(s *store.Schema) {
	r.models = store.Add(s, store.Def[entity.Model]{
		Name: TableModel, Version: 1,
		Key:    func(m *entity.Model) string { return string(m.UID) },
		Topics: func(m *entity.Model) []store.Topic { return []store.Topic{ModelTopic(m.UID)} },
	})
	r.modelByName = r.models.AddIndex("name", func(m *entity.Model) []string { return []string{m.Name} })
	r.machines = store.Add(s, store.Def[entity.Machine]{
		Name: TableMachine, Version: 1,
		Key:    func(m *entity.Machine) string { return machineKey(m.Model, m.ID) },
		Topics: func(m *entity.Machine) []store.Topic { return []store.Topic{MachineTopic(m.Model, m.ID)} },
	})
	r.machineByParent = r.machines.AddIndex("parent", func(m *entity.Machine) []string {
		if p := m.ID.Parent(); p != "" {
			return []string{machineKey(m.Model, p)}
		}
		return nil
	})
	r.machineByManager = r.machines.AddIndex("manager", func(m *entity.Machine) []string {
		if m.Life == entity.Alive && m.HasJob(entity.ManageModel) {
			return []string{"manager"}
		}
		return nil
	})
	r.charms = store.Add(s, store.Def[charm.Charm]{
		Name: TableCharm, Version: 1,
		Key:    func(c *charm.Charm) string { return string(c.SHA) },
		Topics: func(c *charm.Charm) []store.Topic { return []store.Topic{CharmTopic(c.SHA)} },
	})
	r.charmByName = r.charms.AddIndex("name", func(c *charm.Charm) []string { return []string{c.Meta.Name} })
	r.cleanups = store.Add(s, store.Def[entity.Cleanup]{
		Name: TableCleanup, Version: 1,
		Key:    func(c *entity.Cleanup) string { return c.ID },
		Topics: func(*entity.Cleanup) []store.Topic { return []store.Topic{CleanupTopic} },
	})
	r.cleanupByTarget = r.cleanups.AddIndex("target", func(c *entity.Cleanup) []string {
		return []string{cleanupTarget(c.Kind, c.Model, c.Target)}
	})
	r.sequences = store.Add(s, store.Def[entity.Sequence]{
		Name: TableSequence, Version: 1,
		Key: func(q *entity.Sequence) string { return string(q.Model) + "/" + q.Name },
	})
}

func (r *Registry) addUnitTables(s *store.Schema) {
	r.apps = store.Add(s, store.Def[entity.Application]{
		Name: TableApplication, Version: 1,
		Key:    func(a *entity.Application) string { return appKey(a.Model, a.Name) },
		Topics: func(a *entity.Application) []store.Topic { return []store.Topic{AppTopic(a.Model, a.Name)} },
	})
	r.configs = store.Add(s, store.Def[entity.AppConfig]{
		Name: TableConfig, Version: 1,
		Key:    func(c *entity.AppConfig) string { return appKey(c.Model, c.App) },
		Topics: func(c *entity.AppConfig) []store.Topic { return []store.Topic{ConfigTopic(c.Model, c.App)} },
	})
	r.units = store.Add(s, store.Def[entity.Unit]{
		Name: TableUnit, Version: 1,
		Key:    func(u *entity.Unit) string { return unitKey(u.Model, u.Name) },
		Topics: unitTopics,
	})
	r.unitByApp = r.units.AddIndex("app", func(u *entity.Unit) []string { return []string{appKey(u.Model, u.App)} })
	r.unitByMachine = r.units.AddIndex("machine", func(u *entity.Unit) []string {
		if u.Machine == "" {
			return nil
		}
		return []string{machineKey(u.Model, u.Machine)}
	})
	r.unitByPrincipal = r.units.AddIndex("principal", func(u *entity.Unit) []string {
		if u.Principal == "" {
			return nil
		}
		return []string{unitKey(u.Model, u.Principal)}
	})
	r.unitByFailure = r.units.AddIndex("failure", func(u *entity.Unit) []string {
		if u.Failure == nil {
			return nil
		}
		return []string{string(u.Model)}
	})
}

func unitTopics(u *entity.Unit) []store.Topic {
	topics := []store.Topic{UnitTopic(u.Model, u.Name)}
	if u.Machine != "" {
		topics = append(topics, MachineTopic(u.Model, u.Machine))
	}
	if u.Principal != "" {
		topics = append(topics, UnitTopic(u.Model, u.Principal))
	}
	return topics
}

func (r *Registry) addRelationTables(s *store.Schema) {
	r.relations = store.Add(s, store.Def[entity.Relation]{
		Name: TableRelation, Version: 1,
		Key:    func(x *entity.Relation) string { return relationKey(x.Model, x.ID) },
		Topics: relationTopics,
	})
	r.relationByApp = r.relations.AddIndex("app", func(x *entity.Relation) []string {
		var apps []string
		for _, e := range x.Endpoints {
			if key := appKey(x.Model, e.App); !slices.Contains(apps, key) {
				apps = append(apps, key)
			}
		}
		return apps
	})
	r.relationByName = r.relations.AddIndex("name", func(x *entity.Relation) []string {
		return []string{string(x.Model) + "/" + x.CanonicalName()}
	})
	r.members = store.Add(s, store.Def[entity.Member]{
		Name: TableMember, Version: 1,
		Key:    func(m *entity.Member) string { return memberKey(m.Model, m.Relation, m.Unit) },
		Topics: func(m *entity.Member) []store.Topic { return []store.Topic{RelationTopic(m.Model, m.Relation)} },
	})
	r.memberByRelation = r.members.AddIndex("relation", func(m *entity.Member) []string {
		return []string{relationKey(m.Model, m.Relation)}
	})
	r.memberByUnit = r.members.AddIndex("unit", func(m *entity.Member) []string {
		return []string{unitKey(m.Model, m.Unit)}
	})
	r.memberByRoot = r.members.AddIndex("root", func(m *entity.Member) []string {
		if m.Root == "" {
			return nil
		}
		return []string{memberKey(m.Model, m.Relation, m.Root)}
	})
	r.settings = store.Add(s, store.Def[entity.Settings]{
		Name: TableSettings, Version: 1,
		Key:    func(x *entity.Settings) string { return settingsKey(x.Model, x.Relation, x.Owner) },
		Topics: func(x *entity.Settings) []store.Topic { return []store.Topic{RelationTopic(x.Model, x.Relation)} },
	})
}

func relationTopics(x *entity.Relation) []store.Topic {
	topics := []store.Topic{RelationTopic(x.Model, x.ID)}
	for _, e := range x.Endpoints {
		topics = append(topics, AppTopic(x.Model, e.App))
	}
	return topics
}

// CleanupTopic wakes whoever works off cleanups.
const CleanupTopic store.Topic = "cleanup"

// ModelTopic wakes on a change of the model's row.
func ModelTopic(m entity.ModelUID) store.Topic { return store.Topic("model/" + string(m)) }

// MachineTopic wakes on a change of the machine's row and of the units assigned
// to it.
func MachineTopic(m entity.ModelUID, id entity.MachineID) store.Topic {
	return store.Topic("machine/" + machineKey(m, id))
}

// AppTopic wakes on a change of the application's row and of its relations'
// rows.
func AppTopic(m entity.ModelUID, app entity.AppName) store.Topic {
	return store.Topic("app/" + appKey(m, app))
}

// UnitTopic wakes on a change of the unit's row and of its subordinates' rows.
func UnitTopic(m entity.ModelUID, unit entity.UnitName) store.Topic {
	return store.Topic("unit/" + unitKey(m, unit))
}

// RelationTopic wakes on a change of the relation's row, members and settings.
func RelationTopic(m entity.ModelUID, id entity.RelationID) store.Topic {
	return store.Topic("relation/" + string(m) + "/" + id.String())
}

// ConfigTopic wakes on a change of the application's config.
func ConfigTopic(m entity.ModelUID, app entity.AppName) store.Topic {
	return store.Topic("config/" + appKey(m, app))
}

// CharmTopic wakes on a change of the charm's row.
func CharmTopic(sha entity.CharmSHA) store.Topic { return store.Topic("charm/" + string(sha)) }

func machineKey(m entity.ModelUID, id entity.MachineID) string { return string(m) + "/" + string(id) }

func appKey(m entity.ModelUID, app entity.AppName) string { return string(m) + "/" + string(app) }

func unitKey(m entity.ModelUID, unit entity.UnitName) string { return string(m) + "/" + string(unit) }

func relationKey(m entity.ModelUID, id entity.RelationID) string {
	return fmt.Sprintf("%s/%010d", m, uint64(id))
}

func memberKey(m entity.ModelUID, id entity.RelationID, unit entity.UnitName) string {
	return relationKey(m, id) + "/" + string(unit)
}

func settingsKey(m entity.ModelUID, id entity.RelationID, owner string) string {
	return relationKey(m, id) + "/" + owner
}

func cleanupTarget(kind entity.CleanupKind, m entity.ModelUID, target string) string {
	return kind.String() + "/" + string(m) + "/" + target
}

// next takes the next number of a sequence. Numbers start at first and are
// never given twice (invariant L10).
func (r *Registry) next(tx *store.Txn, m entity.ModelUID, name string, first uint64) uint64 {
	q, ok := r.sequences.Get(tx, string(m)+"/"+name)
	if !ok {
		q = entity.Sequence{Model: m, Name: name, Next: first}
	}
	n := q.Next
	q.Next++
	r.sequences.Put(tx, q)
	return n
}

// MachineKey is the key of a machine's row, as work.Cell.Machine holds it.
func MachineKey(m entity.ModelUID, id entity.MachineID) string { return machineKey(m, id) }

// CellID is the id of the machine's cell: "c0" for machine 0 of the default
// model, with the model's first letters for others.
func CellID(model entity.Model, id entity.MachineID) work.CellID {
	cell := "c" + strings.ReplaceAll(string(id), "/", "-")
	if model.Name != DefaultModel {
		cell += "-" + string(model.UID)[:min(6, len(model.UID))]
	}
	return work.CellID(cell)
}
