package machine

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// readyFD is where a detached supervisor says that the machine is on.
const readyFD = 3

// Detach starts the supervisor (program with args) in a session of its own and
// returns when it says that the machine is on. The caller should end then, which
// leaves the supervisor to init.
func Detach(dir, program string, args ...string) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	log, err := os.OpenFile(filepath.Join(dir, "machine.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		_ = w.Close() // nothing was written
		return err
	}
	defer log.Close()
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, log, log
	cmd.ExtraFiles = []*os.File{w}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	_ = w.Close() // the child has its own
	if err != nil {
		return err
	}
	line, err := bufio.NewReader(io.LimitReader(r, 4<<10)).ReadString('\n')
	line = strings.TrimSpace(line)
	if line == "on" {
		return cmd.Process.Release()
	}
	if line == "" {
		line = "it ended before it was on"
	}
	werr := cmd.Wait() // it ends after a failure
	return fmt.Errorf("%s: %w", line, errors.Join(err, werr))
}

// Announce tells the one who detached this process whether the machine is on. It
// may be called when nobody listens.
func Announce(failure error) {
	f := os.NewFile(readyFD, "ready")
	if fi, err := f.Stat(); err != nil || fi.Mode()&os.ModeNamedPipe == 0 {
		return
	}
	text := "on"
	if failure != nil {
		text = strings.ReplaceAll(failure.Error(), "\n", " ")
	}
	_, _ = io.WriteString(f, text+"\n") // nobody may be listening any more
	_ = f.Close()                       // so that nothing below inherits it
}
