package client

import (
	"context"
	"errors"
	"io"

	"connectrpc.com/connect"

	"drover/wire/droverv1"
)

// interceptor bounds the time of calls and explains their errors.
type interceptor struct{ c *Client }

func (i *interceptor) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		if _, bounded := ctx.Deadline(); !bounded {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, i.c.cfg.CallTimeout)
			defer cancel()
		}
		resp, err := next(ctx, req)
		if err != nil {
			return nil, i.c.explain(ctx, err)
		}
		return resp, nil
	}
}

func (i *interceptor) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return func(ctx context.Context, spec connect.Spec) connect.StreamingClientConn {
		if spec.StreamType&connect.StreamTypeClient != 0 {
			i.c.settle(ctx)
		}
		return &stream{StreamingClientConn: next(ctx, spec), ctx: ctx, c: i.c}
	}
}

func (i *interceptor) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return next
}

// settle finds the leader, with a call that can be repeated, before a stream of
// messages that cannot. Whatever a leader answers will do.
func (c *Client) settle(ctx context.Context) {
	if c.cfg.Fixed || len(c.Servers()) < 2 {
		return
	}
	_, _ = c.Server.Names(ctx, connect.NewRequest(&droverv1.NamesRequest{Kind: "model"})) // the stream says what is wrong
}

// stream explains the errors of a streaming call. The end of a stream stays
// io.EOF.
type stream struct {
	connect.StreamingClientConn
	ctx context.Context
	c   *Client
}

func (s *stream) explain(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	return s.c.explain(s.ctx, err)
}

func (s *stream) Send(msg any) error    { return s.explain(s.StreamingClientConn.Send(msg)) }
func (s *stream) Receive(msg any) error { return s.explain(s.StreamingClientConn.Receive(msg)) }
