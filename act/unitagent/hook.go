package unitagent

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"drover/act/hooktool"
	"drover/decide/uniter"
	"drover/internal/proc"
	"drover/noun/charm"
	"drover/noun/entity"
	"drover/wire/convert"
)

// module is who speaks in a line of the log.
func (a *Agent) module(hook string) string { return "unit." + string(a.cfg.Unit) + "." + hook }

// Markers in the log: what stands between the two is a hook's output.
const (
	HookBegins = "hook begins"
	HookEnded  = "hook ended"
)

// runHook runs one hook and journals how it ended. Missing hooks succeed.
func (a *Agent) runHook(ctx context.Context, w *World, remote *uniter.Remote, h charm.Hook) error {
	l := &a.state.Uniter
	program := a.program(h)
	if program == "" {
		uniter.Begin(l, remote, h)
		uniter.Succeed(l)
		a.log.line(hooktool.Debug, a.module(h.Name()), "skipped "+h.Name()+" hook (missing)")
		return a.save()
	}
	if !a.parallel(w) {
		release, err := a.cfg.Lock.Acquire(ctx, fmt.Sprintf("%s runs %s", a.cfg.Unit, h.Name()))
		if err != nil {
			return err
		}
		defer release()
		// What was decided before the wait may be out of date.
		now := a.cfg.Host.Look(a.cfg.Unit)
		if fresh := a.remote(&now); now.Version != w.Version {
			if again := uniter.Next(l, &fresh); again.Kind != uniter.Act || again.Op.Kind != uniter.RunHook || again.Op.Hook != h {
				return nil
			}
			w, remote = &now, &fresh
		}
		if w.Connected {
			_ = a.sendReport(ctx, entity.AgentExecuting, "running "+h.Name(), h.Name())
		}
	}
	if err := a.linkTools(); err != nil {
		return err
	}
	uniter.Begin(l, remote, h)
	a.state.Process = nil
	if err := a.save(); err != nil {
		return err
	}
	return a.ended(a.runProgram(ctx, w, h, program))
}

// finished is a hook that ended, with what it left.
type finished struct {
	hook    charm.Hook
	result  Result
	writes  hooktool.Writes
	output  string
	fail    string // what juju-fail said
	failed  bool   // juju-fail was called
	elapsed time.Duration
}

func (a *Agent) runProgram(ctx context.Context, w *World, h charm.Hook, program string) finished {
	id := a.cfg.Unit.Tag() + "-" + h.Name() + "-" + a.cfg.NewID()
	tools := hooktool.New(a.toolConfig(w, h, id))
	socket := a.socket()
	module, last := a.module(h.Name()), &tail{}
	begin := a.cfg.Now()
	a.log.line(hooktool.Info, module, HookBegins)
	result := a.cfg.Runner.Run(ctx, HookSpec{
		Program: program, Dir: a.charmDir(), Env: a.environment(w, h, id, socket), Socket: socket, Tools: tools,
		Timeout: timeout(w.Machine.GetSettings()["hook-timeout"]),
		Output: func(level hooktool.Level, line string) {
			a.log.line(level, module, line)
			last.add(line)
		},
	}, func(p proc.ID) error {
		a.state.Process = &p
		return a.save()
	})
	tools.Close()
	f := finished{hook: h, result: result, writes: tools.Writes(), output: last.String(), elapsed: a.cfg.Now().Sub(begin)}
	f.fail, f.failed = tools.FailText()
	return f
}

// ended journals the hook's end. Its writes and its success are one entry of the
// journal: either both are there after a crash, or the hook was killed.
func (a *Agent) ended(f finished) error {
	l, name := &a.state.Uniter, f.hook.Name()
	a.state.Process = nil
	if f.result.Exit == 0 && f.failed {
		f.result = Result{Exit: 1, Reason: "juju-fail"}
	}
	if f.result.Exit != 0 {
		out := uniter.Outcome{Exit: f.result.Exit, Reason: f.result.Reason, LastOutput: f.output}
		if f.fail != "" {
			out.Reason = f.fail
		}
		uniter.Fail(l, out, a.now(), a.state.MaxRetries)
		a.log.line(hooktool.Error, a.module(name), fmt.Sprintf("%s: failed: %s", HookEnded, out.Reason))
		return a.save()
	}
	uniter.Succeed(l)
	a.state.LastHook, a.state.LastHookMS = name, f.elapsed.Milliseconds()
	if !f.writes.IsEmpty() {
		a.state.Number++
		a.state.Unsent = append(a.state.Unsent, Commit{
			Number: a.state.Number, Hook: name, Writes: f.writes, Workflow: l.Workflow, MS: a.state.LastHookMS,
		})
	}
	a.log.line(hooktool.Info, a.module(name), fmt.Sprintf("%s: ok in %s", HookEnded, f.elapsed.Round(time.Millisecond)))
	return a.save()
}

// timeout is the model's limit on hooks; none unless set.
func timeout(setting string) time.Duration {
	d, err := time.ParseDuration(setting)
	if err != nil || d < 0 {
		return 0
	}
	return d
}

// toolConfig is what the hook sees of the world.
func (a *Agent) toolConfig(w *World, h charm.Hook, id string) hooktool.Config {
	u := w.Unit
	c := hooktool.Config{
		ID: id, Unit: a.cfg.Unit, Hook: h, Leader: u.GetLeader(), Address: u.GetAddress(), Endpoints: a.endpoints(),
		Ports: convert.PortsFromWire(u.GetPorts()), Status: convert.StatusFromWire(u.GetWorkload()),
		AppStatus: convert.StatusFromWire(u.GetApplicationStatus()),
		Backend:   &backend{agent: a, module: a.module(h.Name())},
	}
	if st := a.state.Status; st != nil {
		c.Status = entity.Status{Value: st.Value, Message: st.Message}
	}
	for _, o := range u.GetConfig() {
		c.Options = append(c.Options, hooktool.Option{Name: o.Name, Type: charm.OptionType(o.Type), Value: o.Value})
	}
	unsent := a.unsentSettings()
	for _, rel := range a.state.Uniter.Relations {
		if !rel.Left || rel.ID == h.Relation {
			c.Relations = append(c.Relations, toolRelation(rel, h, unsent))
		}
	}
	if h.Kind.IsRelation() && a.state.Uniter.Relation(h.Relation) == nil {
		c.Relations = append(c.Relations, toolRelation(uniter.Relation{ID: h.Relation, Endpoint: h.Endpoint, RemoteApp: h.RemoteApp}, h, unsent))
	}
	return c
}

// toolRelation lists who has joined; in joined hooks the unit that joins too, in
// departed hooks not the one that departs.
func toolRelation(rel uniter.Relation, h charm.Hook, unsent []hooktool.SettingsWrite) hooktool.Relation {
	r := hooktool.Relation{ID: rel.ID, Endpoint: rel.Endpoint, RemoteApp: rel.RemoteApp}
	for _, m := range rel.Members {
		if h.Relation != rel.ID || h.Kind != charm.RelationDeparted || m.Unit != h.Remote {
			r.Members = append(r.Members, m.Unit)
		}
	}
	if h.Relation == rel.ID && h.Kind == charm.RelationJoined && !slices.Contains(r.Members, h.Remote) {
		r.Members = append(r.Members, h.Remote)
	}
	slices.SortFunc(r.Members, uniter.CompareUnits)
	for _, s := range unsent {
		if s.Relation == rel.ID {
			r.Unsent = append(r.Unsent, s)
		}
	}
	return r
}

// maxSocketPath is what the kernel takes for the path of a socket.
const maxSocketPath = 100

// socket is the hook tools' socket, in the unit's folder of mode 0700. Where
// that path is too long for a socket, it is one beside the system's temporary
// files, of a name that depends on the folder only, so that it is found again.
func (a *Agent) socket() string {
	path := proc.UnitSocket(a.cfg.Dir)
	if len(path) <= maxSocketPath {
		return path
	}
	return filepath.Join(proc.ShortFolder(path), filepath.Base(path))
}
