package api

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"drover/keep/board"
	"drover/keep/store"
	"drover/noun/entity"
	"drover/noun/fault"
	"drover/noun/work"
	"drover/wire/client"
	"drover/wire/droverv1"
)

// listen opens a feed and returns a function that reads until a message has a
// key, and the keys on the way.
func (l *lab) listen(c *client.Client, q *droverv1.FeedRequest) (until func(key string) *droverv1.Delta, end func() error) {
	l.Helper()
	ctx, cancel := context.WithCancel(l.Context())
	stream, err := c.Agent.Feed(ctx, connect.NewRequest(q))
	if err != nil {
		l.Fatal(err)
	}
	l.Cleanup(func() { cancel(); _ = stream.Close() })
	until = func(key string) *droverv1.Delta {
		l.Helper()
		for stream.Receive() {
			for _, d := range stream.Msg().Deltas {
				if d.Key == key {
					return d
				}
			}
		}
		l.Fatalf("the feed ended before %s: %v", key, stream.Err())
		return nil
	}
	return until, func() error {
		for stream.Receive() {
		}
		return stream.Err()
	}
}

func TestAnAgentHearsOfItsUnitsAndCommands(t *testing.T) {
	l := newLab(t)
	l.addMachines(1)
	agent, _ := l.join("1")
	until, end := l.listen(agent, &droverv1.FeedRequest{})
	if m := until("machine").GetMachine(); m.Id != "1" || m.ModelName != "default" || !slices.Equal(m.Servers, []string{l.addr}) || m.Cluster == "" {
		t.Errorf("the machine is %v", m)
	}
	l.deployBlog(l.admin(), "1")
	if u := until("unit/blog/0").GetUnit(); u.Life != "alive" || u.CharmName != "blog" || u.Config[0].Value != "Blog" || u.ConfigHash == "" {
		t.Errorf("the unit is %v", u)
	}
	beat(t, agent, 0)
	spec := &droverv1.Spec{Action: &droverv1.Action{Kind: &droverv1.Action_Run{Run: &droverv1.RunAction{Path: "sleep"}}}}
	d, err := l.admin().Work.DesireLRP(t.Context(), connect.NewRequest(&droverv1.DesireLRPRequest{Lrp: &droverv1.DesiredLRP{ProcessGuid: "web", Domain: "d", Instances: 1, Spec: spec}}))
	if err != nil {
		t.Fatal(err)
	}
	item := &droverv1.WorkItem{ProcessGuid: "web", Incarnation: d.Msg.Incarnation}
	if err := l.server.SendWork("c1", &droverv1.WorkBatch{Id: 7, Items: []*droverv1.WorkItem{item, {ProcessGuid: "none"}}}); err != nil {
		t.Fatal(err)
	}
	rev := l.server.cfg.Board.ActualRevision(l.st.View(), work.LRPKey{ProcessGUID: "web"}, false)
	if w := until("work").GetWork(); w.Id != 7 || w.Items[0].Revision != uint64(rev) || w.Items[1].Revision != 0 {
		t.Errorf("the work is %v, the record's revision %d", w, rev)
	}
	if err := l.server.SendStop("c1", &droverv1.StopContainer{ProcessGuid: "web"}); err != nil {
		t.Fatal(err)
	}
	until("stop")
	if _, err := agent.Agent.AckWork(t.Context(), connect.NewRequest(&droverv1.AckWorkRequest{Batch: 7, Cell: cellReport(7),
		Refused: []*droverv1.Refusal{{ProcessGuid: "web", Index: 1, Reason: "full"}}})); err != nil {
		t.Fatal(err)
	}
	if a := <-l.answers; a.Cell != "c1" || a.Batch != 7 || a.Refused[0].LRP != (work.LRPKey{ProcessGUID: "web", Index: 1}) || a.Refused[0].Reason != "full" {
		t.Errorf("the answer is %+v", a)
	}
	until2, _ := l.listen(agent, &droverv1.FeedRequest{}) // the agent comes back: what it acknowledged is not sent again
	if err := end(); err != nil {
		t.Errorf("the feed that was replaced ends with %v", err)
	}
	until2("machine")
	if err := l.server.SendWork("c1", &droverv1.WorkBatch{Id: 8}); err != nil {
		t.Fatal(err)
	}
	if w := until2("work").GetWork(); w.Id != 8 {
		t.Errorf("the work is %v", w)
	}
}

func cellReport(last uint64) *droverv1.CellReport {
	return &droverv1.CellReport{Stack: "linux-amd64", Runtimes: []string{"process"}, LastWork: last, Capacity: &droverv1.Resources{MemoryMb: 1000, DiskMb: 1000, Containers: 10},
		Reserved: &droverv1.Resources{MemoryMb: 100}}
}

func beat(t *testing.T, agent *client.Client, last uint64) {
	t.Helper()
	if _, err := agent.Agent.Heartbeat(t.Context(), connect.NewRequest(&droverv1.HeartbeatRequest{Cell: cellReport(last)})); err != nil {
		t.Fatal(err)
	}
}

func TestHeartbeatsMakeACellAndWriteOnlyWhatChanged(t *testing.T) {
	l := newLab(t)
	l.addMachines(1)
	agent, _ := l.join("1")
	beat(t, agent, 0)
	rev := l.st.View().Revision()
	for range 3 {
		beat(t, agent, 0)
	}
	if now := l.st.View().Revision(); now != rev {
		t.Errorf("heartbeats that say the same wrote %d times", now-rev)
	}
	resp, err := l.admin().Work.ListCells(t.Context(), connect.NewRequest(empties))
	if err != nil {
		t.Fatal(err)
	}
	cell := resp.Msg.Cells[0]
	if cell.Id != "c1" || cell.Presence != "present" || cell.Free.MemoryMb != 900 || cell.LastHeard == 0 {
		t.Errorf("the cell is %v", cell)
	}
	server := l.as(l.founding.Pair)
	_, err = server.Agent.Heartbeat(t.Context(), connect.NewRequest(&droverv1.HeartbeatRequest{}))
	check(t, err, fault.Denied)
	_, err = agent.Agent.Heartbeat(t.Context(), connect.NewRequest(&droverv1.HeartbeatRequest{Epoch: 99}))
	check(t, err, fault.Unavailable, "does not lead")
}

// Invariant X2.
func TestAnAgentActsOnlyForItsOwn(t *testing.T) {
	l := newLab(t)
	l.addMachines(2)
	admin := l.admin()
	l.deployBlog(admin, "2")
	one, _ := l.join("1")
	two, _ := l.join("2")
	ctx := t.Context()
	unit, _ := l.server.cfg.Registry.Unit(l.st.View(), l.model, "blog/0")
	req := connect.NewRequest(&droverv1.UnitRequest{Unit: "blog/0", Uid: string(unit.UID)})
	_, err := one.Agent.SetUnitDeployed(ctx, req)
	check(t, err, fault.Denied, "not on machine 1")
	if _, err := two.Agent.SetUnitDeployed(ctx, req); err != nil {
		t.Error(err)
	}
	_, err = one.Agent.ReportUnit(ctx, connect.NewRequest(&droverv1.ReportUnitRequest{Unit: "blog/0", Uid: string(unit.UID)}))
	check(t, err, fault.Denied, "not on machine 1")
	_, err = one.Agent.SetUnitDead(ctx, connect.NewRequest(&droverv1.UnitRequest{Unit: "none/0"}))
	check(t, err, fault.NotFound)
	app, _ := l.server.cfg.Registry.Application(l.st.View(), l.model, "blog")
	fetch := func(c *client.Client) ([]byte, error) {
		stream, err := c.Agent.FetchCharm(ctx, connect.NewRequest(&droverv1.FetchCharmRequest{Sha: string(app.Charm)}))
		if err != nil {
			return nil, err
		}
		var data []byte
		for stream.Receive() {
			data = append(data, stream.Msg().Chunk...)
		}
		return data, errors.Join(stream.Err(), stream.Close())
	}
	_, err = fetch(one)
	check(t, err, fault.Denied, "no unit on machine 1 uses")
	if data, err := fetch(two); err != nil || len(data) == 0 {
		t.Errorf("the own charm: %d bytes, %v", len(data), err)
	}
}

func TestStepsAreIndependentAndForTheOwnCell(t *testing.T) {
	l := newLab(t)
	l.addMachines(2)
	one, _ := l.join("1")
	two, _ := l.join("2")
	beat(t, one, 0)
	beat(t, two, 0)
	admin := l.admin()
	spec := &droverv1.Spec{Action: &droverv1.Action{Kind: &droverv1.Action_Run{Run: &droverv1.RunAction{Path: "sleep"}}}}
	d, err := admin.Work.DesireLRP(t.Context(), connect.NewRequest(&droverv1.DesireLRPRequest{RequestId: "1", Lrp: &droverv1.DesiredLRP{ProcessGuid: "web", Domain: "d", Instances: 2, Spec: spec}}))
	if err != nil {
		t.Fatal(err)
	}
	task, err := admin.Work.RunTask(t.Context(), connect.NewRequest(&droverv1.RunTaskRequest{RequestId: "1", Task: &droverv1.Task{Guid: "hello", Domain: "d", Spec: spec}}))
	if err != nil {
		t.Fatal(err)
	}
	rev := func(i int) uint64 {
		return uint64(l.server.cfg.Board.ActualRevision(l.st.View(), work.LRPKey{ProcessGUID: "web", Index: i}, false))
	}
	claim := func(i int, seen uint64) *droverv1.Step {
		return &droverv1.Step{Kind: "claim", ProcessGuid: "web", Index: int32(i), InstanceGuid: "g", Domain: "d", Incarnation: d.Msg.Incarnation, Seen: seen}
	}
	apply := func(c *client.Client, steps ...*droverv1.Step) []*droverv1.StepResult {
		resp, err := c.Agent.ApplySteps(t.Context(), connect.NewRequest(&droverv1.ApplyStepsRequest{Steps: steps}))
		if err != nil {
			t.Fatal(err)
		}
		return resp.Msg.Results
	}
	res := apply(one, claim(0, rev(0)+1), claim(1, rev(1)), &droverv1.Step{Kind: "dance"},
		&droverv1.Step{Kind: "start_task", TaskGuid: "hello", Incarnation: task.Msg.Incarnation, Seen: task.Msg.Revision})
	if res[0].Ok || !res[0].Conflict || res[0].Instance.GetState() != "UNCLAIMED" {
		t.Errorf("a stale step answers %v", res[0])
	}
	if !res[1].Ok || res[1].Instance.GetState() != "CLAIMED" || res[1].Revision != rev(1) || res[1].Instance.GetHolder().GetCell() != "c1" {
		t.Errorf("a good step answers %v, the record's revision is %d", res[1], rev(1))
	}
	if res[2].Ok || res[2].Conflict || !strings.Contains(res[2].Error, "no step") {
		t.Errorf("an unknown step answers %v", res[2])
	}
	if !res[3].Ok || res[3].Task.GetState() != "RUNNING" || res[3].Task.GetCell() != "c1" {
		t.Errorf("a task's step answers %v", res[3])
	}
	res = apply(two, &droverv1.Step{Kind: "remove", ProcessGuid: "web", Index: 1, InstanceGuid: "g", Seen: rev(1)},
		&droverv1.Step{Kind: "look", ProcessGuid: "web", Index: 1})
	if res[0].Ok || !res[0].Conflict {
		t.Errorf("another cell removed the record: %v", res[0])
	}
	if !res[1].Ok || res[1].Instance.GetHolder().GetCell() != "c1" {
		t.Errorf("a look answers %v", res[1])
	}
	if _, ok := l.server.cfg.Board.Actual(l.st.View(), work.LRPKey{ProcessGUID: "web", Index: 1}, false); !ok {
		t.Error("the record is gone")
	}
}

func TestLogsComeFromTheAgentThatHasThem(t *testing.T) {
	l := newLab(t)
	l.addMachines(2)
	admin := l.admin()
	one, _ := l.join("1")
	two, _ := l.join("2")
	l.deployBlog(admin, "1")
	read := func() (*connect.ServerStreamForClient[droverv1.LogChunk], error) {
		return admin.Server.ReadLog(t.Context(), connect.NewRequest(&droverv1.ReadLogRequest{Target: "blog/0", Lines: 5, Follow: true}))
	}
	stream, err := read()
	if err == nil {
		stream.Receive()
		err = stream.Err()
		_ = stream.Close()
	}
	check(t, err, fault.Unavailable, "not connected", "drover status")
	until, _ := l.listen(one, &droverv1.FeedRequest{})
	until("unit/blog/0")
	var got string
	done := make(chan error)
	go func() { // the call returns with the first chunk
		stream, err := read()
		for err == nil && stream.Receive() {
			got += string(stream.Msg().Data)
		}
		if err == nil {
			err = errors.Join(stream.Err(), stream.Close())
		}
		done <- err
	}()
	cmd := until("send_log").GetSendLog()
	if cmd.Target != "blog/0" || cmd.Lines != 5 || !cmd.Follow {
		t.Errorf("the command is %v", cmd)
	}
	forged := two.Agent.SendLog(t.Context())
	_ = forged.Send(&droverv1.SendLogRequest{Id: cmd.Id, Data: []byte("forged\n")})
	_, err = forged.CloseAndReceive()
	check(t, err, fault.NotFound, "nobody reads")
	sending := one.Agent.SendLog(t.Context())
	for _, line := range []string{"one\n", "two\n"} {
		if err := sending.Send(&droverv1.SendLogRequest{Id: cmd.Id, Data: []byte(line)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := sending.CloseAndReceive(); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil || got != "one\ntwo\n" {
		t.Errorf("read %q, then %v", got, err)
	}
}

func TestAWatchResumesWithoutAGapAndShowsNoSecrets(t *testing.T) {
	l := newLab(t)
	admin := l.admin()
	l.deployBlog(admin)
	from := l.st.View().Revision()
	if _, err := admin.Model.SetConfig(t.Context(), connect.NewRequest(&droverv1.SetConfigRequest{Application: "blog", Set: map[string]string{"title": "hunter2"}})); err != nil {
		t.Fatal(err)
	}
	l.update(func(tx *store.Txn) error {
		return l.server.cfg.Board.Start(tx, l.server.now(), board.Ask{Key: work.LRPKey{ProcessGUID: "web"}, Seen: board.AnyRevision, Domain: "d",
			Holder: work.Holder{Instance: "i", Cell: "c1"}}, work.NetInfo{})
	})
	if _, err := l.server.JoinToken(t.Context(), entity.Machine{Model: l.model, ID: "0", UID: "u"}); err != nil {
		t.Fatal(err)
	}
	watch := func(q *droverv1.WatchRequest, n int) []*droverv1.Event {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		stream, err := admin.Server.Watch(ctx, connect.NewRequest(q))
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
		var out []*droverv1.Event
		for len(out) < n && stream.Receive() {
			if e := stream.Msg(); e.Kind != "" {
				out = append(out, e)
			}
		}
		if len(out) < n {
			t.Fatalf("%d events, then %v", len(out), stream.Err())
		}
		return out
	}
	events := watch(&droverv1.WatchRequest{From: uint64(from)}, 2)
	if events[0].Kind != "config_changed" && events[0].Kind != "config_created" || events[1].Kind != "actual_lrp_created" || !events[1].Last || events[1].Revision <= events[0].Revision {
		t.Errorf("events %v", events)
	}
	for _, e := range watch(&droverv1.WatchRequest{From: 1}, 4) {
		if strings.Contains(e.String(), "hunter2") || strings.Contains(e.Kind, "token") || strings.Contains(e.Kind, "cluster") {
			t.Errorf("the event shows a secret: %v", e)
		}
	}
	if only := watch(&droverv1.WatchRequest{From: 1, Kinds: []string{"actual_lrp"}, Cell: "c1"}, 1); only[0].Key != "web/0" || !strings.Contains(only[0].Summary, "RUNNING on c1") {
		t.Errorf("filtered: %v", only)
	}
	stream, err := admin.Server.Watch(t.Context(), connect.NewRequest(&droverv1.WatchRequest{From: 1 << 40}))
	if err == nil {
		stream.Receive()
		err = stream.Err()
		_ = stream.Close()
	}
	check(t, err, fault.Invalid, "cannot watch from")
}

func TestStatusShowsTheModelAndWhy(t *testing.T) {
	l := newLab(t)
	l.addMachines(1)
	admin := l.admin()
	agent, _ := l.join("1")
	beat(t, agent, 0)
	l.deployBlog(admin, "1")
	unit, _ := l.server.cfg.Registry.Unit(l.st.View(), l.model, "blog/0")
	if _, err := agent.Agent.SetUnitDeployed(t.Context(), connect.NewRequest(&droverv1.UnitRequest{Unit: "blog/0", Uid: string(unit.UID)})); err != nil {
		t.Fatal(err)
	}
	if _, err := agent.Agent.SetStatus(t.Context(), connect.NewRequest(&droverv1.SetStatusRequest{Unit: "blog/0", Uid: string(unit.UID),
		Workload: &droverv1.StatusValue{Value: "active", Message: "up"}})); err != nil {
		t.Fatal(err)
	}
	status := func() *droverv1.StatusResponse {
		resp, err := admin.Model.Status(t.Context(), connect.NewRequest(&droverv1.StatusRequest{Work: true}))
		if err != nil {
			t.Fatal(err)
		}
		return resp.Msg
	}
	st := status()
	if st.Schema != "drover.status/v1" || st.Model != "default" || len(st.Machines) != 2 || len(st.Applications) != 1 || len(st.Units) != 1 || len(st.Cells) != 1 {
		t.Fatalf("the status is %v", st)
	}
	if a := st.Applications[0]; a.Status.Value != "active" || a.ActiveUnits != 1 || a.Units != 1 {
		t.Errorf("the application is %v", a)
	}
	if st.Machines[0].Agent != "never" || st.Machines[1].Agent != "alive" {
		t.Errorf("the agents are %s and %s", st.Machines[0].Agent, st.Machines[1].Agent)
	}
	l.clock.Add(2 * l.tracker.TTL())
	if st = status(); st.Machines[1].Agent != "silent" || st.Units[0].Agent.Value != string(entity.AgentLost) || st.Problems == 0 || len(st.Units[0].Impediments) == 0 {
		t.Errorf("with a silent agent: %v", st.Units[0])
	}
	if _, err := admin.Model.RemoveUnit(t.Context(), connect.NewRequest(&droverv1.RemoveRequest{Name: "blog/0"})); err != nil {
		t.Fatal(err)
	}
	for _, all := range []bool{false, true} {
		resp, err := admin.Model.Why(t.Context(), connect.NewRequest(&droverv1.WhyRequest{Entity: "blog/0", All: all}))
		if err != nil {
			t.Fatal(err)
		}
		if len(resp.Msg.Impediments) == 0 || resp.Msg.Summary == "" {
			t.Errorf("why (all %v): %v", all, resp.Msg)
		}
	}
	for _, name := range []string{"nothing", "web/7", "task:none"} {
		_, err := admin.Model.Why(t.Context(), connect.NewRequest(&droverv1.WhyRequest{Entity: name}))
		check(t, err, fault.NotFound, name, "drover status")
	}
}

func TestCharmsThatAreRefused(t *testing.T) {
	l := newLab(t)
	admin := l.admin()
	for name, data := range map[string][]byte{
		"nothing": nil, "no archive": []byte("hello"), "no metadata": archive(t, map[string]string{"x": "y"}),
		"nonsense": archive(t, map[string]string{"metadata.yaml": "name: [1,2"}),
	} {
		before := l.st.View().Revision()
		_, err := l.upload(admin, data)
		check(t, err, fault.Invalid)
		if now := l.st.View().Revision(); now != before {
			t.Errorf("%s: something was recorded", name)
		}
	}
	_, err := admin.Model.Deploy(t.Context(), connect.NewRequest(&droverv1.DeployRequest{CharmSha: strings.Repeat("a", 64)}))
	check(t, err, fault.NotFound, "no charm")
	first, err := l.upload(admin, archive(t, blogFiles))
	if err != nil {
		t.Fatal(err)
	}
	again, err := l.upload(admin, archive(t, blogFiles))
	if err != nil || again.Sha != first.Sha || again.Revision != first.Revision {
		t.Errorf("the same charm again: %v %v, first %v", again, err, first)
	}
}

func TestNamesForCompletion(t *testing.T) {
	l := newLab(t)
	admin := l.admin()
	l.deployBlog(admin, "0")
	for kind, want := range map[string]string{"application": "blog", "unit": "blog/0", "machine": "0", "model": "default", "lrp": "", "task": "", "cell": "", "relation": ""} {
		resp, err := admin.Server.Names(t.Context(), connect.NewRequest(&droverv1.NamesRequest{Kind: kind}))
		if err != nil || strings.Join(resp.Msg.Names, " ") != want {
			t.Errorf("%s: %v %v", kind, resp, err)
		}
	}
	_, err := admin.Server.Names(t.Context(), connect.NewRequest(&droverv1.NamesRequest{Kind: "unicorn"}))
	check(t, err, fault.Invalid)
}

func TestPowerOffReachesTheLocalMachines(t *testing.T) {
	l := newLab(t)
	agent, _ := l.join("0")
	until, _ := l.listen(agent, &droverv1.FeedRequest{})
	until("machine")
	resp, err := l.admin().Server.PowerOff(t.Context(), connect.NewRequest(empties))
	if err != nil || resp.Msg.Machines != 1 {
		t.Errorf("%v, %v", resp, err)
	}
	until("power_off")
}
