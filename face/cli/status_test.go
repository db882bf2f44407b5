package cli

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"drover/wire/droverv1"

	"google.golang.org/protobuf/proto"
)

const statusNow = int64(1_700_000_000_000_000_000)

func before(d time.Duration) int64 { return statusNow - int64(d) }

func value(v, message string, since time.Duration) *droverv1.StatusValue {
	return &droverv1.StatusValue{Value: v, Message: message, Since: before(since)}
}

// leaving is a cluster in which an application waits for a failed hook, and a
// process for room.
func leaving() *droverv1.StatusResponse {
	hook := &droverv1.Impediment{
		Entity: "mysql/0", Blocks: "removal", Kind: "hook_failed", Subject: "db-relation-departed", Since: before(4 * time.Minute),
		Detail:    "hook db-relation-departed failed (exit 3) 3m50s ago, 3 tries, next retry in 1m10s\nlast output: \"ERROR 2002: can't connect to local server\"",
		NextSteps: []string{"drover resolve mysql/0", "drover resolve mysql/0 --no-retry", "drover logs mysql/0 --hook last", "drover remove-unit mysql/0 --force"},
	}
	scope := &droverv1.Impediment{
		Entity: "mysql/0", Blocks: "removal", Kind: "unit_in_scope", Subject: "mysql/0", Since: before(4 * time.Minute),
		Detail: `unit mysql/0 is in scope of relation "blog:db mysql:db"`, Children: []*droverv1.Impediment{hook},
	}
	held := []*droverv1.Impediment{{
		Entity: "mysql", Blocks: "removal", Kind: "unit_exists", Subject: "mysql/0", Since: before(4 * time.Minute),
		Detail: "unit mysql/0 still exists", Children: []*droverv1.Impediment{scope},
	}}
	return &droverv1.StatusResponse{
		Schema: "drover.status/v1", Cluster: "prod", Leader: "s1", Epoch: 7, Revision: 48211, Model: "default", Now: statusNow, Problems: 4,
		Machines: []*droverv1.Machine{
			{Id: "0", Uid: "m0", Life: "alive", Agent: "alive", Address: "127.1.0.1", Provider: "local", Cpus: 4, MemoryMb: 8192, Revision: 5},
			{Id: "1", Uid: "m1", Life: "alive", Agent: "silent", LastHeard: before(42 * time.Second), Address: "127.1.0.2", Provider: "local"},
		},
		Applications: []*droverv1.Application{
			{Name: "blog", Uid: "a1", Life: "alive", Charm: "wordpress", CharmRevision: 4, Units: 2, ActiveUnits: 2, Status: value("active", "", time.Hour), Version: "6.4", Revision: 40},
			{Name: "mysql", Uid: "a2", Life: "dying", Charm: "mysql", CharmRevision: 9, Units: 1, Status: value("error", "hook failed: db-relation-departed", 4*time.Minute), Impediments: held, Revision: 41},
		},
		Units: []*droverv1.Unit{
			{Name: "blog/0", Uid: "u1", Life: "alive", Application: "blog", Machine: "0", Leader: true, Workload: value("active", "", 2*time.Hour), Agent: value("idle", "", 0), Address: "127.1.0.1", Ports: []*droverv1.Port{{From: 8080, To: 8080}}},
			{Name: "log/0", Uid: "u2", Life: "alive", Application: "log", Machine: "0", Principal: "blog/0", Workload: value("active", "ships what it finds to the collector at the other end of the world", time.Hour), Agent: value("idle", "", 0)},
			{Name: "blog/1", Uid: "u3", Life: "alive", Application: "blog", Machine: "0", Workload: value("waiting", "for the database", time.Minute), Agent: value("executing", "", 0), Hook: "config-changed"},
			{
				Name: "mysql/0", Uid: "u4", Life: "dying", Application: "mysql", Machine: "1", Workload: value("error", "", 4*time.Minute), Agent: value("failed", "", 0),
				Failure: &droverv1.HookFailure{Hook: "db-relation-departed", Exit: 3}, Impediments: []*droverv1.Impediment{scope},
			},
		},
		Relations: []*droverv1.Relation{{
			Name: "blog:db mysql:db", Life: "dying", Scope: "global", InScopeCount: 1, InScope: []string{"mysql/0"}, Impediments: []*droverv1.Impediment{scope},
			Endpoints: []*droverv1.Endpoint{{Application: "blog", Name: "db"}, {Application: "mysql", Name: "db"}},
		}},
		Lrps: []*droverv1.LRPStatus{
			{ProcessGuid: "web", Domain: "default", Uid: "w", Life: "alive", Instances: 6, Indexes: []*droverv1.LRPIndexStatus{
				{Index: 0, State: "RUNNING", Cell: "c0", Since: before(2 * time.Hour), Life: "alive", Uid: "i0", Revision: 9},
				{Index: 1, State: "RUNNING", Cell: "c1", Since: before(2 * time.Hour), Life: "alive"},
				{Index: 2, State: "CRASHED", Since: before(5 * time.Second), CrashCount: 4, Note: "exit status 1", RestartAt: statusNow + int64(90*time.Second), Life: "alive"},
				{Index: 3, State: "UNCLAIMED", Since: before(5 * time.Minute), Note: "insufficient memory on 2 of 2 cells", Life: "alive"},
				{Index: 4, State: "UNCLAIMED", Since: before(4 * time.Minute), Note: "insufficient memory on 2 of 2 cells", Life: "alive"},
				{Index: 5, State: "RUNNING", Cell: "c0", Since: before(time.Hour), Life: "alive"},
			}},
			{ProcessGuid: "old", Domain: "default", Life: "dying", Instances: -1, Indexes: []*droverv1.LRPIndexStatus{
				{Index: 0, State: "RUNNING", Cell: "c1", Since: before(time.Hour), Life: "dying", Impediments: []*droverv1.Impediment{{Entity: "old/0", Detail: "it is being stopped"}}},
			}},
		},
		Tasks: []*droverv1.TaskStatus{
			{Guid: "hello", State: "COMPLETED", Cell: "c0", Since: before(time.Minute), Life: "alive"},
			{Guid: "bad", State: "COMPLETED", Cell: "c0", Since: before(time.Minute), Failed: true, Note: "exit status 2", Life: "alive"},
		},
		Cells: []*droverv1.CellStatus{
			{Id: "c0", Machine: "0", Presence: "present", Life: "alive", Instances: 2},
			{Id: "c1", Machine: "1", Presence: "lost", Life: "alive", Impediments: []*droverv1.Impediment{{Entity: "c1", Detail: "cell c1 is lost"}}},
		},
	}
}

func TestStatusIsShown(t *testing.T) {
	for _, c := range []struct {
		name      string
		view      statusView
		selectors []string
		problems  bool
	}{
		{name: "status", view: statusView{width: 80}},
		{name: "status-wide", view: statusView{wide: true}},
		{name: "status-narrow", view: statusView{width: 60}},
		{name: "status-problems", view: statusView{width: 80, ordered: true, filtered: true}, problems: true},
		{name: "status-machine", view: statusView{width: 80, filtered: true}, selectors: []string{"machine/1"}},
		{name: "status-unclaimed", view: statusView{width: 80, filtered: true}, selectors: []string{"state=unclaimed", "state=dying"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			st := leaving()
			if unmatched := selectStatus(st, c.selectors); unmatched != nil {
				t.Errorf("%q match nothing", unmatched)
			}
			if c.problems {
				onlyProblems(st)
			}
			c.view.st = st
			var b bytes.Buffer
			c.view.print(&b, unpainted)
			if c.view.width >= 80 {
				narrow(t, b.Bytes(), c.view.width)
			}
			golden(t, c.name+".txt", b.Bytes())
		})
	}
}

func TestStatusForPrograms(t *testing.T) {
	b, err := jsonOf(plainStatus(leaving()))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "status.json", b)
	var lines bytes.Buffer
	for _, l := range statusLines(leaving()) {
		fmt.Fprintln(&lines, l)
	}
	golden(t, "status-lines.txt", lines.Bytes())
}

// Every record of the JSON has the same four members.
func TestEveryRecordSaysWhoItIsAndWhatHoldsIt(t *testing.T) {
	st := leaving()
	for _, m := range []proto.Message{st.Machines[0], st.Applications[0], st.Units[0], st.Relations[0], st.Lrps[0], st.Lrps[0].Indexes[0], st.Tasks[0], st.Cells[0]} {
		has := map[string]bool{}
		for _, f := range withRev(plain(m)).(object) {
			has[f.name] = true
		}
		for _, want := range []string{"uid", "life", "rev", "impediments"} {
			if !has[want] {
				t.Errorf("%T has no %q", m, want)
			}
		}
	}
}

func TestManyRowsAreSummedUp(t *testing.T) {
	st := &droverv1.StatusResponse{Cluster: "big", Leader: "s1", Now: statusNow}
	for i := range 1000 {
		u := &droverv1.Unit{Name: fmt.Sprintf("app/%d", i), Life: "alive", Machine: "1", Workload: value("active", "", time.Hour), Agent: value("idle", "", 0)}
		switch {
		case i%400 == 7:
			u.Failure, u.Workload.Value = &droverv1.HookFailure{Hook: "start", Exit: 1}, "error"
		case i%40 == 8:
			u.Workload = value("blocked", "needs a database", time.Hour)
		}
		st.Units = append(st.Units, u)
	}
	var b bytes.Buffer
	statusView{st: st, width: 80}.print(&b, unpainted)
	golden(t, "status-summary.txt", b.Bytes())
	b.Reset()
	statusView{st: st, width: 80, all: true}.print(&b, unpainted)
	if n := strings.Count(b.String(), "app/"); n < 1000 {
		t.Errorf("--all shows %d of 1000 units", n)
	}
}

func TestSelectorsSayWhatTheyDoNotMatch(t *testing.T) {
	got := selectStatus(leaving(), []string{"blog", "nobody", "state=error", "state=nonsense", "c1", "web/3", "task:hello"})
	if strings.Join(got, " ") != "nobody state=nonsense" {
		t.Errorf("unmatched are %q", got)
	}
}

func TestAWatchWithoutTerminalTellsChangesOnly(t *testing.T) {
	last := map[string]string{}
	if n := strings.Count(changedLines(last, statusLines(leaving()), "12:00:00"), "\n"); n != 22 {
		t.Errorf("the first time %d lines are shown, want all 22", n)
	}
	if got := changedLines(last, statusLines(leaving()), "12:00:01"); got != "" {
		t.Errorf("nothing changed, and it says %q", got)
	}
	st := leaving()
	st.Units[2].Workload = value("active", "ready", 0)
	st.Tasks = st.Tasks[1:]
	want := "12:00:02 unit/blog/1 active agent=executing life=alive machine=0 since=2023-11-14T22:13:20Z # running config-changed\n12:00:02 task/hello gone\n"
	if got := changedLines(last, statusLines(st), "12:00:02"); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestStatesOnColouredScreensAreSaidInWordsToo(t *testing.T) {
	a := &App{Out: &bytes.Buffer{}, Getenv: func(string) string { return "" }}
	a.flags.color = "always"
	var plainText, coloured bytes.Buffer
	statusView{st: leaving(), width: 80}.print(&plainText, unpainted)
	statusView{st: leaving(), width: 80}.print(&coloured, a.painter())
	if !strings.Contains(coloured.String(), "\x1b[31m✗ error\x1b[0m") {
		t.Error("an error is not red")
	}
	stripped := coloured.String()
	for _, code := range []string{"\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[0m"} {
		stripped = strings.ReplaceAll(stripped, code, "")
	}
	if stripped != plainText.String() {
		t.Error("colours change the text")
	}
}

func TestWhyIsShown(t *testing.T) {
	st := leaving()
	cells := &droverv1.Impediment{Entity: "web/3", Blocks: "placement", Kind: "insufficient", Detail: "no cell can take it", Since: before(5 * time.Minute)}
	for i := range 9 {
		c := &droverv1.Impediment{Entity: "web/3", Blocks: "placement", Subject: fmt.Sprintf("c%d", i), NextSteps: []string{"drover cells"}}
		c.Kind, c.Detail = "insufficient", fmt.Sprintf("cell c%d: memory: free 310 MiB of 2048 MiB (short 202 MiB)", i)
		if i%3 == 2 {
			c.Kind, c.Detail = "cell_evacuating", fmt.Sprintf("cell c%d is evacuating", i)
		}
		cells.Children = append(cells.Children, c)
	}
	app := &droverv1.WhyResponse{Summary: "mysql (application) is dying since 4m12s and cannot be removed yet.", Impediments: append(st.Applications[1].Impediments, &droverv1.Impediment{
		Entity: "mysql", Detail: `relation "blog:db mysql:db" still exists`, Children: st.Relations[0].Impediments,
	})}
	lrp := &droverv1.WhyResponse{Summary: "web/3 (instance, UNCLAIMED) is not ready: no cell can take it.", Impediments: []*droverv1.Impediment{cells}}
	all := &droverv1.WhyResponse{Summary: "2 things are held", Impediments: append(st.Relations[0].Impediments, cells)}
	for _, c := range []struct {
		name  string
		resp  *droverv1.WhyResponse
		cells bool
	}{{"why-app", app, false}, {"why-lrp", lrp, false}, {"why-lrp-cells", lrp, true}, {"why-all", all, false}, {"why-nothing", &droverv1.WhyResponse{}, false}} {
		t.Run(c.name, func(t *testing.T) {
			var b bytes.Buffer
			whyView{w: &b, now: statusNow, width: 80, cells: c.cells}.print(c.resp)
			narrow(t, b.Bytes(), 80)
			golden(t, c.name+".txt", b.Bytes())
		})
	}
}
