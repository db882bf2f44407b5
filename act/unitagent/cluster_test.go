package unitagent_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"drover/act/hooktool/client"
	"drover/act/unitagent"
	"drover/internal/charmdir"
	"drover/internal/proc"
	"drover/noun/charm"
	"drover/noun/entity"
	"drover/noun/fault"
	"drover/wire/droverv1"
)

// hookBinary is drover-hook, built for the tests.
var hookBinary = os.Getenv("DROVER_TEST_HOOK")

// The test binary is also an agent that can be killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv("DROVER_TEST_AGENT"); dir != "" {
		agentProcess(dir)
	}
	os.Exit(withHookBinary(m))
}

func withHookBinary(m *testing.M) int {
	dir, err := os.MkdirTemp("", "drover-test-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	hookBinary = filepath.Join(dir, client.Program)
	build := exec.Command("go", "build", "-o", hookBinary, "drover/cmd/drover-hook")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		panic(err)
	}
	return m.Run()
}

// cluster is the server's side in memory: units, relations, members, settings.
type cluster struct {
	mu       sync.Mutex
	version  uint64
	away     bool // no call arrives
	deaf     bool // calls arrive, answers do not
	machine  *droverv1.MachineState
	units    map[string]*droverv1.UnitState
	rels     []*relation
	settings map[string]map[string]string // "7 blog/0"
	versions map[string]int64
	commits  []*droverv1.CommitHookRequest // applied
	reports  map[string]*droverv1.ReportUnitRequest
	status   map[string]string
	archives map[string][]byte
	recalled []string
}

type relation struct {
	id                 uint64
	life               string
	requirer, provider string // "blog:db"
	members            map[string]bool
}

func newCluster() *cluster {
	return &cluster{
		machine: &droverv1.MachineState{Id: "3", Life: "alive", ModelName: "default", ModelUid: "m-1", Servers: []string{"127.0.0.1:7443"}, Settings: map[string]string{}},
		units:   map[string]*droverv1.UnitState{}, settings: map[string]map[string]string{}, versions: map[string]int64{},
		reports: map[string]*droverv1.ReportUnitRequest{}, status: map[string]string{}, archives: map[string][]byte{},
	}
}

// do runs a call of the API.
func (c *cluster) do(f func() error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.away {
		return fault.New(fault.Unavailable, "no server")
	}
	c.version++
	if err := f(); err != nil {
		return err
	}
	if c.deaf {
		return fault.New(fault.Timeout, "the answer did not come")
	}
	return nil
}

// change is something that an operator does.
func (c *cluster) change(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version++
	f()
}

func (c *cluster) add(unit, sha string) *droverv1.UnitState {
	u := &droverv1.UnitState{
		Name: unit, Uid: "u-" + unit, Life: "alive", Application: strings.Split(unit, "/")[0], ApplicationLife: "alive",
		CharmSha: sha, Deployed: true, Address: "127.0.0." + strconv.Itoa(2+len(c.units)), MaxHookRetries: 2, ConfigHash: "c1",
		Config: []*droverv1.ConfigValue{{Name: "title", Type: "string", Value: "hello"}},
	}
	c.units[unit] = u
	return u
}

func (c *cluster) Look(unit entity.UnitName) unitagent.World {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := unitagent.World{Version: c.version, Synced: true, Connected: !c.away, Machine: c.machine, Subordinates: map[string]*droverv1.UnitState{}}
	u := c.units[string(unit)]
	if u == nil {
		return w
	}
	copied := &droverv1.UnitState{}
	*copied = droverv1.UnitState{
		Name: u.Name, Uid: u.Uid, Life: u.Life, Application: u.Application, ApplicationLife: u.ApplicationLife, Principal: u.Principal,
		CharmSha: u.CharmSha, Deployed: u.Deployed, Incarnation: u.Incarnation, Resolve: u.Resolve, Config: u.Config, ConfigHash: u.ConfigHash,
		Address: u.Address, MaxHookRetries: u.MaxHookRetries, Failure: u.Failure, Subordinates: u.Subordinates,
	}
	w.Unit = copied
	for _, s := range u.Subordinates {
		w.Subordinates[s.Name] = c.units[s.Name]
	}
	for _, r := range c.rels {
		if rel, ok := c.view(r, u); ok {
			w.Relations = append(w.Relations, rel)
		}
	}
	return w
}

func (c *cluster) view(r *relation, u *droverv1.UnitState) (unitagent.Relation, bool) {
	mine, other := r.requirer, r.provider
	if strings.HasPrefix(r.provider, u.Application+":") {
		mine, other = other, mine
	}
	app, endpoint, _ := strings.Cut(mine, ":")
	if app != u.Application {
		return unitagent.Relation{}, false
	}
	remote, remoteEndpoint, _ := strings.Cut(other, ":")
	v := unitagent.Relation{State: &droverv1.RelationState{
		Id: r.id, Life: r.life, Endpoint: endpoint, Role: "requirer", RemoteApplication: remote, RemoteEndpoint: remoteEndpoint, InScope: r.members[u.Name],
	}}
	for m := range r.members {
		if strings.HasPrefix(m, remote+"/") {
			v.Members = append(v.Members, &droverv1.MemberState{Unit: m, Incarnation: 1, SettingsVersion: c.versions[key(r.id, m)]})
		}
	}
	return v, true
}

func key(id uint64, owner string) string { return fmt.Sprintf("%d %s", id, owner) }

func (c *cluster) find(id uint64) *relation {
	for _, r := range c.rels {
		if r.id == id {
			return r
		}
	}
	return nil
}

func (c *cluster) Recall(_ context.Context, unit entity.UnitName) error {
	c.recalled = append(c.recalled, string(unit))
	return nil
}

func (c *cluster) NewIncarnation(_ context.Context, r *droverv1.UnitRequest) (n int, err error) {
	err = c.do(func() error { c.units[r.Unit].Incarnation++; n = int(c.units[r.Unit].Incarnation); return nil })
	return n, err
}

func (c *cluster) DestroyUnit(_ context.Context, r *droverv1.UnitRequest) error {
	return c.do(func() error { c.units[r.Unit].Life = "dying"; return nil })
}

func (c *cluster) SetUnitDead(_ context.Context, r *droverv1.UnitRequest) error {
	return c.do(func() error {
		for _, rel := range c.rels {
			if rel.members[r.Unit] {
				return fault.New(fault.Conflict, "it is in scope of a relation")
			}
		}
		c.units[r.Unit].Life = "dead"
		return nil
	})
}

func (c *cluster) ClearResolved(_ context.Context, r *droverv1.UnitRequest) error {
	return c.do(func() error { c.units[r.Unit].Resolve = ""; return nil })
}

func (c *cluster) SetUnitDeployed(_ context.Context, r *droverv1.UnitRequest) error {
	return c.do(func() error { c.units[r.Unit].Deployed = true; return nil })
}

func (c *cluster) RemoveUnit(_ context.Context, r *droverv1.UnitRequest) error {
	return c.do(func() error {
		delete(c.units, r.Unit)
		for _, u := range c.units {
			u.Subordinates = slices.DeleteFunc(u.Subordinates, func(s *droverv1.SubordinateState) bool { return s.Name == r.Unit })
		}
		return nil
	})
}

func (c *cluster) EnterScope(_ context.Context, r *droverv1.ScopeRequest) error {
	return c.do(func() error {
		rel := c.find(r.RelationId)
		if rel == nil || rel.life != "alive" {
			return fault.New(fault.Conflict, "the relation is not alive")
		}
		if !rel.members[r.Unit] {
			c.settings[key(r.RelationId, r.Unit)] = maps.Clone(r.Settings)
			c.versions[key(r.RelationId, r.Unit)] = 1
			rel.members[r.Unit] = true
		}
		return nil
	})
}

func (c *cluster) LeaveScope(_ context.Context, r *droverv1.ScopeRequest) error {
	return c.do(func() error {
		rel := c.find(r.RelationId)
		if rel == nil {
			return fault.New(fault.NotFound, "no such relation")
		}
		delete(rel.members, r.Unit)
		if rel.life == "dying" && len(rel.members) == 0 {
			c.rels = slices.DeleteFunc(c.rels, func(o *relation) bool { return o == rel })
		}
		return nil
	})
}

func (c *cluster) CommitHook(_ context.Context, r *droverv1.CommitHookRequest) (*droverv1.CommitHookResponse, error) {
	resp := &droverv1.CommitHookResponse{}
	err := c.do(func() error {
		u := c.units[r.Unit]
		if r.Number <= u.Commits {
			resp.Repeated = true
			return nil
		}
		u.Commits = r.Number
		c.commits = append(c.commits, r)
		for _, s := range r.Settings {
			if c.find(s.RelationId) == nil {
				resp.Dropped = append(resp.Dropped, "relation is gone")
				continue
			}
			k := key(s.RelationId, r.Unit)
			maps.Copy(c.settings[k], s.Set)
			for _, d := range s.Delete {
				delete(c.settings[k], d)
			}
			c.versions[k]++
		}
		return nil
	})
	return resp, err
}

func (c *cluster) ReadSettings(_ context.Context, r *droverv1.ReadSettingsRequest) (v map[string]string, err error) {
	err = c.do(func() error {
		c.version--
		s, ok := c.settings[key(r.RelationId, r.Owner)]
		if !ok {
			return fault.New(fault.NotFound, "no settings")
		}
		v = maps.Clone(s)
		return nil
	})
	return v, err
}

func (c *cluster) ReportUnit(_ context.Context, r *droverv1.ReportUnitRequest) error {
	return c.do(func() error { c.reports[r.Unit], c.units[r.Unit].Failure = r, r.Failure; return nil })
}

func (c *cluster) SetStatus(_ context.Context, r *droverv1.SetStatusRequest) error {
	return c.do(func() error { c.status[r.Unit] = r.Workload.Value + ": " + r.Workload.Message; return nil })
}

func (c *cluster) FetchCharm(_ context.Context, sha string) (r io.ReadCloser, err error) {
	err = c.do(func() error { r = io.NopCloser(bytes.NewReader(c.archives[sha])); return nil })
	return r, err
}

// everyHook is the same program for all hooks of a charm.
var everyHook = []string{"install", "start", "config-changed", "stop", "remove"}

// charmOf makes a charm whose hooks all are the script; it returns its digest.
func (c *cluster) charmOf(t *testing.T, meta, script string) string {
	t.Helper()
	dir := t.TempDir()
	hooks := slices.Clone(everyHook)
	for _, ep := range []string{"db", "server"} {
		for _, k := range []charm.HookKind{charm.RelationJoined, charm.RelationChanged, charm.RelationDeparted, charm.RelationBroken} {
			hooks = append(hooks, charm.Hook{Kind: k, Endpoint: ep}.Name())
		}
	}
	write(t, filepath.Join(dir, "metadata.yaml"), meta)
	for _, h := range hooks {
		write(t, filepath.Join(dir, "hooks", h), script)
	}
	packed, err := charmdir.PackFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	c.archives[string(packed.Charm.SHA)] = packed.Archive
	return string(packed.Charm.SHA)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// recorder runs hooks for real and remembers how they ended.
type recorder struct {
	unitagent.Runner
	mu   sync.Mutex
	runs []charm.Run
	envs [][]string
}

func (r *recorder) Run(ctx context.Context, spec unitagent.HookSpec, started func(proc.ID) error) unitagent.Result {
	res := r.Runner.Run(ctx, spec, started)
	env := map[string]string{}
	for _, v := range spec.Env {
		k, val, _ := strings.Cut(v, "=")
		env[k] = val
	}
	meta := &charm.Meta{Endpoints: []entity.Endpoint{{Name: "db"}, {Name: "server"}}}
	h, _ := charm.ParseHookName(meta, env["JUJU_HOOK_NAME"])
	_, id, _ := strings.Cut(env["JUJU_RELATION_ID"], ":")
	n, _ := strconv.ParseUint(id, 10, 64)
	h.Relation, h.Remote, h.RemoteApp = entity.RelationID(n), entity.UnitName(env["JUJU_REMOTE_UNIT"]), entity.AppName(env["JUJU_REMOTE_APP"])
	run := charm.Run{Hook: h, Outcome: charm.Succeeded, BootID: "boot"}
	if res.Exit != 0 {
		run.Outcome = charm.Failed
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.runs, r.envs = append(r.runs, run), append(r.envs, spec.Env)
	return res
}

// names are the hooks that ran, "!" after those that failed.
func (r *recorder) names() string {
	var names []string
	for _, run := range r.runs {
		name := run.Hook.Name()
		if run.Outcome == charm.Failed {
			name += "!"
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

// world is a cluster, a clock, and agents.
type world struct {
	*cluster
	t      *testing.T
	now    time.Time
	lock   *unitagent.Lock
	dir    string
	agents map[string]*unitagent.Agent
	hooks  map[string]*recorder
	ids    int
}

func newWorld(t *testing.T) *world {
	w := &world{
		cluster: newCluster(), t: t, now: time.Unix(1_700_000_000, 0), lock: unitagent.NewLock(), dir: t.TempDir(),
		agents: map[string]*unitagent.Agent{}, hooks: map[string]*recorder{},
	}
	t.Cleanup(func() {
		for _, a := range w.agents {
			_ = a.Close()
		}
	})
	return w
}

func self() string {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return path
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// start makes the unit's agent, again if it had one.
func (w *world) start(unit string) *unitagent.Agent {
	w.t.Helper()
	if w.hooks[unit] == nil {
		w.hooks[unit] = &recorder{Runner: &unitagent.Processes{Gate: hookBinary, Grace: time.Millisecond}}
	}
	a, err := unitagent.New(w.config(unit, w.hooks[unit]))
	if err != nil {
		w.t.Fatal(err)
	}
	w.agents[unit] = a
	return a
}

func (w *world) config(unit string, runner unitagent.Runner) unitagent.Config {
	return unitagent.Config{
		Unit: entity.UnitName(unit), UID: entity.UID("u-" + unit), Machine: "3", Dir: w.unitDir(unit), HookBinary: hookBinary, BinDir: "/opt/drover/bin",
		BootID: "boot", Server: w.cluster, Host: w.cluster, Lock: w.lock, Runner: runner,
		Now: func() time.Time { return w.now }, NewID: func() string { w.ids++; return strconv.Itoa(w.ids) }, Log: quiet(),
		ReadWait: time.Nanosecond,
	}
}

func (w *world) unitDir(unit string) string {
	return filepath.Join(w.dir, "units", entity.UnitName(unit).Tag())
}

// settle steps the agents in turn until none has anything to do now.
func (w *world) settle() {
	w.t.Helper()
	for range 400 {
		busy := false
		for _, name := range slices.Sorted(maps.Keys(w.agents)) {
			next, err := w.agents[name].Step(w.t.Context())
			if err != nil && !fault.Is(err, fault.Unavailable) && !fault.Is(err, fault.Timeout) {
				w.t.Fatalf("%s: %v", name, err)
			}
			busy = busy || next.Again
		}
		if !busy {
			return
		}
	}
	w.t.Fatal("the agents do not come to rest")
}

// check judges what a unit ran by the seed.
func (w *world) check(unit string) {
	w.t.Helper()
	if err := charm.CheckTrace(charm.SeedOrder, w.hooks[unit].runs); err != nil {
		w.t.Errorf("%s: %v\n%s", unit, err, w.hooks[unit].names())
	}
}

func (w *world) read(unit, name string) string {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.unitDir(unit), name))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(data)
}
