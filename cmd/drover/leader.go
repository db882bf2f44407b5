package main

import (
	"context"
	"path/filepath"
	"time"

	"drover/act/auctioneer"
	"drover/act/cleaner"
	"drover/act/converger"
	"drover/act/presence"
	"drover/act/provisioner"
	"drover/act/provisioner/local"
	"drover/act/resolver"
	"drover/face/api"
	"drover/noun/work"
	"drover/wire/convert"
	"drover/wire/droverv1"

	"golang.org/x/sync/errgroup"
)

// localProvider is the name of the provider of local machines.
const localProvider = "local"

// reign is what a leader holds in memory: it begins empty with each reign.
type reign struct {
	presence   *presence.Tracker
	auctioneer *auctioneer.Auctioneer
}

func (s *server) presence() *presence.Tracker {
	if r := s.reign.Load(); r != nil {
		return r.presence
	}
	return nil
}

// answered hands a cell's answer to the auctioneer that asked.
func (s *server) answered(a api.Answer) {
	r := s.reign.Load()
	if r == nil {
		return
	}
	refused := make([]auctioneer.Refusal, len(a.Refused))
	for i, x := range a.Refused {
		refused[i] = auctioneer.Refusal{LRP: x.LRP, Task: x.Task, Reason: x.Reason}
	}
	r.auctioneer.Ack(a.Cell, a.Batch, refused)
}

// lead is one reign: the leader's loops, from its beginning to its end.
func (s *server) lead(ctx context.Context, epoch uint64) error {
	s.log.Info("leading", "epoch", epoch)
	provider := "manual"
	if s.o.Local {
		provider = localProvider
	}
	if err := s.founding.Found(ctx, s.store, s.identity, s.registry, time.Now(), provider); err != nil {
		return err
	}
	tracker := presence.New(presence.Config{Now: time.Now})
	r := &reign{presence: tracker, auctioneer: auctioneer.New(auctioneer.Config{
		Store: s.store, Board: s.board, Presence: tracker, Cells: cells{s.api}, Epoch: epoch, Now: time.Now, NewID: newID, Log: s.log,
	})}
	loops, err := s.loops(r, epoch)
	if err != nil {
		return err
	}
	s.reign.Store(r)
	s.api.SetReady(true)
	defer func() {
		s.api.SetReady(false)
		s.reign.Store(nil)
		s.log.Info("leading no more", "epoch", epoch)
	}()
	g, ctx := errgroup.WithContext(ctx)
	for name, run := range loops { // order-free: they run at once
		g.Go(func() error { return part(name, run(ctx)) })
	}
	return g.Wait()
}

// loops are the leader's loops by name.
func (s *server) loops(r *reign, epoch uint64) (map[string]func(context.Context) error, error) {
	providers := map[string]provisioner.Provider{}
	if s.o.Local {
		p, err := s.localProvider()
		if err != nil {
			return nil, err
		}
		providers[localProvider] = p
	}
	p := provisioner.New(provisioner.Config{
		Store: s.store, Registry: s.registry, Providers: providers, Epoch: epoch,
		JoinToken: s.api.JoinToken, WatchGone: r.presence.WatchGone, Now: time.Now, Log: s.log,
	})
	v := converger.New(converger.Config{
		Store: s.store, Board: s.board, Presence: r.presence, Starts: r.auctioneer, Cells: cells{s.api}, Epoch: epoch, Now: time.Now, Log: s.log,
	})
	callbacks := resolver.NewHTTP()
	t := resolver.New(resolver.Config{Store: s.store, Board: s.board, Callbacks: callbacks, Now: time.Now, Log: s.log})
	c := cleaner.New(cleaner.Config{Store: s.store, Registry: s.registry, Now: time.Now, Log: s.log})
	return map[string]func(context.Context) error{
		"auctioneer": r.auctioneer.Run, "cleaner": c.Run, "converger": v.Run, "provisioner": p.Run,
		"resolver": func(ctx context.Context) error { defer callbacks.Close(); return t.Run(ctx) },
	}, nil
}

func (s *server) localProvider() (*local.Provider, error) {
	model, err := s.registry.FindModel(s.store.View(), "")
	if err != nil {
		return nil, err
	}
	return local.New(local.Config{
		Dir: filepath.Join(s.o.Data, "machines"), Program: filepath.Join(binDir(), "drover"),
		Cluster: s.founding.Cluster.ID, Model: model.UID,
	})
}

// cells sends work and stops to cells over their agents' feeds.
type cells struct{ api *api.Server }

func (c cells) Send(_ context.Context, cell work.CellID, b auctioneer.Batch) error {
	batch := &droverv1.WorkBatch{Id: b.ID, Epoch: b.Epoch}
	for _, w := range b.Items {
		batch.Items = append(batch.Items, &droverv1.WorkItem{
			ProcessGuid: string(w.LRP.ProcessGUID), Index: int32(w.LRP.Index), InstanceGuid: string(w.Instance),
			TaskGuid: string(w.Task), Incarnation: string(w.Incarnation), Domain: string(w.Domain),
			Spec: convert.SpecToWire(w.Spec), ResultFile: w.ResultFile,
		})
	}
	return c.api.SendWork(cell, batch)
}

func (c cells) Stop(_ context.Context, cell work.CellID, s converger.Stop) error {
	return c.api.SendStop(cell, &droverv1.StopContainer{
		ProcessGuid: string(s.LRP.ProcessGUID), Index: int32(s.LRP.Index), InstanceGuid: string(s.Instance),
		TaskIncarnation: string(s.TaskIncarnation), Epoch: s.Epoch,
	})
}
