package raftlog

import (
	"errors"
	"log/slog"
	"net"
	"time"

	"drover/keep/store/raftlog/disk"
)

// Layer connects servers: connections that Accept returns and that Dial makes
// carry raft and nothing else, and whoever makes the Layer has checked the peer.
type Layer interface {
	net.Listener
	// Dial connects to the server at the address.
	Dial(address string, timeout time.Duration) (net.Conn, error)
}

// Server is a member of the cluster.
type Server struct {
	Name    string
	Address string
}

// Config is what a Log needs.
type Config struct {
	Dir     string // the log's own folder; made if need be
	Name    string // this server's, unique and for good
	Address string // where the other servers reach this one
	Layer   Layer  // nil for a server that stays alone
	Logger  *slog.Logger

	// Servers are the members of a new cluster, this one among them. They are
	// looked at only while the folder is empty; a server that will be added to a
	// cluster by its leader starts without.
	Servers []Server

	Heartbeat     time.Duration // after this silence a leader is given up; 0: 300 ms
	SnapshotBytes int64         // see Log; 0: 64 MiB
	Reserve       uint64        // writes are refused while less is free on the disk; 0: 64 MiB

	// Of tests; zero is what a server has.
	fs           disk.FS
	segmentBytes int
	trailing     uint64 // entries that stay in the log behind a snapshot
}

func (c Config) withDefaults() (Config, error) {
	if c.Dir == "" || c.Name == "" || c.Address == "" || c.Logger == nil {
		return c, errors.New("raftlog: Config needs Dir, Name, Address and Logger")
	}
	if c.Heartbeat == 0 {
		c.Heartbeat = 300 * time.Millisecond
	}
	if c.SnapshotBytes == 0 {
		c.SnapshotBytes = 64 << 20
	}
	if c.Reserve == 0 {
		c.Reserve = 64 << 20
	}
	if c.fs == nil {
		c.fs = disk.OS{}
	}
	if c.segmentBytes == 0 {
		c.segmentBytes = segmentBytes
	}
	if c.trailing == 0 {
		c.trailing = trailingEntries
	}
	return c, nil
}

// few entries stay in the log behind a snapshot: a server that was away for a
// moment needs no snapshot.
const trailingEntries = 64

const (
	segmentBytes   = 16 << 20
	rpcTimeout     = 10 * time.Second
	enqueueTimeout = 10 * time.Second
	connectionPool = 3
)
