package why

import (
	"strings"
	"testing"
	"time"

	"drover/noun/entity"
	"drover/noun/when"
	"drover/noun/work"
)

// model is a handful of rows.
type model struct {
	machines  []entity.Machine
	apps      []entity.Application
	units     []entity.Unit
	relations []entity.Relation
	members   []entity.Member
	silent    map[entity.MachineID]when.Instant
	working   bool
}

func find[T any](rows []T, is func(T) bool) (T, bool) {
	for _, r := range rows {
		if is(r) {
			return r, true
		}
	}
	var zero T
	return zero, false
}

func all[T any](rows []T, is func(T) bool) []T {
	var out []T
	for _, r := range rows {
		if is(r) {
			out = append(out, r)
		}
	}
	return out
}

func (m *model) Machine(id entity.MachineID) (entity.Machine, bool) {
	return find(m.machines, func(x entity.Machine) bool { return x.ID == id })
}
func (m *model) Application(n entity.AppName) (entity.Application, bool) {
	return find(m.apps, func(x entity.Application) bool { return x.Name == n })
}
func (m *model) Unit(n entity.UnitName) (entity.Unit, bool) {
	return find(m.units, func(x entity.Unit) bool { return x.Name == n })
}
func (m *model) Relation(id entity.RelationID) (entity.Relation, bool) {
	return find(m.relations, func(x entity.Relation) bool { return x.ID == id })
}
func (m *model) UnitsOf(a entity.AppName, _ int) []entity.Unit {
	return all(m.units, func(x entity.Unit) bool { return x.App == a })
}
func (m *model) RelationsOf(a entity.AppName) []entity.Relation {
	return all(m.relations, func(x entity.Relation) bool { _, ok := x.Endpoint(a); return ok })
}
func (m *model) MembersOf(id entity.RelationID, _ int) []entity.Member {
	return all(m.members, func(x entity.Member) bool { return x.Relation == id })
}
func (m *model) ScopesOf(u entity.UnitName) []entity.Member {
	return all(m.members, func(x entity.Member) bool { return x.Unit == u })
}
func (m *model) SubordinatesOf(u entity.UnitName) []entity.Unit {
	return all(m.units, func(x entity.Unit) bool { return x.Principal == u })
}
func (m *model) PrincipalsOn(id entity.MachineID) []entity.Unit {
	return all(m.units, func(x entity.Unit) bool { return x.Machine == id })
}
func (m *model) ChildMachines(id entity.MachineID) []entity.MachineID {
	var out []entity.MachineID
	for _, x := range m.machines {
		if x.ID.Parent() == id {
			out = append(out, x.ID)
		}
	}
	return out
}
func (m *model) HoldsWork(entity.MachineID) bool { return m.working }
func (m *model) Heard(id entity.MachineID) (when.Instant, bool) {
	last, silent := m.silent[id]
	return last, !silent
}

var now = when.Of(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))

// leaving is a world in which mysql is to go and cannot: mysql/0's departed hook
// failed, log/0 is below it.
func leaving() *model {
	eps := []entity.Endpoint{
		{App: "blog", Name: "db", Role: entity.Requirer, Interface: "sql", Scope: entity.ScopeGlobal},
		{App: "mysql", Name: "server", Role: entity.Provider, Interface: "sql", Scope: entity.ScopeGlobal},
	}
	return &model{
		machines: []entity.Machine{{ID: "1", Life: entity.Alive, Instance: "i", InstanceState: entity.InstanceRunning, KeyHash: "k"}},
		apps:     []entity.Application{{Name: "mysql", UID: "u1", Life: entity.Dying}, {Name: "blog", Life: entity.Alive}, {Name: "log", Life: entity.Alive}},
		units: []entity.Unit{
			{Name: "mysql/0", UID: "u2", App: "mysql", Life: entity.Dying, Machine: "1", Deployed: true,
				Failure: &entity.HookFailure{Hook: "db-relation-departed", Exit: 3, Reason: "exit status 3", Tries: 3, Since: now.Add(-time.Minute), NextRetry: now.Add(70 * time.Second)}},
			{Name: "log/0", App: "log", Life: entity.Dying, Principal: "mysql/0", Deployed: true, Hook: "stop"},
		},
		relations: []entity.Relation{{ID: 7, Life: entity.Dying, Endpoints: eps}},
		members:   []entity.Member{{Relation: 7, Unit: "mysql/0"}},
		silent:    map[entity.MachineID]when.Instant{},
	}
}

func ask(m *model) Snapshot { return Snapshot{World: m, Agents: m, Board: &board{}, Now: now} }

// draw prints a tree, one impediment a line.
func draw(found []Impediment, indent string) string {
	var b strings.Builder
	for _, i := range found {
		b.WriteString(indent + string(i.Kind) + " " + i.Subject + "\n")
		b.WriteString(draw(i.Children, indent+"  "))
	}
	return b.String()
}

// leavesHelp fails for a leaf without a next step.
func leavesHelp(t *testing.T, found []Impediment) {
	t.Helper()
	for _, i := range found {
		for _, leaf := range i.Leaves() {
			if len(leaf.NextSteps) == 0 || leaf.Kind == "" || leaf.Detail == "" || leaf.Blocks == "" || leaf.Entity == "" {
				t.Errorf("a leaf does not help: %+v", leaf)
			}
		}
	}
}

func TestReasonsOfEntities(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*model)
		ask    func(Snapshot) []Impediment
		want   string
	}{
		{
			"a dying application waits for its unit, which waits in a scope for a failed hook",
			func(m *model) { m.units = m.units[:1] },
			func(s Snapshot) []Impediment { return s.Application("mysql") },
			`unit_exists mysql/0
  unit_in_scope mysql/0
    hook_failed db-relation-departed
relation_held blog:db mysql:server
  unit_in_scope mysql/0
    hook_failed db-relation-departed
`,
		},
		{
			"a dying unit waits for its subordinate too",
			func(*model) {},
			func(s Snapshot) []Impediment { return s.Unit("mysql/0") },
			"unit_in_scope mysql/0\n  hook_failed db-relation-departed\nsubordinate_exists log/0\n  hook_running stop\n",
		},
		{
			"an alive entity that is well has none",
			func(*model) {},
			func(s Snapshot) []Impediment { return append(s.Application("blog"), s.Machine("1")...) },
			"",
		},
		{
			"a silent agent is named before everything else",
			func(m *model) { m.silent["1"] = now.Add(-42 * time.Second) },
			func(s Snapshot) []Impediment { return s.Relation(7) },
			"unit_in_scope mysql/0\n  agent_silent 1\n",
		},
		{
			"a failed hook of an alive unit",
			func(m *model) { m.units[0].Life, m.apps[0].Life = entity.Alive, entity.Alive },
			func(s Snapshot) []Impediment { return s.Unit("mysql/0") },
			"hook_failed db-relation-departed\n",
		},
		{
			"an alive application is held by what holds its units",
			func(m *model) { m.units[0].Life, m.apps[0].Life = entity.Alive, entity.Alive },
			func(s Snapshot) []Impediment { return append(s.Application("mysql"), s.UnitsOf("mysql")...) },
			"hook_failed db-relation-departed\n",
		},
		{
			"a dying application has its units' impediments already",
			func(*model) {},
			func(s Snapshot) []Impediment { return s.UnitsOf("mysql") },
			"",
		},
		{
			"an undeployed unit of a machine that cannot be started",
			func(m *model) {
				m.units[0] = entity.Unit{Name: "mysql/0", App: "mysql", Life: entity.Alive, Machine: "1"}
				m.machines[0] = entity.Machine{ID: "1", Life: entity.Alive, InstanceState: entity.InstanceFailed, InstanceError: "no quota", NextLaunch: now.Add(time.Second)}
				m.silent["1"] = 0
			},
			func(s Snapshot) []Impediment { return s.Unit("mysql/0") },
			"instance_failed 1\n",
		},
		{
			"a unit that was never deployed and is to go",
			func(m *model) {
				m.units[0] = entity.Unit{Name: "mysql/0", App: "mysql", Life: entity.Dying, Machine: "1"}
				m.members = nil
			},
			func(s Snapshot) []Impediment { return s.Unit("mysql/0") },
			"waiting_cleaner mysql/0\n",
		},
		{
			"a dying machine with a unit, a child machine and work",
			func(m *model) {
				m.machines[0].Life, m.working = entity.Dying, true
				m.machines = append(m.machines, entity.Machine{ID: "1/nspawn/0", Life: entity.Alive})
			},
			func(s Snapshot) []Impediment { return s.Machine("1") },
			`unit_assigned mysql/0
  unit_in_scope mysql/0
    hook_failed db-relation-departed
  subordinate_exists log/0
    hook_running stop
child_machine_exists 1/nspawn/0
container_exists 1
`,
		},
		{
			"a dying machine with nothing on it waits for its agent",
			func(m *model) { m.machines[0].Life, m.units = entity.Dying, nil },
			func(s Snapshot) []Impediment { return s.Machine("1") },
			"agent_working 1\n",
		},
		{
			"a dead machine waits for its instance to be released",
			func(m *model) { m.machines[0].Life, m.units = entity.Dead, nil },
			func(s Snapshot) []Impediment { return s.Machine("1") },
			"instance_held i\n",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := leaving()
			tc.change(m)
			got := tc.ask(ask(m))
			if d := draw(got, ""); d != tc.want {
				t.Errorf("got\n%swant\n%s", d, tc.want)
			}
			leavesHelp(t, got)
		})
	}
}

func TestAFailedHookSaysWhenItIsTriedAgain(t *testing.T) {
	found := ask(leaving()).Relation(7)
	detail := found[0].Children[0].Detail
	if want := "hook db-relation-departed failed (exit status 3) 1m0s ago, 3 tries, next retry in 1m10s"; detail != want {
		t.Errorf("got %q, want %q", detail, want)
	}
}

// board is a handful of records.
type board struct {
	desired []work.DesiredLRP
	actual  []work.ActualLRP
	tasks   []work.Task
	cells   []Cell
	fresh   bool
}

func (b *board) Desired(g work.ProcessGUID) (work.DesiredLRP, bool) {
	return find(b.desired, func(x work.DesiredLRP) bool { return x.ProcessGUID == g })
}
func (b *board) Actual(k work.LRPKey) (work.ActualLRP, bool) {
	return find(b.actual, func(x work.ActualLRP) bool { return x.LRPKey == k })
}
func (b *board) Task(g work.TaskGUID) (work.Task, bool) {
	return find(b.tasks, func(x work.Task) bool { return x.GUID == g })
}
func (b *board) Cells() []Cell          { return b.cells }
func (b *board) Fresh(work.Domain) bool { return b.fresh }
func (b *board) RestartAt(a *work.ActualLRP) (when.Instant, bool) {
	return a.Since.Add(time.Minute), a.CrashCount <= 200
}

func cell(id work.CellID, freeMB int64) Cell {
	all := work.Resources{MemoryMB: 2048, DiskMB: 1000, Containers: 10}
	free := work.Resources{MemoryMB: freeMB, DiskMB: 1000, Containers: 10}
	return Cell{Cell: work.Cell{ID: id, Machine: "m/1", Stack: "linux", Capacity: all, Presence: work.Present}, Free: free, Known: true}
}

func TestReasonsOfWork(t *testing.T) {
	web := work.DesiredLRP{ProcessGUID: "web", Instances: 1, Spec: work.Spec{MemoryMB: 512, Stack: "linux"}}
	key := work.LRPKey{ProcessGUID: "web"}
	record := func(s work.LRPState) work.ActualLRP { return work.ActualLRP{LRPKey: key, State: s, Since: now} }
	held := func(s work.LRPState) work.ActualLRP {
		a := record(s)
		a.Holder = work.Holder{Instance: "i", Cell: "c0"}
		return a
	}
	lost := cell("c0", 2048)
	lost.Presence = work.Lost
	evacuating, other, unfit, unheard := cell("c1", 2048), cell("c2", 2048), cell("c3", 2048), cell("c4", 2048)
	evacuating.Evacuating, other.Stack, unfit.Unfit, unheard.Known = true, "arm", "no disk", false
	for _, tc := range []struct {
		name string
		b    board
		task bool
		want string
	}{
		{"RUNNING has none", board{desired: []work.DesiredLRP{web}, actual: []work.ActualLRP{held(work.Running)}, cells: []Cell{cell("c0", 100)}}, false, ""},
		{"no record yet", board{desired: []work.DesiredLRP{web}}, false, "waiting_auction web/0\n"},
		{"UNCLAIMED without any cell", board{desired: []work.DesiredLRP{web}, actual: []work.ActualLRP{record(work.Unclaimed)}}, false, "no_compatible_cell web/0\n"},
		{"UNCLAIMED with room waits for the auction", board{desired: []work.DesiredLRP{web}, actual: []work.ActualLRP{record(work.Unclaimed)}, cells: []Cell{cell("c0", 600), evacuating}}, false, "waiting_auction web/0\n"},
		{
			"UNCLAIMED and each cell has its reason",
			board{desired: []work.DesiredLRP{web}, actual: []work.ActualLRP{record(work.Unclaimed)}, cells: []Cell{cell("c0", 310), evacuating, other, unfit, unheard}}, false,
			"insufficient web/0\n  insufficient c0\n  cell_evacuating c1\n  no_compatible_cell c2\n  cell_selftest_failed c3\n  waiting_leader c4\n",
		},
		{"CLAIMED is being started", board{desired: []work.DesiredLRP{web}, actual: []work.ActualLRP{held(work.Claimed)}, cells: []Cell{cell("c0", 0)}}, false, "container_starting c0\n"},
		{"RUNNING on a lost cell", board{desired: []work.DesiredLRP{web}, actual: []work.ActualLRP{held(work.Running)}, cells: []Cell{lost}}, false, "cell_lost c0\n"},
		{"CRASHED waits for its time", board{desired: []work.DesiredLRP{web}, actual: []work.ActualLRP{record(work.Crashed)}}, false, "backoff_until web/0\n"},
		{
			"CRASHED too often",
			board{desired: []work.DesiredLRP{web}, actual: []work.ActualLRP{func() work.ActualLRP { a := record(work.Crashed); a.CrashCount = 201; return a }()}}, false,
			"gave_up web/0\n",
		},
		{"not desired, in a stale domain", board{actual: []work.ActualLRP{held(work.Running)}, cells: []Cell{cell("c0", 0)}}, false, "domain_not_fresh \n"},
		{"not desired, in a fresh domain", board{actual: []work.ActualLRP{held(work.Running)}, cells: []Cell{cell("c0", 0)}, fresh: true}, false, "container_exists c0\n"},
		{"PENDING", board{tasks: []work.Task{{GUID: "t", State: work.TaskPending, Spec: work.Spec{MemoryMB: 512}}}, cells: []Cell{cell("c0", 1)}}, true, "insufficient task:t\n  insufficient c0\n"},
		{"a task on a lost cell", board{tasks: []work.Task{{GUID: "t", State: work.TaskRunning, Cell: "c0"}}, cells: []Cell{lost}}, true, "cell_lost c0\n"},
		{"COMPLETED has none", board{tasks: []work.Task{{GUID: "t", State: work.TaskCompleted}}}, true, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := Snapshot{Board: &tc.b, Now: now}
			found := s.LRP(key)
			if tc.task {
				found = s.Task("t")
			}
			if d := draw(found, ""); d != tc.want {
				t.Errorf("got\n%swant\n%s", d, tc.want)
			}
			leavesHelp(t, found)
		})
	}
}

func TestTheLastPlacementErrorIsKeptBesideTheCellsReasons(t *testing.T) {
	b := board{
		desired: []work.DesiredLRP{{ProcessGUID: "web", Instances: 1, Spec: work.Spec{MemoryMB: 512}}},
		actual:  []work.ActualLRP{{LRPKey: work.LRPKey{ProcessGUID: "web"}, State: work.Unclaimed, PlacementError: "insufficient resources: memory"}},
		cells:   []Cell{cell("c0", 310)},
	}
	s := Snapshot{Board: &b, Now: now}
	found := s.LRP(work.LRPKey{ProcessGUID: "web"})[0]
	if found.Detail != "insufficient resources: memory" {
		t.Errorf("the reason is %q", found.Detail)
	}
	if want := "cell c0: memory: free 310 MiB of 2048 MiB (short 202 MiB)"; found.Children[0].Detail != want {
		t.Errorf("the cell's reason is %q, want %q", found.Children[0].Detail, want)
	}
}

func TestSummaries(t *testing.T) {
	s := Snapshot{Now: now}
	held := []Impediment{{Detail: "hook x failed"}}
	for _, tc := range []struct{ got, want string }{
		{s.Summary("mysql (application)", entity.Dying, now.Add(-4*time.Minute), held), "mysql (application) is dying since 4m0s and cannot be removed yet."},
		{s.Summary("mysql/0 (unit)", entity.Alive, now, held), "mysql/0 (unit) is not ready: hook x failed."},
		{s.Summary("x (unit)", entity.Alive, now, []Impediment{{Detail: "hook x failed\nlast output: oh"}}), "x (unit) is not ready: hook x failed."},
		{s.Summary("mysql/0 (unit)", entity.Alive, now, nil), "mysql/0 (unit) is alive; nothing holds it."},
		{s.Summary("web/0", 0, 0, nil), "web/0: nothing holds it."},
	} {
		if tc.got != tc.want {
			t.Errorf("got %q, want %q", tc.got, tc.want)
		}
	}
}
