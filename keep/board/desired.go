package board

import (
	"reflect"
	"slices"

	"drover/decide/convergence"
	"drover/keep/store"
	"drover/noun/fault"
	"drover/noun/when"
	"drover/noun/work"
)

// MaxCreated is how many records one request creates in its transaction;
// convergence creates the rest.
const MaxCreated = 1000

// LRPUpdate is what may be changed of a desired LRP; nil leaves it as it is
// (SEMANTICS 65).
type LRPUpdate struct {
	Instances  *int
	Routes     *[]work.Route
	Annotation *string
	MetricTags *[]work.EnvVar
}

// DesireLRP creates a desired LRP and UNCLAIMED records for its indexes. The
// incarnation, tag and time are set here. Conflict: the guid is taken. Invalid:
// see ValidateLRP.
func (b *Board) DesireLRP(tx *store.Txn, now when.Instant, d work.DesiredLRP) (work.DesiredLRP, error) {
	if err := ValidateLRP(&d); err != nil {
		return d, err
	}
	if b.desired.Has(tx, string(d.ProcessGUID)) {
		return d, fault.New(fault.Conflict, "LRP %q exists already", d.ProcessGUID).Coded(fault.CodeExists).
			Try("drover lrp list", "drover lrp scale "+string(d.ProcessGUID)+" N")
	}
	d.Incarnation, d.Created, d.ModTag = work.Incarnation(b.NewID()), now, work.ModTag{}
	b.tag(&d.ModTag)
	b.desired.Put(tx, d)
	return d, b.follow(tx, now, &d)
}

// UpdateLRP changes instances, routes, annotation and metric tags; no instance
// is restarted. What a lower count leaves over is stopped at once, fresh domain
// or not (SEMANTICS 66). NotFound, Invalid.
func (b *Board) UpdateLRP(tx *store.Txn, now when.Instant, g work.ProcessGUID, u LRPUpdate) (work.DesiredLRP, error) {
	old, ok := b.Desired(tx, g)
	if !ok {
		return old, noLRP(g)
	}
	d := old
	if u.Instances != nil {
		d.Instances = *u.Instances
	}
	if u.Routes != nil {
		d.Routes = slices.Clone(*u.Routes)
	}
	if u.Annotation != nil {
		d.Annotation = *u.Annotation
	}
	if u.MetricTags != nil {
		d.Spec.MetricTags = slices.Clone(*u.MetricTags)
	}
	if err := ValidateLRP(&d); err != nil {
		return old, err
	}
	if reflect.DeepEqual(old, d) {
		return old, nil
	}
	b.tag(&d.ModTag)
	b.desired.Put(tx, d)
	return d, b.follow(tx, now, &d)
}

// RemoveLRP deletes a desired LRP; its records go, and those on a cell are told
// to stop, fresh domain or not (SEMANTICS 66). NotFound.
func (b *Board) RemoveLRP(tx *store.Txn, now when.Instant, g work.ProcessGUID) error {
	if !b.desired.Delete(tx, string(g)) {
		return noLRP(g)
	}
	for _, a := range b.instancesOf(tx, g) {
		if err := b.stop(tx, now, work.ByClient, a); err != nil {
			return err
		}
	}
	return nil
}

// RestartLRP stops the running instances of a desired LRP, all or only the
// index; convergence starts them again. A CRASHED one starts at once, its crashes
// forgotten. NotFound: no such LRP or index.
func (b *Board) RestartLRP(tx *store.Txn, now when.Instant, g work.ProcessGUID, index *int) error {
	d, ok := b.Desired(tx, g)
	if !ok {
		return noLRP(g)
	}
	if index != nil && (*index < 0 || *index >= d.Instances) {
		return fault.New(fault.NotFound, "LRP %q has no index %d", g, *index).Why("it has %d instances", d.Instances)
	}
	for _, a := range b.instancesOf(tx, g) {
		if index != nil && a.Index != *index {
			continue
		}
		var err error
		switch a.State {
		case work.Crashed:
			next := a
			next.State, next.CrashCount = work.Unclaimed, 0
			err = b.move(tx, now, work.ByClient, a, next)
		case work.Claimed, work.Running:
			err = b.stop(tx, now, work.ByClient, a)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// follow makes the records follow the desired LRP: the missing are created, the
// extra stopped.
func (b *Board) follow(tx *store.Txn, now when.Instant, d *work.DesiredLRP) error {
	missing, extra := convergence.Delta(d.Instances, b.instancesOf(tx, d.ProcessGUID))
	for _, i := range missing[:min(len(missing), MaxCreated)] {
		if err := b.create(tx, now, work.ByClient, d, i); err != nil {
			return err
		}
	}
	for _, a := range extra {
		if err := b.stop(tx, now, work.ByClient, a); err != nil {
			return err
		}
	}
	return nil
}

func (b *Board) create(tx *store.Txn, now when.Instant, by work.Actor, d *work.DesiredLRP, index int) error {
	return b.move(tx, now, by, work.ActualLRP{}, work.ActualLRP{
		LRPKey: work.LRPKey{ProcessGUID: d.ProcessGUID, Index: index},
		Domain: d.Domain, Incarnation: d.Incarnation, State: work.Unclaimed,
	})
}

// stop gives a record up: deleted when nothing runs for it, otherwise marked, so
// that its cell is told.
func (b *Board) stop(tx *store.Txn, now when.Instant, by work.Actor, a work.ActualLRP) error {
	if a.State == work.Unclaimed || a.State == work.Crashed || b.cellGone(tx, a.Holder.Cell) {
		return b.remove(tx, by, a)
	}
	next := a
	next.Stopping, next.Routable = true, false
	return b.move(tx, now, by, a, next)
}

// instancesOf are a guid's records but the evacuating ones, collected because
// the caller will write.
func (b *Board) instancesOf(r store.Reader, g work.ProcessGUID) []work.ActualLRP {
	var out []work.ActualLRP
	for a := range b.ActualsOf(r, g) {
		if !a.Evacuating {
			out = append(out, a)
		}
	}
	return out
}

func noLRP(g work.ProcessGUID) error {
	return fault.New(fault.NotFound, "no LRP %q", g).Coded(fault.CodeNoSuchLRP).Try("drover lrp list")
}
