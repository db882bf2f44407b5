package api

import (
	"context"
	"net/http"
	"time"

	"connectrpc.com/connect"

	"drover/face/api/feed"
	"drover/keep/store"
	"drover/wire/droverv1"
)

const (
	keepalive = 5 * time.Second
	// slowAfter is how long one message may take to be written before the agent
	// is taken for slow and disconnected.
	slowAfter = 15 * time.Second
)

// Feed sends the agent its state and commands until the agent, the leadership or
// another feed of the same machine ends it.
func (a *agentService) Feed(ctx context.Context, req *connect.Request[droverv1.FeedRequest], stream *connect.ServerStream[droverv1.FeedResponse]) error {
	if err := a.obeyed(req.Msg.GetEpoch()); err != nil {
		return err
	}
	m := a.machine(ctx)
	line := a.hub.Connect(m.Key())
	defer line.Disconnect()
	cursor := a.source.Open(m, store.Revision(req.Msg.GetResume()))
	defer cursor.Close()
	f := &feeding{server: a.Server, ctx: ctx, stream: stream, cursor: cursor, line: line, epoch: a.cfg.Store.Leadership().Epoch}
	f.writer, _ = ctx.Value(writerKey{}).(*http.ResponseController)
	err := f.run()
	if t, terr := a.tracker(); terr == nil && line.Current() {
		t.Disconnected(m.Key())
	}
	return err
}

type feeding struct {
	server *Server
	ctx    context.Context
	stream *connect.ServerStream[droverv1.FeedResponse]
	writer *http.ResponseController // nil in tests
	cursor *feed.Cursor
	line   *feed.Line
	epoch  uint64
}

func (f *feeding) run() error {
	st := f.server.cfg.Store
	alive := time.NewTicker(keepalive)
	defer alive.Stop()
	for {
		changed := st.LeadershipChanged()
		if l := st.Leadership(); !l.Leading || l.Epoch != f.epoch {
			return store.NotLeader(l.Leader, l.Address)
		}
		if err := f.flush(); err != nil {
			return err
		}
		select {
		case <-f.cursor.C():
		case <-f.line.C():
		case <-changed:
		case <-alive.C:
			if err := f.send(&droverv1.FeedResponse{Revision: uint64(f.cursor.Revision())}); err != nil {
				return err
			}
		case <-f.line.Closed():
			return nil
		case <-f.ctx.Done():
			return f.ctx.Err()
		}
	}
}

// flush sends what is there: state first, so that the agent knows what a command
// speaks of.
func (f *feeding) flush() error {
	for _, msg := range f.cursor.Poll() {
		if err := f.send(msg); err != nil {
			return err
		}
	}
	if commands := f.line.Take(); len(commands) > 0 {
		return f.send(&droverv1.FeedResponse{Revision: uint64(f.cursor.Revision()), Deltas: commands})
	}
	return nil
}

func (f *feeding) send(msg *droverv1.FeedResponse) error {
	msg.Epoch = f.epoch
	if f.writer != nil {
		_ = f.writer.SetWriteDeadline(f.server.cfg.Now().Add(slowAfter)) // not every connection can; then only keepalives find out
	}
	return f.stream.Send(msg)
}
