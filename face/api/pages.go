package api

import (
	"crypto/x509"
	"io"
	"net/http"
	"net/http/pprof"
	"time"
)

// pages are the requests that are no calls. They are answered by every
// server, and guarded by rows like those of the authorization table.
func (s *Server) pages(mux *http.ServeMux) {
	mux.HandleFunc("GET /healthz", s.healthz)
	mux.HandleFunc("GET /readyz", s.readyz)
	mux.Handle("GET /metrics", s.guard(viewers, s.metrics.handler()))
	mux.Handle("GET /debug/pprof/", s.guard(admins, http.HandlerFunc(pprof.Index)))
	mux.Handle("GET /debug/pprof/profile", s.guard(admins, patient(pprof.Profile)))
	mux.Handle("GET /debug/pprof/trace", s.guard(admins, patient(pprof.Trace)))
	mux.Handle("GET /debug/pprof/symbol", s.guard(admins, http.HandlerFunc(pprof.Symbol)))
	// The command line is not served: it is nobody's business.
}

// healthz: the process answers.
func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) {
	_, _ = io.WriteString(w, "ok\n") // the asker is gone otherwise
}

// readyz: the server leads with its loops running, or follows a leader.
func (s *Server) readyz(w http.ResponseWriter, _ *http.Request) {
	if !s.working() {
		http.Error(w, "not ready", http.StatusServiceUnavailable)
		return
	}
	_, _ = io.WriteString(w, "ok\n") // as above
}

// guard lets pass whom the row lets pass.
func (s *Server) guard(g grant, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		leaf, _ := r.Context().Value(leafKey{}).(*x509.Certificate)
		id, role, err := s.authenticate(leaf)
		if err == nil && !g.may(id, role) {
			err = mayNot(id, role, g, r.URL.Path)
		}
		if err != nil {
			refusedPage(w, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// longestProfile bounds how long a profile may take.
const longestProfile = 2 * time.Minute

// patient bounds the seconds that a profile is asked for.
func patient(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if d, err := time.ParseDuration(r.URL.Query().Get("seconds") + "s"); err == nil && d > longestProfile {
			http.Error(w, "at most "+longestProfile.String(), http.StatusBadRequest)
			return
		}
		next(w, r)
	})
}
