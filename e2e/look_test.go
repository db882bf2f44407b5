package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"drover/internal/proc"
	"drover/wire/droverv1"

	"connectrpc.com/connect"
)

// process is one that has to do with the cluster's folder.
type process struct {
	pid  int
	what string
	cwd  string
}

// processes lists all processes whose program, folder, arguments or environment
// name the cluster's folder.
func (c *cluster) processes() (found []process) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		c.t.Error(err)
	}
	mark := c.dir + "/"
	for _, dir := range dirs {
		cmdline, _ := os.ReadFile(dir + "/cmdline") // empty: it is gone, or not ours
		environ, _ := os.ReadFile(dir + "/environ")
		exe, _ := os.Readlink(dir + "/exe")
		cwd, _ := os.Readlink(dir + "/cwd")
		all := strings.Join([]string{string(cmdline), string(environ), exe, cwd + "/"}, "\x00")
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err == nil && strings.Contains(all, mark) {
			found = append(found, process{pid, strings.ReplaceAll(string(cmdline), "\x00", " "), cwd})
		}
	}
	return found
}

// status is what drover status shows.
func (c *cluster) status() (*droverv1.StatusResponse, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	resp, err := c.client.Model.Status(ctx, connect.NewRequest(&droverv1.StatusRequest{Work: true}))
	if err != nil {
		return nil, err
	}
	return resp.Msg, nil
}

// sees waits until the status is as the check wants it.
func (c *cluster) sees(within time.Duration, what string, check func(*droverv1.StatusResponse) error) {
	c.t.Helper()
	c.eventually(within, what, func() error {
		st, err := c.status()
		if err != nil {
			return err
		}
		return check(st)
	})
}

// record is a process that up recorded: "server" or "up".
func (c *cluster) record(role string) proc.ID {
	c.t.Helper()
	return c.readRecord(filepath.Join(c.data, "run", role+".json"))
}

func (c *cluster) readRecord(path string) proc.ID {
	c.t.Helper()
	r, err := proc.ReadRecord(path)
	if err != nil {
		c.fatal(err)
	}
	return r.ID
}

// supervisor is the process that plays the machine.
func (c *cluster) supervisor(machine string) proc.ID {
	c.t.Helper()
	return c.readRecord(filepath.Join(c.data, "machines", machine, "machine.json"))
}

// agent waits for the machine's agent, another one than those given.
func (c *cluster) agent(machine string, but ...proc.ID) (agent proc.ID) {
	c.t.Helper()
	c.eventually(20*time.Second, "machine "+machine+" has an agent", func() error {
		children, err := proc.Children(c.supervisor(machine))
		if err != nil {
			return err
		}
		for _, id := range children {
			cmdline, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", id.PID))
			if args := strings.Split(string(cmdline), "\x00"); len(args) > 1 && args[1] == "agent" {
				agent = id
			}
		}
		for _, b := range but {
			if agent == b {
				agent = proc.ID{}
			}
		}
		if agent.IsZero() {
			return fmt.Errorf("none of %d children", len(children))
		}
		return nil
	})
	return agent
}

// kill is kill -9 of one process; it is gone afterwards.
func (c *cluster) kill(id proc.ID) {
	c.t.Helper()
	if err := id.Signal(syscall.SIGKILL); err != nil {
		c.fatal(fmt.Errorf("kill %s: %w", id, err))
	}
	c.gone(id)
}

// gone waits until the process has ended.
func (c *cluster) gone(id proc.ID) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := id.Wait(ctx); err != nil {
		c.fatal(fmt.Errorf("%s does not end: %w", id, err))
	}
}

// path is a file of the test, beside the cluster's data.
func (c *cluster) path(name string) string { return filepath.Join(c.dir, name) }

func (c *cluster) touch(name string) {
	c.t.Helper()
	if err := os.WriteFile(c.path(name), nil, 0o600); err != nil {
		c.fatal(err)
	}
}

// lines are the whole lines of a file of the test; none when it is not there.
func (c *cluster) lines(name string) []string {
	b, _ := os.ReadFile(c.path(name))
	var out []string
	for line := range strings.Lines(string(b)) {
		if strings.HasSuffix(line, "\n") {
			out = append(out, strings.TrimSuffix(line, "\n"))
		}
	}
	return out
}

// written waits for a file with at least n lines.
func (c *cluster) written(within time.Duration, name string, n int) (lines []string) {
	c.t.Helper()
	c.eventually(within, fmt.Sprintf("%s has %d lines", name, n), func() error {
		if lines = c.lines(name); len(lines) < n {
			return fmt.Errorf("%d lines: %q", len(lines), lines)
		}
		return nil
	})
	return lines
}

// pidIn is the process whose pid is the last line of a file of the test.
func (c *cluster) pidIn(name string) proc.ID {
	c.t.Helper()
	lines := c.written(10*time.Second, name, 1)
	pid, err := strconv.Atoi(strings.Fields(lines[len(lines)-1])[0])
	if err != nil {
		c.fatal(err)
	}
	id, err := proc.Of(pid)
	if err != nil {
		c.fatal(fmt.Errorf("the process of %s: %w", name, err))
	}
	return id
}

// unit finds a unit in the status.
func unit(st *droverv1.StatusResponse, name string) *droverv1.Unit {
	for _, u := range st.Units {
		if u.Name == name {
			return u
		}
	}
	return &droverv1.Unit{}
}

func machine(st *droverv1.StatusResponse, id string) *droverv1.Machine {
	for _, m := range st.Machines {
		if m.Id == id {
			return m
		}
	}
	return &droverv1.Machine{}
}

func cell(st *droverv1.StatusResponse, id string) *droverv1.CellStatus {
	for _, c := range st.Cells {
		if c.Id == id {
			return c
		}
	}
	return &droverv1.CellStatus{}
}

// settled waits until all units are active and idle.
func (c *cluster) settled(within time.Duration, units ...string) {
	c.t.Helper()
	c.sees(within, "settled", func(st *droverv1.StatusResponse) error {
		for _, name := range units {
			u := unit(st, name)
			if u.Workload.GetValue() != "active" || u.Agent.GetValue() != "idle" {
				return fmt.Errorf("%s is %s, its agent %s %s", name, u.Workload.GetValue(), u.Agent.GetValue(), u.Failure)
			}
		}
		return nil
	})
}

// onlyLast checks that of the processes whose pids a file has, only the last is
// there.
func (c *cluster) onlyLast(name string) {
	c.t.Helper()
	lines := c.lines(name)
	for i, line := range lines {
		pid, err := strconv.Atoi(line)
		if err != nil {
			c.fatal(err)
		}
		_, err = proc.Of(pid)
		if last := i == len(lines)-1; last != (err == nil) {
			c.t.Errorf("%s: process %d of %d: alive is %v", name, i+1, len(lines), err == nil)
		}
	}
}
