package cli

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"drover/noun/fault"
)

func TestConditionsAreParsed(t *testing.T) {
	for _, c := range []struct {
		kind, text string
		want       []comparison
	}{
		{"app", "units.active>=2 && life==alive", []comparison{{"units.active", ">=", "2"}, {"life", "==", "alive"}}},
		{"app", `status!="error"`, []comparison{{"status", "!=", "error"}}},
		{"app", "idle && units>1", []comparison{{"idle", "==", "true"}, {"units", ">", "1"}}},
		{"unit", "ready", []comparison{{"status", "==", "active"}, {"agent", "==", "idle"}}},
		{"machine", "idle", []comparison{{"agent", "==", "alive"}}},
		{"lrp", "running<=3&&crashes==0", []comparison{{"running", "<=", "3"}, {"crashes", "==", "0"}}},
		{"task", "state==COMPLETED && failed==false", []comparison{{"state", "==", "COMPLETED"}, {"failed", "==", "false"}}},
	} {
		got, err := parseTerms(c.kind, c.text)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s %q: %v %v, want %v", c.kind, c.text, got, err, c.want)
		}
	}
	for _, c := range []struct{ kind, text string }{
		{"app", "units.active=2"}, {"app", ""}, {"app", "&&"}, {"app", "colour==red"}, {"app", "units>many"},
		{"unit", "units==1"}, {"task", "idle==true"}, {"lrp", "running>="}, {"app", "life==alive &&"}, {"machine", "==alive"},
	} {
		if _, err := parseTerms(c.kind, c.text); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s %q: %v, want it refused", c.kind, c.text, err)
		}
	}
}

func TestGoalsAreParsed(t *testing.T) {
	for _, c := range []struct{ entity, cond, want string }{
		{"blog", "ready", "app/blog"},
		{"app/blog", "removed", "app/blog --for removed"},
		{"blog/0", "ready", "unit/blog/0"},
		{"3", "ready", "machine/3"},
		{"task:x", "idle", "task/x"},
		{"lrp/web", "idle", "lrp/web"},
		{"lrp/web", "running>=2", "lrp/web --for 'running>=2'"},
	} {
		g, err := parseGoal(c.entity, c.cond)
		if err != nil || g.String() != c.want {
			t.Errorf("%s --for %s: %v %v, want %s", c.entity, c.cond, g, err, c.want)
		}
	}
	if _, err := parseGoal("app/", "ready"); !fault.Is(err, fault.Invalid) {
		t.Errorf("a goal without a name: %v", err)
	}
}

func TestConditionsAreJudged(t *testing.T) {
	for _, c := range []struct {
		entity, cond string
		done         bool
		failed       fault.Kind // 0: it goes on
		waiting      string
	}{
		{"app/blog", "units.active>=2 && life==alive", true, 0, ""},
		{"app/blog", "units.active>=3", false, 0, "units.active is 2"},
		{"app/mysql", "removed", false, 0, "waiting for mysql/0: hook db-relation-departed failed"},
		{"app/nobody", "removed", true, 0, ""},
		{"app/nobody", "ready", false, fault.NotFound, ""},
		{"app/mysql", "ready", false, fault.Conflict, ""},
		{"app/mysql", "units.active>=1", false, fault.EntityFailed, ""},
		{"app/mysql", "status==error", true, 0, ""},
		{"unit/mysql/0", "ready", false, fault.EntityFailed, ""},
		{"unit/mysql/0", "life==dead", false, 0, "life is dying: hook db-relation-departed failed"},
		{"unit/blog/1", "idle", false, 0, "idle is false"},
		{"lrp/web", "ready", false, fault.EntityFailed, ""},
		{"lrp/web", "running>=3", true, 0, ""},
		{"lrp/web", "crashes>=4", true, 0, ""},
		{"lrp/old", "removed", false, 0, "old/0: it is being stopped"},
		{"task/hello", "ready", true, 0, ""},
		{"task/bad", "ready", true, fault.EntityFailed, ""},
		{"task/bad", "failed==true", true, 0, ""},
		{"machine/1", "ready", false, 0, "agent is silent"},
	} {
		g, err := parseGoal(c.entity, c.cond)
		if err != nil {
			t.Fatal(err)
		}
		st := leaving()
		st.Lrps[1].Impediments = st.Lrps[1].Indexes[0].Impediments
		v := g.check(st)
		kind := fault.Kind(0)
		if v.failed != nil {
			kind = fault.KindOf(v.failed)
		}
		if v.done != c.done || kind != c.failed || v.failed == nil && !strings.Contains(v.waiting, c.waiting) {
			t.Errorf("%s --for %s: done %v, failed %v, waiting %q", c.entity, c.cond, v.done, v.failed, v.waiting)
		}
	}
}

func TestAResolvedFailureDoesNotEndAWait(t *testing.T) {
	for _, g := range []goal{appsReady{"mysql"}, condition{kind: "unit", name: "mysql/0", terms: []comparison{{"status", "==", "active"}}}} {
		st := leaving()
		st.Applications[1].Life = "alive"
		if v := g.check(st); !fault.Is(v.failed, fault.EntityFailed) {
			t.Errorf("%s: a failed hook is no failure: %v", g, v.failed)
		}
		st.Units[3].Resolved = true
		if v := g.check(st); v.failed != nil || v.done {
			t.Errorf("%s: resolved: failed %v, done %v", g, v.failed, v.done)
		}
	}
}

// The exit codes 7, 8 and 9 tell three ends of a wait apart.
func TestAWaitWhoseTimeIsUpSaysWhatHoldsIt(t *testing.T) {
	err := timedOut(defaultTimeout, "app/blog", verdict{waiting: "machine 2: agent not heard for 42s"})
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind.ExitCode() != 7 || !strings.Contains(f.Because, "not heard") || !strings.Contains(f.Because, "background") {
		t.Errorf("got %v", err)
	}
	if code := fault.KindOf(timedOut(defaultTimeout, "lrp/web", verdict{unplaced: true})).ExitCode(); code != 9 {
		t.Errorf("what has no room ends with %d, want 9", code)
	}
}

func TestOnlyTheLastLinesOfOutputAreTold(t *testing.T) {
	got := lastOutput(strings.Repeat("noise\n", 20) + "the end\n")
	if strings.Count(got, "noise") != outputLines-1 || !strings.HasSuffix(got, "\n  the end") {
		t.Errorf("got %q", got)
	}
}
