package sim

import (
	"context"
	"fmt"
	"io"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"drover/face/api"
	"drover/internal/pki"
	"drover/noun/fault"
	"drover/wire/convert"
	"drover/wire/droverv1"
	"drover/wire/droverv1/droverv1connect"
)

// link is a machine's way to the server: the real handlers, called in place.
// Messages are copied, as the network would.
type link struct {
	sim  *Sim
	id   pki.Identity
	cut  bool // nothing gets through
	lose int  // the answers of so many calls are lost on the way back
}

func away(what string) error {
	return fault.New(fault.Unavailable, "no server").Why("%s", what)
}

func (l *link) handler() droverv1connect.AgentServiceHandler { return l.sim.server.api.Agent() }

// open says why there is no way to a leader now.
func (l *link) open() error {
	switch {
	case l.cut:
		return away("the network is cut")
	case l.sim.server.reign == nil:
		return away("nobody leads")
	}
	return nil
}

type method[Q, A any] func(context.Context, *connect.Request[Q]) (*connect.Response[A], error)

type anyMessage[T any] interface {
	*T
	proto.Message
}

func call[Q, A any, PQ anyMessage[Q], PA anyMessage[A]](ctx context.Context, l *link, m method[Q, A], req PQ) (PA, error) {
	if err := l.open(); err != nil {
		return nil, err
	}
	copied, ok := proto.Clone(req).(PQ)
	if !ok {
		return nil, fmt.Errorf("a copy of %T is something else", req)
	}
	resp, err := m(api.WithCaller(ctx, l.id), connect.NewRequest((*Q)(copied)))
	if l.lose > 0 {
		l.lose--
		l.sim.line("  the answer is lost")
		return nil, away("the answer was lost")
	}
	if err != nil {
		f, ok := convert.FromConnect(convert.ConnectError(err))
		if !ok || f.Kind == fault.Internal {
			l.sim.fail("a call of machine %s failed unexpectedly: %v", l.id.Machine, err)
		}
		return nil, f
	}
	return PA(resp.Msg), nil
}

func (l *link) unit(ctx context.Context, m method[droverv1.UnitRequest, emptypb.Empty], q *droverv1.UnitRequest) error {
	_, err := call[droverv1.UnitRequest, emptypb.Empty](ctx, l, m, q)
	return err
}

// Feed is never called: the simulation plays the stream.
func (l *link) Feed(context.Context, *droverv1.FeedRequest, func(*droverv1.FeedResponse) error) error {
	return away("there are no streams")
}

func (l *link) Heartbeat(ctx context.Context, q *droverv1.HeartbeatRequest) (*droverv1.HeartbeatResponse, error) {
	return call[droverv1.HeartbeatRequest, droverv1.HeartbeatResponse](ctx, l, l.handler().Heartbeat, q)
}

func (l *link) Goodbye(ctx context.Context, q *droverv1.GoodbyeRequest) error {
	_, err := call[droverv1.GoodbyeRequest, emptypb.Empty](ctx, l, l.handler().Goodbye, q)
	return err
}

func (l *link) ReportMachine(ctx context.Context, q *droverv1.ReportMachineRequest) error {
	_, err := call[droverv1.ReportMachineRequest, emptypb.Empty](ctx, l, l.handler().ReportMachine, q)
	return err
}

func (l *link) SetMachineDead(ctx context.Context) error {
	_, err := call[emptypb.Empty, emptypb.Empty](ctx, l, l.handler().SetMachineDead, &emptypb.Empty{})
	return err
}

func (l *link) AckWork(ctx context.Context, q *droverv1.AckWorkRequest) error {
	_, err := call[droverv1.AckWorkRequest, emptypb.Empty](ctx, l, l.handler().AckWork, q)
	return err
}

// SendLog is never asked for.
func (l *link) SendLog(context.Context, func(func(*droverv1.SendLogRequest) error)) error {
	return away("there are no streams")
}

func (l *link) NewIncarnation(ctx context.Context, q *droverv1.UnitRequest) (int, error) {
	resp, err := call[droverv1.UnitRequest, droverv1.NewIncarnationResponse](ctx, l, l.handler().NewIncarnation, q)
	return int(resp.GetIncarnation()), err
}

func (l *link) DestroyUnit(ctx context.Context, q *droverv1.UnitRequest) error {
	return l.unit(ctx, l.handler().DestroyUnit, q)
}

func (l *link) SetUnitDead(ctx context.Context, q *droverv1.UnitRequest) error {
	return l.unit(ctx, l.handler().SetUnitDead, q)
}

func (l *link) ClearResolved(ctx context.Context, q *droverv1.UnitRequest) error {
	return l.unit(ctx, l.handler().ClearResolved, q)
}

func (l *link) SetUnitDeployed(ctx context.Context, q *droverv1.UnitRequest) error {
	return l.unit(ctx, l.handler().SetUnitDeployed, q)
}

func (l *link) RemoveUnit(ctx context.Context, q *droverv1.UnitRequest) error {
	return l.unit(ctx, l.handler().RemoveUnit, q)
}

func (l *link) EnterScope(ctx context.Context, q *droverv1.ScopeRequest) error {
	_, err := call[droverv1.ScopeRequest, droverv1.EnterScopeResponse](ctx, l, l.handler().EnterScope, q)
	return err
}

func (l *link) LeaveScope(ctx context.Context, q *droverv1.ScopeRequest) error {
	_, err := call[droverv1.ScopeRequest, emptypb.Empty](ctx, l, l.handler().LeaveScope, q)
	return err
}

func (l *link) CommitHook(ctx context.Context, q *droverv1.CommitHookRequest) (*droverv1.CommitHookResponse, error) {
	return call[droverv1.CommitHookRequest, droverv1.CommitHookResponse](ctx, l, l.handler().CommitHook, q)
}

func (l *link) ReadSettings(ctx context.Context, q *droverv1.ReadSettingsRequest) (map[string]string, error) {
	resp, err := call[droverv1.ReadSettingsRequest, droverv1.ReadSettingsResponse](ctx, l, l.handler().ReadSettings, q)
	return resp.GetValues(), err
}

func (l *link) ReportUnit(ctx context.Context, q *droverv1.ReportUnitRequest) error {
	_, err := call[droverv1.ReportUnitRequest, emptypb.Empty](ctx, l, l.handler().ReportUnit, q)
	return err
}

func (l *link) SetStatus(ctx context.Context, q *droverv1.SetStatusRequest) error {
	_, err := call[droverv1.SetStatusRequest, emptypb.Empty](ctx, l, l.handler().SetStatus, q)
	return err
}

func (l *link) FetchCharm(_ context.Context, sha string) (io.ReadCloser, error) {
	if err := l.open(); err != nil {
		return nil, err
	}
	return l.sim.server.blobs.Open(sha)
}

// Apply implements rep.Board.
func (l *link) Apply(ctx context.Context, steps []*droverv1.Step) ([]*droverv1.StepResult, error) {
	resp, err := call[droverv1.ApplyStepsRequest, droverv1.ApplyStepsResponse](ctx, l, l.handler().ApplySteps, &droverv1.ApplyStepsRequest{Steps: steps})
	return resp.GetResults(), err
}
