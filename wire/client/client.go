// Package client is how people's commands and agents reach the servers: the
// generated clients of all services over one mutually authenticated connection,
// which finds the leader, redials, bounds messages and waits, and returns
// *fault.Error with the next command.
//
// It knows nothing of the cluster's state, repeats no call whose outcome is
// unknown (callers repeat with the same request id), and never goes by host
// names.
//
// Invariants: every error of a call is a *fault.Error or the end of the caller's
// context; every message is bounded.
package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"sync"
	"time"

	"connectrpc.com/connect"

	"drover/internal/pki"
	"drover/noun/fault"
	"drover/wire/droverv1/droverv1connect"
)

// MaxMessage bounds every message that a client reads.
const MaxMessage = 64 << 20

// Config is what a Client needs.
type Config struct {
	Servers []string          // host:port, tried in this order
	CA      *x509.Certificate // the cluster's authority
	Cert    *tls.Certificate  // nil: without identity, only join answers
	Now     func() time.Time  // nil: time.Now; for the validity of certificates

	DialTimeout time.Duration // 0: 5 s, for each server
	CallTimeout time.Duration // 0: 30 s, for unary calls whose context has no deadline

	// Fixed keeps to the servers given: it neither follows the leader nor learns of
	// others. For who wants an answer of one certain server.
	Fixed bool

	// Patience is how long a call goes on looking for a leader while several
	// servers are known and none leads; 0: 5 s.
	Patience time.Duration

	// Learned hears of a new set of servers, the one that answers first; nil:
	// nobody does. It may be called concurrently.
	Learned func(servers []string)

	// Dial replaces the network in tests and simulations; nil: TCP.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)

	tls *tls.Config // in place of CA and Cert, for joining
}

func (c *Config) complete() error {
	if len(c.Servers) == 0 {
		return fault.New(fault.Invalid, "no server is known").
			Try("drover up", "drover join TOKEN")
	}
	for _, s := range c.Servers {
		if _, _, err := net.SplitHostPort(s); err != nil {
			return fault.New(fault.Invalid, "%q is not the address of a server", s).Why("it must be HOST:PORT")
		}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.DialTimeout == 0 {
		c.DialTimeout = 5 * time.Second
	}
	if c.CallTimeout == 0 {
		c.CallTimeout = 30 * time.Second
	}
	if c.Patience == 0 {
		c.Patience = 5 * time.Second
	}
	if c.Dial == nil {
		c.Dial = (&net.Dialer{KeepAlive: 15 * time.Second}).DialContext
	}
	return nil
}

// Client has the clients of all services. Its methods and theirs may be called
// concurrently.
type Client struct {
	Model  droverv1connect.ModelServiceClient
	Work   droverv1connect.WorkServiceClient
	Server droverv1connect.ServerServiceClient
	Agent  droverv1connect.AgentServiceClient
	Join   droverv1connect.JoinServiceClient
	Admin  droverv1connect.AdminServiceClient

	cfg Config

	mu        sync.Mutex // guards the rest
	told      string     // the last list of servers heard
	servers   []string   // the one to try first at the front
	transport *http.Transport
}

// Dial makes a client. It connects with the first call, and again whenever the
// connection is lost.
func Dial(cfg Config) (*Client, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	c := &Client{cfg: cfg, servers: append([]string(nil), cfg.Servers...)}
	how := cfg.tls
	if how == nil {
		how = pki.ClientTLS(cfg.Cert, cfg.CA, cfg.Now)
	}
	c.transport = c.newTransport(how)
	opts := []connect.ClientOption{
		connect.WithReadMaxBytes(MaxMessage),
		connect.WithInterceptors(&interceptor{c}),
	}
	hc := &http.Client{Transport: &follower{c}}
	c.Model = droverv1connect.NewModelServiceClient(hc, baseURL, opts...)
	c.Work = droverv1connect.NewWorkServiceClient(hc, baseURL, opts...)
	c.Server = droverv1connect.NewServerServiceClient(hc, baseURL, opts...)
	c.Agent = droverv1connect.NewAgentServiceClient(hc, baseURL, opts...)
	c.Join = droverv1connect.NewJoinServiceClient(hc, baseURL, opts...)
	c.Admin = droverv1connect.NewAdminServiceClient(hc, baseURL, opts...)
	return c, nil
}

// Close drops idle connections.
func (c *Client) Close() {
	_, t := c.current()
	t.CloseIdleConnections()
}

// Servers are the known servers, the one that is tried first at the front.
func (c *Client) Servers() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.servers...)
}

// UseServers replaces the known servers, the leader first: what heartbeats and
// the agent's state say.
func (c *Client) UseServers(servers ...string) {
	if len(servers) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.servers = append([]string(nil), servers...)
}

// UseCertificate replaces the identity, after a renewal: calls that begin from
// now on use it, streams under way go on with the old one.
func (c *Client) UseCertificate(cert *tls.Certificate) {
	t := c.newTransport(pki.ClientTLS(cert, c.cfg.CA, c.cfg.Now))
	c.mu.Lock()
	old := c.transport
	c.transport = t
	c.mu.Unlock()
	old.CloseIdleConnections()
}
