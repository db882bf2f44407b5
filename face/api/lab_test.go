package api

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"log/slog"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"go.uber.org/goleak"

	"drover/act/presence"
	"drover/internal/pki"
	"drover/keep/blob"
	"drover/keep/board"
	"drover/keep/identity"
	"drover/keep/registry"
	"drover/keep/store"
	"drover/noun/entity"
	"drover/noun/fault"
	"drover/wire/client"
	"drover/wire/droverv1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock is a clock that a test sets.
type clock struct {
	mu  sync.Mutex // guards now
	now time.Time
}

func (c *clock) Now() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.now }
func (c *clock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// lab is a real server on a loopback port over a store in memory.
type lab struct {
	*testing.T
	server   *Server
	st       *store.Store
	founding *Founding
	clock    *clock
	addr     string
	tracker  *presence.Tracker
	logged   *bytes.Buffer
	answers  chan Answer
	model    entity.ModelUID
}

// option changes what a lab is made of.
type option struct {
	log      store.Log
	listener net.Listener
	founding *Founding
	members  Members
	peers    Peers
}

func newLab(t *testing.T, opts ...option) *lab {
	t.Helper()
	var o option
	if len(opts) > 0 {
		o = opts[0]
	}
	l := &lab{T: t, clock: &clock{now: time.Now()}, logged: &bytes.Buffer{}, answers: make(chan Answer, 10)}
	var err error
	if o.listener == nil {
		if o.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
	}
	if o.log == nil {
		o.log = store.NewMemoryLog()
	}
	dir := t.TempDir()
	l.addr = o.listener.Addr().String()
	if l.founding = o.founding; l.founding == nil {
		if l.founding, err = Prepare(filepath.Join(dir, "identity"), "default", "s1", l.clock.Now(), nil); err != nil {
			t.Fatal(err)
		}
	}
	schema := store.NewSchema()
	reg, b, ids := registry.New(schema), board.New(schema), identity.New(schema)
	reg.Work = b
	blobs, err := blob.Open(filepath.Join(dir, "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	if l.st, err = store.Open(store.Config{Schema: schema, Log: o.log, Now: l.clock.Now}); err != nil {
		t.Fatal(err)
	}
	l.tracker = presence.New(presence.Config{Now: l.clock.Now})
	l.server, err = New(Config{
		Store: l.st, Registry: reg, Board: b, Identity: ids, Blobs: blobs, Seal: l.founding.Seal,
		Name: "s1", Address: l.addr, Version: "test", Storage: "memory", Members: o.members, Peers: o.peers, Now: l.clock.Now,
		Presence: func() *presence.Tracker { return l.tracker }, Answered: func(a Answer) { l.answers <- a },
		Log: slog.New(slog.NewTextHandler(&safeBuffer{b: l.logged}, nil)), Level: &slog.LevelVar{},
	})
	if err != nil {
		t.Fatal(err)
	}
	l.serve(o.listener)
	if l.st.Leadership().Leading {
		l.found()
	}
	return l
}

type safeBuffer struct {
	mu sync.Mutex // guards b
	b  *bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (l *lab) found() {
	l.Helper()
	if err := l.founding.Found(l.Context(), l.st, l.server.cfg.Identity, l.server.cfg.Registry, l.clock.Now(), "local"); err != nil {
		l.Fatal(err)
	}
	m, err := l.server.cfg.Registry.FindModel(l.st.View(), "")
	if err != nil {
		l.Fatal(err)
	}
	l.model = m.UID
}

func (l *lab) serve(ln net.Listener) {
	port := pki.NewPort(ln, pki.ServerTLS(l.founding.Pair.TLS(), l.founding.Pair.CA, l.clock.Now))
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = port.Run(ctx) })
	wg.Go(func() { _ = l.server.Serve(ctx, port.Web()) })
	l.Cleanup(func() {
		cancel()
		wg.Wait()
		_ = l.st.Close()
	})
}

func (l *lab) dial(cfg client.Config) *client.Client {
	l.Helper()
	if cfg.Servers == nil {
		cfg.Servers = []string{l.addr}
	}
	if cfg.CA == nil {
		cfg.CA = l.founding.Pair.CA
	}
	cfg.Now, cfg.Patience = l.clock.Now, time.Millisecond
	c, err := client.Dial(cfg)
	if err != nil {
		l.Fatal(err)
	}
	l.Cleanup(c.Close)
	return c
}

func (l *lab) as(pair *pki.Pair) *client.Client {
	l.Helper()
	cert := pair.TLS()
	return l.dial(client.Config{Cert: &cert})
}

func (l *lab) admin() *client.Client {
	l.Helper()
	pair, err := l.founding.AdminPair(l.clock.Now())
	if err != nil {
		l.Fatal(err)
	}
	return l.as(pair)
}

// join makes an agent of a machine, as a provider would.
func (l *lab) join(id string) (*client.Client, *client.Joined) {
	l.Helper()
	m, ok := l.server.cfg.Registry.Machine(l.st.View(), l.model, entity.MachineID(id))
	if !ok {
		l.Fatalf("no machine %s", id)
	}
	token, err := l.server.JoinToken(l.Context(), m)
	if err != nil {
		l.Fatal(err)
	}
	j, err := client.JoinMachine(l.Context(), client.JoinConfig{Token: token, Config: client.Config{Now: l.clock.Now}})
	if err != nil {
		l.Fatal(err)
	}
	return l.as(&j.Pair), j
}

func (l *lab) update(fn func(tx *store.Txn) error) {
	l.Helper()
	if _, err := l.st.Update(l.Context(), fn); err != nil {
		l.Fatal(err)
	}
}

func (l *lab) addMachines(n int) {
	l.update(func(tx *store.Txn) error {
		for range n {
			if _, err := l.server.cfg.Registry.AddMachine(tx, l.server.now(), l.model, registry.MachineSpec{Jobs: []entity.Job{entity.HostUnits}}); err != nil {
				return err
			}
		}
		return nil
	})
}

// archive is a charm as a zip.
func archive(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(files[name])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func (l *lab) upload(c *client.Client, data []byte) (*droverv1.CharmInfo, error) {
	stream := c.Model.UploadCharm(l.Context())
	for len(data) > 0 {
		n := min(len(data), 64<<10)
		if err := stream.Send(&droverv1.UploadCharmRequest{Chunk: data[:n]}); err != nil {
			break
		}
		data = data[n:]
	}
	resp, err := stream.CloseAndReceive()
	if err != nil {
		return nil, err
	}
	return resp.Msg, nil
}

var blogFiles = map[string]string{
	"metadata.yaml": "name: blog\nsummary: a blog\ndescription: a blog\n",
	"config.yaml":   "options:\n  title: {type: string, default: Blog}\n",
}

func (l *lab) deployBlog(c *client.Client, to ...string) {
	l.Helper()
	info, err := l.upload(c, archive(l.T, blogFiles))
	if err != nil {
		l.Fatal(err)
	}
	n := int32(len(to))
	if _, err := c.Model.Deploy(l.Context(), connect.NewRequest(&droverv1.DeployRequest{RequestId: "d", CharmSha: info.Sha, NumUnits: &n, To: to})); err != nil {
		l.Fatal(err)
	}
}

// check fails the test unless the error is of the kind, says the words and names
// a next command.
func check(t *testing.T, err error, kind fault.Kind, words ...string) {
	t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != kind {
		t.Errorf("got %v, want an error of kind %v", err, kind)
		return
	}
	for _, w := range words {
		if !strings.Contains(f.Error()+" "+strings.Join(f.Next, " "), w) {
			t.Errorf("%q (next %q) does not say %q", f.Error(), f.Next, w)
		}
	}
}

func (l *lab) emptyBlobs() *blob.Store {
	l.Helper()
	b, err := blob.Open(l.TempDir())
	if err != nil {
		l.Fatal(err)
	}
	return b
}
