package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"drover/face/api"
	"drover/face/cli"
	"drover/face/cli/up"
	"drover/internal/pki"
	"drover/internal/proc"
	"drover/keep/blob"
	"drover/keep/board"
	"drover/keep/identity"
	"drover/keep/registry"
	"drover/keep/store"
	"drover/keep/store/raftlog"
	"drover/noun/fault"
	"drover/wire/client"

	"golang.org/x/sync/errgroup"
)

// server is the parts of a running server.
type server struct {
	o        cli.ServerOptions
	log      *slog.Logger
	founding *api.Founding
	store    *store.Store
	registry *registry.Registry
	board    *board.Board
	identity *identity.Identity
	api      *api.Server
	port     *pki.Port
	reign    atomic.Pointer[reign] // nil: this server does not lead
}

// runServer is a server: the store, its API on one port, and while it leads the
// leader's loops.
func runServer(ctx context.Context, o cli.ServerOptions) error {
	log := newLog(os.Stderr)
	if err := recordServer(o); err != nil {
		return err
	}
	founding, err := api.Prepare(filepath.Join(o.Data, "server", "identity"), o.Cluster, o.Name, time.Now(), nil)
	if err != nil {
		return err
	}
	if err := up.SetCluster(o.Data, founding.Cluster.ID); err != nil {
		return err
	}
	if o.Advertise == "" {
		o.Advertise = o.Listen
	}
	ln, err := net.Listen("tcp", o.Listen)
	if err != nil {
		return fault.New(fault.Conflict, "cannot listen on %s", o.Listen).Why("%s", err).Try("drover server --listen HOST:PORT").Wrap(err)
	}
	if err := writeCredentials(o, founding); err != nil {
		return errors.Join(err, ln.Close())
	}
	s := &server{o: o, log: log, founding: founding}
	if err := s.open(ln); err != nil {
		return errors.Join(err, ln.Close())
	}
	err = s.run(ctx)
	if ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)) {
		log.Info("stopped")
		return nil
	}
	return err
}

// recordServer refuses a folder that is not for this program, and records the
// process in it.
func recordServer(o cli.ServerOptions) error {
	if err := up.CheckVersion(o.Data); err != nil {
		return err
	}
	for _, dir := range []string{"run", "server"} {
		if err := os.MkdirAll(filepath.Join(o.Data, dir), 0o700); err != nil {
			return err
		}
	}
	self, err := proc.Self()
	if err != nil {
		return err
	}
	return up.RecordSelf(up.Folders{Data: o.Data, Config: o.Config}, "server", self, map[string]string{"listen": o.Listen})
}

// writeCredentials writes the admin's credential at the first start, and the
// server's address whenever that changes.
func writeCredentials(o cli.ServerOptions, f *api.Founding) error {
	folder, err := client.ReadFolder(o.Config)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case folder.ClusterID != f.Cluster.ID:
		return fault.New(fault.Conflict, "%s has the credentials of another cluster", o.Config).
			Why("they are of cluster %s, this server is of %s", folder.ClusterID, f.Cluster.ID).Try("drover server --config-dir DIR")
	case slices.Contains(folder.Servers, o.Advertise):
		return nil
	}
	pair, err := f.AdminPair(time.Now())
	if err != nil {
		return err
	}
	return client.Folder{Servers: []string{o.Advertise}, ClusterID: f.Cluster.ID}.Save(o.Config, client.AdminName, pair)
}

// open opens the store and makes the API over it.
func (s *server) open(ln net.Listener) error {
	cert, ca := s.founding.Pair.TLS(), s.founding.Pair.CA
	s.port = pki.NewPort(ln, pki.ServerTLS(cert, ca, time.Now))
	dir := filepath.Join(s.o.Data, "server")
	rlog, err := raftlog.New(raftlog.Config{
		Dir: filepath.Join(dir, "raft"), Name: s.o.Name, Address: s.o.Advertise, Layer: s.port.Raft(cert, ca, time.Now),
		Servers: []raftlog.Server{{Name: s.o.Name, Address: s.o.Advertise}}, Logger: s.log,
	})
	if err != nil {
		return err
	}
	schema := store.NewSchema()
	s.registry, s.board, s.identity = registry.New(schema), board.New(schema), identity.New(schema)
	s.registry.Work = s.board
	blobs, err := blob.Open(filepath.Join(dir, "blobs"))
	if err != nil {
		return err
	}
	if s.store, err = store.Open(store.Config{Schema: schema, Log: rlog, Now: time.Now}); err != nil {
		return err
	}
	s.api, err = api.New(api.Config{
		Store: s.store, Registry: s.registry, Board: s.board, Identity: s.identity, Blobs: blobs, Seal: s.founding.Seal,
		Name: s.o.Name, Address: s.o.Advertise, Storage: "raft, 1 server, " + s.o.Data, Version: versionText(),
		Presence: s.presence, Answered: s.answered, Now: time.Now, Log: s.log,
	})
	if err != nil {
		return errors.Join(err, s.store.Close())
	}
	return nil
}

// run serves until the context ends or a part fails, which ends the others. The
// port goes last, because the store talks over it to its end.
func (s *server) run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	pctx, closePort := context.WithCancel(context.WithoutCancel(ctx))
	var portErr error
	portDone := make(chan struct{})
	go func() {
		defer close(portDone)
		portErr = part("port", s.port.Run(pctx))
	}()
	g.Go(func() error {
		select {
		case <-ctx.Done():
			return nil
		case <-portDone:
			return portErr
		}
	})
	g.Go(func() error { return part("API", s.api.Serve(ctx, s.port.Web())) })
	g.Go(func() error { return part("leader", s.store.WhileLeading(ctx, s.lead)) })
	err := g.Wait()
	err = errors.Join(err, s.store.Close())
	closePort()
	<-portDone
	return err
}

// part says whose error it is.
func part(name string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}

func newID() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails: see crypto/rand
	return hex.EncodeToString(b)
}
