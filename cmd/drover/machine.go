package main

import (
	"context"
	"log/slog"
	"os"
	"strconv"

	"drover/act/provisioner/local/machine"
	"drover/face/cli"
)

// exitOff is the exit code by which an agent asks its supervisor for power-off.
const exitOff = 67

// runMachine is a local machine: the supervisor of its agent.
func runMachine(ctx context.Context, o cli.MachineOptions) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	share := []string{
		"--data", o.Data, "--address", o.Address, "--cpus", strconv.Itoa(o.Local.CPUs),
		"--memory", strconv.FormatInt(o.Local.MemoryMB, 10), "--disk", strconv.FormatInt(o.Local.DiskMB, 10),
	}
	if o.Detach {
		return machine.Detach(o.Data, exe, append([]string{"machine"}, share...)...)
	}
	return machine.Run(ctx, machine.Config{
		Dir: o.Data, Agent: append([]string{exe, "agent", "--boot-id", "{boot}"}, share...),
		OffCode: exitOff, Ready: machine.Announce, Log: newLog(os.Stderr, slog.LevelInfo),
	})
}
