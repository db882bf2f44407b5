package raftlog

import (
	"errors"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// newTransport is raft's transport over the Layer; without one, a transport that
// reaches nobody.
func newTransport(cfg Config, logger hclog.Logger) raft.Transport {
	if cfg.Layer == nil {
		_, t := raft.NewInmemTransport(raft.ServerAddress(cfg.Address))
		return t
	}
	return raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Stream:  &stream{Layer: cfg.Layer, advertised: address(cfg.Address), open: map[*conn]struct{}{}},
		MaxPool: connectionPool,
		Timeout: rpcTimeout,
		Logger:  logger,
	})
}

// stream is a Layer as raft wants it. Its address is the one that others reach.
// Raft leaves its connections open at the end; stream closes them.
type stream struct {
	Layer
	advertised address

	mu     sync.Mutex // guards open and closed
	open   map[*conn]struct{}
	closed bool
}

type conn struct {
	net.Conn
	of *stream
}

// Addr implements net.Listener.
func (s *stream) Addr() net.Addr { return s.advertised }

// Accept implements net.Listener.
func (s *stream) Accept() (net.Conn, error) { return s.track(s.Layer.Accept()) }

// Dial implements raft.StreamLayer.
func (s *stream) Dial(to raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	return s.track(s.Layer.Dial(string(to), timeout))
}

func (s *stream) track(c net.Conn, err error) (net.Conn, error) {
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errors.Join(net.ErrClosed, c.Close())
	}
	tracked := &conn{c, s}
	s.open[tracked] = struct{}{}
	return tracked, nil
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.of.mu.Lock()
	delete(c.of.open, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// Close implements net.Listener.
func (s *stream) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for c := range s.open { // order-free: all are closed
		_ = c.Conn.Close() // of a connection that nobody uses any more
	}
	return s.Layer.Close()
}

type address string

// Network implements net.Addr.
func (address) Network() string { return "tcp" }

// String implements net.Addr.
func (a address) String() string { return string(a) }
