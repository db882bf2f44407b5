package machineagent

import (
	"context"
	"io"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/emptypb"

	"drover/act/unitagent"
	"drover/wire/droverv1"
	"drover/wire/droverv1/droverv1connect"
)

// Presence are the calls by which a machine's agent is there.
type Presence interface {
	// Feed gives every part of the feed to use, until the stream, the context or
	// use ends it.
	Feed(ctx context.Context, req *droverv1.FeedRequest, use func(*droverv1.FeedResponse) error) error
	Heartbeat(ctx context.Context, req *droverv1.HeartbeatRequest) (*droverv1.HeartbeatResponse, error)
	Goodbye(ctx context.Context, req *droverv1.GoodbyeRequest) error
}

// Machines are the calls about the machine itself and its cell.
type Machines interface {
	ReportMachine(ctx context.Context, req *droverv1.ReportMachineRequest) error
	SetMachineDead(ctx context.Context) error
	AckWork(ctx context.Context, req *droverv1.AckWorkRequest) error
	// SendLog answers a send_log command: each message is one of sent's calls.
	SendLog(ctx context.Context, write func(send func(*droverv1.SendLogRequest) error)) error
}

// Server is what a machine's agent asks of the cluster. Errors are *fault.Error.
type Server interface {
	Presence
	Machines
	unitagent.Server
}

// Over is the Server behind a client of wire/client.
func Over(c droverv1connect.AgentServiceClient) Server { return over{c} }

type over struct {
	c droverv1connect.AgentServiceClient
}

func none[T any](_ *connect.Response[T], err error) error { return err }

func (o over) Feed(ctx context.Context, req *droverv1.FeedRequest, use func(*droverv1.FeedResponse) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := o.c.Feed(ctx, connect.NewRequest(req))
	if err != nil {
		return err
	}
	defer stream.Close()
	for stream.Receive() {
		if err := use(stream.Msg()); err != nil {
			return err
		}
	}
	return stream.Err()
}

func (o over) Heartbeat(ctx context.Context, req *droverv1.HeartbeatRequest) (*droverv1.HeartbeatResponse, error) {
	resp, err := o.c.Heartbeat(ctx, connect.NewRequest(req))
	if err != nil {
		return nil, err
	}
	return resp.Msg, nil
}

func (o over) Goodbye(ctx context.Context, req *droverv1.GoodbyeRequest) error {
	return none(o.c.Goodbye(ctx, connect.NewRequest(req)))
}

func (o over) ReportMachine(ctx context.Context, req *droverv1.ReportMachineRequest) error {
	return none(o.c.ReportMachine(ctx, connect.NewRequest(req)))
}

func (o over) SetMachineDead(ctx context.Context) error {
	return none(o.c.SetMachineDead(ctx, connect.NewRequest(&emptypb.Empty{})))
}

func (o over) AckWork(ctx context.Context, req *droverv1.AckWorkRequest) error {
	return none(o.c.AckWork(ctx, connect.NewRequest(req)))
}

func (o over) SendLog(ctx context.Context, write func(send func(*droverv1.SendLogRequest) error)) error {
	stream := o.c.SendLog(ctx)
	write(stream.Send)
	return none(stream.CloseAndReceive())
}

func (o over) NewIncarnation(ctx context.Context, unit *droverv1.UnitRequest) (int, error) {
	resp, err := o.c.NewIncarnation(ctx, connect.NewRequest(unit))
	if err != nil {
		return 0, err
	}
	return int(resp.Msg.GetIncarnation()), nil
}

func (o over) DestroyUnit(ctx context.Context, unit *droverv1.UnitRequest) error {
	return none(o.c.DestroyUnit(ctx, connect.NewRequest(unit)))
}

func (o over) SetUnitDead(ctx context.Context, unit *droverv1.UnitRequest) error {
	return none(o.c.SetUnitDead(ctx, connect.NewRequest(unit)))
}

func (o over) ClearResolved(ctx context.Context, unit *droverv1.UnitRequest) error {
	return none(o.c.ClearResolved(ctx, connect.NewRequest(unit)))
}

func (o over) SetUnitDeployed(ctx context.Context, unit *droverv1.UnitRequest) error {
	return none(o.c.SetUnitDeployed(ctx, connect.NewRequest(unit)))
}

func (o over) RemoveUnit(ctx context.Context, unit *droverv1.UnitRequest) error {
	return none(o.c.RemoveUnit(ctx, connect.NewRequest(unit)))
}

func (o over) EnterScope(ctx context.Context, req *droverv1.ScopeRequest) error {
	return none(o.c.EnterScope(ctx, connect.NewRequest(req)))
}

func (o over) LeaveScope(ctx context.Context, req *droverv1.ScopeRequest) error {
	return none(o.c.LeaveScope(ctx, connect.NewRequest(req)))
}

func (o over) CommitHook(ctx context.Context, req *droverv1.CommitHookRequest) (*droverv1.CommitHookResponse, error) {
	resp, err := o.c.CommitHook(ctx, connect.NewRequest(req))
	if err != nil {
		return nil, err
	}
	return resp.Msg, nil
}

func (o over) ReadSettings(ctx context.Context, req *droverv1.ReadSettingsRequest) (map[string]string, error) {
	resp, err := o.c.ReadSettings(ctx, connect.NewRequest(req))
	if err != nil {
		return nil, err
	}
	return resp.Msg.GetValues(), nil
}

func (o over) ReportUnit(ctx context.Context, req *droverv1.ReportUnitRequest) error {
	return none(o.c.ReportUnit(ctx, connect.NewRequest(req)))
}

func (o over) SetStatus(ctx context.Context, req *droverv1.SetStatusRequest) error {
	return none(o.c.SetStatus(ctx, connect.NewRequest(req)))
}

func (o over) FetchCharm(ctx context.Context, sha string) (io.ReadCloser, error) {
	ctx, cancel := context.WithCancel(ctx)
	stream, err := o.c.FetchCharm(ctx, connect.NewRequest(&droverv1.FetchCharmRequest{Sha: sha}))
	if err != nil {
		cancel()
		return nil, err
	}
	return &chunks{stream: stream, cancel: cancel}, nil
}

// chunks reads a stream of chunks as a file.
type chunks struct {
	stream *connect.ServerStreamForClient[droverv1.FetchCharmResponse]
	cancel context.CancelFunc
	rest   []byte
}

func (c *chunks) Read(p []byte) (int, error) {
	for len(c.rest) == 0 {
		if !c.stream.Receive() {
			if err := c.stream.Err(); err != nil {
				return 0, err
			}
			return 0, io.EOF
		}
		c.rest = c.stream.Msg().GetChunk()
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

func (c *chunks) Close() error {
	c.cancel()
	return c.stream.Close()
}
