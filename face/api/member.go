package api

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/emptypb"

	"drover/internal/pki"
	"drover/keep/identity"
	"drover/keep/store"
	"drover/noun/fault"
	"drover/noun/when"
	"drover/wire/droverv1"
)

// Member is a server that votes.
type Member struct {
	Name    string
	Address string // host:port
}

// Members are the servers that vote. List works on every server; the rest only on
// the leader, and returns when the change is committed.
type Members interface {
	List() ([]Member, error)
	Add(Member) error
	Remove(name string) error
	Transfer(to Member) error // of leadership
}

// Peers reaches single other servers.
type Peers interface {
	// Reach returns nil if the member's log listens at its address.
	Reach(ctx context.Context, m Member) error
	Info(ctx context.Context, address string) (*droverv1.ServerInfo, error)
	// Fetch copies an archive that the server at the address has to put.
	Fetch(ctx context.Context, address, sha string, put func(chunk []byte) error) error
}

// peerTimeout bounds what is asked of another server.
const peerTimeout = 2 * time.Second

// members are the servers that vote; this one alone where nothing else is known.
func (s *Server) members() ([]Member, error) {
	if s.cfg.Members == nil {
		return []Member{{Name: s.cfg.Name, Address: s.cfg.Address}}, nil
	}
	return s.cfg.Members.List()
}

// addresses are where the servers are reached, the leader first.
func (s *Server) addresses() []string {
	all, err := s.members()
	if err != nil || len(all) == 0 {
		return []string{s.cfg.Address}
	}
	l := s.cfg.Store.Leadership()
	var out []string
	for _, m := range all {
		if m.Name == l.Leader {
			out = slices.Insert(out, 0, m.Address)
		} else {
			out = append(out, m.Address)
		}
	}
	return out
}

// ListServers lists the members and how each of them is.
func (c *serverService) ListServers(ctx context.Context, _ *connect.Request[emptypb.Empty]) (*connect.Response[droverv1.ListServersResponse], error) {
	all, err := c.members()
	if err != nil {
		return nil, err
	}
	view := c.cfg.Store.View()
	l := c.cfg.Store.Leadership()
	out := &droverv1.ListServersResponse{Epoch: l.Epoch, Now: int64(c.now()), Servers: c.ask(ctx, all)}
	for _, m := range out.Servers {
		if row, ok := c.cfg.Identity.Server(view, m.Name); ok {
			m.Joined = int64(row.Joined)
		}
		if m.Name == l.Leader && m.State == "standby" {
			m.State = "leader"
		}
	}
	slices.SortFunc(out.Servers, func(a, b *droverv1.Member) int { return strings.Compare(a.Name, b.Name) })
	return connect.NewResponse(out), nil
}

// ask asks all servers at once how they are.
func (s *Server) ask(ctx context.Context, all []Member) []*droverv1.Member {
	ctx, cancel := context.WithTimeout(ctx, peerTimeout)
	defer cancel()
	out := make([]*droverv1.Member, len(all))
	var wg sync.WaitGroup
	for i, m := range all {
		out[i] = &droverv1.Member{Name: m.Name, Address: m.Address, State: "standby"}
		if m.Name == s.cfg.Name {
			out[i].Revision, out[i].Version = uint64(s.cfg.Store.View().Revision()), s.cfg.Version
			continue
		}
		wg.Go(func() {
			info, err := s.peerInfo(ctx, m)
			if err != nil {
				out[i].State, out[i].Note = "unreachable", short(err)
				return
			}
			out[i].Revision, out[i].Version = info.Revision, info.Version
		})
	}
	wg.Wait()
	return out
}

func (s *Server) peerInfo(ctx context.Context, m Member) (*droverv1.ServerInfo, error) {
	if s.cfg.Peers == nil {
		return nil, fault.New(fault.Unavailable, "%s is not asked", m.Name)
	}
	info, err := s.cfg.Peers.Info(ctx, m.Address)
	if err == nil && info.Server != m.Name {
		err = fault.New(fault.Conflict, "%s answers at %s", info.Server, m.Address)
	}
	return info, err
}

// reached counts the members that answer, this one among them.
func (s *Server) reached(ctx context.Context, all []Member) int {
	n := 0
	for _, m := range s.ask(ctx, all) {
		if m.State != "unreachable" {
			n++
		}
	}
	return n
}

func majority(n int) int { return n/2 + 1 }

// Enter makes the calling server a voting member at its address, if it is reached
// there: one that is not would cost the others their majority.
func (c *serverService) Enter(ctx context.Context, req *connect.Request[droverv1.EnterRequest]) (*connect.Response[emptypb.Empty], error) {
	m := Member{Name: callerOf(ctx).Name, Address: req.Msg.GetAddress()}
	if _, _, err := net.SplitHostPort(m.Address); err != nil || len(m.Address) > 255 {
		return nil, fault.New(fault.Invalid, "%q is not the address of a server", cutText(m.Address, 100)).Why("it must be HOST:PORT")
	}
	all, err := c.members()
	if err != nil {
		return nil, err
	}
	if !slices.Contains(all, m) {
		if err := c.admit(ctx, all, m); err != nil {
			return nil, err
		}
		c.cfg.Log.Info("server entered", "server", m.Name, "address", m.Address)
	}
	return update(ctx, c.Server, func(tx *store.Txn) (*emptypb.Empty, error) {
		row, ok := c.cfg.Identity.Server(tx, m.Name)
		if !ok {
			return nil, noServer(m.Name)
		}
		row.Address = m.Address
		c.cfg.Identity.PutServer(tx, c.now(), row)
		return &emptypb.Empty{}, nil
	})
}

func (s *Server) admit(ctx context.Context, all []Member, m Member) error {
	if s.cfg.Members == nil || s.cfg.Peers == nil {
		return fault.New(fault.Unavailable, "this server takes no others")
	}
	if m.Name == s.cfg.Name {
		return nil // the leader corrects its own address at the beginning of its reign
	}
	for _, other := range all {
		if other.Address == m.Address && other.Name != m.Name {
			return fault.New(fault.Conflict, "server %s is at %s already", other.Name, m.Address).Try("drover server list")
		}
	}
	rctx, cancel := context.WithTimeout(ctx, peerTimeout)
	defer cancel()
	if err := s.cfg.Peers.Reach(rctx, m); err != nil {
		return fault.New(fault.Unavailable, "the leader cannot reach server %s at %s", m.Name, m.Address).
			Why("%s", err).Try("drover server --advertise HOST:PORT").Wrap(err)
	}
	known := slices.ContainsFunc(all, func(o Member) bool { return o.Name == m.Name })
	if n := s.reached(ctx, all) + 1; !known && n < majority(len(all)+1) {
		return fault.New(fault.Unavailable, "server %s cannot be added now", m.Name).
			Why("%d of then %d servers would be reached, and %d are needed", n, len(all)+1, majority(len(all)+1)).Try("drover server list")
	}
	return s.cfg.Members.Add(m)
}

// RemoveServer takes a server out of the cluster: it votes no more, and its
// certificate is refused. The leader hands over before it removes itself: the
// caller is sent to its successor.
func (c *serverService) RemoveServer(ctx context.Context, req *connect.Request[droverv1.RemoveServerRequest]) (*connect.Response[emptypb.Empty], error) {
	name := req.Msg.GetName()
	all, err := c.members()
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(all, func(m Member) bool { return m.Name == name }) {
		if err := c.expel(ctx, all, name); err != nil {
			return nil, err
		}
		c.cfg.Log.Info("server removed", "server", name, "by", callerOf(ctx).String())
	}
	return once(ctx, c.Server, req, req.Msg.GetRequestId(), func(tx *store.Txn) (*emptypb.Empty, error) {
		if !c.cfg.Identity.RemoveServer(tx, c.now(), name) {
			return nil, noServer(name)
		}
		return &emptypb.Empty{}, nil
	})
}

func noServer(name string) *fault.Error {
	return fault.New(fault.NotFound, "there is no server %s", cutText(name, 100)).Try("drover server list")
}

func cutText(s string, n int) string { return s[:min(len(s), n)] }

func (s *Server) expel(ctx context.Context, all []Member, name string) error {
	rest := slices.DeleteFunc(slices.Clone(all), func(m Member) bool { return m.Name == name })
	if len(rest) == 0 || s.cfg.Members == nil {
		return fault.New(fault.Conflict, "server %s is the only one", name).
			Why("a cluster has at least one server").Try("drover join-token --role server", "drover down --purge")
	}
	if n := s.reached(ctx, rest); n < majority(len(rest)) {
		return fault.New(fault.Conflict, "server %s cannot be removed now", name).
			Why("only %d of the other %d are reached, and %d are needed", n, len(rest), majority(len(rest))).Try("drover server list")
	}
	if name != s.cfg.Name {
		return s.cfg.Members.Remove(name)
	}
	for i, m := range s.ask(ctx, rest) {
		if m.State == "unreachable" {
			continue
		}
		if err := s.cfg.Members.Transfer(rest[i]); err != nil {
			return err
		}
		return store.NotLeader(m.Name, m.Address)
	}
	return fmt.Errorf("nobody can take over from %s", name)
}

// serverRow is what the cluster keeps of the server with the pair.
func serverRow(pair *pki.Pair, name, address string) identity.Server {
	return identity.Server{
		Name: name, Address: address, Serial: pair.Cert.SerialNumber.Text(16), Until: when.Of(pair.Cert.NotAfter),
	}
}

// short is an error in a few words.
func short(err error) string {
	var f *fault.Error
	if errors.As(err, &f) {
		return f.What
	}
	return err.Error()
}
