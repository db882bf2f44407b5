package api

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"connectrpc.com/connect"

	"drover/keep/identity"
	"drover/keep/store"
	"drover/noun/fault"
	"drover/wire/droverv1"
)

// bookmarkEvery is how often a quiet watch tells how far it has read.
const bookmarkEvery = 5 * time.Second

// Watch sends the changes after a revision as events, in order and without a
// gap. Events of one revision come together and the last of them says so;
// bookmarks tell the revision up to which nothing else matched. A revision that
// is not retained any more ends with kind Conflict: read the state and watch
// from its revision.
func (c *serverService) Watch(ctx context.Context, req *connect.Request[droverv1.WatchRequest], stream *connect.ServerStream[droverv1.Event]) error {
	filter, err := c.newFilter(req.Msg)
	if err != nil {
		return err
	}
	if u, ok := c.cfg.Identity.User(c.cfg.Store.View(), callerOf(ctx).Name); ok {
		filter.audit = identity.Allows(u.Role, identity.Admin)
	}
	from := store.Revision(req.Msg.GetFrom())
	now := c.cfg.Store.Announced().Revision()
	if from == 0 {
		from = now
	}
	if from > now {
		return fault.New(fault.Invalid, "cannot watch from revision %d", from).Why("the state has revision %d", now)
	}
	changes := c.cfg.Store.Changes(from)
	defer changes.Close()
	bookmark := time.NewTicker(bookmarkEvery)
	defer bookmark.Stop()
	if err := stream.Send(&droverv1.Event{Revision: uint64(from)}); err != nil {
		return err
	}
	for {
		read, err := c.sendEvents(changes, filter, stream, from)
		if err != nil {
			return err
		}
		from = read
		select {
		case <-changes.C():
		case <-bookmark.C:
			if err := stream.Send(&droverv1.Event{Revision: uint64(from), At: int64(c.now())}); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// sendEvents sends all that is there, and returns how far it has read.
func (c *serverService) sendEvents(changes *store.Feed, filter *filter, stream *connect.ServerStream[droverv1.Event], read store.Revision) (store.Revision, error) {
	for {
		set, err := changes.Next()
		if err != nil || set == nil {
			return read, err
		}
		read = set.Revision
		events := filter.events(set)
		for i, e := range events {
			e.Last = i == len(events)-1
			if err := stream.Send(e); err != nil {
				return read, err
			}
		}
	}
}

// filter says which changes a watcher gets.
type filter struct {
	kinds  []string
	cell   string
	guid   string
	domain string
	model  string // uid; empty: all
	entity string
	audit  bool // the watcher may see who did what
}

// auditKind is the kind of the events that say who did what.
const auditKind = "audit"

func (s *Server) newFilter(q *droverv1.WatchRequest) (*filter, error) {
	f := &filter{kinds: q.GetKinds(), cell: q.GetCell(), guid: q.GetGuid(), domain: q.GetDomain(), entity: q.GetEntity()}
	if q.GetModel() != "" {
		uid, err := s.model(s.cfg.Store.View(), q.GetModel())
		if err != nil {
			return nil, err
		}
		f.model = string(uid)
	}
	return f, nil
}

func (f *filter) events(set *store.ChangeSet) []*droverv1.Event {
	var out []*droverv1.Event
	for _, change := range set.Changes {
		row := change.New
		if row == nil {
			row = change.Old
		}
		d, ok := describe(row)
		if !ok || !f.matches(d, change) {
			continue
		}
		data, err := json.Marshal(d.shown)
		if err != nil {
			data = nil // an event without its row is better than none
		}
		out = append(out, &droverv1.Event{
			Revision: uint64(set.Revision), Kind: d.kind + verb(change), Key: d.key, Summary: summary(d, change), Json: data, At: int64(set.At),
		})
	}
	return out
}

func (f *filter) matches(d described, change store.Change) bool {
	if d.kind == auditKind && (!f.audit || change.New == nil) {
		return false // an entry that makes room is no news
	}
	if d.kind == auditKind && len(f.kinds) == 0 {
		return false // it says again what the other events of its revision say
	}
	if len(f.kinds) > 0 && !slices.Contains(f.kinds, d.kind) && !slices.Contains(f.kinds, d.kind+verb(change)) {
		return false
	}
	old, _ := describe(change.Old)
	return (f.cell == "" || d.cell == f.cell || old.cell == f.cell) &&
		(f.guid == "" || d.guid == f.guid) &&
		(f.domain == "" || d.domain == f.domain) &&
		(f.model == "" || d.model == f.model) &&
		(f.entity == "" || d.key == f.entity)
}

func verb(change store.Change) string {
	switch {
	case change.Old == nil:
		return "_created"
	case change.New == nil:
		return "_removed"
	default:
		return "_changed"
	}
}

func summary(d described, change store.Change) string {
	switch {
	case change.New == nil:
		return fmt.Sprintf("%s %s is gone", d.noun, d.key)
	case change.Old == nil:
		return fmt.Sprintf("%s %s: %s", d.noun, d.key, d.state)
	}
	if old, _ := describe(change.Old); old.state != d.state {
		return fmt.Sprintf("%s %s: %s → %s", d.noun, d.key, old.state, d.state)
	}
	return fmt.Sprintf("%s %s changed (%s)", d.noun, d.key, d.state)
}
