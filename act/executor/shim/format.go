package shim

import (
	"errors"
	"strconv"
	"strings"
)

// Spec is what a shim starts. No string may contain a NUL.
type Spec struct {
	Path   string   // looked up in the PATH of Env when it has no slash
	Args   []string // without the program's name
	Env    []string // NAME=value, the whole environment
	Dir    string
	UID    int   // with GID, applied when SetUser
	GID    int   //
	LogMax int64 // bytes of one log file, of two; 0: DefaultLogMax
	StopMS int64 // grace between SIGTERM and SIGKILL; 0: DefaultStopMS
	Limits []Limit

	SetUser bool
}

// Limit is one resource limit, as setrlimit(2) numbers them. The shim has it too.
type Limit struct {
	Resource  int
	Soft, Max uint64
}

// Defaults of a Spec.
const (
	DefaultLogMax = 8 << 20
	DefaultStopMS = 10_000
)

// Process is a process's identity: the start time, in clock ticks since the
// boot, tells it from a later one of the same pid.
type Process struct {
	PID   int
	Start uint64
	Boot  string
}

// Exit is how a process ended. Exactly one of Error, Signal and Code says it:
// Error when it never started.
type Exit struct {
	Code    int
	Signal  int
	Error   string
	Started int64 // Unix nanoseconds
	Ended   int64
	LogLost int64 // bytes of output that could not be written
}

// errFormat is the only error of the parsers: whoever wrote the file was not us.
var errFormat = errors.New("malformed")

// A file is a list of name NUL value NUL, in order, names may repeat.
type fields []byte

func (f *fields) add(name, value string) {
	*f = append(append(append(append(*f, name...), 0), value...), 0)
}

func (f *fields) num(name string, n int64) {
	if n != 0 {
		f.add(name, strconv.FormatInt(n, 10))
	}
}

func each(data []byte, field func(name, value string) error) error {
	rest := string(data)
	for rest != "" {
		name, after, ok := strings.Cut(rest, "\x00")
		value, next, ok2 := strings.Cut(after, "\x00")
		if !ok || !ok2 {
			return errFormat
		}
		if err := field(name, value); err != nil {
			return err
		}
		rest = next
	}
	return nil
}

func number(value string, to *int64) error {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return errFormat
	}
	*to = n
	return nil
}

// Encode is the spec as it stands in a file.
func (s *Spec) Encode() ([]byte, error) {
	var f fields
	f.add("path", s.Path)
	f.add("dir", s.Dir)
	for _, a := range s.Args {
		f.add("arg", a)
	}
	for _, e := range s.Env {
		f.add("env", e)
	}
	if s.SetUser {
		f.add("user", strconv.Itoa(s.UID)+" "+strconv.Itoa(s.GID))
	}
	f.num("log-max", s.LogMax)
	f.num("stop-ms", s.StopMS)
	for _, l := range s.Limits {
		f.add("limit", strconv.Itoa(l.Resource)+" "+strconv.FormatUint(l.Soft, 10)+" "+strconv.FormatUint(l.Max, 10))
	}
	want := 2 * (2 + len(s.Args) + len(s.Env) + len(s.Limits))
	for _, set := range []bool{s.SetUser, s.LogMax != 0, s.StopMS != 0} {
		if set {
			want += 2
		}
	}
	if strings.Count(string(f), "\x00") != want {
		return nil, errors.New("a text contains a NUL")
	}
	return f, nil
}

// DecodeSpec is the inverse of Encode. Unknown fields are ignored.
func DecodeSpec(data []byte) (*Spec, error) {
	s := &Spec{LogMax: DefaultLogMax, StopMS: DefaultStopMS}
	err := each(data, func(name, value string) error {
		switch name {
		case "path":
			s.Path = value
		case "dir":
			s.Dir = value
		case "arg":
			s.Args = append(s.Args, value)
		case "env":
			s.Env = append(s.Env, value)
		case "log-max":
			return number(value, &s.LogMax)
		case "stop-ms":
			return number(value, &s.StopMS)
		case "user":
			n, err := numbers(value, 2)
			if err != nil {
				return err
			}
			s.UID, s.GID, s.SetUser = int(n[0]), int(n[1]), true
		case "limit":
			n, err := numbers(value, 3)
			if err != nil {
				return err
			}
			s.Limits = append(s.Limits, Limit{Resource: int(n[0]), Soft: n[1], Max: n[2]})
		}
		return nil
	})
	if err == nil && s.Path == "" {
		err = errFormat
	}
	return s, err
}

func numbers(value string, want int) ([]uint64, error) {
	words := strings.Split(value, " ")
	if len(words) != want {
		return nil, errFormat
	}
	ns := make([]uint64, want)
	for i, w := range words {
		n, err := strconv.ParseUint(w, 10, 64)
		if err != nil {
			return nil, errFormat
		}
		ns[i] = n
	}
	return ns, nil
}

// Encode is the identity as it stands in a file.
func (p Process) Encode() []byte {
	var f fields
	f.num("pid", int64(p.PID))
	f.add("start", strconv.FormatUint(p.Start, 10))
	f.add("boot", p.Boot)
	return f
}

// DecodeProcess is the inverse of Encode.
func DecodeProcess(data []byte) (Process, error) {
	var p Process
	err := each(data, func(name, value string) error {
		var n int64
		switch name {
		case "pid":
			if err := number(value, &n); err != nil {
				return err
			}
			p.PID = int(n)
		case "start":
			if err := number(value, &n); err != nil {
				return err
			}
			p.Start = uint64(n)
		case "boot":
			p.Boot = value
		}
		return nil
	})
	if err == nil && p.PID <= 0 {
		err = errFormat
	}
	return p, err
}

// Encode is the record as it stands in a file.
func (e Exit) Encode() []byte {
	var f fields
	f.add("code", strconv.Itoa(e.Code))
	f.num("signal", int64(e.Signal))
	if e.Error != "" {
		f.add("error", e.Error)
	}
	f.num("started", e.Started)
	f.num("ended", e.Ended)
	f.num("log-lost", e.LogLost)
	return f
}

// DecodeExit is the inverse of Encode.
func DecodeExit(data []byte) (Exit, error) {
	var e Exit
	seen := false
	err := each(data, func(name, value string) error {
		var n int64
		switch name {
		case "code":
			seen = true
			err := number(value, &n)
			e.Code = int(n)
			return err
		case "signal":
			err := number(value, &n)
			e.Signal = int(n)
			return err
		case "error":
			e.Error = value
		case "started":
			return number(value, &e.Started)
		case "ended":
			return number(value, &e.Ended)
		case "log-lost":
			return number(value, &e.LogLost)
		}
		return nil
	})
	if err == nil && !seen {
		err = errFormat
	}
	return e, err
}
