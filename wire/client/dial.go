package client

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"slices"

	"drover/wire/convert"
)

// baseURL has no address: the transport dials the leader, whoever it is.
const baseURL = "https://drover"

// dial connects to the first server that answers and keeps it at the front.
func (c *Client) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	c.mu.Lock()
	servers, cfg := append([]string(nil), c.servers...), c.tls
	c.mu.Unlock()
	var first error
	for _, server := range servers {
		conn, err := c.dialOne(ctx, network, server, cfg)
		if err == nil {
			c.prefer(server)
			return conn, nil
		}
		if first == nil {
			first = &dialError{server: server, err: err}
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, first
}

func (c *Client) dialOne(ctx context.Context, network, server string, cfg *tls.Config) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.DialTimeout)
	defer cancel()
	raw, err := c.cfg.Dial(ctx, network, server)
	if err != nil {
		return nil, err
	}
	conn := tls.Client(raw, cfg)
	if err := conn.HandshakeContext(ctx); err != nil {
		_ = raw.Close() // the handshake's error says why
		return nil, err
	}
	return conn, nil
}

// prefer moves the server to the front, and adds it when it is new.
func (c *Client) prefer(server string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.servers[0] == server {
		return
	}
	c.servers = append([]string{server}, slices.DeleteFunc(c.servers, func(s string) bool { return s == server })...)
}

// follower repeats a request at the leader when a server answered that it is
// not it. Such an answer means that nothing was done.
type follower struct{ c *Client }

// maxFollow bounds how often one request is sent on.
const maxFollow = 3

func (f *follower) RoundTrip(req *http.Request) (*http.Response, error) {
	for hop := 0; ; hop++ {
		resp, err := f.c.transport.RoundTrip(req)
		if err != nil {
			return nil, err
		}
		leader := resp.Header.Get(convert.LeaderHeader)
		if leader == "" {
			return resp, nil
		}
		if _, _, err := net.SplitHostPort(leader); err != nil {
			return resp, nil
		}
		f.c.prefer(leader)
		if hop == maxFollow || req.Body != nil && req.GetBody == nil {
			f.c.transport.CloseIdleConnections()
			return resp, nil
		}
		again := req.Clone(req.Context())
		if req.GetBody != nil {
			if again.Body, err = req.GetBody(); err != nil {
				return resp, nil
			}
		}
		_ = resp.Body.Close() // the answer was only the redirection
		f.c.transport.CloseIdleConnections()
		req = again
	}
}
