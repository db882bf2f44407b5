package rep

import (
	"context"
	"fmt"
	"sync"

	"drover/wire/droverv1"
)

// maxBatch bounds the steps of one call.
const maxBatch = 256

// Batcher is a Board that gathers the steps of concurrent callers into one call
// while another call is under way. A lone caller waits for nobody.
type Batcher struct {
	board Board

	mu    sync.Mutex // guards queue, busy
	queue []*ask
	busy  bool
}

type ask struct {
	steps   []*droverv1.Step
	results []*droverv1.StepResult
	err     error
	done    chan struct{}
	lead    chan struct{} // it is its caller's turn to call
}

// NewBatcher makes a Batcher before the board.
func NewBatcher(board Board) *Batcher { return &Batcher{board: board} }

// Apply applies the steps in order, together with others'. Its call may be made
// under another caller's context.
func (b *Batcher) Apply(ctx context.Context, steps []*droverv1.Step) ([]*droverv1.StepResult, error) {
	a := &ask{steps: steps, done: make(chan struct{}), lead: make(chan struct{}, 1)}
	b.mu.Lock()
	b.queue = append(b.queue, a)
	leads := !b.busy
	b.busy = true
	b.mu.Unlock()
	if !leads {
		select {
		case <-a.done:
			return a.results, a.err
		case <-a.lead:
		}
	}
	b.call(ctx)
	<-a.done
	return a.results, a.err
}

// call sends what waits, the caller's own first, and hands over to the next.
func (b *Batcher) call(ctx context.Context) {
	b.mu.Lock()
	n, size := 0, 0
	for n < len(b.queue) && (n == 0 || size+len(b.queue[n].steps) <= maxBatch) {
		size += len(b.queue[n].steps)
		n++
	}
	asks := b.queue[:n:n]
	b.queue = b.queue[n:]
	b.mu.Unlock()

	all := make([]*droverv1.Step, 0, size)
	for _, a := range asks {
		all = append(all, a.steps...)
	}
	results, err := b.board.Apply(ctx, all)
	if err == nil && len(results) != len(all) {
		err = fmt.Errorf("%d answers to %d steps", len(results), len(all))
	}
	for _, a := range asks {
		if a.err = err; err == nil {
			a.results, results = results[:len(a.steps)], results[len(a.steps):]
		}
		close(a.done)
	}

	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.queue) == 0 {
		b.busy = false
		return
	}
	b.queue[0].lead <- struct{}{}
}
