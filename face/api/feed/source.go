package feed

import (
	"crypto/sha256"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"drover/keep/board"
	"drover/keep/registry"
	"drover/keep/store"
	"drover/noun/entity"
	"drover/noun/work"
	"drover/wire/convert"
	"drover/wire/droverv1"
)

// Source is what feeds are computed from. It may be used concurrently.
type Source struct {
	Store    *store.Store
	Registry *registry.Registry
	Board    *board.Board
	Cluster  func(r store.Reader) string // its id
	Servers  func() []string             // host:port, the leader first
	Log      *slog.Logger
}

func (s *Source) serversText() string { return strings.Join(s.Servers(), " ") }

func machineTopic(m Machine) store.Topic { return registry.MachineTopic(m.Model, m.ID) }

// compute is the part of the group in the view.
func (s *Source) compute(v *store.View, m Machine, g group) part {
	switch g.kind {
	case "machine":
		return s.machinePart(v, m)
	case "unit":
		return s.unitPart(v, m, g.unit)
	case "relation":
		return s.relationPart(v, m, g.unit, g.rel)
	default:
		return s.cellPart(v, m)
	}
}

// stamped is a value whose stamp is the digest of its message.
func stamped(d *droverv1.Delta) value {
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(d)
	if err != nil {
		panic("feed: " + err.Error()) //nolint:forbidigo // only strings that are no UTF-8 could do this, and rows hold none
	}
	sum := sha256.Sum256(data)
	return value{stamp: string(sum[:16]), delta: func() *droverv1.Delta { return d }}
}

func (s *Source) machinePart(v *store.View, m Machine) part {
	p := part{
		deps:   []store.Topic{machineTopic(m), registry.ModelTopic(m.Model), board.CellTopic(m.Cell)},
		values: map[string]value{},
	}
	row, ok := s.Registry.Machine(v, m.Model, m.ID)
	if !ok || row.UID != m.UID {
		return p
	}
	model, _ := s.Registry.Model(v, m.Model)
	cell, _ := s.Board.Cell(v, m.Cell)
	p.values["machine"] = stamped(&droverv1.Delta{Value: &droverv1.Delta_Machine{Machine: &droverv1.MachineState{
		Id: string(row.ID), Uid: string(row.UID), Life: row.Life.String(), CellEvacuating: cell.Evacuating,
		ModelName: model.Name, ModelUid: string(model.UID), Settings: model.Settings, Cluster: s.Cluster(v), Servers: s.Servers(),
	}}})
	for _, u := range s.Registry.AllUnitsOn(v, m.Model, m.ID) {
		p.children = append(p.children, group{kind: "unit", unit: u.Name})
		if !u.IsSubordinate() {
			p.deps = append(p.deps, registry.UnitTopic(m.Model, u.Name))
		}
	}
	return p
}

func (s *Source) cellPart(v *store.View, m Machine) part {
	p := part{deps: []store.Topic{board.CellTopic(m.Cell)}, values: map[string]value{}}
	for _, rec := range lrpsOn(s.Board, v, m.Cell) {
		// The other record of the index may be held by another cell.
		if t := board.LRPTopic(rec.row.ProcessGUID); !slices.Contains(p.deps, t) {
			p.deps = append(p.deps, t)
		}
		p.values[lrpKey(rec.row.LRPKey, rec.row.Evacuating)] = value{stamp: strconv.FormatUint(rec.revision, 10), delta: func() *droverv1.Delta {
			return &droverv1.Delta{Value: &droverv1.Delta_Lrp{Lrp: convert.ActualToWire(rec.row, rec.revision)}}
		}}
	}
	for _, rec := range tasksOn(s.Board, v, m.Cell) {
		p.values["task/"+string(rec.row.GUID)] = value{stamp: strconv.FormatUint(rec.revision, 10), delta: func() *droverv1.Delta {
			return &droverv1.Delta{Value: &droverv1.Delta_Task{Task: convert.TaskStateToWire(rec.row, rec.revision)}}
		}}
	}
	return p
}

func lrpKey(k work.LRPKey, evacuating bool) string {
	kind := "i"
	if evacuating {
		kind = "e"
	}
	return fmt.Sprintf("lrp/%s/%d/%s", k.ProcessGUID, k.Index, kind)
}

func (s *Source) relationPart(v *store.View, m Machine, unit entity.UnitName, id entity.RelationID) part {
	p := part{deps: []store.Topic{registry.RelationTopic(m.Model, id)}, values: map[string]value{}}
	for _, ur := range s.Registry.UnitRelations(v, m.Model, unit) {
		if ur.Relation.ID != id {
			continue
		}
		p.deps = append(p.deps, registry.AppTopic(m.Model, ur.Remote.App))
		remote, _ := s.Registry.Application(v, m.Model, ur.Remote.App)
		life := ""
		if remote.Life != 0 {
			life = remote.Life.String()
		}
		p.values[relationKey(unit, id)] = stamped(&droverv1.Delta{Value: &droverv1.Delta_Relation{Relation: &droverv1.RelationState{
			Id: uint64(id), Uid: string(ur.Relation.UID), Life: ur.Relation.Life.String(),
			Endpoint: ur.Own.Name, Role: ur.Own.Role.String(), Interface: ur.Own.Interface, Scope: ur.Relation.Scope().String(),
			RemoteApplication: string(ur.Remote.App), RemoteEndpoint: ur.Remote.Name,
			InScope: ur.InScope, Incarnation: int32(ur.Member.Incarnation), Implicit: ur.Own.Implicit,
			RemoteApplicationLife: life,
		}}})
		for _, seen := range s.Registry.SeenMembers(v, m.Model, unit, id) {
			state := &droverv1.MemberState{
				Unit: string(seen.Member.Unit), UnitUid: string(seen.Member.UnitUID), Incarnation: int32(seen.Member.Incarnation),
				SettingsVersion: seen.SettingsVersion, AppSettingsVersion: seen.AppSettingsVersion,
			}
			stamp := fmt.Sprintf("%s %d %d %d", state.UnitUid, state.Incarnation, state.SettingsVersion, state.AppSettingsVersion)
			p.values[memberKey(unit, id, seen.Member.Unit)] = value{stamp: stamp, delta: func() *droverv1.Delta {
				return &droverv1.Delta{Value: &droverv1.Delta_Member{Member: state}}
			}}
		}
	}
	return p
}

func relationKey(unit entity.UnitName, id entity.RelationID) string {
	return "relation/" + string(unit) + "/" + id.String()
}

func memberKey(unit entity.UnitName, id entity.RelationID, seen entity.UnitName) string {
	return "member/" + string(unit) + "/" + id.String() + "/" + string(seen)
}
