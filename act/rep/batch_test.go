package rep_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"drover/act/rep"
	"drover/wire/droverv1"
)

// gate is a board that answers when it is let.
type gate struct {
	mu    sync.Mutex // guards sizes
	sizes []int
	open  chan struct{}
}

func (g *gate) Apply(_ context.Context, steps []*droverv1.Step) ([]*droverv1.StepResult, error) {
	g.mu.Lock()
	g.sizes = append(g.sizes, len(steps))
	g.mu.Unlock()
	<-g.open
	var out []*droverv1.StepResult
	for _, s := range steps {
		if s.GetKind() == "break" {
			return nil, fmt.Errorf("no server")
		}
		out = append(out, &droverv1.StepResult{Error: s.GetProcessGuid()})
	}
	return out, nil
}

func TestStepsGatherWhileACallIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{open: make(chan struct{})}
		b := rep.NewBatcher(g)
		var wg sync.WaitGroup
		ask := func(name string) {
			wg.Go(func() {
				res, err := b.Apply(t.Context(), []*droverv1.Step{{ProcessGuid: name}, {ProcessGuid: name + "'"}})
				if err != nil || len(res) != 2 || res[0].Error != name || res[1].Error != name+"'" {
					t.Errorf("%s got %v, %v", name, res, err)
				}
			})
			synctest.Wait()
		}
		for i := range 6 {
			ask(fmt.Sprint(i))
		}
		close(g.open)
		wg.Wait()
		if len(g.sizes) != 2 || g.sizes[0] != 2 || g.sizes[1] != 10 {
			t.Errorf("calls of %v steps, want one of 2 and one of 10", g.sizes)
		}
		if _, err := b.Apply(t.Context(), []*droverv1.Step{{Kind: "break"}}); err == nil {
			t.Error("a failed call succeeded")
		}
		if res, err := b.Apply(t.Context(), []*droverv1.Step{{ProcessGuid: "after"}}); err != nil || res[0].Error != "after" {
			t.Errorf("after a failed call: %v, %v", res, err)
		}
	})
}
