package e2e

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"drover/internal/proc"
	"drover/wire/droverv1"

	"connectrpc.com/connect"
)

// desire makes an LRP whose instances write their pid into starts.GUID.INDEX,
// one line for each start, and waits until they all run.
func (c *cluster) desire(guid string, n int) {
	c.t.Helper()
	script := `echo $$ >>"` + c.dir + `/starts.$DROVER_LRP.$DROVER_INDEX"; exec sleep 1000`
	c.must("lrp", "desire", guid, "-n", strconv.Itoa(n), "--", "/bin/sh", "-c", script)
	c.running(20*time.Second, guid, n)
	for i := range n {
		c.instance(guid, i)
	}
}

// instance is the process of an instance.
func (c *cluster) instance(guid string, index int) proc.ID {
	c.t.Helper()
	return c.pidIn(fmt.Sprintf("starts.%s.%d", guid, index))
}

// starts is how often an index was started.
func (c *cluster) starts(guid string, index int) int {
	return len(c.lines(fmt.Sprintf("starts.%s.%d", guid, index)))
}

// actual are the records of an LRP.
func (c *cluster) actual(guid string) ([]*droverv1.ActualLRP, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	stream, err := c.client.Work.ListLRPs(ctx, connect.NewRequest(&droverv1.ListLRPsRequest{ProcessGuid: guid}))
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	var all []*droverv1.ActualLRP
	for stream.Receive() {
		all = append(all, stream.Msg().Actual...)
	}
	return all, stream.Err()
}

// running waits until exactly the n indexes run, and nothing else is recorded.
func (c *cluster) running(within time.Duration, guid string, n int) (records []*droverv1.ActualLRP) {
	c.t.Helper()
	c.eventually(within, fmt.Sprintf("%s runs ×%d", guid, n), func() error {
		all, err := c.actual(guid)
		if err != nil {
			return err
		}
		if len(all) != n {
			return fmt.Errorf("%d records: %v", len(all), all)
		}
		for _, a := range all {
			if a.State != "RUNNING" || a.Evacuating {
				return fmt.Errorf("index %d is %s %s", a.Index, a.State, a.CrashReason)
			}
		}
		records = all
		return nil
	})
	return records
}

// tasks are all tasks by guid.
func (c *cluster) tasks() (map[string]*droverv1.Task, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	stream, err := c.client.Work.ListTasks(ctx, connect.NewRequest(&droverv1.ListTasksRequest{}))
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	all := map[string]*droverv1.Task{}
	for stream.Receive() {
		all[stream.Msg().Guid] = stream.Msg()
	}
	return all, stream.Err()
}

// task starts a task that writes a line into ran.GUID, waits for the file go (if
// it should) and has "done" as its result.
func (c *cluster) task(guid string, waits bool) {
	c.t.Helper()
	script := `echo $$ >>"` + c.dir + `/ran.` + guid + `"; `
	if waits {
		script += until(c.path("go")) + "; "
	}
	c.must("task", "run", guid, "--result-file", "out", "--", "/bin/sh", "-c", script+"printf done >out")
}

// completed waits until the task is COMPLETED.
func (c *cluster) completed(within time.Duration, guid string) (task *droverv1.Task) {
	c.t.Helper()
	c.eventually(within, "task "+guid+" is COMPLETED", func() error {
		all, err := c.tasks()
		if err != nil {
			return err
		}
		if task = all[guid]; task.GetState() != "COMPLETED" {
			return fmt.Errorf("it is %q", task.GetState())
		}
		return nil
	})
	return task
}

// until is shell that waits for a file.
func until(path string) string { return `until [ -e "` + path + `" ]; do sleep 0.05; done` }
