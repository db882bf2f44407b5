package rep_test

import (
	"errors"
	"testing"
	"time"

	"drover/noun/fault"
	"drover/noun/work"
	"drover/wire/convert"
	"drover/wire/droverv1"
)

// world is a container and the records of web/0, before a rep looks.
type world struct {
	container  work.ContainerState // 0: none
	stopped    bool
	failed     string
	instance   *work.ActualLRP
	evacuating *work.ActualLRP
}

var (
	here      = work.Holder{Instance: "a", Cell: self}
	elsewhere = work.Holder{Instance: "b", Cell: "c2"}
)

func record(state work.LRPState, h work.Holder) *work.ActualLRP {
	return &work.ActualLRP{
		LRPKey: work.LRPKey{ProcessGUID: "web"}, State: state, Holder: h, Incarnation: "inc", Routable: state == work.Running,
	}
}

func (r *rig) build(w world) {
	r.board.log = &r.cs.log
	if w.container != 0 {
		r.cs.all["a"] = &work.Container{
			GUID: "a", State: w.container, LRP: &work.LRPKey{ProcessGUID: "web"}, Incarnation: "inc", Domain: "d",
			Result: work.RunResult{Stopped: w.stopped, Failed: w.failed != "", FailureReason: w.failed},
			Net:    work.NetInfo{Address: "127.1.2.3"},
		}
	}
	if w.instance != nil {
		r.board.put("web/0/i", *w.instance)
	}
	if w.evacuating != nil {
		e := *w.evacuating
		e.Evacuating = true
		r.board.put("web/0/e", e)
	}
	r.rep = r.newRep()
	r.sync()
}

// Rule: D-001 D-003 D-024 D-124 D-062 D-064 D-066 D-069 D-096
func TestTheRepDoesWhatTheTableSays(t *testing.T) {
	for _, c := range []struct {
		name  string
		world world
		want  []string
	}{
		{"a reservation of an unclaimed LRP is claimed, then run", world{container: work.Reserved, instance: record(work.Unclaimed, work.Holder{})}, []string{"claim", "run a"}},
		{"a claimed reservation is run", world{container: work.Reserved, instance: record(work.Claimed, here)}, []string{"run a"}},
		{"a reservation claimed elsewhere is deleted", world{container: work.Reserved, instance: record(work.Claimed, elsewhere)}, []string{"delete a"}},
		{"a reservation of what is not desired is deleted", world{container: work.Reserved}, []string{"delete a"}},
		{"a starting container is left alone", world{container: work.Created, instance: record(work.Claimed, here)}, nil},
		{"a running container is told to the board", world{container: work.ContainerRunning, instance: record(work.Claimed, here)}, []string{"start"}},
		{"a blank board never stops a running container", world{container: work.ContainerRunning}, []string{"start"}},
		{"a running container that the board knows is left alone", world{container: work.ContainerRunning, instance: record(work.Running, here)}, nil},
		{"what runs elsewhere is deleted here", world{container: work.ContainerRunning, instance: record(work.Running, elsewhere)}, []string{"delete a"}},
		{"a crash is told, then the container deleted", world{container: work.Completed, failed: "exited with status 1", instance: record(work.Running, here)}, []string{"crash", "delete a"}},
		{"a stopped container's record goes, then the container", world{container: work.Completed, stopped: true, instance: record(work.Running, here)}, []string{"remove", "delete a"}},
		{"a record without a container goes", world{instance: record(work.Running, here)}, []string{"remove"}},
		{"an evacuating record without a container goes", world{instance: record(work.Running, elsewhere), evacuating: record(work.Running, here)}, []string{"remove_evacuating"}},
		{"records of others are left alone", world{instance: record(work.Running, elsewhere)}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			r.build(c.world)
			r.settle()
			r.want(c.want...)
		})
	}
}

// Rule: D-002 D-025
func TestPollingAloneFindsWhatNoEventTold(t *testing.T) {
	r := newRig(t)
	r.build(world{container: work.Created, instance: record(work.Claimed, here)})
	r.settle()
	r.cs.all["a"].State = work.ContainerRunning // and nobody says so
	r.settle()
	r.want()
	r.rep.Poll()
	r.settle()
	r.want("start")
}

func TestNothingIsDoneBeforeTheFeedIsComplete(t *testing.T) {
	r := newRig(t)
	r.board.log = &r.cs.log
	r.cs.all["a"] = &work.Container{GUID: "a", State: work.Reserved, LRP: &work.LRPKey{ProcessGUID: "web"}, Incarnation: "inc"}
	r.rep = r.newRep()
	r.rep.Feed(&droverv1.FeedResponse{Reset_: true, Revision: 10})
	r.rep.Poll()
	r.settle()
	r.want()
	r.rep.Feed(&droverv1.FeedResponse{Synced: true, Revision: 10})
	r.settle()
	r.want("delete a")
}

// Rule: D-026 D-027
func TestADecisionOnAStaleRecordIsDropped(t *testing.T) {
	r := newRig(t)
	r.build(world{container: work.Completed, failed: "x", instance: record(work.Running, here)})
	r.board.steal = func() { r.board.put("web/0/i", *record(work.Running, elsewhere)) }
	r.settle()
	r.want("delete a") // and no crash of the other cell's instance
}

func TestABoardThatIsAwayIsTriedAgain(t *testing.T) {
	r := newRig(t)
	r.build(world{container: work.ContainerRunning, instance: record(work.Claimed, here)})
	r.board.away = true
	r.settle()
	r.want()
	if c := r.cs.all["a"]; c == nil || c.State != work.ContainerRunning {
		t.Fatal("the container did not go on")
	}
	r.board.away = false
	r.now = r.now.Add(time.Minute)
	r.settle()
	r.want("start")
	if s := r.board.steps[len(r.board.steps)-1]; s.GetNet().GetAddress() != "127.1.2.3" {
		t.Errorf("told the board of %v", s.GetNet())
	}
}

func TestAnswersWithoutRecordsAreLookedUp(t *testing.T) {
	r := newRig(t)
	r.build(world{container: work.Reserved, instance: record(work.Unclaimed, work.Holder{})})
	r.settle()
	r.want("claim", "run a")
	r.board.mute = true
	r.cs.all["a"].State = work.ContainerRunning
	r.rep.Poll()
	r.settle()
	r.want("claim", "run a", "start")
}

// Rule: D-130
func TestABoardThatKeepsSayingConflictIsNotAskedInAHotLoop(t *testing.T) {
	r := newRig(t)
	r.build(world{container: work.Reserved, instance: record(work.Unclaimed, work.Holder{})})
	r.board.deny = true
	r.settle() // it comes to rest
	if n := len(r.board.steps); n > 6 {
		t.Errorf("%d calls", n)
	}
	if r.cs.all["a"] == nil {
		t.Error("the reservation was given up")
	}
	r.board.deny = false
	r.now = r.now.Add(time.Minute)
	r.settle()
	r.want("claim", "run a")
}

// Rule: D-063
func TestAClaimThatIsRefusedGivesTheReservationBack(t *testing.T) {
	r := newRig(t)
	r.build(world{container: work.Reserved, instance: record(work.Unclaimed, work.Holder{})})
	r.board.refuse = "claim"
	r.settle()
	r.want("delete a")
}

// Rule: D-065
func TestAContainerThatCanNotRunIsGivenUpWithItsRecord(t *testing.T) {
	r := newRig(t)
	r.build(world{container: work.Reserved, instance: record(work.Unclaimed, work.Holder{})})
	r.cs.cannot = errors.New("disk full")
	r.settle()
	r.want("claim", "delete a", "remove")
}

// Rule: D-061 D-133 D-135
func TestWork(t *testing.T) {
	item := func() *droverv1.WorkItem {
		return &droverv1.WorkItem{ProcessGuid: "web", InstanceGuid: "a", Incarnation: "inc", Spec: convert.SpecToWire(work.Spec{Stack: "linux"})}
	}
	other := item()
	other.Spec.Stack = "plan9"
	for _, c := range []struct {
		name   string
		epoch  uint64
		item   *droverv1.WorkItem
		before func(*rig)
		reason string // "" is reserved
	}{
		{name: "it is reserved", epoch: 2},
		{name: "an older leader's is refused", epoch: 1, before: func(r *rig) { r.rep.Feed(&droverv1.FeedResponse{Epoch: 5}) }, reason: "sent by a leader of epoch 1, the cell follows 5"},
		{name: "an evacuating cell takes none", epoch: 2, before: func(r *rig) { r.rep.Evacuate(true) }, reason: "the cell is evacuating"},
		{name: "an unfit cell takes none", epoch: 2, before: func(r *rig) { r.rep.SetUnfit("no disk") }, reason: "the cell is unfit: no disk"},
		{name: "a full cell takes none", epoch: 2, before: func(r *rig) { r.cs.full = true }, reason: "insufficient resources: memory"},
		{name: "another stack's is refused", epoch: 2, item: other, reason: `the cell's stack is "linux", not "plan9"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			r.build(world{})
			if c.before != nil {
				c.before(r)
			}
			if c.item == nil {
				c.item = item()
			}
			ack := r.rep.Work(&droverv1.WorkBatch{Id: 7, Epoch: c.epoch, Items: []*droverv1.WorkItem{c.item}})
			reason := ""
			for _, f := range ack.Refused {
				reason = f.Reason
			}
			if reason != c.reason || (len(r.cs.all) == 1) != (c.reason == "") || ack.Batch != 7 {
				t.Errorf("refused with %q and %d containers, want %q", reason, len(r.cs.all), c.reason)
			}
			r.want() // the answer does not wait for the claim
		})
	}
}

func TestWorkIsClaimedOnTheRevisionTheAuctionSaw(t *testing.T) {
	r := newRig(t)
	r.build(world{})
	r.board.put("web/0/i", *record(work.Unclaimed, work.Holder{}))
	batch := &droverv1.WorkBatch{Id: 1, Epoch: 2, Items: []*droverv1.WorkItem{{
		ProcessGuid: "web", InstanceGuid: "a", Incarnation: "inc", Spec: &droverv1.Spec{}, Revision: r.board.revs["web/0/i"],
	}}}
	r.rep.Work(batch)
	r.rep.Work(batch) // sent twice
	r.settle()
	r.want("claim", "run a")
	if first := r.board.steps[0].Kind; first != "claim" {
		t.Errorf("the first call was %q: a round trip too many", first)
	}
	if got := r.rep.Report(); got.LastWork != 1 || got.Reserved.Containers != 1 {
		t.Errorf("report %v", got)
	}
}

// Rule: D-067
func TestAStopMakesTheRecordUnroutableFirst(t *testing.T) {
	r := newRig(t)
	r.build(world{container: work.ContainerRunning, instance: record(work.Running, here)})
	r.settle()
	r.rep.Stop(&droverv1.StopContainer{ProcessGuid: "web", InstanceGuid: "a", Epoch: 1})
	r.settle()
	r.want("unroutable", "stop a", "remove", "delete a")
}

func TestStops(t *testing.T) {
	t.Run("of an older leader are ignored", func(t *testing.T) {
		r := newRig(t)
		r.build(world{container: work.ContainerRunning, instance: record(work.Running, here)})
		r.rep.Feed(&droverv1.FeedResponse{Epoch: 9})
		r.rep.Stop(&droverv1.StopContainer{ProcessGuid: "web", InstanceGuid: "a", Epoch: 8})
		r.settle()
		r.want()
	})
	t.Run("that a record remembers are done after a restart", func(t *testing.T) {
		r := newRig(t)
		a := record(work.Running, here)
		a.Stopping, a.Routable = true, false
		r.build(world{container: work.ContainerRunning, instance: a})
		r.settle()
		r.want("stop a", "remove", "delete a")
	})
	t.Run("of a container that does not exist clean the record up", func(t *testing.T) {
		r := newRig(t)
		r.build(world{})
		r.board.put("web/0/i", *record(work.Claimed, here)) // the feed has not told yet
		r.rep.Stop(&droverv1.StopContainer{ProcessGuid: "web", InstanceGuid: "a", Epoch: 1})
		r.settle()
		r.want("remove")
	})
}

// Rule: D-106 D-107 D-136 D-137 D-145
func TestEvacuation(t *testing.T) {
	r := newRig(t)
	r.build(world{container: work.ContainerRunning, instance: record(work.Running, here)})
	r.settle()
	r.rep.Evacuate(true)
	r.settle()
	r.want("create_evacuating", "unclaim")
	for _, s := range r.board.steps {
		if s.Kind == "create_evacuating" && s.TtlMs != (10*time.Minute).Milliseconds() {
			t.Errorf("its TTL is %d ms", s.TtlMs)
		}
	}
	if !r.rep.Report().Evacuating || r.rep.Evacuated() {
		t.Error("it is not said to be evacuating, or is done already")
	}
	t.Run("ends when the instance runs elsewhere", func(t *testing.T) {
		r.board.put("web/0/i", *record(work.Running, elsewhere))
		r.sync()
		r.settle()
		r.want("create_evacuating", "unclaim", "remove_evacuating", "delete a")
		if !r.rep.Evacuated() {
			t.Error("it is not done")
		}
	})
	t.Run("gives up at its end, records first", func(t *testing.T) {
		r := newRig(t)
		r.build(world{container: work.ContainerRunning, instance: record(work.Running, here)})
		r.rep.Evacuate(true)
		r.settle()
		r.now = r.now.Add(11 * time.Minute)
		r.rep.Poll()
		r.settle()
		r.want("create_evacuating", "unclaim", "remove_evacuating", "delete a")
	})
}

func TestTasks(t *testing.T) {
	task := func(state work.TaskState, incarnation work.Incarnation, cell work.CellID) *work.Task {
		return &work.Task{GUID: "hello", Incarnation: incarnation, State: state, Cell: cell}
	}
	done := work.RunResult{Result: "42"}
	for _, c := range []struct {
		name  string // with the rules covered
		state work.ContainerState
		res   work.RunResult
		task  *work.Task
		over  bool
		want  []string
	}{
		{name: "a pending task is started, then run (D-166 D-167)", state: work.Reserved, task: task(work.TaskPending, "t1", ""), want: []string{"start_task", "run t1"}},
		{name: "a started task is never run again (D-153)", state: work.Reserved, task: task(work.TaskRunning, "t1", self)},
		{name: "a task that ended is completed, then its container deleted (D-168)", state: work.Completed, res: done, task: task(work.TaskRunning, "t1", self), want: []string{"complete_task", "delete t1"}},
		{name: "a cancelled task's container is deleted (D-185)", state: work.ContainerRunning, task: task(work.TaskCompleted, "t1", self), want: []string{"delete t1"}},
		{name: "a container of an earlier incarnation is deleted (D-187)", state: work.ContainerRunning, task: task(work.TaskPending, "t2", ""), want: []string{"delete t1"}},
		{name: "a running task without container has failed", task: task(work.TaskRunning, "t1", self), want: []string{"complete_task"}},
		{name: "at the end of an evacuation a running task fails (D-190)", state: work.ContainerRunning, task: task(work.TaskRunning, "t1", self), over: true, want: []string{"complete_task", "delete t1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			r.board.log = &r.cs.log
			if c.state != 0 {
				r.cs.all["t1"] = &work.Container{GUID: "t1", State: c.state, Task: "hello", Incarnation: "t1", Result: c.res}
			}
			r.board.putTask(*c.task)
			r.rep = r.newRep()
			if c.over {
				r.rep.Evacuate(true)
				r.now = r.now.Add(time.Hour)
			}
			r.sync()
			r.settle()
			r.want(c.want...)
			after := r.board.tasks["hello"]
			switch {
			case c.over:
				if !after.Failed || after.FailureReason != "timed out during cell evacuation" {
					t.Errorf("got %+v", after)
				}
			case c.res.Result != "":
				if after.Result != "42" || after.Failed {
					t.Errorf("got %+v", after)
				}
			case c.state == 0:
				if !after.Failed || after.FailureReason == "" {
					t.Errorf("got %+v", after)
				}
			}
		})
	}
}

func TestARefusalToRunIsNotAFaultOfTheBoard(t *testing.T) {
	r := newRig(t)
	r.build(world{container: work.Reserved, instance: record(work.Claimed, here)})
	r.cs.cannot = fault.New(fault.NotFound, "container a does not exist")
	r.settle()
	r.want("delete a", "remove")
}
