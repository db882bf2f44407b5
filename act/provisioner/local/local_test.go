package local_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"drover/act/provisioner"
	"drover/act/provisioner/local"
	"drover/act/provisioner/local/machine"
	"drover/act/provisioner/providertest"
	"drover/internal/proc"
	"drover/noun/entity"
)

// The test binary plays the installed program: the machine, its agent, and a
// daemon that the agent leaves behind.
func TestMain(m *testing.M) {
	switch args := os.Args[1:]; {
	case len(args) > 0 && args[0] == "machine":
		playMachine(args)
	case len(args) > 0 && args[0] == "agent":
		playAgent(args)
	case len(args) > 0 && args[0] == "daemon":
		block()
	default:
		os.Exit(m.Run())
	}
}

func playMachine(args []string) {
	dir := args[slices.Index(args, "--data")+1]
	if i := slices.Index(args, "--detach"); i >= 0 {
		if err := machine.Detach(dir, os.Args[0], slices.Delete(slices.Clone(args), i, i+1)...); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	err := machine.Run(ctx, machine.Config{
		Dir: dir, Agent: []string{os.Args[0], "agent", "{boot}"}, OffCode: 42,
		Ready: machine.Announce, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		os.Exit(1)
	}
}

// playAgent leaves a daemon in a session of its own, says who they are, and
// does what the file "do" in the machine's folder says.
func playAgent(args []string) {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	cmd := exec.Command(os.Args[0], "daemon")
	cmd.Env = []string{"CHARM_DIR=" + os.Getenv(machine.DirVar) + "/units/x/charm"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	line := fmt.Sprintf("%d %d %s\n", os.Getpid(), cmd.Process.Pid, args[1])
	if err := os.WriteFile("started.new", []byte(line), 0o600); err != nil {
		panic(err)
	}
	if err := os.Rename("started.new", "started"); err != nil {
		panic(err)
	}
	if b, err := os.ReadFile("do"); err == nil && string(b) == "die" {
		os.Exit(42)
	}
	<-stop
}

func block() {
	never := make(chan os.Signal, 1)
	signal.Notify(never, syscall.SIGUSR1)
	<-never
}

const cluster = "c1"

func open(t *testing.T, dir string) *local.Provider {
	t.Helper()
	p, err := local.New(local.Config{
		Dir: dir, Program: os.Args[0], Cluster: cluster, Model: "m1",
		Host: local.Capacity{CPUs: 2, MemoryMB: 8192, DiskMB: 80000},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestLocalPassesTheSuite(t *testing.T) {
	dirs := map[provisioner.Provider]string{}
	providertest.Run(t, providertest.Config{
		New: func(t *testing.T) provisioner.Provider {
			dir := t.TempDir()
			p := open(t, dir)
			dirs[p] = dir
			return p
		},
		Reopen: func(t *testing.T, p provisioner.Provider) provisioner.Provider { return open(t, dirs[p]) },
		Halt: func(t *testing.T, p provisioner.Provider, id string) {
			powerCut(t, filepath.Join(dirs[p], id))
		},
	})
}

func supervisor(t *testing.T, dir string) proc.ID {
	t.Helper()
	r, err := proc.ReadRecord(filepath.Join(dir, machine.RecordFile))
	if err != nil {
		t.Fatal(err)
	}
	return r.ID
}

func powerCut(t *testing.T, dir string) {
	t.Helper()
	id := supervisor(t, dir)
	if err := id.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := id.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// started waits for the agent to have come up with another line than the last.
func started(t *testing.T, dir, last string) (line string, agent, daemon proc.ID) {
	t.Helper()
	var apid, dpid int
	for {
		b, err := os.ReadFile(filepath.Join(dir, "started"))
		if line = string(b); err == nil && line != last {
			break
		}
		if t.Context().Err() != nil {
			t.Fatal("the agent does not start")
		}
		_ = exec.CommandContext(t.Context(), "true").Run() // lets time pass
	}
	if _, err := fmt.Sscanf(line, "%d %d", &apid, &dpid); err != nil {
		t.Fatal(err)
	}
	agent, _ = proc.Of(apid) // zero: it has ended
	daemon, _ = proc.Of(dpid)
	return line, agent, daemon
}

func start(t *testing.T, p *local.Provider, id entity.MachineID) provisioner.Instance {
	t.Helper()
	i, err := p.Start(t.Context(), provisioner.StartRequest{
		Model: "m1", Machine: id, MachineUID: entity.UID("uid-" + id), Epoch: 1, JoinToken: "secret",
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(context.Background(), i.ID, 1<<40); err != nil {
			t.Error(err)
		}
	})
	return i
}

func TestAnAgentThatDiesIsRestartedAndWhatItLeftLivesOn(t *testing.T) {
	dir := t.TempDir()
	i := start(t, open(t, dir), "1")
	mdir := filepath.Join(dir, i.ID)
	first, agent, daemon := started(t, mdir, "")
	if err := agent.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	second, _, _ := started(t, mdir, first)
	if !daemon.Alive() {
		t.Error("the daemon died with the agent")
	}
	boot := func(line string) string { return strings.Fields(line)[2] }
	if boot(first) != boot(second) {
		t.Errorf("the boot id changed from %s to %s without a boot", boot(first), boot(second))
	}
}

func TestPowerOffEndsEverythingAndABootHasANewID(t *testing.T) {
	dir := t.TempDir()
	p := open(t, dir)
	i := start(t, p, "1")
	mdir := filepath.Join(dir, i.ID)
	first, agent, daemon := started(t, mdir, "")
	if err := proc.End(t.Context(), supervisor(t, mdir), 30*time.Second); err != nil {
		t.Fatal(err)
	}
	if agent.Alive() || daemon.Alive() {
		t.Errorf("after power-off: agent alive %v, daemon alive %v", agent.Alive(), daemon.Alive())
	}
	start(t, p, "1")
	second, _, _ := started(t, mdir, first)
	if strings.Fields(first)[2] == strings.Fields(second)[2] {
		t.Error("two boots have the same id")
	}
}

func TestAPowerCutTakesTheAgentAlongAndTheNextBootEndsTheRest(t *testing.T) {
	dir := t.TempDir()
	p := open(t, dir)
	i := start(t, p, "1")
	mdir := filepath.Join(dir, i.ID)
	first, agent, daemon := started(t, mdir, "")
	powerCut(t, mdir)
	if err := agent.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !daemon.Alive() {
		t.Fatal("the daemon is gone, so this shows nothing")
	}
	start(t, p, "1")
	started(t, mdir, first)
	if daemon.Alive() {
		t.Error("a daemon of the boot before is still alive")
	}
}

func TestAnAgentCanTurnTheMachineOff(t *testing.T) {
	dir := t.TempDir()
	p := open(t, dir)
	if err := os.MkdirAll(filepath.Join(dir, "1"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "1", "do"), []byte("die"), 0o600); err != nil {
		t.Fatal(err)
	}
	i := start(t, p, "1")
	_, _, daemon := started(t, filepath.Join(dir, i.ID), "")
	if err := supervisorOrGone(t, filepath.Join(dir, i.ID)).Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := daemon.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// supervisorOrGone is the supervisor, or nobody if it has ended already.
func supervisorOrGone(t *testing.T, dir string) proc.ID {
	t.Helper()
	r, err := proc.ReadRecord(filepath.Join(dir, machine.RecordFile))
	if err != nil {
		return proc.ID{}
	}
	return r.ID
}

func TestTheTokenIsInAFileThatOnlyTheOwnerReads(t *testing.T) {
	dir := t.TempDir()
	i := start(t, open(t, dir), "3")
	fi, err := os.Stat(filepath.Join(dir, i.ID, "join-token"))
	if err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v; want a file of mode 0600", fi, err)
	}
	id := supervisor(t, filepath.Join(dir, i.ID))
	cmdline, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", id.PID))
	if err != nil || strings.Contains(string(cmdline), "secret") {
		t.Errorf("the token is in the arguments: %q, %v", cmdline, err)
	}
	if !strings.HasPrefix(i.Address, "127.") || !strings.HasSuffix(i.Address, ".0.4") {
		t.Errorf("machine 3 has the address %s, want 127.x.0.4", i.Address)
	}
}
