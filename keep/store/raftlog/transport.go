package raftlog

import (
	"net"
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
		Stream:  stream{cfg.Layer, address(cfg.Address)},
		MaxPool: connectionPool,
		Timeout: rpcTimeout,
		Logger:  logger,
	})
}

// stream is a Layer as raft wants it. Its address is the one that others reach.
type stream struct {
	Layer
	advertised address
}

// Addr implements net.Listener.
func (s stream) Addr() net.Addr { return s.advertised }

// Dial implements raft.StreamLayer.
func (s stream) Dial(to raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	return s.Layer.Dial(string(to), timeout)
}

type address string

// Network implements net.Addr.
func (address) Network() string { return "tcp" }

// String implements net.Addr.
func (a address) String() string { return string(a) }
