// Package machine is a local machine: a supervisor process that is to what runs
// on the machine what a kernel and its init are.
//
// It starts the machine's agent, starts it again when it ends, adopts what the
// agent leaves behind, and at its own end ends everything below it: power-off.
// Starting it is a boot with a new boot id. It knows nothing of the cluster and
// speaks to nobody.
//
// Invariants: one supervisor for each folder; after a power-off no descendant is
// left; if the supervisor is killed, its agent dies with it.
//
// Linux only.
package machine

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"drover/internal/proc"
	"drover/noun/fault"

	"golang.org/x/sys/unix"
)

// RecordFile is the supervisor's record in the machine's folder. It is there
// while the machine is on, and may be stale after a crash.
const RecordFile = "machine.json"

// LogFile is what the agent writes, in the machine's folder.
const LogFile = "agent.log"

// BootVar and DirVar are what the agent and all below it find in their
// environment.
const (
	BootVar = "DROVER_BOOT_ID"
	DirVar  = "DROVER_MACHINE_DIR"
)

// Config is what a supervisor needs.
type Config struct {
	Dir     string   // the machine's folder
	Agent   []string // program and arguments; "{boot}" is replaced by the boot id
	OffCode int      // exit code by which the agent asks for power-off
	Grace   time.Duration
	Ready   func(error) // called once: the machine is on, or why it is not; may be nil
	Log     *slog.Logger
}

// How long the agent has to go at a power-off unless Grace says otherwise, and
// how it is restarted.
const (
	defaultGrace = 5 * time.Second
	firstRestart = 100 * time.Millisecond
	lastRestart  = 10 * time.Second
	steadyAfter  = 30 * time.Second
	killWithin   = 20 * time.Second
)

// Run is the machine from power-on to power-off: until the context ends or the
// agent asks for it, because its machine is dead or was told to be off.
func Run(ctx context.Context, cfg Config) error {
	if cfg.Grace == 0 {
		cfg.Grace = defaultGrace
	}
	if cfg.Ready == nil {
		cfg.Ready = func(error) {}
	}
	lock, err := takeLock(cfg.Dir)
	if err != nil {
		cfg.Ready(err)
		return err
	}
	defer lock.Close()
	s, err := powerOn(ctx, cfg)
	cfg.Ready(err)
	if err != nil {
		return err
	}
	rctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var reaping sync.WaitGroup
	reaping.Go(func() {
		if err := s.reaper.Run(rctx); err != nil {
			cfg.Log.Warn("cannot reap", "err", err)
		}
	})
	s.keep(ctx)
	err = s.powerOff()
	cancel()
	reaping.Wait()
	_ = os.Remove(filepath.Join(cfg.Dir, RecordFile)) // that of a process that is gone says the same
	return err
}

// powerOn makes the process the parent of all that will run, with nothing
// running yet, and records it.
func powerOn(ctx context.Context, cfg Config) (*supervisor, error) {
	reaper, err := proc.NewReaper()
	if err != nil {
		return nil, fmt.Errorf("become a subreaper: %w", err)
	}
	if err := endStrays(ctx, cfg.Dir); err != nil {
		return nil, err
	}
	self, err := proc.Self()
	if err != nil {
		return nil, err
	}
	s := &supervisor{cfg: cfg, self: self, boot: newBootID(), reaper: reaper}
	return s, proc.WriteRecord(filepath.Join(cfg.Dir, RecordFile),
		proc.Record{ID: self, Role: "machine", Fields: map[string]string{"boot": s.boot}})
}

func newBootID() string {
	b := make([]byte, 8)
	_, _ = rand.Read(b) // never fails: see crypto/rand
	return hex.EncodeToString(b)
}

// endStrays ends what an earlier supervisor left when it was killed: a boot
// begins with nothing running.
func endStrays(ctx context.Context, dir string) error {
	strays, err := proc.Strays(dir)
	if err != nil {
		return err
	}
	self := os.Getpid()
	var ids []proc.ID
	for _, id := range strays {
		if id.PID != self {
			ids = append(ids, id)
		}
	}
	return proc.KillTree(ctx, ids...)
}

type supervisor struct {
	cfg    Config
	self   proc.ID
	boot   string
	reaper *proc.Reaper
}

// keep runs the agent again and again.
func (s *supervisor) keep(ctx context.Context) {
	wait := firstRestart
	for {
		started := time.Now()
		code, err := s.runAgent(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			s.cfg.Log.Warn("cannot start the agent", "err", err, "again_in", wait)
		case code == s.cfg.OffCode:
			s.cfg.Log.Info("the agent asks for power-off")
			return
		default:
			s.cfg.Log.Warn("the agent has ended", "exit", code, "again_in", wait)
		}
		if time.Since(started) > steadyAfter {
			wait = firstRestart
		}
		if !sleep(ctx, wait) {
			return
		}
		wait = min(2*wait, lastRestart)
	}
}

// runAgent runs the agent to its end. When the context ends, the agent is asked
// to go, which is when it says goodbye, and killed after the grace.
func (s *supervisor) runAgent(ctx context.Context) (code int, err error) {
	// The agent dies with this thread, so the thread must last as long as it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	log, err := os.OpenFile(filepath.Join(s.cfg.Dir, LogFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	defer log.Close()
	cmd := exec.CommandContext(ctx, s.cfg.Agent[0])
	for _, arg := range s.cfg.Agent[1:] {
		if arg == "{boot}" {
			arg = s.boot
		}
		cmd.Args = append(cmd.Args, arg)
	}
	cmd.Env = append(os.Environ(), DirVar+"="+s.cfg.Dir, BootVar+"="+s.boot)
	cmd.Stdout, cmd.Stderr, cmd.Dir = log, log, s.cfg.Dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = s.cfg.Grace
	err = s.reaper.Start(func() (int, error) {
		if err := cmd.Start(); err != nil {
			return 0, err
		}
		return cmd.Process.Pid, nil
	})
	if err != nil {
		return 0, err
	}
	defer s.reaper.Ended(cmd.Process.Pid)
	err = cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) || err == nil || ctx.Err() != nil {
		return cmd.ProcessState.ExitCode(), nil
	}
	return 0, err
}

// powerOff ends everything below the supervisor.
func (s *supervisor) powerOff() error {
	ctx, cancel := context.WithTimeout(context.Background(), killWithin)
	defer cancel()
	if err := proc.KillDescendants(ctx, s.self); err != nil {
		return fmt.Errorf("power-off: %w", err)
	}
	return nil
}

func takeLock(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "machine.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close() // nothing was written
		return nil, fault.New(fault.Conflict, "the machine in %s is on already", dir).Wrap(err)
	}
	return f, nil
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
