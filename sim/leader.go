package sim

import (
	"context"
	"slices"
	"strings"
	"time"

	"drover/act/auctioneer"
	"drover/act/cleaner"
	"drover/act/converger"
	"drover/act/provisioner"
	"drover/face/api"
	"drover/keep/registry"
	"drover/keep/store"
	"drover/noun/work"
	"drover/wire/convert"
	"drover/wire/droverv1"
)

// reign is the leader's loops during one time of leading.
type reign struct {
	server     *server
	epoch      uint64
	auctioneer *auctioneer.Auctioneer
	loops      []*leaderLoop
	bell       <-chan struct{} // reports and connections changed
	stop       func()
}

// leaderLoop is a loop with what its Run would do beside stepping it.
type leaderLoop struct {
	driver
	notice  func(topics []store.Topic) // of changes
	heard   func()                     // of the bell; may be nil
	look    func()                     // of a poll
	polling alarm
}

const pollEvery = 30 * time.Second

func newReign(v *server, epoch uint64) *reign {
	s := v.sim
	r := &reign{server: v, epoch: epoch}
	r.bell, r.stop = v.tracker.Watch()
	add := func(l *leaderLoop) {
		l.polling = alarm{at: s.clock.now, every: pollEvery}
		r.loops = append(r.loops, l)
	}
	auction := auctioneer.New(auctioneer.Config{
		Store: v.store, Board: v.board, Presence: v.tracker, Cells: cells{v}, Epoch: epoch, Now: s.clock.Now, NewID: s.newID, Log: quiet(),
	})
	r.auctioneer = auction
	add(&leaderLoop{
		driver: driver{s, "auctioneer", auction.Loop()}, notice: func(t []store.Topic) { auction.Notice(t...) },
		heard: auction.CapacityChanged, look: func() {},
	})
	converge := converger.New(converger.Config{
		Store: v.store, Board: v.board, Presence: v.tracker, Starts: auction, Cells: cells{v}, Epoch: epoch, Now: s.clock.Now, Log: quiet(),
	})
	add(&leaderLoop{
		driver: driver{s, "converger", converge.Loop()}, notice: func(t []store.Topic) { converge.Notice(t...) },
		heard: converge.PresenceChanged, look: func() {},
	})
	clean := cleaner.New(cleaner.Config{Store: v.store, Registry: v.registry, Now: s.clock.Now, Log: quiet()})
	cleanAll := func() { clean.Loop().Wake(clean.Keys()...) }
	add(&leaderLoop{
		driver: driver{s, "cleaner", clean.Loop()}, look: cleanAll, notice: func(t []store.Topic) {
			if slices.Contains(t, registry.CleanupTopic) {
				cleanAll()
			}
		},
	})
	provision := provisioner.New(provisioner.Config{
		Store: v.store, Registry: v.registry, Providers: map[string]provisioner.Provider{"fake": v.provider},
		Epoch: epoch, Now: s.clock.Now, Log: quiet(),
	})
	add(&leaderLoop{
		driver: driver{s, "provisioner", provision.Loop()},
		look:   func() { provision.Loop().Wake(provision.Keys()...) },
		notice: func(topics []store.Topic) {
			for _, t := range topics {
				if strings.HasPrefix(string(t), "machine/") {
					provision.Loop().Wake(string(t))
				}
			}
		},
	})
	return r
}

// events are what the leader would do next.
func (r *reign) events() []event {
	var out []event
	if len(r.server.changes.C()) > 0 {
		out = append(out, event{"changes reach the leader's loops", 15, r.tell})
	}
	if len(r.bell) > 0 {
		out = append(out, event{"reports reach the leader's loops", 15, r.ring})
	}
	for _, l := range r.loops {
		if l.polling.due(r.server.sim.clock.now) {
			out = append(out, event{l.name + " polls", 10, func() {
				l.polling.again(r.server.sim.clock.now)
				l.look()
			}})
		}
		out = append(out, l.driver.events()...)
	}
	return out
}

// tell gives the loops what changed, in the order of topics.
func (r *reign) tell() {
	<-r.server.changes.C()
	topics := r.server.changes.Take()
	slices.Sort(topics)
	for _, l := range r.loops {
		l.notice(topics)
	}
}

func (r *reign) ring() {
	<-r.bell
	for _, l := range r.loops {
		if l.heard != nil {
			l.heard()
		}
	}
}

func (r *reign) deadline() time.Time {
	var first time.Time
	for _, l := range r.loops {
		for _, t := range []time.Time{l.polling.at, l.driver.deadline()} {
			if !t.IsZero() && (first.IsZero() || t.Before(first)) {
				first = t
			}
		}
	}
	return first
}

// answered hands a cell's answer to the auctioneer that asked.
func (v *server) answered(a api.Answer) {
	if v.reign == nil {
		return
	}
	var refused []auctioneer.Refusal
	for _, x := range a.Refused {
		v.sim.line("  cell %s refuses %s%s/%d: %s", a.Cell, x.Task, x.LRP.ProcessGUID, x.LRP.Index, x.Reason)
		refused = append(refused, auctioneer.Refusal{LRP: x.LRP, Task: x.Task, Reason: x.Reason})
	}
	v.reign.auctioneer.Ack(a.Cell, a.Batch, refused)
}

// cells sends the leader's commands down the feeds.
type cells struct{ v *server }

// Send implements auctioneer.Cells.
func (c cells) Send(_ context.Context, cell work.CellID, b auctioneer.Batch) error {
	batch := &droverv1.WorkBatch{Id: b.ID, Epoch: b.Epoch}
	for _, w := range b.Items {
		batch.Items = append(batch.Items, &droverv1.WorkItem{
			ProcessGuid: string(w.LRP.ProcessGUID), Index: int32(w.LRP.Index), InstanceGuid: string(w.Instance),
			TaskGuid: string(w.Task), Incarnation: string(w.Incarnation), Domain: string(w.Domain),
			Spec: convert.SpecToWire(w.Spec), ResultFile: w.ResultFile,
		})
		c.v.sim.line("  %s%s/%d goes to %s", w.Task, w.LRP.ProcessGUID, w.LRP.Index, cell)
	}
	return c.v.api.SendWork(cell, batch)
}

// Stop implements converger.Cells.
func (c cells) Stop(_ context.Context, cell work.CellID, s converger.Stop) error {
	c.v.sim.line("  stop %s/%d %s%s on %s", s.LRP.ProcessGUID, s.LRP.Index, s.Instance, s.TaskIncarnation, cell)
	return c.v.api.SendStop(cell, &droverv1.StopContainer{
		ProcessGuid: string(s.LRP.ProcessGUID), Index: int32(s.LRP.Index), InstanceGuid: string(s.Instance),
		TaskIncarnation: string(s.TaskIncarnation), Epoch: s.Epoch,
	})
}
