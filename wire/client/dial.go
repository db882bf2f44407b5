package client

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"slices"
	"time"
)

// baseURL has no address: each request is sent to the leader, whoever it is.
const baseURL = "https://drover"

// newTransport makes connections with the TLS configuration, a pool for each
// server.
func (c *Client) newTransport(cfg *tls.Config) *http.Transport {
	t := &http.Transport{
		DialTLSContext: func(ctx context.Context, network, server string) (net.Conn, error) {
			conn, err := c.dial(ctx, network, server, cfg)
			if err != nil {
				return nil, &dialError{server: server, err: err}
			}
			return conn, nil
		},
		Protocols:          new(http.Protocols),
		DisableCompression: true,
		IdleConnTimeout:    90 * time.Second,
		HTTP2: &http.HTTP2Config{
			SendPingTimeout:               10 * time.Second,
			PingTimeout:                   5 * time.Second,
			MaxReceiveBufferPerConnection: 4 << 20,
			MaxReceiveBufferPerStream:     1 << 20,
		},
	}
	t.Protocols.SetHTTP2(true)
	return t
}

func (c *Client) dial(ctx context.Context, network, server string, cfg *tls.Config) (net.Conn, error) {
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
	if c.servers[0] != server {
		c.servers = append([]string{server}, without(c.servers, server)...)
	}
}

// postpone moves a server that cannot be reached to the end.
func (c *Client) postpone(server string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.servers[0] == server {
		c.servers = append(without(c.servers, server), server)
	}
}

func without(servers []string, server string) []string {
	return slices.DeleteFunc(slices.Clone(servers), func(s string) bool { return s == server })
}

// replayable reports whether the request's body can be sent again: that of a
// stream of messages cannot.
func replayable(req *http.Request) bool {
	return req.Body == nil || req.Body == http.NoBody || req.GetBody != nil
}

func again(req *http.Request) (io.ReadCloser, error) {
	if req.GetBody == nil {
		return req.Body, nil
	}
	return req.GetBody()
}

// current is where and how requests are sent now.
func (c *Client) current() (server string, t *http.Transport) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.servers[0], c.transport
}
