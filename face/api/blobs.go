package api

import (
	"context"
	"errors"
	"io"
	"time"

	"connectrpc.com/connect"

	"drover/internal/charmdir"
	"drover/noun/fault"
	"drover/wire/droverv1"
)

// copyEvery is how often a server looks for archives that it lacks.
const copyEvery = time.Second

// CopyBlobs copies the archives of all charms from the other servers, so that any
// of them can lead, until the context ends.
func (s *Server) CopyBlobs(ctx context.Context) error {
	tick := time.NewTicker(copyEvery)
	defer tick.Stop()
	for {
		for _, ch := range s.cfg.Registry.ListCharms(s.cfg.Store.View()) {
			if err := s.have(ctx, string(ch.SHA)); err != nil && ctx.Err() == nil {
				s.cfg.Log.Debug("an archive is not here yet", "charm", ch.Meta.Name, "sha", ch.SHA, "err", err)
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// have makes sure that the archive is on this server, and fetches it from another
// one if need be.
func (s *Server) have(ctx context.Context, sha string) error {
	if s.cfg.Blobs.Has(sha) {
		return nil
	}
	missing := fault.New(fault.NotFound, "archive %.12s is not on this server", sha)
	if s.cfg.Peers == nil {
		return missing
	}
	all, err := s.members()
	if err != nil {
		return err
	}
	for _, m := range all {
		if m.Name == s.cfg.Name {
			continue
		}
		if err := s.fetch(ctx, m, sha); err == nil {
			return nil
		} else if !fault.Is(err, fault.NotFound) {
			missing = missing.Why("and from %s: %s", m.Name, short(err))
		}
	}
	return missing
}

func (s *Server) fetch(ctx context.Context, m Member, sha string) (err error) {
	up, err := s.cfg.Blobs.Begin(charmdir.MaxArchive)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, up.Close()) }()
	err = s.cfg.Peers.Fetch(ctx, m.Address, sha, func(chunk []byte) error {
		_, err := up.Write(chunk)
		return err
	})
	if err != nil {
		return err
	}
	return up.KeepAs(sha)
}

// FetchBlob gives an archive to another server.
func (c *serverService) FetchBlob(_ context.Context, req *connect.Request[droverv1.FetchBlobRequest], stream *connect.ServerStream[droverv1.FetchBlobResponse]) error {
	return c.sendBlob(req.Msg.GetSha(), func(data []byte) error { return stream.Send(&droverv1.FetchBlobResponse{Chunk: data}) })
}

// sendBlob sends an archive in pieces.
func (s *Server) sendBlob(sha string, send func([]byte) error) error {
	r, err := s.cfg.Blobs.Open(sha)
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		buf := make([]byte, chunk)
		n, err := io.ReadFull(r, buf)
		if n > 0 {
			if err := send(buf[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
