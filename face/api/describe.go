package api

import (
	"strconv"
	"strings"

	"drover/keep/identity"
	"drover/noun/charm"
	"drover/noun/entity"
	"drover/noun/work"
	"drover/wire/convert"
)

// described is a row as events show it. What is shown is chosen field by field:
// settings, configuration, environments and keys are secrets (X3) and stay out.
type described struct {
	kind, noun, key           string
	state                     string // for the summary
	model, cell, guid, domain string
	shown                     map[string]any
}

// describe is the row of a change; ok is false for rows that are nobody's
// business.
func describe(row any) (d described, ok bool) {
	switch r := row.(type) {
	case *entity.Machine:
		return described{kind: "machine", noun: "machine", key: string(r.ID), model: string(r.Model), state: r.Life.String() + ", instance " + r.InstanceState.String(),
			shown: map[string]any{"id": r.ID, "uid": r.UID, "life": r.Life.String(), "provider": r.Provider, "instance": r.Instance,
				"instance_state": r.InstanceState.String(), "instance_error": r.InstanceError, "address": r.Address}}, true
	case *entity.Application:
		return described{kind: "application", noun: "application", key: string(r.Name), model: string(r.Model), state: r.Life.String(),
			shown: map[string]any{"name": r.Name, "uid": r.UID, "life": r.Life.String(), "charm": r.CharmName, "charm_revision": r.CharmRev, "leader": r.Leader}}, true
	case *entity.Unit:
		return describeUnit(r), true
	case *entity.Relation:
		return described{kind: "relation", noun: "relation", key: r.CanonicalName(), model: string(r.Model), state: r.Life.String(),
			shown: map[string]any{"id": r.ID, "uid": r.UID, "life": r.Life.String(), "name": r.CanonicalName(), "scope": r.Scope().String()}}, true
	case *entity.Member:
		return described{kind: "member", noun: "member", key: r.Relation.String() + "/" + string(r.Unit), model: string(r.Model), state: "in scope",
			shown: map[string]any{"relation": r.Relation, "unit": r.Unit, "incarnation": r.Incarnation}}, true
	case *entity.Settings:
		return described{kind: "settings", noun: "settings", key: r.Relation.String() + "/" + r.Owner, model: string(r.Model), state: "version " + strconv.FormatInt(r.Version, 10),
			shown: map[string]any{"relation": r.Relation, "owner": r.Owner, "version": r.Version}}, true
	case *entity.AppConfig:
		return described{kind: "config", noun: "configuration of", key: string(r.App), model: string(r.Model), state: "set",
			shown: map[string]any{"application": r.App}}, true
	case *entity.Model:
		return described{kind: "model", noun: "model", key: r.Name, model: string(r.UID), state: r.Life.String(),
			shown: map[string]any{"name": r.Name, "uid": r.UID, "life": r.Life.String()}}, true
	case *charm.Charm:
		return described{kind: "charm", noun: "charm", key: r.Meta.Name, state: "revision " + strconv.Itoa(r.Revision),
			shown: map[string]any{"name": r.Meta.Name, "revision": r.Revision, "sha": r.SHA}}, true
	case *identity.Audit:
		return described{kind: auditKind, noun: "audit", key: r.Who, state: strings.TrimSpace(r.Did + " " + r.What),
			shown: map[string]any{"number": r.Number, "at": r.At, "who": r.Who, "did": r.Did, "what": r.What}}, true
	}
	return describeWork(row)
}

func describeUnit(u *entity.Unit) described {
	state := string(u.Workload.Value) + ", agent " + string(u.Agent.Value)
	if u.Life != entity.Alive {
		state = u.Life.String() + ", " + state
	}
	shown := map[string]any{
		"name": u.Name, "uid": u.UID, "life": u.Life.String(), "machine": u.Machine, "principal": u.Principal, "workflow": u.Workflow,
		"workload": u.Workload.Value, "message": u.Workload.Message, "agent": u.Agent.Value, "hook": u.Hook, "last_hook": u.LastHook, "last_hook_ms": u.LastHookMS,
	}
	if u.Failure != nil {
		state += ", hook " + u.Failure.Hook + " failed"
		shown["failed_hook"], shown["failure"] = u.Failure.Hook, u.Failure.Reason
	} else if u.Hook != "" {
		state += ", running " + u.Hook
	}
	return described{kind: "unit", noun: "unit", key: string(u.Name), model: string(u.Model), state: state, shown: shown}
}

func describeWork(row any) (described, bool) {
	switch r := row.(type) {
	case *work.DesiredLRP:
		return described{kind: "desired_lrp", noun: "LRP", key: string(r.ProcessGUID), guid: string(r.ProcessGUID), domain: string(r.Domain),
			state: strconv.Itoa(r.Instances) + " instances wanted",
			shown: map[string]any{"process_guid": r.ProcessGUID, "domain": r.Domain, "instances": r.Instances}}, true
	case *work.ActualLRP:
		state := r.State.String()
		if r.Evacuating {
			state += " (evacuating)"
		}
		if r.Holder.Cell != "" {
			state += " on " + string(r.Holder.Cell)
		}
		net := convert.NetToWire(r.Net)
		return described{kind: "actual_lrp", noun: "instance", key: string(r.ProcessGUID) + "/" + strconv.Itoa(r.Index),
			guid: string(r.ProcessGUID), domain: string(r.Domain), cell: string(r.Holder.Cell), state: state,
			shown: map[string]any{"process_guid": r.ProcessGUID, "index": r.Index, "evacuating": r.Evacuating, "state": r.State.String(),
				"cell": r.Holder.Cell, "instance_guid": r.Holder.Instance, "crash_count": r.CrashCount, "crash_reason": r.CrashReason,
				"placement_error": r.PlacementError, "address": net.GetAddress()}}, true
	case *work.Task:
		state := r.State.String()
		if r.Failed {
			state += " (failed: " + r.FailureReason + ")"
		}
		return described{kind: "task", noun: "task", key: string(r.GUID), guid: string(r.GUID), domain: string(r.Domain), cell: string(r.Cell), state: state,
			shown: map[string]any{"guid": r.GUID, "domain": r.Domain, "state": r.State.String(), "cell": r.Cell, "failed": r.Failed, "failure_reason": r.FailureReason}}, true
	case *work.Cell:
		return described{kind: "cell", noun: "cell", key: string(r.ID), cell: string(r.ID), state: r.Presence.String(),
			shown: map[string]any{"id": r.ID, "machine": r.Machine, "presence": r.Presence.String(), "evacuating": r.Evacuating, "unfit": r.Unfit}}, true
	default:
		return described{}, false
	}
}
