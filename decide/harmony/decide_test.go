package harmony

import (
	"testing"

	"drover/noun/work"
)

const self work.CellID = "c0"

var alpha = work.Holder{Instance: "i1", Cell: self}

func container(s work.ContainerState) *work.Container {
	return &work.Container{GUID: "i1", State: s, Incarnation: "d1", LRP: &work.LRPKey{ProcessGUID: "web"}}
}

func stopped() *work.Container {
	c := container(work.Completed)
	c.Result.Stopped = true
	return c
}

func record(s work.LRPState, h work.Holder) *work.ActualLRP {
	return &work.ActualLRP{State: s, Holder: h, Incarnation: "d1"}
}

func evac(h work.Holder) *work.ActualLRP {
	return &work.ActualLRP{Evacuating: true, State: work.Running, Holder: h, Incarnation: "d1"}
}

func TestDecideLRP(t *testing.T) {
	beta := work.Holder{Instance: "i9", Cell: "c9"}
	otherHere := work.Holder{Instance: "i2", Cell: self}
	sameElsewhere := work.Holder{Instance: "i1", Cell: "c9"}
	placement := record(work.Unclaimed, work.Holder{})
	placement.PlacementError = "insufficient resources"
	nextIncarnation := record(work.Unclaimed, work.Holder{})
	nextIncarnation.Incarnation = "d2"
	for _, tt := range []struct {
		name string
		v    LRP
		want Plan
	}{
		{"D-125 alpha is our instance here", LRP{Container: container(work.ContainerRunning), Instance: record(work.Running, alpha)}, do()},
		{"D-126 another cell is omega", LRP{Container: container(work.ContainerRunning), Instance: record(work.Running, beta)}, do(DeleteContainer)},
		{"D-126 another instance here is omega", LRP{Container: container(work.ContainerRunning), Instance: record(work.Running, otherHere)}, do(DeleteContainer)},
		{"D-126 our instance on another cell is omega", LRP{Container: container(work.ContainerRunning), Instance: record(work.Running, sameElsewhere)}, do(DeleteContainer)},
		{"D-127 stopped is shutdown", LRP{Container: stopped(), Instance: record(work.Running, alpha)}, do(RemoveRecord, DeleteContainer)},
		{"D-127 anything else is crashed", LRP{Container: container(work.Completed), Instance: record(work.Running, alpha)}, do(Crash, DeleteContainer)},
		{"D-128 no container", LRP{Instance: record(work.Claimed, alpha)}, do(RemoveRecord)},
		{"an evacuating record without a container goes", LRP{Evacuating: evac(alpha)}, do(RemoveEvacuating)},
		{"a reservation for a deleted LRP does not claim its successor's record", LRP{Container: container(work.Reserved), Instance: nextIncarnation}, do(DeleteContainer)},
		{"D-138 a placement error while evacuating", LRP{Draining: true, Container: container(work.ContainerRunning), Instance: placement}, do()},
		{"evacuating without a placement error", LRP{Draining: true, Container: container(work.ContainerRunning), Instance: record(work.Unclaimed, work.Holder{})}, do(CreateEvacuating)},
		{"D-140 D-142 a reservation while evacuating", LRP{Draining: true, Container: container(work.Reserved), Instance: record(work.Claimed, alpha)}, do(Unclaim, DeleteContainer)},
		{"D-140 D-142 starting while evacuating", LRP{Draining: true, Container: container(work.Created), Instance: record(work.Unclaimed, work.Holder{})}, do(Unclaim, DeleteContainer)},
		{"D-141 our evacuating record goes first", LRP{Draining: true, Container: container(work.Initializing), Instance: record(work.Claimed, alpha), Evacuating: evac(alpha)}, do(RemoveEvacuating, Unclaim, DeleteContainer)},
		{"an instance of omega is left alone", LRP{Draining: true, Container: container(work.Reserved), Instance: record(work.Running, beta), Evacuating: evac(beta)}, do(DeleteContainer)},
		{"D-143 shut down while evacuating", LRP{Draining: true, Container: stopped(), Instance: record(work.Running, alpha), Evacuating: evac(alpha)}, do(RemoveEvacuating, RemoveRecord, DeleteContainer)},
		{"D-144 crashed while evacuating", LRP{Draining: true, Container: container(work.Completed), Instance: record(work.Running, alpha), Evacuating: evac(alpha)}, do(RemoveEvacuating, Crash, DeleteContainer)},
		{"D-144 crashed after the record left us", LRP{Draining: true, Container: container(work.Completed), Instance: record(work.Running, beta), Evacuating: evac(alpha)}, do(RemoveEvacuating, DeleteContainer)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.v.Self = self
			if got := DecideLRP(tt.v); got.Plan != tt.want {
				t.Errorf("%s, want %s", got.Plan, tt.want)
			}
		})
	}
}

func TestAtTimeout(t *testing.T) {
	beta := work.Holder{Instance: "i9", Cell: "c9"}
	for _, tt := range []struct {
		name string
		got  Decision
		want Plan
	}{
		{"D-145 our evacuating record goes, then the container", LRPAtTimeout(LRP{Self: self, Container: container(work.ContainerRunning), Instance: record(work.Claimed, beta), Evacuating: evac(alpha)}), do(RemoveEvacuating, DeleteContainer)},
		{"our instance goes back to the auction", LRPAtTimeout(LRP{Self: self, Container: container(work.ContainerRunning), Instance: record(work.Running, alpha)}), do(Unclaim, DeleteContainer)},
		{"D-190 a task fails", TaskAtTimeout(self, &work.Container{Incarnation: "t1", State: work.ContainerRunning}, &work.Task{Incarnation: "t1", State: work.TaskRunning, Cell: self}), do(FailTask, DeleteContainer)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.got.Plan != tt.want {
				t.Errorf("%s, want %s", tt.got.Plan, tt.want)
			}
		})
	}
	if TimedOutTask != "timed out during cell evacuation" {
		t.Error(TimedOutTask)
	}
}

func TestDecideTask(t *testing.T) {
	c := func(s work.ContainerState) *work.Container { return &work.Container{Incarnation: "t1", State: s} }
	on := func(s work.TaskState, cell work.CellID) *work.Task {
		return &work.Task{Incarnation: "t1", State: s, Cell: cell}
	}
	for _, tt := range []struct {
		name string
		c    *work.Container
		t    *work.Task
		want Plan
	}{
		{"D-166 a reservation starts the task, then runs", c(work.Reserved), on(work.TaskPending, ""), do(StartTask, RunContainer)},
		{"D-168 done", c(work.Completed), on(work.TaskRunning, self), do(CompleteTask, DeleteContainer)},
		{"D-185 cancelled", c(work.ContainerRunning), on(work.TaskCompleted, self), do(DeleteContainer)},
		{"D-197 no cell is omega", c(work.ContainerRunning), on(work.TaskCompleted, ""), do(DeleteContainer)},
		{"D-187 another incarnation is another task", c(work.ContainerRunning), &work.Task{Incarnation: "t2", State: work.TaskRunning, Cell: self}, do(DeleteContainer)},
		{"no container", nil, on(work.TaskRunning, self), do(FailTask)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := DecideTask(self, tt.c, tt.t); got.Plan != tt.want {
				t.Errorf("%s, want %s", got.Plan, tt.want)
			}
		})
	}
}

// Whatever comes in, a decision comes out, and what is no state does nothing.
func FuzzClassify(f *testing.F) {
	f.Add(uint8(1), uint8(1), "i1", "c0", true)
	f.Add(uint8(9), uint8(9), "", "", false)
	f.Fuzz(func(t *testing.T, cs, rs uint8, instance, cell string, draining bool) {
		h := work.Holder{Instance: work.InstanceGUID(instance), Cell: work.CellID(cell)}
		v := LRP{Self: self, Draining: draining, Container: container(work.ContainerState(cs)), Instance: record(work.LRPState(rs), h), Evacuating: evac(h)}
		d := DecideLRP(v)
		if known := cs >= 1 && cs <= 5 && rs >= 1 && rs <= 4; !known && (d.Plan != Plan{} || !d.Loud()) {
			t.Errorf("no state, and %s", d.Plan)
		}
		k := DecideTask(self, v.Container, &work.Task{Incarnation: "d1", State: work.TaskState(rs), Cell: work.CellID(cell)})
		if known := cs >= 1 && cs <= 5 && rs >= 1 && rs <= 4; !known && (k.Plan != Plan{} || !k.Loud()) {
			t.Errorf("no state, and %s", k.Plan)
		}
	})
}
