package client

import (
	"io"
	"os"
	"strings"
	"syscall"
)

// ExecName is the name under which the program is the gate before a hook.
const ExecName = "drover-exec"

// Program is the name under which the tool's name is the first argument.
const Program = "drover-hook"

// Main runs the tool that args[0] names and returns its exit code.
func Main(args []string) int {
	tool := args[0][strings.LastIndexByte(args[0], '/')+1:]
	args = args[1:]
	switch tool {
	case ExecName:
		return enter(args)
	case Program:
		if len(args) == 0 {
			return fail(2, "usage: "+Program+" TOOL [ARGUMENT...]")
		}
		tool, args = args[0], args[1:]
	}
	address, id := os.Getenv("JUJU_AGENT_SOCKET_ADDRESS"), os.Getenv("JUJU_CONTEXT_ID")
	if address == "" {
		address = os.Getenv("JUJU_AGENT_SOCKET")
	}
	if address == "" || id == "" {
		return fail(1, tool+" works only inside a hook: JUJU_AGENT_SOCKET_ADDRESS or JUJU_CONTEXT_ID is not set")
	}
	req := Request{Context: id, Tool: tool, Args: args}
	if file := fileArg(args); file != "" {
		data, err := readInput(file)
		if err != nil {
			return fail(1, "cannot read "+file+": "+err.Error())
		}
		req.Stdin = data
	}
	return call(address, &req)
}

// fileArg is the file that --file names. A lone "-" elsewhere means all keys, not
// the standard input: that is left alone, it may be a loop's.
func fileArg(args []string) string {
	for i, a := range args {
		if a == "--" {
			break
		}
		if file, ok := strings.CutPrefix(a, "--file="); ok {
			return file
		}
		if a == "--file" && i+1 < len(args) {
			return args[i+1]
		}
	}
	return ""
}

// readInput reads here, in the hook's folder and with its rights, what the
// tool is given.
func readInput(file string) ([]byte, error) {
	f := os.Stdin
	if file != "-" {
		var err error
		if f, err = os.Open(file); err != nil {
			return nil, err
		}
		defer f.Close()
	}
	return io.ReadAll(io.LimitReader(f, MaxInput+1))
}

func call(address string, req *Request) int {
	conn, err := dial(address)
	if err != nil {
		return fail(1, "cannot reach the unit's agent (the hook may have ended): "+err.Error())
	}
	defer conn.Close()
	if err := Write(conn, req); err != nil {
		return fail(1, "cannot reach the unit's agent: "+err.Error())
	}
	var resp Response
	if err := Read(conn, &resp); err != nil {
		return fail(1, "the unit's agent went away: "+err.Error())
	}
	_, _ = os.Stderr.Write(resp.Stderr)
	if resp.Output != "" {
		if err := os.WriteFile(resp.Output, resp.Stdout, 0o666); err != nil {
			return fail(1, err.Error())
		}
	} else if _, err := os.Stdout.Write(resp.Stdout); err != nil {
		return 1
	}
	return resp.Code
}

// dial connects without package net, which costs half a millisecond to start.
func dial(address string) (*os.File, error) {
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if err := syscall.Connect(fd, &syscall.SockaddrUnix{Name: address}); err != nil {
		_ = syscall.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), address), nil
}

func fail(code int, message string) int {
	_, _ = os.Stderr.WriteString("ERROR " + message + "\n")
	return code
}
