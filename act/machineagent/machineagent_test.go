package machineagent_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"drover/act/machineagent"
	"drover/act/unitagent"
	"drover/internal/charmdir"
	"drover/internal/proc"
	"drover/noun/fault"
	"drover/wire/droverv1"
)

// leader is the server's side: it sends what a test puts into parts and notes
// the calls.
type leader struct {
	parts   chan *droverv1.FeedResponse // nil: the stream breaks
	archive []byte
	sha     string

	mu       sync.Mutex
	calls    []string
	feeds    []*droverv1.FeedRequest
	feedAt   []time.Time
	beats    []time.Time
	acks     []*droverv1.AckWorkRequest
	log      bytes.Buffer
	logError string
	refuse   map[string]error // by call
	epoch    uint64           // of heartbeats' answers
}

func newLeader(t *testing.T) *leader {
	t.Helper()
	packed, err := charmdir.PackEmbedded(fstest.MapFS{
		"c/metadata.yaml": {Data: []byte("name: blog")}, "c/hooks/install": {Data: []byte("#!/bin/sh")},
	}, "c")
	if err != nil {
		t.Fatal(err)
	}
	return &leader{parts: make(chan *droverv1.FeedResponse), archive: packed.Archive, sha: string(packed.Charm.SHA), refuse: map[string]error{}, epoch: 1}
}

func (l *leader) note(format string, args ...any) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	call := fmt.Sprintf(format, args...)
	l.calls = append(l.calls, call)
	return l.refuse[call]
}

// answer makes a call fail from now on, or not any more.
func (l *leader) answer(call string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refuse[call] = err
}

func (l *leader) reign(epoch uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.epoch = epoch
}

// take gives the calls made since the last time, reports apart.
func (l *leader) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	calls := l.calls
	l.calls = nil
	return calls
}

func (l *leader) Feed(ctx context.Context, req *droverv1.FeedRequest, use func(*droverv1.FeedResponse) error) error {
	l.mu.Lock()
	l.feeds, l.feedAt = append(l.feeds, req), append(l.feedAt, time.Now())
	l.mu.Unlock()
	for {
		select {
		case f := <-l.parts:
			if f == nil {
				return fault.New(fault.Unavailable, "the stream broke")
			}
			if err := use(f); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (l *leader) Heartbeat(_ context.Context, r *droverv1.HeartbeatRequest) (*droverv1.HeartbeatResponse, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.beats = append(l.beats, time.Now())
	return &droverv1.HeartbeatResponse{Epoch: l.epoch, Leader: "127.0.0.1:1"}, nil
}

func (l *leader) Goodbye(context.Context, *droverv1.GoodbyeRequest) error { return l.note("goodbye") }

func (l *leader) ReportMachine(_ context.Context, r *droverv1.ReportMachineRequest) error {
	return l.note("machine %s boot %s", r.Address, r.BootId)
}
func (l *leader) SetMachineDead(context.Context) error { return l.note("machine dead") }

func (l *leader) AckWork(_ context.Context, r *droverv1.AckWorkRequest) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acks = append(l.acks, r)
	return nil
}

func (l *leader) SendLog(_ context.Context, write func(send func(*droverv1.SendLogRequest) error)) error {
	write(func(r *droverv1.SendLogRequest) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.log.Write(r.Data)
		l.logError += r.Error
		return nil
	})
	return nil
}

func (l *leader) NewIncarnation(_ context.Context, r *droverv1.UnitRequest) (int, error) {
	return 1, l.note("incarnation %s", r.Unit)
}
func (l *leader) DestroyUnit(_ context.Context, r *droverv1.UnitRequest) error {
	return l.note("destroy %s", r.Unit)
}
func (l *leader) SetUnitDead(_ context.Context, r *droverv1.UnitRequest) error {
	return l.note("dead %s", r.Unit)
}
func (l *leader) ClearResolved(context.Context, *droverv1.UnitRequest) error { return nil }
func (l *leader) SetUnitDeployed(_ context.Context, r *droverv1.UnitRequest) error {
	return l.note("deploy %s", r.Unit)
}
func (l *leader) RemoveUnit(_ context.Context, r *droverv1.UnitRequest) error {
	return l.note("remove %s", r.Unit)
}
func (l *leader) EnterScope(context.Context, *droverv1.ScopeRequest) error { return nil }
func (l *leader) LeaveScope(context.Context, *droverv1.ScopeRequest) error { return nil }
func (l *leader) CommitHook(context.Context, *droverv1.CommitHookRequest) (*droverv1.CommitHookResponse, error) {
	return &droverv1.CommitHookResponse{}, nil
}
func (l *leader) ReadSettings(context.Context, *droverv1.ReadSettingsRequest) (map[string]string, error) {
	return nil, nil
}
func (l *leader) ReportUnit(context.Context, *droverv1.ReportUnitRequest) error { return nil }
func (l *leader) SetStatus(context.Context, *droverv1.SetStatusRequest) error   { return nil }
func (l *leader) FetchCharm(context.Context, string) (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(l.archive)), nil
}

// cell notes what it is told.
type cell struct {
	mu         sync.Mutex
	parts      int
	stops      []string
	evacuating bool
}

func (c *cell) Feed(*droverv1.FeedResponse) { c.parts++ }
func (c *cell) Work(b *droverv1.WorkBatch) *droverv1.AckWorkRequest {
	return &droverv1.AckWorkRequest{Batch: b.Id, Epoch: b.Epoch}
}
func (c *cell) Stop(s *droverv1.StopContainer) { c.stops = append(c.stops, s.InstanceGuid) }
func (c *cell) Evacuate(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.evacuating = on
}
func (c *cell) Report() *droverv1.CellReport { return &droverv1.CellReport{Stack: "linux"} }

// hooks run nothing: every hook succeeds at once, or waits for the context.
type hooks struct {
	mu    sync.Mutex
	ran   []string
	block bool
}

func (h *hooks) Run(ctx context.Context, spec unitagent.HookSpec, _ func(proc.ID) error) unitagent.Result {
	h.mu.Lock()
	h.ran = append(h.ran, filepath.Base(spec.Program))
	block := h.block
	h.mu.Unlock()
	if block {
		<-ctx.Done()
		return unitagent.Result{Exit: -1, Reason: "killed"}
	}
	return unitagent.Result{}
}

type scene struct {
	t       *testing.T
	leader  *leader
	cell    *cell
	hooks   *hooks
	dir     string
	servers []string
	cancel  context.CancelFunc
	ended   chan error
}

func begin(t *testing.T) *scene {
	t.Helper()
	s := &scene{t: t, leader: newLeader(t), cell: &cell{}, hooks: &hooks{}, dir: t.TempDir()}
	s.run()
	return s
}

func (s *scene) config() machineagent.Config {
	return machineagent.Config{
		Machine: "3", DataDir: s.dir, HookBinary: "/bin/true", BootID: "b1", Server: s.leader, Cell: s.cell, Runner: s.hooks,
		Facts: func() *droverv1.ReportMachineRequest { return &droverv1.ReportMachineRequest{Address: "127.0.0.4"} },
		UseServers: func(servers ...string) {
			s.leader.mu.Lock()
			defer s.leader.mu.Unlock()
			s.servers = servers
		},
		Now: time.Now, NewID: func() string { return "id" }, Jitter: func() float64 { return 0.5 },
		Log: slog.New(slog.DiscardHandler),
	}
}

func (s *scene) run() {
	s.t.Helper()
	a, err := machineagent.New(s.config())
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(s.t.Context())
	s.cancel, s.ended = cancel, make(chan error, 1)
	go func() { s.ended <- a.Run(ctx) }()
	synctest.Wait()
}

// known are the servers that the agent last told.
func (s *scene) known() []string {
	s.leader.mu.Lock()
	defer s.leader.mu.Unlock()
	return s.servers
}

// end stops the agent as planned and waits for it.
func (s *scene) end() error {
	s.cancel()
	return <-s.ended
}

func (s *scene) send(f *droverv1.FeedResponse) {
	s.leader.parts <- f
	synctest.Wait()
}

func whole(rev uint64, deltas ...*droverv1.Delta) *droverv1.FeedResponse {
	return &droverv1.FeedResponse{Revision: rev, Epoch: 1, Reset_: true, Synced: true, Deltas: deltas}
}

func part(rev uint64, deltas ...*droverv1.Delta) *droverv1.FeedResponse {
	return &droverv1.FeedResponse{Revision: rev, Epoch: 1, Synced: true, Deltas: deltas}
}

func machine(life string) *droverv1.Delta {
	return &droverv1.Delta{Key: "machine", Value: &droverv1.Delta_Machine{Machine: &droverv1.MachineState{
		Id: "3", Life: life, Servers: []string{"127.0.0.1:1", "127.0.0.1:2"},
	}}}
}

func (s *scene) unit(name, life string, deployed bool) *droverv1.Delta {
	return &droverv1.Delta{Key: "unit/" + name, Value: &droverv1.Delta_Unit{Unit: &droverv1.UnitState{
		Name: name, Uid: "u", Life: life, ApplicationLife: "alive", Deployed: deployed, CharmSha: s.leader.sha, MaxHookRetries: 5,
	}}}
}

func gone(key string) *droverv1.Delta {
	return &droverv1.Delta{Key: key, Value: &droverv1.Delta_Removed{Removed: true}}
}

func (s *scene) expect(want ...string) {
	s.t.Helper()
	if got := s.leader.take(); !slices.Equal(got, want) {
		s.t.Errorf("calls %q, want %q", got, want)
	}
}

// Rule: E-146 E-060 E-061
func TestAPrincipalsLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := begin(t)
		s.send(whole(1, machine("alive"), s.unit("blog/0", "alive", false)))
		s.expect("machine 127.0.0.4 boot b1", "deploy blog/0")
		s.send(part(2, s.unit("blog/0", "alive", true)))
		s.expect("incarnation blog/0")
		if !slices.Equal(s.hooks.ran, []string{"install"}) {
			t.Errorf("hooks %q", s.hooks.ran)
		}
		s.send(part(3, s.unit("blog/0", "dying", true)))
		s.expect("dead blog/0")
		s.send(part(4, s.unit("blog/0", "dead", true)))
		s.expect("remove blog/0")
		dir := filepath.Join(s.dir, "units", "blog-0")
		if entries, _ := os.ReadDir(dir); len(entries) != 1 || entries[0].Name() != "log" {
			t.Errorf("left of the unit: %v", entries)
		}
		s.send(part(5, gone("unit/blog/0")))
		_ = s.end()
		s.expect("goodbye")
	})
}

// Rule: E-147 E-148
func TestUnitsThatAreNotToRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := begin(t)
		stranger := filepath.Join(s.dir, "units", "old-4", "state")
		if err := os.MkdirAll(stranger, 0o755); err != nil {
			t.Fatal(err)
		}
		s.send(&droverv1.FeedResponse{Revision: 1, Epoch: 1, Reset_: true, Deltas: []*droverv1.Delta{machine("alive")}})
		if _, err := os.Stat(stranger); err != nil {
			t.Error("a unit was recalled before the feed was complete")
		}
		s.send(part(1, s.unit("blog/0", "dying", false)))
		s.expect("machine 127.0.0.4 boot b1", "remove blog/0")
		if _, err := os.Stat(stranger); err == nil {
			t.Error("a unit that is not assigned here was not recalled")
		}
		if len(s.hooks.ran) > 0 {
			t.Errorf("hooks %q", s.hooks.ran)
		}
		_ = s.end()
	})
}

// Rule: E-049 E-050 E-051 E-100
func TestTheMachinesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := begin(t)
		s.send(whole(1, machine("dying"), s.unit("blog/0", "dying", true)))
		s.expect("machine 127.0.0.4 boot b1", "incarnation blog/0", "dead blog/0")
		if !s.cell.evacuating {
			t.Error("the cell of a dying machine does not evacuate")
		}
		s.leader.answer("machine dead", fault.New(fault.Conflict, "its cell holds work"))
		s.send(part(2, gone("unit/blog/0")))
		s.expect("machine dead")
		pass(1900 * time.Millisecond)
		s.expect()
		s.leader.answer("machine dead", nil)
		pass(200 * time.Millisecond)
		s.expect("machine dead")
		s.leader.parts <- part(3, machine("dead"))
		if err := <-s.ended; !errors.Is(err, machineagent.ErrDead) {
			t.Errorf("the agent ended with %v", err)
		}
		if _, err := machineagent.New(s.config()); !errors.Is(err, machineagent.ErrDead) {
			t.Errorf("the agent of a dead machine runs again: %v", err)
		}
	})
}

// Rule: W-016
func TestPresence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := begin(t)
		start := time.Now()
		s.send(whole(9, machine("alive")))
		if !slices.Equal(s.known(), []string{"127.0.0.1:1", "127.0.0.1:2"}) {
			t.Errorf("servers %q", s.known())
		}
		pass(11 * time.Second)
		var at []time.Duration
		for _, b := range s.leader.beats {
			at = append(at, b.Sub(start))
		}
		if want := []time.Duration{0, 5 * time.Second, 10 * time.Second}; !slices.Equal(at, want) {
			t.Errorf("heartbeats at %v", at)
		}
		// The feed breaks and comes back from where it was, with growing waits while it does not.
		broke := time.Now()
		for range 3 {
			s.leader.parts <- nil
		}
		pass(time.Second)
		var waits []time.Duration
		for _, f := range s.leader.feedAt[1:] {
			waits = append(waits, f.Sub(broke))
		}
		if want := []time.Duration{75 * time.Millisecond, 225 * time.Millisecond, 525 * time.Millisecond}; !slices.Equal(waits, want) {
			t.Errorf("reconnected after %v, want %v", waits, want)
		}
		if last := s.leader.feeds[3]; last.Resume != 9 || last.Epoch != 1 {
			t.Errorf("resumed with %v", last)
		}
		if err := s.end(); !errors.Is(err, context.Canceled) {
			t.Errorf("ended with %v", err)
		}
	})
}

func TestADeposedLeaderIsNotObeyed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := begin(t)
		s.leader.reign(5)
		f := whole(1, machine("alive"))
		f.Epoch = 5
		s.send(f)
		s.leader.take()
		s.send(whole(2, machine("alive"), s.unit("blog/0", "alive", false)))
		s.expect()
		pass(time.Second)
		if n := len(s.leader.feeds); n != 2 || s.leader.feeds[1].Epoch != 5 {
			t.Errorf("the agent did not leave the old leader: %d feeds", n)
		}
		_ = s.end()
		s.leader.take()
		s.run() // the epoch is remembered over a restart
		s.send(whole(3, machine("dead")))
		select {
		case err := <-s.ended:
			t.Errorf("obeyed a deposed leader: %v", err)
		default:
		}
		_ = s.end()
	})
}

func TestCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := begin(t)
		s.send(whole(1, machine("alive")))
		s.send(part(2,
			&droverv1.Delta{Key: "work", Value: &droverv1.Delta_Work{Work: &droverv1.WorkBatch{Id: 4, Epoch: 1}}},
			&droverv1.Delta{Key: "stop", Value: &droverv1.Delta_Stop{Stop: &droverv1.StopContainer{InstanceGuid: "i"}}}))
		if len(s.leader.acks) != 1 || s.leader.acks[0].Batch != 4 || !slices.Equal(s.cell.stops, []string{"i"}) || s.cell.parts != 2 {
			t.Errorf("acks %v, stops %v, parts %d", s.leader.acks, s.cell.stops, s.cell.parts)
		}
		s.leader.parts <- part(3, &droverv1.Delta{Key: "power_off", Value: &droverv1.Delta_PowerOff{PowerOff: &droverv1.PowerOffCommand{Epoch: 1}}})
		if err := <-s.ended; !errors.Is(err, machineagent.ErrPowerOff) {
			t.Errorf("ended with %v", err)
		}
	})
}

// Rule: H-009
func TestAForcedDeathEndsAHookUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := begin(t)
		s.hooks.block = true
		s.send(whole(1, machine("alive"), s.unit("blog/0", "alive", true)))
		if len(s.hooks.ran) != 1 {
			t.Fatalf("hooks %q", s.hooks.ran)
		}
		s.leader.take()
		s.send(part(2, s.unit("blog/0", "dead", true)))
		s.expect("remove blog/0")
		if len(s.hooks.ran) != 1 {
			t.Errorf("hooks %q", s.hooks.ran)
		}
		_ = s.end()
	})
}

func TestLogs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := begin(t)
		s.send(whole(1, machine("alive")))
		path := filepath.Join(s.dir, "units", "blog-0", "log", "unit.log")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		text := "t INFO unit.blog/0.install hook begins\nt DEBUG one\nt INFO unit.blog/0.start hook begins\nt DEBUG two\nt DEBUG three\n"
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		ask := func(cmd *droverv1.SendLogCommand) string {
			s.leader.log.Reset()
			s.leader.logError = ""
			s.send(part(2, &droverv1.Delta{Key: "send_log", Value: &droverv1.Delta_SendLog{SendLog: cmd}}))
			return s.leader.log.String() + s.leader.logError
		}
		if got := ask(&droverv1.SendLogCommand{Target: "blog/0", Lines: 2}); got != "t DEBUG two\nt DEBUG three\n" {
			t.Errorf("the last lines: %q", got)
		}
		if got := ask(&droverv1.SendLogCommand{Target: "blog/0", LastHook: true}); !strings.HasPrefix(got, "t INFO unit.blog/0.start hook begins\n") {
			t.Errorf("the last hook: %q", got)
		}
		if got := ask(&droverv1.SendLogCommand{Target: "web/3"}); got != "no log of web/3 on machine 3" {
			t.Errorf("no log: %q", got)
		}
		if got := ask(&droverv1.SendLogCommand{Target: "blog/0", Lines: 1, Follow: true}); got != "t DEBUG three\n" {
			t.Errorf("followed: %q", got)
		}
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = f.WriteString("t DEBUG four\n")
		_ = f.Close()
		pass(time.Second)
		if got := s.leader.log.String(); got != "t DEBUG three\nt DEBUG four\n" {
			t.Errorf("followed: %q", got)
		}
		_ = s.end()
	})
}

// pass lets time pass on the bubble's clock, and what is due happen.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}
