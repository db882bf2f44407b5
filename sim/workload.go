package sim

import (
	"connectrpc.com/connect"

	"drover/noun/work"
	"drover/wire/droverv1"
)

// guids are the processes that users ask for; tasks have new ones each time.
var guids = []string{"web", "api", "cron"}

func (u *users) guid() string {
	g, _ := pick(u.sim, guids)
	return g
}

func (u *users) someTask() string {
	var all []work.TaskGUID
	for t := range u.sim.server.board.AllTasks(u.sim.server.store.View()) {
		all = append(all, t.GUID)
	}
	guid, ok := pick(u.sim, all)
	if !ok {
		return "none"
	}
	return string(guid)
}

func run(path string) *droverv1.Action {
	return &droverv1.Action{Kind: &droverv1.Action_Run{Run: &droverv1.RunAction{Path: path}}}
}

func (u *users) workRequests() []request {
	w := u.sim.server.api.Work()
	id, rng := u.sim.newID, u.sim.rng
	return []request{
		{"desire an LRP", 6, func() error {
			_, err := w.DesireLRP(u.as(), connect.NewRequest(&droverv1.DesireLRPRequest{RequestId: id(), Lrp: &droverv1.DesiredLRP{
				ProcessGuid: u.guid(), Domain: "sim", Instances: int32(rng.IntN(5)),
				Spec: &droverv1.Spec{Action: run("server"), MemoryMb: int64(32 << rng.IntN(5)), Ports: []int32{8080}[:rng.IntN(2)]},
			}}))
			return err
		}},
		{"scale an LRP", 6, func() error {
			n := int32(rng.IntN(6))
			_, err := w.UpdateLRP(u.as(), connect.NewRequest(&droverv1.UpdateLRPRequest{RequestId: id(), ProcessGuid: u.guid(), Instances: &n}))
			return err
		}},
		{"remove an LRP", 2, func() error {
			_, err := w.RemoveLRP(u.as(), connect.NewRequest(&droverv1.RemoveLRPRequest{RequestId: id(), ProcessGuid: u.guid()}))
			return err
		}},
		{"restart an LRP", 1, func() error {
			_, err := w.RestartLRP(u.as(), connect.NewRequest(&droverv1.RestartLRPRequest{RequestId: id(), ProcessGuid: u.guid()}))
			return err
		}},
		{"the domain is fresh", 2, func() error {
			_, err := w.UpsertDomain(u.as(), connect.NewRequest(&droverv1.UpsertDomainRequest{RequestId: id(), Name: "sim", TtlSeconds: int64(rng.IntN(2) * 120)}))
			return err
		}},
		{"run a task", 6, func() error {
			_, err := w.RunTask(u.as(), connect.NewRequest(&droverv1.RunTaskRequest{RequestId: id(), Task: &droverv1.Task{
				Guid: "t" + id(), Domain: "sim", Spec: &droverv1.Spec{Action: run("task"), MemoryMb: 32},
			}}))
			return err
		}},
		{"cancel a task", 2, func() error {
			_, err := w.CancelTask(u.as(), connect.NewRequest(&droverv1.TaskRequest{RequestId: id(), Guid: u.someTask()}))
			return err
		}},
		{"delete a task", 2, func() error {
			_, err := w.DeleteTask(u.as(), connect.NewRequest(&droverv1.TaskRequest{RequestId: id(), Guid: u.someTask()}))
			return err
		}},
	}
}
