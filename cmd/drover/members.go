package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"time"

	"drover/face/api"
	"drover/internal/pki"
	"drover/keep/store/raftlog"
	"drover/noun/fault"
	"drover/wire/client"
	"drover/wire/droverv1"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/emptypb"
)

// members are the log's members, as the API wants them.
type members struct{ log *raftlog.Log }

func (m members) List() ([]api.Member, error) {
	all, err := m.log.Servers()
	out := make([]api.Member, len(all))
	for i, s := range all {
		out[i] = api.Member(s)
	}
	return out, err
}

func (m members) Add(s api.Member) error       { return m.log.AddServer(raftlog.Server(s)) }
func (m members) Remove(name string) error     { return m.log.RemoveServer(name) }
func (m members) Transfer(to api.Member) error { return m.log.Transfer(raftlog.Server(to)) }
func (m members) self(name, address string) bool {
	return m.has(api.Member{Name: name, Address: address})
}

// has reports whether the member is one; one without an address, whatever it is.
func (m members) has(who api.Member) bool {
	all, err := m.List()
	if err != nil {
		return false
	}
	for _, s := range all {
		if s.Name == who.Name && (who.Address == "" || s.Address == who.Address) {
			return true
		}
	}
	return false
}

// peers reaches single other servers with this one's certificate.
type peers struct {
	pair  *pki.Pair
	layer *pki.RaftLayer
}

const peerDial = 2 * time.Second

// dial is a client of one server, or of the leader among several.
func (p peers) dial(fixed bool, addresses ...string) (*client.Client, error) {
	cert := p.pair.TLS()
	return client.Dial(client.Config{
		Servers: addresses, CA: p.pair.CA, Cert: &cert, Fixed: fixed, DialTimeout: peerDial, Patience: time.Second,
	})
}

// Reach implements api.Peers: it connects as the log does.
func (p peers) Reach(_ context.Context, m api.Member) error {
	conn, err := p.layer.Dial(m.Address, peerDial)
	if err != nil {
		return err
	}
	defer conn.Close()
	secured, ok := conn.(*tls.Conn)
	if !ok {
		return fmt.Errorf("the connection to %s is not secured", m.Address)
	}
	id, err := pki.IdentityOf(secured.ConnectionState().PeerCertificates[0])
	if err != nil {
		return err
	}
	if id.Name != m.Name {
		return fault.New(fault.Conflict, "server %s listens there", id.Name)
	}
	return nil
}

// Info implements api.Peers.
func (p peers) Info(ctx context.Context, address string) (*droverv1.ServerInfo, error) {
	c, err := p.dial(true, address)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	resp, err := c.Server.Info(ctx, connect.NewRequest(&emptypb.Empty{}))
	if err != nil {
		return nil, err
	}
	return resp.Msg, nil
}

// Fetch implements api.Peers.
func (p peers) Fetch(ctx context.Context, address, sha string, put func([]byte) error) error {
	c, err := p.dial(true, address)
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	stream, err := c.Server.FetchBlob(ctx, connect.NewRequest(&droverv1.FetchBlobRequest{Sha: sha}))
	if err != nil {
		return err
	}
	defer stream.Close()
	for stream.Receive() {
		if err := put(stream.Msg().GetChunk()); err != nil {
			return err
		}
	}
	return stream.Err()
}

const fetchTimeout = time.Minute
