package registry

import (
	"strings"
	"testing"
	"time"

	"drover/keep/store"
	"drover/noun/entity"
	"drover/noun/fault"
)

func (l *lab) report(u entity.UnitName, rep UnitReport) {
	l.Helper()
	l.must(func(tx *store.Txn) error { return l.r.ReportUnit(tx, l.now, l.m, UnitRef{Name: u}, rep) })
}

func TestReportsAreBoundedAndEqualOnesChangeNothing(t *testing.T) {
	l, _ := pair(t)
	rep := UnitReport{
		Agent: entity.Status{Value: entity.AgentFailed, Message: strings.Repeat("é", 5000)}, Workflow: entity.WorkflowStartError, LastHook: "install", LastHookMS: 7,
		Failure: &entity.HookFailure{Hook: "start", Exit: 3, Reason: strings.Repeat("r", 1000), LastOutput: "first" + strings.Repeat("o", 5000) + "last"},
	}
	l.report("blog/0", rep)
	u, _ := l.r.Unit(l.s.View(), l.m, "blog/0")
	if u.Agent.Value != entity.AgentFailed || u.Workflow != entity.WorkflowStartError || u.LastHook != "install" || u.Failure.Hook != "start" {
		t.Errorf("the unit is %+v", u)
	}
	if len(u.Agent.Message) > maxStatusMessage || len(u.Failure.Reason) > maxWord || len(u.Failure.LastOutput) > maxHookOutput || !strings.HasSuffix(u.Failure.LastOutput, "last") {
		t.Errorf("not bounded: %d, %d, %d", len(u.Agent.Message), len(u.Failure.Reason), len(u.Failure.LastOutput))
	}
	before := l.s.View().Revision()
	l.report("blog/0", rep)
	if l.s.View().Revision() != before {
		t.Error("an equal report changed something")
	}
	l.report("blog/0", UnitReport{Agent: entity.Status{Value: entity.AgentIdle}})
	if u, _ := l.r.Unit(l.s.View(), l.m, "blog/0"); u.Failure != nil {
		t.Error("the failure is left after it was resolved")
	}
}

func TestAnEqualStatusKeepsItsTime(t *testing.T) {
	l, _ := pair(t)
	set := func(v entity.StatusValue, msg string) entity.Status {
		l.now = l.now.Add(time.Second)
		l.must(func(tx *store.Txn) error {
			return l.r.SetStatus(tx, l.now, l.m, UnitRef{Name: "blog/0"}, entity.Status{Value: v, Message: msg})
		})
		u, _ := l.r.Unit(l.s.View(), l.m, "blog/0")
		return u.Workload
	}
	first, same, other := set("active", "ready"), set("active", "ready"), set("active", "more")
	if same.Since != first.Since || other.Since == first.Since || other.Message != "more" {
		t.Errorf("statuses %+v, %+v, %+v", first, same, other)
	}
}

func TestResolve(t *testing.T) {
	l, _ := pair(t)
	resolve := func(u entity.UnitName, mode entity.Resolve) func(*store.Txn) error {
		return func(tx *store.Txn) error { return l.r.Resolve(tx, l.now, l.m, u, mode) }
	}
	l.refused(fault.Conflict, resolve("blog/0", entity.ResolveRetry))
	l.refused(fault.NotFound, resolve("blog/7", entity.ResolveRetry))
	for _, u := range []entity.UnitName{"blog/0", "mysql/0"} {
		l.report(u, UnitReport{Failure: &entity.HookFailure{Hook: "start"}})
	}
	l.must(resolve("blog/0", entity.ResolveSkip))
	if u, _ := l.r.Unit(l.s.View(), l.m, "blog/0"); u.Resolve != entity.ResolveSkip {
		t.Errorf("resolve is %v", u.Resolve)
	}
	var names []entity.UnitName
	l.must(func(tx *store.Txn) (err error) {
		names, err = l.r.ResolveAll(tx, l.now, l.m, entity.ResolveRetry)
		return
	})
	if len(names) != 2 {
		t.Errorf("resolved %v, want both", names)
	}
	l.must(func(tx *store.Txn) error { return l.r.ClearResolved(tx, l.now, l.m, UnitRef{Name: "blog/0"}) })
	if u, _ := l.r.Unit(l.s.View(), l.m, "blog/0"); u.Resolve != entity.ResolveNone {
		t.Errorf("resolve is %v after it was cleared", u.Resolve)
	}
}

func TestConfigIsTyped(t *testing.T) {
	l := newLab(t)
	l.deploy("blog", "blog", 0)
	set := func(values map[string]string, reset ...string) func(*store.Txn) error {
		return func(tx *store.Txn) error { return l.r.SetConfig(tx, l.now, l.m, "blog", values, reset) }
	}
	for _, tc := range []struct {
		name, value, want string
		ok                bool
	}{
		{"port", "080", "80", true},
		{"port", "http", "", false},
		{"port", "1.5", "", false},
		{"debug", "True", "true", true},
		{"debug", "maybe", "", false},
		{"ratio", "0.50", "0.5", true},
		{"ratio", "NaN", "", false},
		{"ratio", "Inf", "", false},
		{"title", "", "", true},
		{"title", strings.Repeat("x", MaxConfigValue+1), "", false},
		{"nope", "1", "", false},
	} {
		t.Run(tc.name+" "+tc.value[:min(len(tc.value), 10)], func(t *testing.T) {
			l.tester = t
			fn := set(map[string]string{tc.name: tc.value})
			if !tc.ok {
				l.refused(fault.Invalid, fn)
				return
			}
			l.must(fn)
			if got := l.option(tc.name); got.Value != tc.want || got.IsDefault || !got.IsSet {
				t.Errorf("%s is %+v, want %q", tc.name, got, tc.want)
			}
		})
	}
	l.tester = t
	values, _ := l.r.Config(l.s.View(), l.m, "blog")
	hash := l.r.ConfigHash(values)
	l.must(set(nil, "title", "port"))
	if got := l.option("title"); got.Value != "Blog" || !got.IsDefault || !got.IsSet {
		t.Errorf("after a reset title is %+v", got)
	}
	if got := l.option("port"); got.IsSet {
		t.Errorf("after a reset port is %+v", got)
	}
	values, _ = l.r.Config(l.s.View(), l.m, "blog")
	if l.r.ConfigHash(values) == hash {
		t.Error("another config has the same hash")
	}
	before := l.s.View().Revision()
	l.must(set(map[string]string{"debug": "TRUE"}))
	if l.s.View().Revision() != before {
		t.Error("the same value changed something")
	}
	l.refused(fault.Invalid, set(nil, "nope"))
	l.refused(fault.NotFound, func(tx *store.Txn) error { return l.r.SetConfig(tx, l.now, l.m, "nope", nil, nil) })
}

func (l *lab) option(name string) ConfigValue {
	l.Helper()
	values, err := l.r.Config(l.s.View(), l.m, "blog")
	if err != nil {
		l.Fatal(err)
	}
	for _, v := range values {
		if v.Name == name {
			return v
		}
	}
	l.Fatalf("there is no option %q", name)
	return ConfigValue{}
}

func TestMachineReportsAndKeys(t *testing.T) {
	l := newLab(t)
	rep := MachineReport{Address: "10.1.1.1", Hardware: entity.Hardware{CPUs: 2, MemoryMB: 100}, BootID: "b", Version: "v"}
	report := func(tx *store.Txn) error { return l.r.ReportMachine(tx, l.now, l.m, "0", rep) }
	l.must(report)
	l.must(func(tx *store.Txn) error { return l.r.SetMachineKey(tx, l.m, "0", "hash") })
	m, _ := l.r.Machine(l.s.View(), l.m, "0")
	if m.Address != rep.Address || m.Hardware != rep.Hardware || m.BootID != "b" || m.AgentVersion != "v" || m.KeyHash != "hash" {
		t.Errorf("the machine is %+v", m)
	}
	before := l.s.View().Revision()
	l.must(report)
	if l.s.View().Revision() != before {
		t.Error("an equal report changed something")
	}
	l.refused(fault.NotFound, func(tx *store.Txn) error { return l.r.ReportMachine(tx, l.now, l.m, "9", rep) })
}

// TestAgentsAreWokenByWhatConcernsThem: a commit touches the topics that the
// agents concerned hold.
func TestAgentsAreWokenByWhatConcernsThem(t *testing.T) {
	l := newLab(t)
	l.deploy("blog", "blog", 1)
	l.deploy("log", "log", -1)
	l.settle()
	for _, tc := range []struct {
		name  string
		topic store.Topic
		do    func()
	}{
		{"an application's units by a new relation", AppTopic(l.m, "blog"), func() { l.integrate("log", "blog") }},
		{"a principal by its new subordinate", UnitTopic(l.m, "blog/0"), func() { l.unitAgent("blog/0") }},
		{"a machine by a unit assigned to it", MachineTopic(l.m, "0"), func() { l.addUnits("blog", 1, "0") }},
		{"members by another's settings", RelationTopic(l.m, 1), func() {
			l.commit("blog/0", HookCommit{Number: 1, Settings: []SettingsWrite{{Relation: 1, Set: map[string]string{"a": "b"}}}})
		}},
		{"units by their application's config", ConfigTopic(l.m, "blog"), func() {
			l.must(func(tx *store.Txn) error {
				return l.r.SetConfig(tx, l.now, l.m, "blog", map[string]string{"port": "1"}, nil)
			})
		}},
		{"units by their application's dying", AppTopic(l.m, "blog"), func() { l.removeApp("blog", RemoveOptions{}) }},
		{"the cleaner by recorded work", CleanupTopic, func() { l.deploy("mysql", "mysql", 300) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l.tester = t
			sub := l.s.Subscribe(tc.topic)
			defer sub.Close()
			tc.do()
			if len(sub.Take()) == 0 {
				t.Errorf("topic %s was not touched", tc.topic)
			}
		})
	}
}
