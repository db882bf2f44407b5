package api

import (
	"context"
	"errors"
	"os"

	"connectrpc.com/connect"

	"drover/internal/charmdir"
	"drover/keep/store"
	"drover/noun/fault"
	"drover/wire/droverv1"
)

// UploadCharm takes an archive, keeps it under its digest and records the charm.
// The archive is durable before the row that names it.
func (m *modelService) UploadCharm(ctx context.Context, stream *connect.ClientStream[droverv1.UploadCharmRequest]) (resp *connect.Response[droverv1.CharmInfo], err error) {
	up, err := m.cfg.Blobs.Begin(charmdir.MaxArchive)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, up.Close()) }()
	for stream.Receive() {
		if _, err := up.Write(stream.Msg().GetChunk()); err != nil {
			return nil, err
		}
	}
	if err := stream.Err(); err != nil {
		return nil, err
	}
	if up.Size() == 0 {
		return nil, fault.New(fault.Invalid, "the charm's archive is empty")
	}
	data, err := os.ReadFile(up.Path())
	if err != nil {
		return nil, err
	}
	ch, err := charmdir.Read(data)
	if err != nil {
		return nil, err
	}
	digest, err := up.Keep()
	if err != nil {
		return nil, err
	}
	if digest != string(ch.SHA) {
		return nil, fault.New(fault.Invalid, "the charm's archive changed while it was read")
	}
	return update(ctx, m.Server, func(tx *store.Txn) (*droverv1.CharmInfo, error) {
		have, err := m.cfg.Registry.AddCharm(tx, m.now(), *ch)
		if err != nil {
			return nil, err
		}
		return &droverv1.CharmInfo{
			Sha: string(have.SHA), Name: have.Meta.Name, Revision: int32(have.Revision), Subordinate: have.Meta.Subordinate,
		}, nil
	})
}

// chunk bounds the pieces in which archives and logs travel.
const chunk = 256 << 10

// FetchCharm sends an archive to a machine that has a unit of it.
func (a *agentService) FetchCharm(ctx context.Context, req *connect.Request[droverv1.FetchCharmRequest], stream *connect.ServerStream[droverv1.FetchCharmResponse]) error {
	if err := a.have(ctx, req.Msg.GetSha()); err != nil {
		return err
	}
	return a.sendBlob(req.Msg.GetSha(), func(data []byte) error { return stream.Send(&droverv1.FetchCharmResponse{Chunk: data}) })
}
