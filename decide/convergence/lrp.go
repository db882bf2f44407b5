package convergence

import (
	"time"

	"drover/noun/when"
	"drover/noun/work"
)

// The ages at which convergence does something again (SEMANTICS 2).
const (
	StaleUnclaimed = 30 * time.Second // an UNCLAIMED record's start is emitted again
	StopAgain      = 10 * time.Second // a cell is told again to stop a container
)

// LRPKind is what convergence does about a record.
type LRPKind uint8

// The kinds. Create, Delete, Stop, Restart, Unplace and DropEvacuating change the
// board; TellStop and Emit are messages.
const (
	_              LRPKind = iota
	Create                 // an UNCLAIMED record for the index
	Delete                 // the record: nothing runs for it
	Stop                   // mark the record: its cell is to stop it
	Restart                // CRASHED → UNCLAIMED
	Unplace                // CLAIMED or RUNNING → UNCLAIMED: its cell is gone
	DropEvacuating         // the evacuating record
	TellStop               // to the cell that holds the marked record
	Emit                   // a start request for the UNCLAIMED record
	numLRPKinds
)

var lrpKindNames = [numLRPKinds]string{"unset", "create", "delete", "stop", "restart", "unplace", "drop evacuating", "tell stop", "emit"}

// String is the kind's name.
func (k LRPKind) String() string {
	if k >= numLRPKinds {
		return "invalid"
	}
	return lrpKindNames[k]
}

// LRPAction is one thing to do about an index. Record is what the decision saw,
// the zero record for Create.
type LRPAction struct {
	Kind   LRPKind
	Key    work.LRPKey
	Record work.ActualLRP
	Why    string
}

// LRPs is one guid as convergence looks at it.
type LRPs struct {
	GUID    work.ProcessGUID
	Desired *work.DesiredLRP // nil: not desired
	Records []work.ActualLRP // of both kinds, in the order of indexes
	Fresh   func(work.Domain) bool
	Gone    func(work.CellID) bool // the cell is lost or removed
	Crashes CrashPolicy
}

// Decide is what to do about the guid now, and when to look again if nothing
// changes; zero: never.
func (v LRPs) Decide(now when.Instant) ([]LRPAction, when.Instant) {
	d := decision{LRPs: v, now: now}
	var instances []work.ActualLRP
	for _, r := range v.Records {
		if r.Evacuating {
			d.evacuating(r)
		} else {
			instances = append(instances, r)
		}
	}
	n := 0
	if v.Desired != nil {
		n = v.Desired.Instances
	}
	missing, _ := Delta(n, instances)
	for _, i := range missing {
		d.do(Create, work.ActualLRP{LRPKey: work.LRPKey{ProcessGUID: v.GUID, Index: i}}, "desired, and there is no record")
	}
	for _, r := range instances {
		d.instance(r, r.Index < n)
	}
	return d.actions, d.again
}

type decision struct {
	LRPs
	now     when.Instant
	actions []LRPAction
	again   when.Instant
}

func (d *decision) do(k LRPKind, r work.ActualLRP, why string) {
	a := LRPAction{Kind: k, Key: r.LRPKey, Record: r, Why: why}
	if k == Create {
		a.Record = work.ActualLRP{}
	}
	d.actions = append(d.actions, a)
}

func (d *decision) at(t when.Instant) {
	if d.again.IsZero() || t.Before(d.again) {
		d.again = t
	}
}

func (d *decision) evacuating(r work.ActualLRP) {
	switch {
	case d.Gone(r.Holder.Cell):
		d.do(DropEvacuating, r, "its cell is gone")
	case !d.now.Before(r.Expires):
		d.do(DropEvacuating, r, "its time is over")
	default:
		d.at(r.Expires)
	}
}

func (d *decision) instance(r work.ActualLRP, desired bool) {
	old := desired && r.Incarnation != d.Desired.Incarnation
	held := r.State == work.Claimed || r.State == work.Running
	switch {
	case held && d.Gone(r.Holder.Cell):
		if !desired && (r.Stopping || d.Fresh(r.Domain)) || old {
			d.do(Delete, r, "not desired, and its cell is gone")
			return
		}
		d.do(Unplace, r, "its cell is gone")
	case r.Stopping:
		d.do(TellStop, r, "told to stop, and still there")
		d.at(d.now.Add(StopAgain))
	case old:
		d.giveUp(r, "its LRP was deleted and desired again")
	case !desired:
		if d.Fresh(r.Domain) {
			d.giveUp(r, "no longer desired")
		}
	case r.State == work.Crashed:
		d.crashed(r)
	case r.State == work.Unclaimed:
		d.unclaimed(r)
	}
}

func (d *decision) giveUp(r work.ActualLRP, why string) {
	if r.State == work.Claimed || r.State == work.Running {
		d.do(Stop, r, why)
		return
	}
	d.do(Delete, r, why)
}

func (d *decision) crashed(r work.ActualLRP) {
	at, ever := d.Crashes.RestartAt(&r)
	switch {
	case !ever:
	case d.now.Before(at):
		d.at(at)
	default:
		d.do(Restart, r, "its wait after the crash is over")
	}
}

func (d *decision) unclaimed(r work.ActualLRP) {
	if stale := r.Since.Add(StaleUnclaimed); d.now.Before(stale) {
		d.at(stale)
		return
	}
	d.do(Emit, r, "UNCLAIMED for too long")
	d.at(d.now.Add(StaleUnclaimed))
}
