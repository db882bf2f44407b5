package main

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"drover/face/api"
	"drover/face/cli"
	"drover/internal/pki"
	"drover/noun/fault"
	"drover/wire/client"
	"drover/wire/droverv1"

	"connectrpc.com/connect"
)

// identityFolder is where a server keeps who it is.
func identityFolder(data string) string { return filepath.Join(data, "server", "identity") }

// joinCluster makes this server one of a cluster with the token, once: the folder
// of a server that joined keeps its identity, and the token is not looked at.
func joinCluster(ctx context.Context, o cli.ServerOptions) error {
	dir := identityFolder(o.Data)
	token, err := pki.ParseToken(o.Join)
	if err != nil {
		return err
	}
	digest, ok, err := api.Identified(dir)
	if err != nil {
		return err
	}
	if ok {
		if digest != token.Digest {
			return fault.New(fault.Conflict, "%s has a server of another cluster", o.Data).Try("drover server --join TOKEN --data DIR")
		}
		return nil
	}
	if host, _, err := net.SplitHostPort(advertised(o)); err != nil || host == "" || net.ParseIP(host).IsUnspecified() {
		return fault.New(fault.Invalid, "the other servers need to know where this one is").
			Why("%q is no address they can use", advertised(o)).Try("drover server --join TOKEN --advertise HOST:PORT")
	}
	hostname, err := os.Hostname()
	if err != nil {
		return err
	}
	j, err := client.JoinServer(ctx, o.Join, o.Name, hostname, client.Config{})
	if err != nil {
		return err
	}
	return api.Adopt(dir, j)
}

func advertised(o cli.ServerOptions) string {
	if o.Advertise != "" {
		return o.Advertise
	}
	return o.Listen
}

// The waits of a server that is to be a member.
const (
	enterEvery = 500 * time.Millisecond
	lookEvery  = 2 * time.Second
	lonely     = 6 * time.Second // after this time without a leader others are asked
)

// beMember sees to it that this server is a member at its address, until the
// context ends or it was removed, which is an error.
func (s *server) beMember(ctx context.Context) error {
	var was bool
	led := time.Now()
	for {
		l := s.store.Leadership()
		if l.Leader != "" {
			led = time.Now()
		}
		is := s.members.has(api.Member{Name: s.o.Name})
		wait := lookEvery
		switch {
		case was && !is:
			return s.removed()
		case l.Leading: // the log corrects the leader's address
		case !s.members.self(s.o.Name, s.o.Advertise), time.Since(led) > lonely:
			if err := s.enter(ctx); fault.Is(err, fault.Denied) && !errors.Is(err, pki.ErrWrongCA) {
				return s.removed()
			} else if err != nil && ctx.Err() == nil {
				s.log.Info("not a member yet", "err", err)
			}
			wait = enterEvery
		}
		was = was || is
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}

func (s *server) removed() error {
	return fault.New(fault.Denied, "server %s is not part of the cluster any more", s.o.Name).
		Why("it was removed").Try("drover join-token --role server", "drover server --join TOKEN --data DIR")
}

// enter asks the leader to make this server a member at its address.
func (s *server) enter(ctx context.Context) error {
	var others []string
	all, err := s.members.List()
	if err != nil {
		return err
	}
	for _, m := range all {
		others = append(others, m.Address)
	}
	for _, a := range s.founding.Joined {
		if !slices.Contains(others, a) {
			others = append(others, a)
		}
	}
	others = slices.DeleteFunc(others, func(a string) bool { return a == s.o.Advertise || strings.TrimSpace(a) == "" })
	if len(others) == 0 {
		return nil
	}
	c, err := s.peers.dial(false, others...)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Server.Enter(ctx, connect.NewRequest(&droverv1.EnterRequest{Address: s.o.Advertise}))
	return err
}

// handOver gives the leadership to another server before this one stops: nobody
// waits for an election then.
func (s *server) handOver() {
	all, err := s.members.List()
	if err != nil || !s.store.Leadership().Leading {
		return
	}
	for _, m := range all {
		if m.Name == s.o.Name {
			continue
		}
		if s.peers.Reach(context.Background(), m) != nil {
			continue
		}
		if err := s.members.Transfer(m); err == nil {
			s.log.Info("handed over", "to", m.Name)
			return
		}
	}
}
