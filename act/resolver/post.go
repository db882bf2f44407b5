package resolver

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"
)

// maxAnswer is how much of an answer is read, so that its connection can be used
// again; nothing in it matters.
const maxAnswer = 4 << 10

// HTTP calls callbacks over HTTP. It follows no redirect: whoever is named in the
// task is told, nobody else.
type HTTP struct{ client *http.Client }

// NewHTTP makes a caller; Close it.
func NewHTTP() *HTTP {
	return &HTTP{client: &http.Client{
		Transport: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout:    callTimeout,
			ResponseHeaderTimeout:  callTimeout,
			MaxResponseHeaderBytes: 64 << 10,
			MaxIdleConns:           atOnce,
			IdleConnTimeout:        time.Minute,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       callTimeout,
	}}
}

// Post implements Callbacks. Its errors do not show the URL, which may hold a
// secret.
func (h *HTTP) Post(ctx context.Context, to string, body []byte) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return 0, withoutURL(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "drover")
	res, err := h.client.Do(req)
	if err != nil {
		return 0, withoutURL(err)
	}
	// The status is the whole answer: what fails after it changes nothing.
	_, _ = io.CopyN(io.Discard, res.Body, maxAnswer)
	_ = res.Body.Close()
	return res.StatusCode, nil
}

// Close drops idle connections.
func (h *HTTP) Close() { h.client.CloseIdleConnections() }

func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}
