package unitagent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"drover/act/hooktool"
	"drover/act/hooktool/client"
	"drover/internal/proc"
)

// HookSpec is one hook to run.
type HookSpec struct {
	Program string
	Dir     string
	Env     []string
	Socket  string            // where Tools are to be served
	Tools   *hooktool.Context // answers the hook's tools
	Timeout time.Duration     // 0: none
	Output  func(level hooktool.Level, line string)
}

// Result is how a hook ended. Exit is 0 for success, -1 when it was killed or
// never started; Reason is one line.
type Result struct {
	Exit   int
	Reason string
}

// Runner runs hooks. It calls started once the process exists and before its
// program begins; an error of started ends the hook. When the context ends it
// lets the hook go on for a while and then kills it. A simulation has its own.
type Runner interface {
	Run(ctx context.Context, spec HookSpec, started func(proc.ID) error) Result
}

// Processes runs hooks as processes, each in a session and group of its own.
// What a hook leaves running when it ends is left alone: the software of units
// is started by hooks.
type Processes struct {
	Gate  string        // drover-hook
	Grace time.Duration // for a hook when the agent stops
}

// outputDelay is how long output is read after a hook's process has ended: a
// daemon may have inherited it and would keep it open for ever.
const outputDelay = time.Second

// Run: see Runner.
func (p *Processes) Run(ctx context.Context, spec HookSpec, started func(proc.ID) error) Result {
	if err := os.MkdirAll(filepath.Dir(spec.Socket), 0o700); err != nil {
		return notStarted(err)
	}
	l, err := hooktool.Listen(spec.Socket)
	if err != nil {
		return notStarted(err)
	}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	wg.Go(func() { _ = hooktool.Serve(serving, l, spec.Tools) })
	defer wg.Wait()
	defer stop()

	gate, hold, err := os.Pipe()
	if err != nil {
		return notStarted(err)
	}
	defer hold.Close()
	stdout := &lines{use: func(s string) { spec.Output(hooktool.Debug, s) }}
	stderr := &lines{use: func(s string) { spec.Output(hooktool.Warning, s) }}
	cmd := &exec.Cmd{
		Path: p.Gate, Args: []string{client.ExecName, spec.Program}, Env: spec.Env, Dir: spec.Dir,
		Stdout: stdout, Stderr: stderr, ExtraFiles: []*os.File{gate},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true}, WaitDelay: outputDelay,
	}
	err = cmd.Start()
	_ = gate.Close()
	if err != nil {
		return notStarted(err)
	}
	ended := make(chan error, 1)
	wg.Go(func() { ended <- cmd.Wait() })
	result := p.wait(ctx, cmd, hold, ended, spec.Timeout, started)
	stdout.flush()
	stderr.flush()
	return result
}

// wait lets the program begin once started has it, and waits for its end.
func (p *Processes) wait(ctx context.Context, cmd *exec.Cmd, gate *os.File, ended chan error, limit time.Duration, started func(proc.ID) error) Result {
	id, err := proc.Of(cmd.Process.Pid)
	if err == nil {
		err = started(id)
	}
	if err == nil {
		_, err = gate.Write([]byte{1})
	}
	if err != nil {
		// With the gate closed the process ends without having begun the hook.
		_ = gate.Close()
		<-ended
		return notStarted(err)
	}
	var late <-chan time.Time
	if limit > 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case err := <-ended:
		return exit(err)
	case <-late:
		return p.kill(id, ended, fmt.Sprintf("killed: it ran longer than %s", limit))
	case <-ctx.Done():
	}
	grace := time.NewTimer(p.Grace)
	defer grace.Stop()
	select {
	case err := <-ended:
		return exit(err)
	case <-grace.C:
		return p.kill(id, ended, "killed: the agent stopped")
	}
}

func (p *Processes) kill(id proc.ID, ended chan error, why string) Result {
	killGroup(id)
	<-ended
	return Result{Exit: -1, Reason: why}
}

// killGroup ends a hook's process and all in its group. The process is checked
// to be the one meant, so its group is too.
func killGroup(id proc.ID) {
	if id.Alive() {
		_ = syscall.Kill(-id.PID, syscall.SIGKILL)
	}
}

func notStarted(err error) Result {
	return Result{Exit: -1, Reason: "not started: " + err.Error()}
}

// exit is the result that a process's end means. Output that is still open when
// it ends is a daemon's, and no failure.
func exit(err error) Result {
	var ee *exec.ExitError
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return Result{}
	case !errors.As(err, &ee):
		return Result{Exit: -1, Reason: err.Error()}
	}
	if ws, ok := ee.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return Result{Exit: -1, Reason: "killed: " + ws.Signal().String()}
	}
	return Result{Exit: ee.ExitCode(), Reason: ee.Error()}
}
