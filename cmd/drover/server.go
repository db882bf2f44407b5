package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
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
	level    *slog.LevelVar
	founding *api.Founding
	store    *store.Store
	registry *registry.Registry
	board    *board.Board
	identity *identity.Identity
	api      *api.Server
	port     *pki.Port
	members  members
	peers    peers
	reign    atomic.Pointer[reign]       // nil: this server does not lead
	opened   atomic.Pointer[store.Store] // the store, once it is open
}

// runServer is a server: the store, its API on one port, and while it leads the
// leader's loops.
func runServer(ctx context.Context, o cli.ServerOptions) error {
	level := &slog.LevelVar{}
	log := newLog(os.Stderr, level)
	if err := recordServer(o); err != nil {
		return err
	}
	o.Advertise = advertised(o)
	founding, err := prepare(ctx, &o)
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", o.Listen)
	if err != nil {
		return fault.New(fault.Conflict, "cannot listen on %s", o.Listen).Why("%s", err).Try("drover server --listen HOST:PORT").Wrap(err)
	}
	if founding.Joined == nil {
		if err := writeCredentials(o, founding); err != nil {
			return errors.Join(err, ln.Close())
		}
	}
	s := &server{o: o, log: log, level: level, founding: founding}
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

// prepare is the server's identity: read, made with a new cluster, or got with a
// join token.
func prepare(ctx context.Context, o *cli.ServerOptions) (*api.Founding, error) {
	if o.Join != "" {
		if err := joinCluster(ctx, *o); err != nil {
			return nil, err
		}
	}
	founding, err := api.Prepare(identityFolder(o.Data), o.Cluster, cmp.Or(o.Name, firstServer), time.Now(), nil)
	if err != nil {
		return nil, err
	}
	if o.Join != "" && founding.Joined == nil {
		return nil, fault.New(fault.Conflict, "%s has a server that founded a cluster", o.Data).Try("drover server --join TOKEN --data DIR")
	}
	if o.Name == "" {
		id, err := pki.IdentityOf(founding.Pair.Cert)
		if err != nil {
			return nil, err
		}
		o.Name = id.Name
	}
	founding.Address = o.Advertise
	return founding, up.SetCluster(o.Data, founding.Cluster.ID)
}

// firstServer is the name of a server that founds a cluster, unless it is given.
const firstServer = "s1"

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
	servers := []string{o.Advertise}
	if len(folder.Servers) > 1 {
		servers = append(servers, folder.Servers...) // which of them is this one's old address, answers will tell
	}
	return client.Folder{Servers: servers, ClusterID: f.Cluster.ID}.Save(o.Config, client.AdminName, pair)
}

// open opens the store and makes the API over it.
func (s *server) open(ln net.Listener) error {
	cert, ca := s.founding.Pair.TLS(), s.founding.Pair.CA
	s.port = pki.NewPort(ln, s.tls(pki.ServerTLS(cert, ca, time.Now)))
	layer := s.port.Raft(cert, ca, time.Now)
	dir := filepath.Join(s.o.Data, "server")
	var founders []raftlog.Server // a server that joins waits until the leader adds it
	if s.founding.Joined == nil {
		founders = []raftlog.Server{{Name: s.o.Name, Address: s.o.Advertise}}
	}
	rlog, err := raftlog.New(raftlog.Config{
		Dir: filepath.Join(dir, "raft"), Name: s.o.Name, Address: s.o.Advertise, Layer: layer, Servers: founders, Logger: s.log,
	})
	if err != nil {
		return err
	}
	s.members, s.peers = members{rlog}, peers{pair: s.founding.Pair, layer: layer}
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
	s.opened.Store(s.store)
	s.api, err = api.New(api.Config{
		Store: s.store, Registry: s.registry, Board: s.board, Identity: s.identity, Blobs: blobs, Seal: s.founding.Seal,
		Name: s.o.Name, Address: s.o.Advertise, Storage: s.o.Data, Version: versionText(),
		Members: s.members, Peers: s.peers,
		Presence: s.presence, Answered: s.answered, Now: time.Now, Log: s.log, Level: s.level, Expires: s.founding.Pair.Cert.NotAfter,
	})
	if err != nil {
		return errors.Join(err, s.store.Close())
	}
	return nil
}

// run serves until the context ends or a part fails, which ends the others. The
// port goes last, because the store talks over it to its end.
func (s *server) run(ctx context.Context) error {
	asked := ctx
	ctx, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		select {
		case <-asked.Done(): // callers are sent to the successor while this one still answers
			s.handOver()
			end()
		case <-ctx.Done():
		}
		return nil
	})
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
	g.Go(func() error { return part("archives", s.api.CopyBlobs(ctx)) })
	g.Go(func() error { return s.beMember(ctx) })
	err := g.Wait()
	err = errors.Join(err, s.store.Close())
	closePort()
	<-portDone
	return err
}

// tls refuses servers that were removed to the log, too.
func (s *server) tls(cfg *tls.Config) *tls.Config {
	verify := cfg.VerifyConnection
	cfg.VerifyConnection = func(cs tls.ConnectionState) error {
		if err := verify(cs); err != nil {
			return err
		}
		st := s.opened.Load()
		if cs.NegotiatedProtocol == pki.ProtoRaft && st != nil && s.identity.Revoked(st.View(), cs.PeerCertificates[0].SerialNumber.Text(16)) {
			return errRevoked
		}
		return nil
	}
	return cfg
}

var errRevoked = errors.New("the certificate of the server was revoked")

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
