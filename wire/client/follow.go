package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"drover/wire/convert"
)

// follower sends requests to the preferred server, to the next one when that
// cannot be reached, and to the leader when a server answers that it is not it.
// All of these mean that nothing was done. While several servers are known and
// none leads, it waits a little: they elect one.
type follower struct{ c *Client }

// RoundTrip implements http.RoundTripper.
func (f *follower) RoundTrip(req *http.Request) (*http.Response, error) {
	w := walk{c: f.c}
	for body := req.Body; ; {
		server, transport := f.c.current()
		attempt := req.Clone(req.Context())
		attempt.URL.Host, attempt.Body = server, body
		resp, err := transport.RoundTrip(attempt)
		if !w.note(server, resp, err) || !replayable(req) || !w.again(req.Context()) {
			return resp, w.why(err)
		}
		if resp != nil {
			_ = resp.Body.Close() // the answer was only the way to go
		}
		if body, err = again(req); err != nil {
			return nil, err
		}
	}
}

// walk is the way of one request from server to server.
type walk struct {
	c           *Client
	tries       int
	until       time.Time
	unreachable error // the first
}

// note learns from an answer, and reports whether another server is to be asked.
func (w *walk) note(server string, resp *http.Response, err error) (next bool) {
	var de *dialError
	switch {
	case errors.As(err, &de):
		w.c.postpone(server)
		if w.unreachable == nil {
			w.unreachable = err
		}
		return true
	case err != nil:
		return false
	}
	leader := resp.Header.Get(convert.LeaderHeader)
	if leader == "" {
		w.c.learn(server, resp.Header.Get(convert.ServersHeader))
		return false
	}
	if w.c.cfg.Fixed {
		return false
	}
	if _, _, err := net.SplitHostPort(leader); err != nil {
		w.c.postpone(server) // it knows no leader
		return true
	}
	w.c.prefer(leader)
	return true
}

// again reports whether the request may be sent once more: at once to a server
// that was not asked, and with pauses while an election may be under way.
func (w *walk) again(ctx context.Context) bool {
	w.tries++
	known := len(w.c.Servers())
	if ctx.Err() != nil || known < 2 {
		return false
	}
	if w.tries < known {
		return true
	}
	now := time.Now()
	if w.until.IsZero() {
		w.until = now.Add(w.c.cfg.Patience)
	}
	if now.After(w.until) {
		return false
	}
	pause := time.NewTimer(electionPause/2 + rand.N(electionPause)) // many clients lose their server at once
	defer pause.Stop()
	select {
	case <-pause.C:
		return true
	case <-ctx.Done():
		return false
	}
}

const electionPause = 100 * time.Millisecond

// why is the error of a walk that ended: of servers that cannot be reached, the
// first one's.
func (w *walk) why(err error) error {
	var de *dialError
	if errors.As(err, &de) && w.unreachable != nil {
		return w.unreachable
	}
	return err
}

// learn takes the list of servers from the answer of one of them. That one stays
// in front, and known, whatever the list calls it: there it answers.
func (c *Client) learn(answered, list string) {
	if c.cfg.Fixed || list == "" {
		return
	}
	c.mu.Lock()
	if list == c.told {
		c.mu.Unlock()
		return
	}
	c.told = list
	servers := []string{answered}
	for _, s := range strings.Fields(list) {
		if _, _, err := net.SplitHostPort(s); err == nil && !slices.Contains(servers, s) && len(servers) < maxServers {
			servers = append(servers, s)
		}
	}
	news := !sameServers(servers, c.servers)
	c.servers = servers
	c.mu.Unlock()
	if news && c.cfg.Learned != nil {
		c.cfg.Learned(slices.Clone(servers))
	}
}

// maxServers bounds how many servers a client remembers.
const maxServers = 32

func sameServers(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}
