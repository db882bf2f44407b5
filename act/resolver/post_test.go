package resolver

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestPost(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("told somebody else") }))
	defer elsewhere.Close()
	heard := ""
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		user, _, _ := req.BasicAuth()
		heard = req.Method + " " + req.URL.String() + " " + req.Header.Get("Content-Type") + " " + user + " " + string(body)
		switch req.URL.Path {
		case "/redirect":
			http.Redirect(out, req, elsewhere.URL, http.StatusTemporaryRedirect)
		case "/endless":
			for req.Context().Err() == nil {
				if _, err := out.Write(make([]byte, 64<<10)); err != nil {
					return
				}
			}
		case "/fail":
			out.WriteHeader(http.StatusBadGateway)
		}
	}))
	defer server.Close()
	h := NewHTTP()
	defer h.Close()
	for _, tt := range []struct {
		name, path string
		status     int
	}{
		{"an answer", "/done?x=1", 200},
		{"a failure", "/fail", 502},
		{"a redirect is an answer, and not followed", "/redirect", 307},
		{"an endless answer is not read to its end", "/endless", 200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			url := strings.Replace(server.URL, "http://", "http://me:secret@", 1) + tt.path
			got, err := h.Post(t.Context(), url, []byte(`{"a":1}`))
			if err != nil || got != tt.status {
				t.Errorf("%d %v, want %d", got, err, tt.status)
			}
			if want := "POST " + tt.path + ` application/json me {"a":1}`; heard != want {
				t.Errorf("heard %q, want %q", heard, want)
			}
		})
	}
}

func TestErrorsOfPostDoNotShowTheURL(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	url := gone.URL + "/token-of-somebody"
	gone.Close()
	h := NewHTTP()
	_, err := h.Post(t.Context(), url, nil)
	if err == nil || strings.Contains(err.Error(), "token-of-somebody") {
		t.Errorf("%v", err)
	}
}

func TestPostEndsWithItsTime(t *testing.T) {
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body)
		<-req.Context().Done()
	}))
	defer silent.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	h := NewHTTP()
	defer h.Close()
	if _, err := h.Post(ctx, silent.URL, []byte("{}")); err == nil {
		t.Error("no error")
	}
}
