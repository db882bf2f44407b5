package api

import (
	"context"
	"sync"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/emptypb"

	"drover/noun/fault"
	"drover/wire/droverv1"
)

// relay brings the logs that agents send to the people who asked for them. It
// holds a few chunks of each and makes the agent wait when they are not read.
type relay struct {
	mu    sync.Mutex // guards pipes
	pipes map[string]*pipe
}

type pipe struct {
	machine string // key of the machine that may send
	taken   bool   // an agent sends already
	data    chan *droverv1.SendLogRequest
	done    chan struct{} // closed when the reader is gone
}

const (
	maxReaders   = 64
	pipeLength   = 8
	maxLogLines  = 100_000
	defaultLines = 100
	logAnswer    = 10 * time.Second // until the agent's first word
)

func newRelay() *relay { return &relay{pipes: map[string]*pipe{}} }

func (r *relay) open(id, machine string) (*pipe, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.pipes) >= maxReaders {
		return nil, fault.New(fault.ResourceExhausted, "too many logs are being read").Why("%d at once are possible", maxReaders)
	}
	p := &pipe{machine: machine, data: make(chan *droverv1.SendLogRequest, pipeLength), done: make(chan struct{})}
	r.pipes[id] = p
	return p, nil
}

func (r *relay) close(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p, ok := r.pipes[id]; ok {
		close(p.done)
		delete(r.pipes, id)
	}
}

// take gives the pipe to the one agent that may send into it.
func (r *relay) take(id, machine string) (*pipe, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, ok := r.pipes[id]
	if !ok || p.machine != machine || p.taken {
		return nil, false
	}
	p.taken = true
	return p, true
}

// ReadLog asks the agent that has the log to send it, and passes on what comes.
func (c *serverService) ReadLog(ctx context.Context, req *connect.Request[droverv1.ReadLogRequest], stream *connect.ServerStream[droverv1.LogChunk]) error {
	q := req.Msg
	machine, err := c.whereIsLog(q.GetModel(), q.GetTarget())
	if err != nil {
		return err
	}
	lines := q.GetLines()
	if lines <= 0 {
		lines = defaultLines
	}
	id := c.cfg.NewID()
	p, err := c.logs.open(id, machine)
	if err != nil {
		return err
	}
	defer c.logs.close(id)
	err = c.hub.Send(machine, &droverv1.Delta{Key: "send_log", Value: &droverv1.Delta_SendLog{SendLog: &droverv1.SendLogCommand{
		Id: id, Target: q.GetTarget(), Follow: q.GetFollow(), Lines: min(lines, maxLogLines), LastHook: q.GetLastHook(),
	}}})
	if err != nil {
		return fault.New(fault.Unavailable, "cannot read the log of %s", q.GetTarget()).
			Why("the agent of its machine is not connected").Try("drover status").Wrap(err)
	}
	first := time.NewTimer(logAnswer)
	defer first.Stop()
	for {
		select {
		case msg, more := <-p.data:
			first.Stop()
			if !more {
				return nil
			}
			if msg.GetError() != "" {
				return fault.New(fault.NotFound, "cannot read the log of %s", q.GetTarget()).Why("%s", msg.GetError())
			}
			if err := stream.Send(&droverv1.LogChunk{Data: msg.GetData()}); err != nil {
				return err
			}
		case <-first.C:
			return fault.New(fault.Timeout, "the log of %s did not come", q.GetTarget()).Why("the agent of its machine did not answer").Try("drover status")
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// SendLog takes what an agent answers to a send_log command. It ends early, with
// kind NotFound, when nobody reads any more.
func (a *agentService) SendLog(ctx context.Context, stream *connect.ClientStream[droverv1.SendLogRequest]) (*connect.Response[emptypb.Empty], error) {
	gone := fault.New(fault.NotFound, "nobody reads this log any more")
	var p *pipe
	for stream.Receive() {
		msg := stream.Msg()
		if p == nil {
			var ok bool
			if p, ok = a.logs.take(msg.GetId(), a.machine(ctx).Key()); !ok {
				return nil, gone
			}
			defer p.end()
		}
		select {
		case p.data <- &droverv1.SendLogRequest{Data: msg.GetData(), Error: msg.GetError()}:
		case <-p.done:
			return nil, gone
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return connect.NewResponse(&emptypb.Empty{}), stream.Err()
}

// end tells the reader that all has come.
func (p *pipe) end() { close(p.data) }
