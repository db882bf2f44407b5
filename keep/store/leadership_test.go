package store

import (
	"context"
	"errors"
	"testing"
)

func TestLoopsRunWhileTheServerLeads(t *testing.T) {
	z := newZoo()
	c := NewMemoryCluster("a", "b")
	s := reopen(t, z, c.Log("a"))
	reopen(t, z, c.Log("b"))
	epochs, ended := make(chan uint64), make(chan error)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		done <- s.WhileLeading(ctx, func(ctx context.Context, epoch uint64) error {
			epochs <- epoch
			<-ctx.Done()
			ended <- context.Cause(ctx)
			return ctx.Err()
		})
	}()
	c.Elect("a")
	if e := <-epochs; e != 1 || !s.Leadership().Leading {
		t.Errorf("epoch %d, want 1", e)
	}
	c.Elect("b")
	if err := <-ended; !errors.Is(err, errReignEnded) {
		t.Errorf("the loops ended by %v", err)
	}
	if l := s.Leadership(); l.Leading || l.Leader != "b" {
		t.Errorf("leadership %+v", l)
	}
	c.Elect("a")
	if e := <-epochs; e != 3 {
		t.Errorf("epoch %d, want 3", e)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the loops ended by %v", err)
	}
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("WhileLeading ended by %v", err)
	}
}

func TestALoopThatFailsEndsTheRun(t *testing.T) {
	s := OpenMemory(NewSchema())
	broken := errors.New("broken")
	if err := s.WhileLeading(t.Context(), func(context.Context, uint64) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("ended by %v", err)
	}
}

func TestReadyWaitsForALeader(t *testing.T) {
	z := newZoo()
	c := NewMemoryCluster("a", "b")
	s := reopen(t, z, c.Log("b"))
	reopen(t, z, c.Log("a"))
	ready := make(chan error)
	go func() { ready <- s.Ready(t.Context()) }()
	select {
	case err := <-ready:
		t.Errorf("ready without a leader: %v", err)
	default:
	}
	c.Elect("a")
	if err := <-ready; err != nil {
		t.Error(err)
	}
	c.Depose()
	go func() { ready <- s.Ready(t.Context()) }()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ready; !errors.Is(err, ErrClosed) {
		t.Errorf("ready of a closed store: %v", err)
	}
	if _, err := s.Update(t.Context(), func(*Txn) error { return nil }); !errors.Is(err, ErrClosed) {
		t.Errorf("a write to a closed store: %v", err)
	}
}
