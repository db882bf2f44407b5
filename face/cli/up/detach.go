package up

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"

	"drover/internal/proc"
	"drover/noun/fault"
)

// Keeper is the process that up --detach leaves behind.
type Keeper struct {
	folders Folders
	id      proc.ID
	log     string

	built *sync.WaitGroup
}

// Built waits for the small programs to be built.
func (k *Keeper) Built() { k.built.Wait() }

// Detach starts a process of its own that prepares the folders and keeps the
// server. It checks beforehand what people should be told at once.
func Detach(o Options) (*Keeper, error) {
	check, err := Prepare(o)
	if err != nil {
		return nil, err
	}
	check.Release()
	log, err := openLog(filepath.Join(o.Data, "run", "up.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(o.Program(), "--data", o.Data, "--config-dir", o.Config, "keep")
	for _, f := range [][2]string{{"--listen", o.Listen}, {"--advertise", o.Advertise}, {"--cluster", o.Cluster}} {
		if f[1] != "" {
			cmd.Args = append(cmd.Args, f[0], f[1])
		}
	}
	cmd.Stdout, cmd.Stderr, cmd.Dir = log, log, "/"
	cmd.Env = os.Environ()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, fault.New(fault.Internal, "cannot start the process that keeps the server").Why("%s", err).Wrap(err)
	}
	id, err := proc.Of(cmd.Process.Pid)
	if err != nil {
		_ = cmd.Wait() // gone already: Check says so
	}
	k := &Keeper{folders: o.Folders, id: id, log: log.Name(), built: check.built}
	return k, cmd.Process.Release()
}

// Keeping reports whether the keeper has taken the folders, so that down and the
// next up find it.
func (k *Keeper) Keeping() bool {
	id, err := Running(k.folders)
	return err == nil && id == k.id
}

// Check returns why the keeper ended, or nil while it runs.
func (k *Keeper) Check() error {
	if k.id.Alive() {
		return nil
	}
	return fault.New(fault.Internal, "Drover did not come up").Why("%s", lastLines(k.log, 8)).Try("less " + k.log)
}
