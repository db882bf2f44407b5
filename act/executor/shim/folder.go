package shim

import (
	"os"
	"strconv"
	"strings"
)

// The files of a shim's folder.
const (
	SpecFile   = "spec"
	TakenFile  = "spec.taken" // by the shim, until it has read it
	VoidFile   = "spec.void"  // by an agent that found it unstarted
	ShimFile   = "shim"
	PIDFile    = "pid"
	LogFile    = "log"
	OldLogFile = "log.1"
	ExitFile   = "exit"
)

// WriteFile replaces a file whole; with sync its content survives a power loss.
func WriteFile(path string, data []byte, sync bool) error {
	tmp := path + ".new"
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil && sync {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(tmp, path)
	}
	return err
}

// Identify gives the identity of the process that has the pid now.
func Identify(pid int) (Process, error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return Process{}, err
	}
	// The command's name stands in parentheses and may contain anything.
	words := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	const startWord = 19 // field 22 of the line
	if len(words) <= startWord {
		return Process{}, errFormat
	}
	start, err := strconv.ParseUint(words[startWord], 10, 64)
	if err != nil {
		return Process{}, errFormat
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return Process{PID: pid, Start: start, Boot: strings.TrimSpace(string(boot))}, err
}

// parentOf is the pid of a process's parent, 0 when it is gone.
func parentOf(pid string) int {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return 0
	}
	words := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(words) < 2 || words[0] == "Z" {
		return 0
	}
	n, _ := strconv.Atoi(words[1])
	return n
}

// childrenOf lists the living children of the process.
func childrenOf(parent int) []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	var pids []int
	for _, name := range names {
		if name[0] < '0' || name[0] > '9' || parentOf(name) != parent {
			continue
		}
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
