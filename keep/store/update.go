package store

import (
	"context"

	"drover/noun/fault"
	"drover/noun/when"
)

// maxTransaction is the encoded size beyond which a transaction is refused: bulk
// work is done in steps.
const maxTransaction = 16 << 20

func tooLarge(size int) error {
	return fault.New(fault.ResourceExhausted, "the change is too large").
		Why("it has %d bytes, and a single change may have %d", size, maxTransaction)
}

// Update runs fn in a transaction and returns when it is committed, with its
// revision. fn runs once, on the caller's goroutine, alone; it must not call the
// store. An error of fn undoes the transaction and is returned as it is. A
// transaction that changed nothing returns the revision it read. Neither answer
// is given before what the transaction read is committed.
//
// Otherwise the error has a NotLeaderError, ErrNotApplied, ErrUnknown or
// ErrClosed in its chain. The context is looked at before fn runs and not
// afterwards: the outcome comes at the latest when leadership is lost.
func (s *Store) Update(ctx context.Context, fn func(*Txn) error) (Revision, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	o, err := s.transact(fn)
	if err != nil || o.group == nil {
		return o.rev, err
	}
	if o.commit {
		s.commit(o.head, o.group)
	}
	for {
		select {
		case <-o.group.done:
			if o.group.err != nil {
				return 0, o.group.err
			}
			if o.err != nil {
				return 0, o.err
			}
			return o.rev, nil
		case <-o.group.baton:
			s.commitNext(o.head, o.group)
		}
	}
}

// outcome is that of a transaction once its group is committed.
type outcome struct {
	head   *head
	group  *group // nil: nothing to wait for
	commit bool   // the caller has the task to commit the group
	rev    Revision
	err    error // fn's
}

// transact runs fn on the head. The error it returns stands without waiting.
func (s *Store) transact(fn func(*Txn) error) (outcome, error) {
	s.write.Lock()
	defer s.write.Unlock()
	h, err := s.current()
	if err != nil {
		return outcome{}, err
	}
	tx := &Txn{head: h.tables, prev: h.rev, rev: h.rev + 1}
	kept := false
	defer func() {
		if !kept {
			tx.rollback()
		}
		tx.head = nil
	}()
	o := outcome{head: h, rev: tx.prev, err: fn(tx)}
	var changes []Change
	if o.err == nil {
		changes = tx.changes()
	}
	if len(changes) == 0 {
		if o.group = h.tail(); o.group == nil && o.err != nil {
			return outcome{}, o.err
		}
		return o, nil
	}
	if err := h.add(when.Of(s.now()), changes); err != nil {
		return outcome{}, asFault(err)
	}
	kept = true
	o.rev, o.group = tx.rev, h.open
	if !h.committing {
		h.committing, o.commit = true, true
		h.seal(s.schema)
	}
	return o, nil
}

func asFault(err error) error {
	if fault.KindOf(err) != fault.Internal {
		return err
	}
	return fault.New(fault.Internal, "the change cannot be stored").Why("%v", err).Wrap(err)
}

// current is the head for the next transaction, with room in its open group. The
// caller holds write.
func (s *Store) current() (*head, error) {
	for {
		s.mu.Lock()
		r, l, closedState := s.reign, s.leadership, s.closedState
		s.mu.Unlock()
		if s.head != nil && (r == nil || r.epoch != s.head.epoch) {
			s.drop(s.head, "leadership was lost")
		}
		switch {
		case closedState:
			return nil, Closed()
		case r == nil:
			return nil, NotLeader(l.Leader, l.Address)
		case s.head == nil:
			if err := s.fork(r.epoch); err != nil {
				return nil, err
			}
		case s.head.full():
			s.room.Wait()
		default:
			return s.head, nil
		}
	}
}

// fork makes a head of what is committed. The first one of an epoch needs no
// barrier, as leadership is announced after one.
func (s *Store) fork(epoch uint64) error {
	if s.epoch == epoch {
		if err := s.log.Barrier(epoch); err != nil {
			return err
		}
	}
	s.epoch = epoch
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.viewLocked()
	s.head = &head{
		epoch:  epoch,
		tables: copyState(v.state),
		sealed: v.state,
		dirty:  make([]bool, len(v.state)),
		rev:    v.rev,
	}
	return nil
}

// drop gives a head up. Transactions that are not with the log yet are not
// applied; those in flight learn their fate from the log. The caller holds write.
func (s *Store) drop(h *head, because string) {
	if h.dropped {
		return
	}
	h.dropped = true
	if s.head == h {
		s.head = nil
	}
	if h.open != nil {
		h.open.finish(NotApplied("%s", because))
		h.open = nil
	}
	s.room.Broadcast()
}

// commit hands a sealed group to the log and tells its callers the outcome. Then
// the task goes to a caller of the group that accumulated meanwhile.
func (s *Store) commit(h *head, g *group) {
	s.mu.Lock()
	s.proposed[g.id] = g
	s.mu.Unlock()
	err := s.log.Append(h.epoch, g.entry)
	s.mu.Lock()
	delete(s.proposed, g.id)
	s.mu.Unlock()

	s.write.Lock()
	defer s.write.Unlock()
	h.flying = nil
	if err != nil {
		s.drop(h, "an earlier change failed")
	}
	g.finish(err)
	if h.open != nil {
		h.open.baton <- struct{}{}
	} else {
		h.committing = false
	}
}

// commitNext commits the group that the caller got the baton of.
func (s *Store) commitNext(h *head, g *group) {
	s.write.Lock()
	sealed := h.open == g
	if sealed {
		h.seal(s.schema)
		s.room.Broadcast()
	}
	s.write.Unlock()
	if sealed {
		s.commit(h, g)
	}
}
