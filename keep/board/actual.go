package board

import (
	"time"

	"drover/keep/store"
	"drover/noun/fault"
	"drover/noun/when"
	"drover/noun/work"
)

// MaxReason bounds crash reasons and placement errors, in bytes.
const MaxReason = 1024

// EvacuationTTL is how long an evacuating record lives unless its cell says.
const EvacuationTTL = 10 * time.Minute

// Ask is a cell's wish about a record: Holder is the pair α that asks, Seen the
// revision of the record its decision saw (0: none existed; AnyRevision: as it
// is). Domain and Incarnation are those of the container.
type Ask struct {
	Key         work.LRPKey
	Holder      work.Holder
	Seen        store.Revision
	Domain      work.Domain
	Incarnation work.Incarnation
}

// stale is the error for a decision on a record that has changed meanwhile.
func stale(what string, args ...any) error {
	return fault.New(fault.Conflict, what, args...).Why("it is not as it was seen: look again")
}

func (b *Board) look(tx *store.Txn, a Ask, evacuating bool) (work.ActualLRP, bool, error) {
	key := ActualKey(a.Key, evacuating)
	row, ok := b.actual.Get(tx, key)
	if a.Seen != AnyRevision && a.Seen != b.actual.RevisionOf(tx, key) {
		return row, ok, stale("%s/%d", a.Key.ProcessGUID, a.Key.Index)
	}
	return row, ok, nil
}

// Claim makes an UNCLAIMED record CLAIMED by the holder, and takes the holder's
// own RUNNING one back to CLAIMED. Conflict: not as seen, held by another, or
// the cell is lost.
func (b *Board) Claim(tx *store.Txn, now when.Instant, a Ask) error {
	row, ok, err := b.look(tx, a, false)
	if err == nil {
		err = b.mayTake(tx, a)
	}
	switch {
	case err != nil:
		return err
	case !ok:
		return stale("claim %s/%d", a.Key.ProcessGUID, a.Key.Index)
	case row.State == work.Claimed && row.Holder == a.Holder:
		return nil
	case row.State == work.Unclaimed && row.Incarnation != a.Incarnation,
		row.State == work.Running && row.Holder != a.Holder:
		return refused("claim", &row)
	}
	next := row
	next.State, next.Holder = work.Claimed, a.Holder
	return b.move(tx, now, work.ByRep, row, next)
}

// Start makes the record RUNNING on the holder, whatever it was but RUNNING on
// another, and creates it if there was none. Evacuating records of the index go
// in the same transaction (SEMANTICS 70).
func (b *Board) Start(tx *store.Txn, now when.Instant, a Ask, net work.NetInfo) error {
	row, ok, err := b.look(tx, a, false)
	if err == nil {
		err = b.mayTake(tx, a)
	}
	if err != nil {
		return err
	}
	if ok && row.State == work.Running && row.Holder != a.Holder {
		return refused("start", &row)
	}
	next := row
	if !ok {
		next = work.ActualLRP{LRPKey: a.Key, Domain: a.Domain}
	}
	if row.Holder != a.Holder {
		next.Stopping = false
	}
	next.State, next.Holder, next.Net, next.Incarnation = work.Running, a.Holder, net, a.Incarnation
	if !ok || row.State != work.Running {
		next.Routable = !next.Stopping
	}
	if err := b.move(tx, now, work.ByRep, row, next); err != nil {
		return err
	}
	b.actual.Delete(tx, ActualKey(a.Key, true))
	return nil
}

// Crash does the RepCrashDance on the holder's record; without one it makes an
// UNCLAIMED record with one crash. A record that was told to stop is removed
// instead. Conflict: not as seen, or held by another.
func (b *Board) Crash(tx *store.Txn, now when.Instant, a Ask, reason string) error {
	row, ok, err := b.look(tx, a, false)
	if err != nil {
		return err
	}
	if !ok {
		return b.move(tx, now, work.ByRep, work.ActualLRP{}, work.ActualLRP{
			LRPKey: a.Key, Domain: a.Domain, Incarnation: a.Incarnation,
			State: work.Unclaimed, CrashCount: 1, CrashReason: truncate(reason, MaxReason),
		})
	}
	if !holds(&row, a.Holder) {
		return refused("crash", &row)
	}
	if row.Stopping {
		return b.remove(tx, work.ByRep, row)
	}
	next := row
	next.State, next.CrashCount = b.Crashes.Crash(&row, now)
	next.CrashReason = truncate(reason, MaxReason)
	return b.move(tx, now, work.ByRep, row, next)
}

// Remove deletes the holder's record. Conflict: not as seen, or held by another.
func (b *Board) Remove(tx *store.Txn, _ when.Instant, a Ask) error {
	row, ok, err := b.look(tx, a, false)
	switch {
	case err != nil:
		return err
	case !ok:
		return nil
	case !holds(&row, a.Holder):
		return refused("remove", &row)
	}
	return b.remove(tx, work.ByRep, row)
}

// Unclaim gives the holder's record back to the auction; an UNCLAIMED one is
// auctioned again. A record that was told to stop is removed instead. Conflict:
// not as seen, or held by another.
func (b *Board) Unclaim(tx *store.Txn, now when.Instant, a Ask) error {
	row, ok, err := b.look(tx, a, false)
	switch {
	case err != nil:
		return err
	case !ok:
		return stale("unclaim %s/%d", a.Key.ProcessGUID, a.Key.Index)
	case row.State != work.Unclaimed && !holds(&row, a.Holder):
		return refused("unclaim", &row)
	case row.Stopping:
		return b.remove(tx, work.ByRep, row)
	}
	next := row
	next.State = work.Unclaimed
	if row.State == work.Unclaimed {
		next.Since = now // changes the row, so that it is auctioned again
	}
	return b.move(tx, now, work.ByRep, row, next)
}

// Unroutable marks the holder's record as one that routers leave alone: the
// first part of a stop (SEMANTICS 43).
func (b *Board) Unroutable(tx *store.Txn, now when.Instant, a Ask) error {
	row, ok, err := b.look(tx, a, false)
	switch {
	case err != nil:
		return err
	case !ok || !holds(&row, a.Holder):
		return stale("drain %s/%d", a.Key.ProcessGUID, a.Key.Index)
	case !row.Routable:
		return nil
	}
	next := row
	next.Routable = false
	return b.move(tx, now, work.ByRep, row, next)
}

// CreateEvacuating makes the evacuating record of the index RUNNING on the
// holder, whether there was one or not, until now + ttl (0: EvacuationTTL).
func (b *Board) CreateEvacuating(tx *store.Txn, now when.Instant, a Ask, net work.NetInfo, ttl time.Duration) error {
	row, ok, err := b.look(tx, a, true)
	if err != nil {
		return err
	}
	if ttl <= 0 || ttl > time.Hour {
		ttl = EvacuationTTL
	}
	next := work.ActualLRP{
		LRPKey: a.Key, Evacuating: true, Domain: a.Domain, Incarnation: a.Incarnation,
		State: work.Running, Holder: a.Holder, Net: net, Since: now, Expires: now.Add(ttl), Routable: true,
	}
	if ok {
		next.ModTag = row.ModTag
	}
	b.tag(&next.ModTag)
	b.actual.Put(tx, next)
	return nil
}

// RemoveEvacuating deletes the holder's evacuating record; another holder's is
// left alone.
func (b *Board) RemoveEvacuating(tx *store.Txn, _ when.Instant, a Ask) error {
	row, ok, err := b.look(tx, a, true)
	switch {
	case err != nil:
		return err
	case !ok:
		return nil
	case row.Holder != a.Holder:
		return refused("remove the evacuating record of", &row)
	}
	b.actual.Delete(tx, ActualKey(a.Key, true))
	return nil
}

// mayTake refuses work to a cell that the board holds for lost: its presence
// comes first, or its records would be taken from it at once.
func (b *Board) mayTake(r store.Reader, a Ask) error {
	if c, ok := b.Cell(r, a.Holder.Cell); ok && c.Presence == work.Lost {
		return fault.New(fault.Conflict, "cell %s takes %s/%d", c.ID, a.Key.ProcessGUID, a.Key.Index).
			Why("the cell is lost until it is heard of again")
	}
	return nil
}

func holds(row *work.ActualLRP, h work.Holder) bool {
	return (row.State == work.Claimed || row.State == work.Running) && row.Holder == h
}

func refused(verb string, row *work.ActualLRP) error {
	by := ""
	if row.Holder.Cell != "" {
		by = " by " + string(row.Holder.Instance) + " on " + string(row.Holder.Cell)
	}
	return fault.New(fault.Conflict, "%s %s/%d", verb, row.ProcessGUID, row.Index).Why("it is %s%s", row.State, by)
}
