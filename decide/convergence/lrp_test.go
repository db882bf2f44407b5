package convergence

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"drover/noun/when"
	"drover/noun/work"
)

func lrp(i int, s work.LRPState, change ...func(*work.ActualLRP)) work.ActualLRP {
	r := work.ActualLRP{LRPKey: work.LRPKey{ProcessGUID: "web", Index: i}, Domain: "d", State: s, Incarnation: "1", Since: t0}
	if s == work.Claimed || s == work.Running {
		r.Holder = work.Holder{Instance: "i", Cell: "c0"}
	}
	for _, c := range change {
		c(&r)
	}
	return r
}

func on(c work.CellID) func(*work.ActualLRP) { return func(r *work.ActualLRP) { r.Holder.Cell = c } }
func of(i work.Incarnation) func(*work.ActualLRP) {
	return func(r *work.ActualLRP) { r.Incarnation = i }
}
func stopping(r *work.ActualLRP)   { r.Stopping = true }
func evacuating(r *work.ActualLRP) { r.Evacuating, r.Expires = true, t0.Add(10*time.Minute) }
func crashes(n int) func(*work.ActualLRP) {
	return func(r *work.ActualLRP) { r.CrashCount = n }
}

func TestDecideLRPs(t *testing.T) {
	for _, tt := range []struct {
		name    string
		desired int // -1: not desired
		stale   bool
		records []work.ActualLRP
		after   time.Duration
		want    string
		again   time.Duration // -1: never
	}{
		{"D-052 D-119 missing indexes", 3, true, []work.ActualLRP{lrp(1, work.Running)}, 0, "0 create, 2 create", -1},
		{"D-053 states play no part", 3, false, []work.ActualLRP{lrp(0, work.Crashed, crashes(201)), lrp(1, work.Claimed), lrp(2, work.Running)}, 0, "", -1},
		{"D-051 D-120 extras in any state", 1, false, []work.ActualLRP{lrp(0, work.Running), lrp(1, work.Unclaimed), lrp(2, work.Crashed), lrp(3, work.Claimed), lrp(4, work.Running)}, 0, "1 delete, 2 delete, 3 stop, 4 stop", -1},
		{"D-121 extras in a stale domain", 1, true, []work.ActualLRP{lrp(0, work.Running), lrp(1, work.Unclaimed), lrp(2, work.Running)}, 0, "", -1},
		{"not desired at all", -1, false, []work.ActualLRP{lrp(0, work.Running)}, 0, "0 stop", -1},
		{"D-067 a marked record's cell is told", -1, false, []work.ActualLRP{lrp(0, work.Running, stopping)}, 0, "0 tell stop", StopAgain},
		{"D-122 a crash's wait", 1, false, []work.ActualLRP{lrp(0, work.Crashed, crashes(4))}, time.Minute - 1, "", time.Minute},
		{"D-122 a crash's wait is over", 1, false, []work.ActualLRP{lrp(0, work.Crashed, crashes(4))}, time.Minute, "0 restart", -1},
		{"D-102 never restarted", 1, false, []work.ActualLRP{lrp(0, work.Crashed, crashes(201))}, time.Hour * 1000, "", -1},
		{"D-123 not UNCLAIMED for long", 1, false, []work.ActualLRP{lrp(0, work.Unclaimed)}, 29 * time.Second, "", 30 * time.Second},
		{"D-123 UNCLAIMED for too long", 1, false, []work.ActualLRP{lrp(0, work.Unclaimed)}, 30 * time.Second, "0 emit", 60 * time.Second},
		{"D-116 a lost cell's records", 2, true, []work.ActualLRP{lrp(0, work.Claimed, on("lost")), lrp(1, work.Running, on("lost"))}, 0, "0 unplace, 1 unplace", -1},
		{"a lost cell's records that nobody desires", 0, false, []work.ActualLRP{lrp(0, work.Running, on("lost"))}, 0, "0 delete", -1},
		{"a lost cell's records that perhaps nobody desires", 0, true, []work.ActualLRP{lrp(0, work.Running, on("lost"))}, 0, "0 unplace", -1},
		{"a lost cell's stopping record", 0, true, []work.ActualLRP{lrp(0, work.Running, on("lost"), stopping)}, 0, "0 delete", -1},
		{"an instance of the LRP's predecessor", 1, true, []work.ActualLRP{lrp(0, work.Running, of("0"))}, 0, "0 stop", -1},
		{"a waiting record of the LRP's predecessor", 1, true, []work.ActualLRP{lrp(0, work.Unclaimed, of("0"))}, 0, "0 delete", -1},
		{"D-114 evacuating records are ignored", 1, false, []work.ActualLRP{lrp(0, work.Running, evacuating), lrp(0, work.Running), lrp(1, work.Running, evacuating)}, 0, "", 10 * time.Minute},
		{"D-137 an evacuating record's time is over", 1, false, []work.ActualLRP{lrp(0, work.Running, evacuating), lrp(0, work.Running)}, 10 * time.Minute, "0 drop evacuating", -1},
		{"a lost cell's evacuating record", 1, true, []work.ActualLRP{lrp(0, work.Running, evacuating, on("lost")), lrp(0, work.Running)}, 0, "0 drop evacuating", -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := LRPs{
				GUID: "web", Records: tt.records, Crashes: DefaultCrashPolicy,
				Fresh: func(work.Domain) bool { return !tt.stale },
				Gone:  func(c work.CellID) bool { return c == "lost" },
			}
			if tt.desired >= 0 {
				v.Desired = &work.DesiredLRP{ProcessGUID: "web", Instances: tt.desired, Incarnation: "1"}
			}
			actions, again := v.Decide(t0.Add(tt.after))
			var got []string
			for _, a := range actions {
				got = append(got, fmt.Sprintf("%d %s", a.Key.Index, a.Kind))
			}
			if s := strings.Join(got, ", "); s != tt.want {
				t.Errorf("%q, want %q", s, tt.want)
			}
			want := when.Instant(0)
			if tt.again >= 0 {
				want = t0.Add(tt.again)
			}
			if again != want {
				t.Errorf("again after %s, want %s", again.Sub(t0), tt.again)
			}
		})
	}
}

func TestTask(t *testing.T) {
	for _, tt := range []struct {
		name  string
		t     work.Task
		after time.Duration
		want  TaskKind
		again time.Duration // -1: never
	}{
		{"D-192 PENDING", work.Task{State: work.TaskPending}, 29 * time.Second, 0, 30 * time.Second},
		{"D-192 PENDING for long", work.Task{State: work.TaskPending}, 30 * time.Second, EmitTask, 60 * time.Second},
		{"RUNNING", work.Task{State: work.TaskRunning, Cell: "c0"}, time.Hour, 0, -1},
		{"D-191 RUNNING on a lost cell", work.Task{State: work.TaskRunning, Cell: "lost"}, 0, FailTask, -1},
		{"D-193 COMPLETED", work.Task{State: work.TaskCompleted, FirstCompleted: t0}, 2*time.Minute - 1, 0, 2 * time.Minute},
		{"D-193 COMPLETED two minutes ago", work.Task{State: work.TaskCompleted, FirstCompleted: t0}, 2 * time.Minute, DeleteTask, -1},
		{"D-184 cancelled while on a cell", work.Task{State: work.TaskCompleted, FirstCompleted: t0, FailureReason: Cancelled, Cell: "c0"}, 0, TellCancelled, 2 * time.Minute},
		{"cancelled while PENDING", work.Task{State: work.TaskCompleted, FirstCompleted: t0, FailureReason: Cancelled}, 0, 0, 2 * time.Minute},
		{"T5 a callback comes before the end", work.Task{State: work.TaskCompleted, FirstCompleted: t0, Callback: "http://x"}, time.Hour, 0, -1},
		{"D-193 a callback that failed", work.Task{State: work.TaskCompleted, FirstCompleted: t0.Add(-time.Second), Callback: "http://x"}, 2 * time.Minute, DeleteTask, -1},
		{"D-195 RESOLVING", work.Task{State: work.TaskResolving}, 29 * time.Second, 0, 30 * time.Second},
		{"D-195 RESOLVING for too long", work.Task{State: work.TaskResolving}, 30 * time.Second, Unresolve, -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.t.Updated = t0
			got, again := Task(&tt.t, t0.Add(tt.after), func(c work.CellID) bool { return c == "lost" })
			want := when.Instant(0)
			if tt.again >= 0 {
				want = t0.Add(tt.again)
			}
			if got != tt.want || again != want {
				t.Errorf("%s, again after %s; want %s, %s", got, again.Sub(t0), tt.want, tt.again)
			}
		})
	}
}

func TestNamesDiffer(t *testing.T) {
	for _, names := range [][]string{lrpKindNames[:], taskKindNames[:]} {
		seen := map[string]bool{}
		for _, n := range names {
			if n == "" || seen[n] {
				t.Errorf("%q twice or empty", n)
			}
			seen[n] = true
		}
	}
}
