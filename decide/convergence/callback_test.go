package convergence

import (
	"testing"
	"time"

	"drover/noun/work"
)

func TestCallback(t *testing.T) {
	const url = "http://127.0.0.1/done"
	back := work.Task{State: work.TaskCompleted, Callback: url, FirstCompleted: t0, Updated: t0.Add(30 * time.Second)}
	late := back
	late.Updated = t0.Add(100 * time.Second)
	for _, tt := range []struct {
		name  string
		t     work.Task
		after time.Duration
		call  bool
		again time.Duration // -1: never
	}{
		{"D-169 just COMPLETED", work.Task{State: work.TaskCompleted, Callback: url, FirstCompleted: t0, Updated: t0}, 0, true, -1},
		{"COMPLETED while no leader was there", work.Task{State: work.TaskCompleted, Callback: url, FirstCompleted: t0, Updated: t0}, time.Hour, true, -1},
		{"D-177 without a callback, for whoever polls", work.Task{State: work.TaskCompleted, FirstCompleted: t0, Updated: t0}, time.Minute, false, -1},
		{"D-179 RESOLVING already", work.Task{State: work.TaskResolving, Callback: url, FirstCompleted: t0, Updated: t0}, time.Minute, false, -1},
		{"RUNNING", work.Task{State: work.TaskRunning, Callback: url}, 0, false, -1},
		{"D-194 just back from RESOLVING", back, 30 * time.Second, false, 60 * time.Second},
		{"D-194 back for 30 s", back, 60 * time.Second, true, -1},
		{"back, and its time is up", back, 2 * time.Minute, false, -1},
		{"back for 30 s after its time is up", late, 130 * time.Second, false, -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			call, again := Callback(&tt.t, t0.Add(tt.after))
			if call != tt.call {
				t.Errorf("called: %v, want %v", call, tt.call)
			}
			if want := t0.Add(tt.again); tt.again >= 0 && again != want || tt.again < 0 && !again.IsZero() {
				t.Errorf("again at %v, want %v", again, want)
			}
		})
	}
}
