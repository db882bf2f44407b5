package api

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"

	"drover/act/presence"
	"drover/face/api/feed"
	"drover/internal/pki"
	"drover/keep/blob"
	"drover/keep/board"
	"drover/keep/identity"
	"drover/keep/registry"
	"drover/keep/store"
	"drover/noun/when"
	"drover/wire/droverv1/droverv1connect"
)

// Config is what a Server needs. All fields are required unless they say
// otherwise.
type Config struct {
	Store    *store.Store
	Registry *registry.Registry
	Board    *board.Board
	Identity *identity.Identity
	Blobs    *blob.Store
	Seal     identity.SealKey // opens the authority's key, to sign certificates

	Name     string                   // of this server
	Address  string                   // host:port under which it is reached
	Storage  string                   // where the state lies
	Version  string                   // of the program
	Servers  func() []string          // host:port, the leader first; nil: what Members say
	Members  Members                  // nil: this server is alone
	Peers    Peers                    // nil: other servers are not reached
	Presence func() *presence.Tracker // of the present reign; nil when this server does not lead
	Answered func(Answer)             // hears what cells answer to work; nil: nobody does
	Now      func() time.Time
	NewID    func() string // nil: random
	Random   io.Reader     // nil: crypto/rand
	Log      *slog.Logger
	Level    *slog.LevelVar // what Log writes, changed at run time; nil: it cannot be
	Expires  time.Time      // of this server's certificate
}

// Server has the handlers. Its methods may be called concurrently.
type Server struct {
	cfg    Config
	hub    *feed.Hub
	source *feed.Source
	logs   *relay
	ready  atomic.Bool
	begun  time.Time

	metrics *metrics
}

// New makes a server; it serves nothing yet.
func New(cfg Config) (*Server, error) {
	if cfg.Store == nil || cfg.Registry == nil || cfg.Board == nil || cfg.Identity == nil || cfg.Blobs == nil ||
		cfg.Presence == nil || cfg.Now == nil || cfg.Log == nil {
		return nil, errors.New("api: the configuration is not complete")
	}
	if cfg.Random == nil {
		cfg.Random = rand.Reader
	}
	if cfg.NewID == nil {
		cfg.NewID = randomID
	}
	s := &Server{hub: feed.NewHub(), logs: newRelay()}
	if cfg.Servers == nil {
		cfg.Servers = func() []string { return s.addresses() }
	}
	s.cfg, s.begun = cfg, cfg.Now()
	s.metrics = newMetrics(s)
	s.source = &feed.Source{
		Store: cfg.Store, Registry: cfg.Registry, Board: cfg.Board, Servers: cfg.Servers, Log: cfg.Log,
		Cluster: func(r store.Reader) string { c, _ := cfg.Identity.Cluster(r); return c.ID },
	}
	return s, nil
}

var idText = base32.StdEncoding.WithPadding(base32.NoPadding)

func randomID() string {
	var b [15]byte
	_, _ = rand.Read(b[:]) // never fails
	return strings.ToLower(idText.EncodeToString(b[:]))
}

// Hub is where the leader's loops put commands for agents.
func (s *Server) Hub() *feed.Hub { return s.hub }

// Source computes feeds: a simulation opens cursors on it.
func (s *Server) Source() *feed.Source { return s.source }

// SetReady says whether the leader's loops run: /readyz and Info tell.
func (s *Server) SetReady(ready bool) { s.ready.Store(ready) }

// working reports whether the server does its work: it leads and its loops run, or
// it follows a leader.
func (s *Server) working() bool {
	l := s.cfg.Store.Leadership()
	return s.ready.Load() || !l.Leading && l.Leader != ""
}

func (s *Server) now() when.Instant { return when.Of(s.cfg.Now()) }

// Model is the service itself, for callers in the same process (simulations);
// so are Work, Cluster, Join and Agent. The context must carry a caller, see
// WithCaller. They check entities like the real ones, but pass no table.
func (s *Server) Model() droverv1connect.ModelServiceHandler    { return &modelService{s} }
func (s *Server) Work() droverv1connect.WorkServiceHandler      { return &workService{s} }
func (s *Server) Cluster() droverv1connect.ServerServiceHandler { return &serverService{s} }
func (s *Server) Join() droverv1connect.JoinServiceHandler      { return &joinService{s} }
func (s *Server) Admin() droverv1connect.AdminServiceHandler    { return &adminService{s} }
func (s *Server) Agent() droverv1connect.AgentServiceHandler    { return &agentService{s} }

// The bounds on messages that are read, and on the headers of a request.
const (
	maxMessage    = 8 << 20
	maxHeader     = 64 << 10
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
)

// Handler is everything that the server answers over HTTP.
func (s *Server) Handler() http.Handler {
	opts := []connect.HandlerOption{
		connect.WithReadMaxBytes(maxMessage),
		connect.WithRequestGate(s.gate),
		connect.WithInterceptors(&measured{s}, &interceptor{s}),
	}
	mux := http.NewServeMux()
	mux.Handle(droverv1connect.NewModelServiceHandler(s.Model(), opts...))
	mux.Handle(droverv1connect.NewWorkServiceHandler(s.Work(), opts...))
	mux.Handle(droverv1connect.NewServerServiceHandler(s.Cluster(), opts...))
	mux.Handle(droverv1connect.NewJoinServiceHandler(s.Join(), opts...))
	mux.Handle(droverv1connect.NewAgentServiceHandler(s.Agent(), opts...))
	mux.Handle(droverv1connect.NewAdminServiceHandler(s.Admin(), opts...))
	s.pages(mux)
	return s.door(mux)
}

// Serve answers on a listener of TLS connections (see pki.ServerTLS) until the
// context ends, then gives calls a second and closes the rest. Feeds and watches
// end with the context.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	var calls inFlight
	srv := &http.Server{
		Handler:           calls.count(s.Handler()),
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(s.cfg.Log.Handler(), slog.LevelDebug),
		BaseContext:       func(net.Listener) context.Context { return ctx },
		Protocols:         new(http.Protocols),
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: 250, MaxReadFrameSize: 64 << 10,
			SendPingTimeout: 10 * time.Second, PingTimeout: 5 * time.Second, // a peer that vanished is noticed
		},
	}
	srv.Protocols.SetHTTP1(true)
	srv.Protocols.SetHTTP2(true)
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(ln) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	_ = ln.Close() // no new connections; srv closes it again
	calls.wait(callsEnd)
	// A shutdown keeps idle connections for a second: this one is only to say
	// goodbye on them, and to send what calls have answered.
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbyeTime)
	defer cancel()
	if err := srv.Shutdown(end); err != nil {
		_ = srv.Close()
	}
	<-ended
	return ctx.Err()
}

// How long calls may take when the server stops, and saying goodbye.
const (
	callsEnd    = time.Second
	goodbyeTime = 50 * time.Millisecond
)

// authority opens the cluster's authority.
func (s *Server) authority() (*pki.Authority, error) {
	return s.cfg.Identity.Authority(s.cfg.Store.View(), s.cfg.Seal)
}
