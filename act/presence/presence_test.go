package presence

import (
	"slices"
	"testing"
	"time"

	"drover/noun/work"
)

type clock struct{ now time.Time }

func (c *clock) pass(d time.Duration) { c.now = c.now.Add(d) }

func newTracker() (*Tracker, *clock) {
	c := &clock{now: time.Unix(1_000_000, 0)}
	return New(Config{Now: func() time.Time { return c.now }}), c
}

func wantState(t *testing.T, tr *Tracker, c *clock, want State, changesIn time.Duration) {
	t.Helper()
	got, at := tr.State("m/1")
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if changesIn > 0 && at.Sub(c.now) != changesIn {
		t.Errorf("it changes in %s, want %s", at.Sub(c.now), changesIn)
	}
}

// Rule: D-148
func TestAnAgentIsSilentAfterATTL(t *testing.T) {
	tr, c := newTracker()
	c.pass(time.Hour)
	tr.Heard("m/1")
	wantState(t, tr, c, Here, 15*time.Second)
	c.pass(15*time.Second - 1)
	wantState(t, tr, c, Here, 1)
	c.pass(1)
	wantState(t, tr, c, Silent, 0)
	tr.Heard("m/1")
	wantState(t, tr, c, Here, 15*time.Second)
	if at, ok := tr.LastHeard("m/1"); !ok || at != c.now {
		t.Errorf("last heard %s, %v", at, ok)
	}
}

func TestANewLeaderGivesEveryoneATTL(t *testing.T) {
	tr, c := newTracker()
	wantState(t, tr, c, Here, 15*time.Second)
	tr.Disconnected("m/1")
	c.pass(14 * time.Second)
	wantState(t, tr, c, Here, time.Second)
	c.pass(time.Second)
	wantState(t, tr, c, Silent, 0)
}

func TestAResetConnectionCountsAfterItsGrace(t *testing.T) {
	tr, c := newTracker()
	c.pass(time.Hour)
	tr.Heard("m/1")
	c.pass(time.Second)
	tr.Disconnected("m/1")
	wantState(t, tr, c, Here, 5*time.Second)
	c.pass(5 * time.Second)
	wantState(t, tr, c, Reset, 9*time.Second)
	c.pass(9 * time.Second)
	wantState(t, tr, c, Silent, 0)
	tr.Heard("m/1")
	wantState(t, tr, c, Here, 15*time.Second)
}

func TestGoodbyeHoldsUntilItsTime(t *testing.T) {
	tr, c := newTracker()
	c.pass(time.Hour)
	tr.Goodbye("m/1", c.now.Add(time.Minute))
	tr.Disconnected("m/1")
	wantState(t, tr, c, Away, time.Minute)
	c.pass(time.Minute)
	wantState(t, tr, c, Silent, 0)
	tr.Goodbye("m/1", c.now.Add(24*time.Hour))
	wantState(t, tr, c, Away, MaxGoodbye)
}

func TestSentWorkCountsUntilAReportIncludesIt(t *testing.T) {
	tr, _ := newTracker()
	r := func(m int64) work.Resources { return work.Resources{MemoryMB: m, Containers: 1} }
	used := func(want int64) {
		t.Helper()
		if got, ok := tr.Used("c0"); !ok || got.MemoryMB != want {
			t.Errorf("used %v %v, want %d", got, ok, want)
		}
	}
	if _, ok := tr.Used("c0"); ok {
		t.Error("used before any report")
	}
	tr.Report("c0", Report{Reserved: r(100)})
	tr.Sent("c0", 7, r(10))
	tr.Sent("c0", 8, r(20))
	used(130)
	tr.Report("c0", Report{Reserved: r(110), LastWork: 7})
	used(130)
	tr.Report("c0", Report{Reserved: r(100), LastWork: 0}) // overtaken on its way
	used(130)
	tr.Unsent("c0", 8)
	used(110)
	tr.ForgetCell("c0")
	if _, ok := tr.Reported("c0"); ok {
		t.Error("reported after it was forgotten")
	}
}

func TestAViewIsCompleteWhenAllReportedOrTheGraceIsOver(t *testing.T) {
	tr, c := newTracker()
	cells := []work.Cell{{ID: "c0", Presence: work.Present}, {ID: "c1", Presence: work.Present}, {ID: "c2", Presence: work.Lost}}
	complete := func(cells []work.Cell, want bool) {
		t.Helper()
		if got, _ := tr.Complete(slices.Values(cells)); got != want {
			t.Errorf("complete: %v", got)
		}
	}
	complete(nil, false)
	tr.Report("c0", Report{})
	complete(cells, false)
	tr.Report("c1", Report{})
	complete(cells, true)
	complete(nil, false)
	c.pass(15 * time.Second)
	complete(nil, true)
}

func TestWatchersHearOfMoreRoomOnly(t *testing.T) {
	tr, _ := newTracker()
	bell, stop := tr.Watch()
	defer stop()
	rang := func(want bool) {
		t.Helper()
		select {
		case <-bell:
			if !want {
				t.Error("it rang")
			}
		default:
			if want {
				t.Error("it did not ring")
			}
		}
	}
	used := func(m int64) Report { return Report{Reserved: work.Resources{MemoryMB: m}} }
	tr.Report("c0", used(10))
	rang(true)
	tr.Report("c0", used(20))
	rang(false)
	tr.Report("c0", used(15))
	rang(true)
	tr.Report("c0", Report{Reserved: work.Resources{MemoryMB: 15}, Evacuating: true})
	rang(true)
	tr.Disconnected("m/1")
	rang(true)
}
