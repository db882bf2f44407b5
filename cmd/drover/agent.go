package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"drover/act/executor"
	"drover/act/executor/process"
	"drover/act/machineagent"
	"drover/act/provisioner/local"
	"drover/act/provisioner/local/machine"
	"drover/act/renewal"
	"drover/act/rep"
	"drover/face/cli"
	"drover/internal/pki"
	"drover/internal/proc"
	"drover/noun/entity"
	"drover/noun/fault"
	"drover/noun/work"
	"drover/wire/client"
	"drover/wire/droverv1"

	"connectrpc.com/connect"
)

// maxContainers is how many containers a cell takes, whatever their size.
const maxContainers = 250

// runAgent is the agent of one machine: its connection, its units, its cell.
func runAgent(ctx context.Context, o cli.AgentOptions) error {
	log := newLog(os.Stderr, slog.LevelInfo)
	c, id, err := agentIdentity(ctx, o, log)
	if err != nil {
		return err
	}
	defer c.Close()
	renewer, err := newRenewer(o, log)
	if err != nil {
		return err
	}
	a, err := newAgent(o, c, id, log)
	if errors.Is(err, machineagent.ErrDead) {
		return cli.Exit(exitOff)
	}
	if err != nil {
		return err
	}
	a.renewal = func(ctx context.Context) error { return renewer.Run(ctx, c.UseCertificate) }
	err = a.run(ctx)
	switch {
	case errors.Is(err, machineagent.ErrDead), errors.Is(err, machineagent.ErrPowerOff):
		log.Info("the machine ends", "why", err)
		return cli.Exit(exitOff)
	case ctx.Err() != nil:
		return nil
	}
	return err
}

const (
	joinTimeout   = 30 * time.Second
	firstJoinWait = 50 * time.Millisecond
	lastJoinWait  = 5 * time.Second
)

// agentIdentity loads the machine's identity, or joins with the token that its
// provider left.
func agentIdentity(ctx context.Context, o cli.AgentOptions, log *slog.Logger) (*client.Client, pki.Identity, error) {
	dir := filepath.Join(o.Data, "identity")
	tokenFile := filepath.Join(o.Data, "join-token")
	if _, err := os.Stat(filepath.Join(dir, "client.json")); errors.Is(err, fs.ErrNotExist) {
		if err := joinWith(ctx, o, tokenFile, dir, log); err != nil {
			return nil, pki.Identity{}, err
		}
	}
	if err := os.Remove(tokenFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, pki.Identity{}, err
	}
	renewer, err := newRenewer(o, log)
	if err != nil {
		return nil, pki.Identity{}, err
	}
	if err := renewer.Start(ctx); err != nil {
		return nil, pki.Identity{}, err
	}
	cfg, err := client.LoadConfig(dir, cli.AgentName)
	if err != nil {
		return nil, pki.Identity{}, err
	}
	id, err := pki.IdentityOf(cfg.Cert.Leaf)
	if err != nil {
		return nil, pki.Identity{}, err
	}
	c, err := client.Dial(cfg)
	return c, id, err
}

// newRenewer renews the machine's certificate with the servers that its folder
// names.
func newRenewer(o cli.AgentOptions, log *slog.Logger) (*renewal.Renewer, error) {
	dir := filepath.Join(o.Data, "identity")
	return renewal.New(renewal.Config{
		Dir: dir, Name: cli.AgentName, Now: time.Now, Log: log,
		Renew: func(ctx context.Context, old *pki.Pair) (*client.Joined, error) {
			folder, err := client.ReadFolder(dir)
			if err != nil {
				return nil, err
			}
			ctx, cancel := context.WithTimeout(ctx, joinTimeout)
			defer cancel()
			return client.Renew(ctx, client.Config{Servers: folder.Servers}, old)
		},
	})
}

// joinWith joins the cluster; it tries again while no server answers.
func joinWith(ctx context.Context, o cli.AgentOptions, tokenFile, dir string, log *slog.Logger) error {
	token, err := os.ReadFile(tokenFile)
	if errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.Denied, "this machine has no identity").
			Why("neither %s nor %s is there", dir, tokenFile).Try("drover join TOKEN")
	}
	if err != nil {
		return err
	}
	hostname, err := os.Hostname()
	if err != nil {
		return err
	}
	for wait := firstJoinWait; ; wait = min(2*wait, lastJoinWait) {
		jctx, cancel := context.WithTimeout(ctx, joinTimeout)
		j, err := client.JoinMachine(jctx, client.JoinConfig{Token: strings.TrimSpace(string(token)), Address: o.Address, Hostname: hostname})
		cancel()
		switch {
		case err == nil:
			log.Info("joined", "machine", j.Identity.Machine)
			return j.Save(dir, cli.AgentName)
		case !fault.Is(err, fault.Unavailable) && !fault.Is(err, fault.Timeout):
			return err
		}
		log.Warn("cannot join yet", "err", err, "again_in", wait)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}

// agent is the parts of a running agent.
type agent struct {
	machine  *machineagent.Agent
	rep      *rep.Rep
	executor *executor.Executor
	runtime  *process.Runtime
	renewal  func(context.Context) error
	log      *slog.Logger
}

func newAgent(o cli.AgentOptions, c *client.Client, id pki.Identity, log *slog.Logger) (*agent, error) {
	bin := binDir()
	have, err := capacity(o)
	if err != nil {
		return nil, err
	}
	boot := o.BootID
	if boot == "" {
		boot = proc.HostBoot()
	}
	a := &agent{log: log}
	a.runtime, err = process.New(process.Config{
		Shim: []string{filepath.Join(bin, "drover-shim")}, Now: time.Now, Log: log,
	})
	if err != nil {
		return nil, err
	}
	folder, err := client.ReadFolder(filepath.Join(o.Data, "identity"))
	if err != nil {
		return nil, err
	}
	cell := work.CellID(folder.Cell)
	var changed func(work.ContainerEvent)
	var gone func(work.Container)
	board := &overWire{c: c}
	a.executor, err = executor.New(executor.Config{
		Dir: o.Data, Cell: cell, Address: o.Address, Runtime: a.runtime, Boot: boot,
		Capacity: work.Resources{MemoryMB: have.MemoryMB, DiskMB: have.DiskMB, Containers: maxContainers},
		BaseEnv:  []string{"PATH=" + bin + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
		Event:    func(e work.ContainerEvent) { changed(e) },
		Gone:     func(c work.Container) { gone(c) },
		Now:      time.Now, Log: log,
	})
	if err != nil {
		return nil, err
	}
	a.rep, err = rep.New(rep.Config{
		Cell: cell, Stack: runtime.GOOS + "-" + runtime.GOARCH, Runtimes: []string{a.runtime.Name()},
		Board: rep.NewBatcher(board), Containers: a.executor, Now: time.Now, Log: log,
	})
	if err != nil {
		return nil, err
	}
	changed, gone, board.epoch = a.rep.Event, a.rep.Gone, a.rep.Epoch
	a.machine, err = machineagent.New(machineagent.Config{
		Machine: entity.MachineID(id.Machine), DataDir: o.Data, HookBinary: filepath.Join(bin, "drover-hook"), BinDir: bin,
		AgentLog: filepath.Join(o.Data, machine.LogFile), BootID: boot,
		Server: machineagent.Over(c.Agent), Cell: a.rep,
		ContainerLog: func(ctx context.Context, target string, lines int, follow bool, w io.Writer) error {
			return a.executor.Log(ctx, executor.LogQuery{Target: target, Lines: lines, Follow: follow}, w)
		},
		Hold: a.executor.Hold,
		Facts: func() *droverv1.ReportMachineRequest {
			return &droverv1.ReportMachineRequest{
				Address: o.Address, Cpus: int32(have.CPUs), MemoryMb: have.MemoryMB, DiskMb: have.DiskMB,
				Arch: runtime.GOARCH, Version: versionText(),
			}
		},
		UseServers: c.UseServers, Now: time.Now, NewID: newID, Jitter: rand.Float64, Log: log,
	})
	return a, err
}

// run runs the parts until one ends, which ends the others.
func (a *agent) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for name, run := range map[string]func(context.Context) error{"executor": a.executor.Run, "rep": a.rep.Run, "renewal": a.renewal} { // order-free: they run at once
		wg.Go(func() {
			if err := run(ctx); ctx.Err() == nil {
				cancel(fmt.Errorf("%s ended: %w", name, err))
			}
		})
	}
	err := a.machine.Run(ctx)
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, context.Canceled) {
		err = cause
	}
	cancel(err)
	wg.Wait()
	return errors.Join(err, a.runtime.Close())
}

// overWire applies the rep's steps over the wire.
type overWire struct {
	c     *client.Client
	epoch func() uint64 // of the newest leader obeyed
}

func (b *overWire) Apply(ctx context.Context, steps []*droverv1.Step) ([]*droverv1.StepResult, error) {
	resp, err := b.c.Agent.ApplySteps(ctx, connect.NewRequest(&droverv1.ApplyStepsRequest{Epoch: b.epoch(), Steps: steps}))
	if err != nil {
		return nil, err
	}
	return resp.Msg.Results, nil
}

// capacity is what the machine has: its share of the host, or all of it.
func capacity(o cli.AgentOptions) (local.Capacity, error) {
	if o.Local != (cli.Share{}) {
		return local.Capacity{CPUs: o.Local.CPUs, MemoryMB: o.Local.MemoryMB, DiskMB: o.Local.DiskMB}, nil
	}
	return local.HostCapacity(o.Data)
}

// binDir is the folder of the program, where the small programs are too.
func binDir() string {
	exe, err := os.Executable()
	if err != nil {
		return "/usr/bin"
	}
	return filepath.Dir(exe)
}
