package client

import (
	"os"
	"syscall"
)

// gateFD is the file descriptor on which the agent lets the hook go.
const gateFD = 3

// notRun is the exit code of a hook that could not be started, as shells have it.
const notRun = 126

// enter waits for one byte on the gate and then becomes the program args[0]. An
// agent that ends before it has written its journal closes the gate, and the
// hook never runs.
func enter(args []string) int {
	if len(args) == 0 {
		return fail(2, "usage: "+ExecName+" PROGRAM [ARGUMENT...]")
	}
	var leave [1]byte
	for {
		n, err := syscall.Read(gateFD, leave[:])
		if err == syscall.EINTR {
			continue
		}
		if n != 1 || err != nil {
			return fail(notRun, "the agent ended before the hook began")
		}
		break
	}
	_ = syscall.Close(gateFD)
	err := syscall.Exec(args[0], args, os.Environ())
	why := err.Error()
	if err == syscall.ENOENT {
		why = "the file, or the interpreter in its first line, does not exist"
	}
	return fail(notRun, "cannot run "+args[0]+": "+why)
}
