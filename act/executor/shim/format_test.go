package shim

import (
	"bytes"
	"reflect"
	"testing"
)

func TestFormatsSurviveTheirFiles(t *testing.T) {
	spec := Spec{
		Path: "/bin/sh", Args: []string{"-c", "echo \"a\nb\"", ""}, Env: []string{"A=b=c", "EMPTY="}, Dir: "/tmp", UID: 5, GID: 6, SetUser: true,
		LogMax: 100, StopMS: 7, Limits: []Limit{{Resource: 7, Soft: 1, Max: 1 << 63}},
	}
	b, err := spec.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := DecodeSpec(b); err != nil || !reflect.DeepEqual(*got, spec) {
		t.Errorf("spec: %+v, %v", got, err)
	}
	p := Process{PID: 12, Start: 34, Boot: "b"}
	if got, err := DecodeProcess(p.Encode()); err != nil || got != p {
		t.Errorf("process: %+v, %v", got, err)
	}
	e := Exit{Code: 3, Signal: 9, Error: "x", Started: 1, Ended: 2, LogLost: 4}
	if got, err := DecodeExit(e.Encode()); err != nil || got != e {
		t.Errorf("exit: %+v, %v", got, err)
	}
}

func TestANULIsRefused(t *testing.T) {
	for _, s := range []Spec{
		{Path: "a\x00b"}, {Path: "a", Dir: "b\x00c"}, {Path: "a", Args: []string{"b\x00path\x00evil"}}, {Path: "a", Env: []string{"B=\x00"}},
	} {
		if _, err := s.Encode(); err == nil {
			t.Errorf("%+v was encoded", s)
		}
	}
}

func TestMalformedFilesAreErrors(t *testing.T) {
	for _, text := range []string{"x", "x\x00", "path\x00", "code\x00x\x00", "user\x001\x00", "limit\x001 2\x00", "pid\x00-1\x00start\x001\x00", ""} {
		_, err1 := DecodeSpec([]byte(text))
		_, err2 := DecodeProcess([]byte(text))
		_, err3 := DecodeExit([]byte(text))
		if err1 == nil || err2 == nil || err3 == nil {
			t.Errorf("%q: %v, %v, %v", text, err1, err2, err3)
		}
	}
}

func FuzzDecode(f *testing.F) {
	s := Spec{Path: "sh", Args: []string{"-c"}, Env: []string{"A=b"}}
	b, _ := s.Encode()
	f.Add(b)
	f.Add(Exit{Code: 1}.Encode())
	f.Add(Process{PID: 1, Boot: "b"}.Encode())
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = DecodeProcess(data)
		if e, err := DecodeExit(data); err == nil {
			if again, err := DecodeExit(e.Encode()); err != nil || again != e {
				t.Errorf("%+v became %+v, %v", e, again, err)
			}
		}
		if s, err := DecodeSpec(data); err == nil {
			b, err := s.Encode()
			if err != nil {
				t.Fatalf("decoded, but not encodable: %+v: %v", s, err)
			}
			if again, err := DecodeSpec(b); err != nil || again.Path != s.Path || len(again.Args) != len(s.Args) || len(again.Env) != len(s.Env) {
				t.Errorf("%+v became %+v, %v", s, again, err)
			}
		}
	})
}

func TestALogKeepsTwoFilesOfTheSize(t *testing.T) {
	t.Chdir(t.TempDir())
	l := logFile{max: 10}
	for _, text := range []string{"aaaaaa", "bbbb", "cccccc", "dddddddddddddd", "e"} {
		if n, err := l.Write([]byte(text)); n != len(text) || err != nil {
			t.Fatalf("wrote %d, %v", n, err)
		}
	}
	for file, want := range map[string]string{OldLogFile: "dddddddddddddd", LogFile: "e"} {
		if got := read(t, file); got != want {
			t.Errorf("%s holds %q, want %q", file, got, want)
		}
	}
	if l.lost != 0 {
		t.Errorf("lost %d", l.lost)
	}
}

func TestALogThatCanNotBeWrittenLosesAndCounts(t *testing.T) {
	t.Chdir(t.TempDir())
	mkdir(t, LogFile) // nothing can be opened under that name
	l := logFile{max: 10}
	if n, err := l.Write(bytes.Repeat([]byte("x"), 25)); n != 25 || err != nil {
		t.Fatalf("wrote %d, %v: a process would block", n, err)
	}
	if l.lost != 25 {
		t.Errorf("lost %d, want 25", l.lost)
	}
}
