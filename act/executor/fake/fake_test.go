package fake_test

import (
	"testing"
	"time"

	"drover/act/executor"
	"drover/act/executor/fake"
	"drover/act/executor/runtimetest"
)

type subject struct{ host *fake.Host }

func (s subject) New(*testing.T) executor.Runtime { return fake.New(s.host) }

func TestConformance(t *testing.T) {
	runtimetest.Run(t, func(*testing.T) runtimetest.Subject {
		return subject{fake.NewHost(fake.Config{Now: time.Now, Behave: behave})}
	})
}

// behave knows the suite's programs.
func behave(_ executor.Place, p executor.Process) fake.Behaviour {
	is := func(o executor.Process) bool {
		return p.Path == o.Path && len(p.Args) == len(o.Args) && (len(p.Args) == 0 || p.Args[len(p.Args)-1] == o.Args[len(o.Args)-1])
	}
	switch {
	case is(runtimetest.True):
		return fake.Behaviour{}
	case is(runtimetest.Exit3):
		return fake.Behaviour{Exit: executor.Exit{Code: 3}}
	case is(runtimetest.Missing):
		return fake.Behaviour{StartError: "no such file"}
	case is(runtimetest.Deaf):
		return fake.Behaviour{After: -1, IgnoreTerm: true}
	}
	return fake.Forever
}
