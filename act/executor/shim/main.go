package shim

import (
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"
)

const (
	prSetChildSubreaper = 36
	drainFor            = time.Second     // output of what the process left behind
	endRestFor          = 5 * time.Second // a process in the kernel's hands may take long to die
	lookEvery           = 20 * time.Millisecond
)

// Main is the program drover-shim: its one argument is the folder. It returns
// the exit code, which says only whether the shim did its work.
func Main(args []string) int {
	if len(args) != 2 {
		_, _ = os.Stderr.WriteString("usage: drover-shim FOLDER\nIt is started by the agent, one for each process of a container.\n")
		return 2
	}
	// The process is to die with this thread, which is Main's for as long as it runs.
	runtime.LockOSThread()
	signals := make(chan os.Signal, 32)
	// SIGHUP and SIGINT are caught and dropped: ignored ones would be inherited.
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGCHLD, syscall.SIGHUP, syscall.SIGINT)
	if err := os.Chdir(args[1]); err != nil {
		return 1
	}
	self, err := Identify(os.Getpid())
	if err != nil || WriteFile(ShimFile, self.Encode(), false) != nil {
		return 1
	}
	if os.Rename(SpecFile, TakenFile) != nil {
		return 1 // the agent took it back
	}
	s := &supervisor{signals: signals, logDone: make(chan struct{})}
	s.exit.Error = s.start()
	if s.exit.Error == "" {
		shedPages()
		s.watch()
		s.endRest()
		s.drain()
	}
	s.exit.Ended = time.Now().UnixNano()
	if WriteFile(ExitFile, s.exit.Encode(), true) != nil {
		return 1
	}
	return 0
}

type supervisor struct {
	spec    *Spec
	signals chan os.Signal
	pid     int
	ended   bool
	exit    Exit
	log     logFile
	logDone chan struct{}
}

// start starts the process and returns why it could not.
func (s *supervisor) start() string {
	data, err := os.ReadFile(TakenFile)
	os.Remove(TakenFile) // the environment may hold secrets
	if err != nil {
		return "cannot read the spec: " + err.Error()
	}
	if s.spec, err = DecodeSpec(data); err != nil {
		return "cannot read the spec: " + err.Error()
	}
	path, err := lookPath(s.spec)
	if err != nil {
		return "cannot start " + s.spec.Path + ": " + reason(err)
	}
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0); errno != 0 {
		return "cannot become a subreaper: " + errno.Error()
	}
	for _, l := range s.spec.Limits {
		if err := syscall.Setrlimit(l.Resource, &syscall.Rlimit{Cur: l.Soft, Max: l.Max}); err != nil {
			return "cannot set a limit: " + err.Error()
		}
	}
	if err := s.fork(path); err != nil {
		return "cannot start " + s.spec.Path + ": " + reason(err)
	}
	s.exit.Started = time.Now().UnixNano()
	p, err := Identify(s.pid)
	if err == nil {
		err = WriteFile(PIDFile, p.Encode(), false)
	}
	if err != nil {
		// Nobody could end it by its identity: better not to have it.
		syscall.Kill(-s.pid, syscall.SIGKILL)
		return "cannot record the process: " + err.Error()
	}
	return ""
}

func (s *supervisor) fork(path string) error {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer null.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer w.Close()
	attr := &syscall.ProcAttr{
		Dir:   s.spec.Dir,
		Env:   s.spec.Env,
		Files: []uintptr{null.Fd(), w.Fd(), w.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	}
	if s.spec.SetUser {
		attr.Sys.Credential = &syscall.Credential{Uid: uint32(s.spec.UID), Gid: uint32(s.spec.GID)}
	}
	s.pid, err = syscall.ForkExec(path, append([]string{s.spec.Path}, s.spec.Args...), attr)
	if err != nil {
		return err
	}
	s.log.max = s.spec.LogMax
	go s.log.copyFrom(r, s.logDone) // ends with the output; Main waits for it a while
	return nil
}

// watch passes signals on until the process has ended.
func (s *supervisor) watch() {
	var grace <-chan time.Time
	for !s.ended {
		select {
		case sig := <-s.signals:
			switch sig {
			case syscall.SIGTERM:
				if grace == nil {
					syscall.Kill(-s.pid, syscall.SIGTERM)
					syscall.Kill(-s.pid, syscall.SIGCONT) // a stopped one could not obey
					grace = time.After(time.Duration(s.spec.StopMS) * time.Millisecond)
				}
			case syscall.SIGUSR1:
				syscall.Kill(-s.pid, syscall.SIGKILL)
			case syscall.SIGCHLD:
				s.reap()
			}
		case <-grace:
			syscall.Kill(-s.pid, syscall.SIGKILL)
		}
	}
}

// reap collects every child that has ended; it reports whether any is left.
func (s *supervisor) reap() bool {
	for {
		var st syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &st, syscall.WNOHANG, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return false // ECHILD
		case pid == 0:
			return true
		case pid == s.pid:
			s.ended = true
			if st.Signaled() {
				s.exit.Signal = int(st.Signal())
			} else {
				s.exit.Code = st.ExitStatus()
			}
		}
	}
}

// endRest kills what the process left behind: its group, and what had left
// that and is the shim's child now, until nothing is left.
func (s *supervisor) endRest() {
	syscall.Kill(-s.pid, syscall.SIGKILL)
	deadline := time.Now().Add(endRestFor)
	self := os.Getpid()
	for s.reap() && time.Now().Before(deadline) {
		for _, pid := range childrenOf(self) {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		select {
		case <-s.signals:
		case <-time.After(lookEvery):
		}
	}
}

func (s *supervisor) drain() {
	select {
	case <-s.logDone:
		s.exit.LogLost = s.log.lost
	case <-time.After(drainFor):
	}
}

func lookPath(spec *Spec) (string, error) {
	if strings.Contains(spec.Path, "/") {
		return spec.Path, nil
	}
	for _, e := range spec.Env {
		list, ok := strings.CutPrefix(e, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range strings.Split(list, ":") {
			path := dir + "/" + spec.Path
			if fi, err := os.Stat(path); err == nil && fi.Mode().IsRegular() && fi.Mode()&0o111 != 0 {
				return path, nil
			}
		}
	}
	return "", notInPath
}

const notInPath = plainError("it is not in PATH")

type plainError string

func (e plainError) Error() string { return string(e) }

// reason makes the commonest refusals of the kernel understandable.
func reason(err error) string {
	switch err { //nolint:errorlint // what the kernel answered, as it is
	case syscall.ENOENT:
		return "no such file or directory (the program, its interpreter, or the working directory)"
	case syscall.EACCES:
		return "permission denied (is it executable?)"
	case syscall.ENOEXEC:
		return "it is not a program (a script needs a first line like #!/bin/sh)"
	}
	return err.Error()
}
