package executor_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"drover/act/executor"
	"drover/act/executor/fake"
	"drover/noun/work"
)

// rig is an executor over a machine in memory, inside a synctest bubble.
type rig struct {
	*testing.T
	dir   string
	boot  string
	host  *fake.Host
	probe *probe
	ex    *executor.Executor
	stop  func()

	mu     sync.Mutex // guards events, gone, behave
	events []string
	gone   []work.ContainerGUID
	behave map[string]fake.Behaviour // by process name
}

// probe answers checks; nil err is healthy.
type probe struct {
	mu    sync.Mutex // guards err, asked
	err   error
	asked []string
}

func (p *probe) answer(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = err
}

func (p *probe) ask(what string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, what)
	return p.err
}

func (p *probe) TCP(_ context.Context, address string) error { return p.ask("tcp " + address) }
func (p *probe) HTTP(_ context.Context, url string) error    { return p.ask("http " + url) }

var errSick = errors.New("connection refused")

// bubble runs a test on a rig in bubbled time.
func bubble(t *testing.T, test func(*rig)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{T: t, dir: dir, boot: "boot-1", probe: &probe{}, behave: map[string]fake.Behaviour{}}
		r.host = fake.NewHost(fake.Config{Now: time.Now, Behave: func(_ executor.Place, p executor.Process) fake.Behaviour {
			r.mu.Lock()
			defer r.mu.Unlock()
			if b, ok := r.behave[p.Name]; ok {
				return b
			}
			return fake.Forever
		}})
		r.start()
		defer func() { r.stop() }()
		test(r)
	})
}

// start makes an executor over the rig's folder and runs it.
func (r *rig) start() {
	r.Helper()
	ports := 40000
	ex, err := executor.New(executor.Config{
		Dir: r.dir, Cell: "c1", Capacity: work.Resources{MemoryMB: 1000, DiskMB: 1000, Containers: 5}, Address: "127.9.8.7",
		Runtime: fake.New(r.host), Probe: r.probe, Now: time.Now, Log: slog.New(slog.DiscardHandler), Boot: r.boot,
		FreePort: func(string, func(int) bool) (int, error) { ports++; return ports, nil },
		Event: func(e work.ContainerEvent) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.events = append(r.events, fmt.Sprintf("%s %s", [...]string{"", "reserved", "running", "completed"}[e.Kind], e.GUID))
		},
		Gone: func(c work.Container) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.gone = append(r.gone, c.GUID)
		},
	})
	if err != nil {
		r.Fatal(err)
	}
	r.ex = ex
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = ex.Run(ctx)
	}()
	r.stop = func() { cancel(); <-done }
	synctest.Wait()
}

// restart puts a successor in the executor's place, as after a kill.
func (r *rig) restart() {
	r.Helper()
	r.stop()
	r.start()
}

// pass lets bubbled time pass.
func (r *rig) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func lrp(guid string, change ...func(*work.Container)) work.Container {
	c := work.Container{
		GUID: work.ContainerGUID(guid), Domain: "d", Incarnation: "inc", LRP: &work.LRPKey{ProcessGUID: "web", Index: 3},
		Spec: work.Spec{MemoryMB: 100, DiskMB: 10, Action: run("serve")},
	}
	for _, f := range change {
		f(&c)
	}
	return c
}

func task(guid string, change ...func(*work.Container)) work.Container {
	return lrp(guid, append([]func(*work.Container){func(c *work.Container) { c.LRP, c.Task = nil, "hello" }}, change...)...)
}

func run(path string) work.Action { return work.Action{Run: &work.RunAction{Path: path}} }

func monitored(c *work.Container) {
	c.Spec.Ports = []int{8080}
	c.Spec.Monitor = &work.Action{TCPCheck: &work.TCPCheckAction{Port: 8080}}
}

func (r *rig) reserve(c work.Container) work.ContainerGUID {
	r.Helper()
	if err := r.ex.Reserve(c); err != nil {
		r.Fatal(err)
	}
	synctest.Wait()
	return c.GUID
}

// begin reserves and runs.
func (r *rig) begin(c work.Container) work.ContainerGUID {
	r.Helper()
	guid := r.reserve(c)
	if err := r.ex.RunContainer(guid); err != nil {
		r.Fatal(err)
	}
	synctest.Wait()
	return guid
}

func (r *rig) get(guid work.ContainerGUID) work.Container {
	r.Helper()
	c, ok := r.ex.Get(guid)
	if !ok {
		r.Fatalf("container %s does not exist", guid)
	}
	return c
}

func (r *rig) want(guid work.ContainerGUID, state work.ContainerState) work.Container {
	r.Helper()
	c := r.get(guid)
	if c.State != state {
		r.Fatalf("container %s is %s, want %s (result %+v)", guid, c.State, state, c.Result)
	}
	return c
}

func (r *rig) wantGone(guid work.ContainerGUID) {
	r.Helper()
	if c, ok := r.ex.Get(guid); ok {
		r.Fatalf("container %s exists: %s", guid, c.State)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, g := range r.gone {
		if g == guid {
			return
		}
	}
	r.Fatalf("nobody was told that %s is gone", guid)
}
