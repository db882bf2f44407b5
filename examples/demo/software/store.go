// Package software is what the demo's charms run: a key-value server, a web page
// over it, and a tiny web server for the demo's process. Small, but real.
//
// It knows nothing of Drover: each program is told by flags and files, as
// anybody's software would be.
//
// Invariants: a value that was accepted is on disk; nothing is answered without
// the password; requests are bounded.
package software

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/google/renameio/v2"
)

// The bounds of a store.
const (
	maxValue = 64 << 10
	maxKeys  = 10_000
)

var keyShape = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]{0,127}$`)

// Store is the program demo-store: a key-value server over HTTP. GET /KEY, PUT
// /KEY, DELETE /KEY, and GET / for all; the password is a bearer token.
func Store(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("demo-store", flag.ContinueOnError)
	listen := f.String("listen", "", "host:port")
	dir := f.String("dir", "", "folder of the data")
	passwordFile := f.String("password-file", "", "file with the password")
	if err := f.Parse(args); err != nil {
		return err
	}
	b, err := os.ReadFile(*passwordFile)
	if err != nil {
		return err
	}
	s, err := openStore(*dir, strings.TrimSpace(string(b)))
	if err != nil {
		return err
	}
	return serve(ctx, *listen, s.handler())
}

// store keeps each value in a file of its own, and all of them in memory.
type store struct {
	dir      string
	password string

	mu     sync.Mutex // guards values and the files
	values map[string]string
}

func openStore(dir, password string) (*store, error) {
	if password == "" {
		return nil, errors.New("the password is empty")
	}
	s := &store{dir: dir, password: password, values: map[string]string{}}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !keyShape.MatchString(e.Name()) || !e.Type().IsRegular() {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		s.values[e.Name()] = string(b)
	}
	return s, nil
}

func (s *store) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.list)
	mux.HandleFunc("GET /{key}", s.get)
	mux.HandleFunc("PUT /{key}", s.put)
	mux.HandleFunc("DELETE /{key}", s.remove)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if subtle.ConstantTimeCompare([]byte(given), []byte(s.password)) != 1 {
			http.Error(w, "the password is wrong", http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func (s *store) list(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	b, err := json.Marshal(s.values)
	s.mu.Unlock()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(b) // the asker may be gone
}

func (s *store) get(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	v, ok := s.values[r.PathValue("key")]
	s.mu.Unlock()
	if !ok {
		http.NotFound(w, r)
		return
	}
	_, _ = io.WriteString(w, v) // the asker may be gone
}

func (s *store) put(w http.ResponseWriter, r *http.Request) {
	key := r.PathValue("key")
	if !keyShape.MatchString(key) {
		http.Error(w, "that is not a key", http.StatusBadRequest)
		return
	}
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxValue))
	if err != nil {
		http.Error(w, "the value is too big", http.StatusRequestEntityTooLarge)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, there := s.values[key]; !there && len(s.values) >= maxKeys {
		http.Error(w, "the store is full", http.StatusInsufficientStorage)
		return
	}
	if err := renameio.WriteFile(filepath.Join(s.dir, key), b, 0o600, renameio.WithTempDir(s.dir)); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	s.values[key] = string(b)
	w.WriteHeader(http.StatusNoContent)
}

func (s *store) remove(w http.ResponseWriter, r *http.Request) {
	key := r.PathValue("key")
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.values[key]; !ok {
		http.NotFound(w, r)
		return
	}
	if err := os.Remove(filepath.Join(s.dir, key)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	delete(s.values, key)
	w.WriteHeader(http.StatusNoContent)
}

// serve answers on the address until the context ends.
func serve(ctx context.Context, listen string, h http.Handler) error {
	ln, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	fmt.Printf("listening on %s, pid %d\n", ln.Addr(), os.Getpid())
	srv := &http.Server{
		Handler: h, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second,
		WriteTimeout: 30 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
	}
	stop := context.AfterFunc(ctx, func() { _ = srv.Close() }) // Serve returns
	defer stop()
	if err := srv.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
