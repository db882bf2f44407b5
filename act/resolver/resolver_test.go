package resolver

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"drover/decide/convergence"
	"drover/keep/board"
	"drover/keep/store"
	"drover/noun/when"
	"drover/noun/work"
)

// bench is a resolver before a board in memory, in a bubble of synctest, with the
// converger's timers beside it. It is the callback too.
type bench struct {
	*testing.T
	b     *board.Board
	s     *store.Store
	begin time.Time
	stop  func()

	mu     sync.Mutex // guards all below
	answer func(call int) (int, error)
	calls  []time.Duration // since the beginning
	state  []work.TaskState
	body   []byte
	busy   int
}

func (w *bench) Post(ctx context.Context, url string, body []byte) (int, error) {
	w.mu.Lock()
	w.busy++
	if w.busy > 1 {
		w.Error("two calls at once")
	}
	n := len(w.calls)
	w.calls = append(w.calls, time.Since(w.begin))
	t, _ := w.b.Task(w.s.View(), "job")
	w.state = append(w.state, t.State)
	w.body = body
	answer := w.answer
	w.mu.Unlock()
	if url != callback {
		w.Errorf("called %s", url)
	}
	status, err := answer(n)
	if status == hang {
		<-ctx.Done()
		err = ctx.Err()
	}
	w.mu.Lock()
	w.busy--
	w.mu.Unlock()
	return status, err
}

const (
	callback = "http://127.0.0.1:1/done"
	hang     = -1
)

func always(status int) func(int) (int, error) { return func(int) (int, error) { return status, nil } }

func bubble(t *testing.T, name string, fn func(w *bench)) {
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			schema := store.NewSchema()
			w := &bench{T: t, b: board.New(schema), begin: time.Now(), answer: always(200)}
			w.s = store.OpenMemory(schema)
			t.Cleanup(func() { w.stop(); _ = w.s.Close() })
			w.lead()
			fn(w)
		})
	})
}

// lead starts a resolver; the one before has stopped.
func (w *bench) lead() {
	r := New(Config{Store: w.s, Board: w.b, Callbacks: w, Now: time.Now, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	ctx, cancel := context.WithCancel(w.Context())
	done := make(chan struct{})
	go func() { _ = r.Run(ctx); close(done) }()
	w.stop = func() { cancel(); <-done }
	synctest.Wait()
}

func (w *bench) update(fn func(tx *store.Txn, now when.Instant) error) {
	w.Helper()
	if _, err := w.s.Update(w.Context(), func(tx *store.Txn) error { return fn(tx, when.Of(time.Now())) }); err != nil {
		w.Fatal(err)
	}
	synctest.Wait()
}

func (w *bench) task() work.Task {
	t, _ := w.b.Task(w.s.View(), "job")
	return t
}

// complete makes a task that has ended.
func (w *bench) complete(url string) {
	w.Helper()
	w.update(func(tx *store.Txn, now when.Instant) error {
		_, err := w.b.DesireTask(tx, now, work.Task{
			GUID: "job", Domain: "d", Callback: url, Annotation: "mine",
			Spec: work.Spec{Action: work.Action{Run: &work.RunAction{Path: "true"}}},
		})
		return err
	})
	ask := board.TaskAsk{GUID: "job", Incarnation: w.task().Incarnation, Cell: "c0", Seen: board.AnyRevision}
	w.update(func(tx *store.Txn, now when.Instant) error { return w.b.StartTask(tx, now, ask) })
	w.update(func(tx *store.Txn, now when.Instant) error {
		return w.b.CompleteTask(tx, now, ask, board.Outcome{Result: "42"})
	})
}

// pass lets seconds pass, with the converger's timers.
func (w *bench) pass(d time.Duration) {
	w.Helper()
	for range int(d / time.Second) {
		<-time.After(time.Second)
		synctest.Wait()
		t := w.task()
		kind, _ := convergence.Task(&t, when.Of(time.Now()), func(work.CellID) bool { return false })
		if kind != 0 {
			w.update(func(tx *store.Txn, now when.Instant) error { _, err := w.b.ConvergeTask(tx, now, t, kind); return err })
		}
	}
}

func (w *bench) want(state work.TaskState, calls ...time.Duration) {
	w.Helper()
	if got := w.task().State; got != state {
		w.Errorf("the task is %s, want %s", got, state)
	}
	if !slices.Equal(w.calls, calls) {
		w.Errorf("called at %v, want %v", w.calls, calls)
	}
}

func seconds(s ...int) (out []time.Duration) {
	for _, n := range s {
		out = append(out, time.Duration(n)*time.Second)
	}
	return out
}

func TestResolving(t *testing.T) {
	bubble(t, "D-169 D-179 D-180 a task is RESOLVING while its callback is called, then deleted", func(w *bench) {
		w.complete(callback)
		w.want(work.NoTask, 0)
		if !slices.Equal(w.state, []work.TaskState{work.TaskResolving}) {
			w.Errorf("while called it was %v", w.state)
		}
		var got map[string]any
		if err := json.Unmarshal(w.body, &got); err != nil {
			w.Fatal(err)
		}
		if got["task_guid"] != "job" || got["result"] != "42" || got["failed"] != false || got["annotation"] != "mine" {
			w.Errorf("sent %s", w.body)
		}
	})
	bubble(t, "D-177 a task without a callback waits for whoever polls", func(w *bench) {
		w.complete("")
		w.pass(time.Minute)
		w.want(work.TaskCompleted)
	})
	bubble(t, "an answer below 500 delivers it", func(w *bench) {
		w.answer = always(404)
		w.complete(callback)
		w.want(work.NoTask, 0)
	})
	bubble(t, "errors and answers from 500 on are tried again with back-off", func(w *bench) {
		w.answer = func(call int) (int, error) {
			return []int{500, 0, 503, 200}[call], []error{nil, errors.New("connection refused"), nil, nil}[call]
		}
		w.complete(callback)
		w.want(work.TaskResolving, 0)
		w.pass(7 * time.Second)
		w.want(work.NoTask, seconds(0, 1, 3, 7)...)
	})
	bubble(t, "D-194 what failed for 30 s goes back, and is resolved again after 30 s, until its time is up", func(w *bench) {
		w.answer = always(502)
		w.complete(callback)
		w.pass(59 * time.Second)
		w.want(work.TaskCompleted, seconds(0, 1, 3, 7, 15, 23)...)
		w.pass(time.Second)
		w.want(work.TaskResolving, seconds(0, 1, 3, 7, 15, 23, 60)...)
		w.pass(59 * time.Second)
		w.want(work.TaskCompleted, seconds(0, 1, 3, 7, 15, 23, 60, 61, 63, 67, 75, 83)...)
		w.pass(time.Second)
		w.want(work.NoTask, seconds(0, 1, 3, 7, 15, 23, 60, 61, 63, 67, 75, 83)...)
	})
	bubble(t, "a callback that hangs is given up after 10 s, and before the task goes back", func(w *bench) {
		w.answer = always(hang)
		w.complete(callback)
		w.pass(30 * time.Second)
		w.want(work.TaskCompleted, seconds(0, 11, 23)...)
		if w.busy != 0 {
			w.Error("it is still being called")
		}
	})
}

func TestTheNextLeader(t *testing.T) {
	bubble(t, "what was left RESOLVING is called for again once it went back", func(w *bench) {
		w.answer = always(hang)
		w.complete(callback)
		w.stop()
		w.want(work.TaskResolving, 0)
		w.answer = always(200)
		w.lead()
		w.pass(59 * time.Second)
		w.want(work.TaskCompleted, 0)
		w.pass(time.Second)
		w.want(work.NoTask, seconds(0, 60)...)
	})
	bubble(t, "T5 what completed while nobody led is called for, however late", func(w *bench) {
		w.stop()
		w.complete(callback)
		w.pass(5 * time.Minute)
		w.want(work.TaskCompleted)
		w.lead()
		w.want(work.NoTask, seconds(300)...)
	})
}

// Rule: D-170
func TestNothingIsCalledWhenTheUpdateFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		schema := store.NewSchema()
		w := &bench{T: t, b: board.New(schema), begin: time.Now(), answer: always(200)}
		w.s = store.OpenMemory(schema)
		w.complete(callback)
		r := New(Config{Store: w.s, Board: w.b, Callbacks: w, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
		if err := w.s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := r.Loop().StepKey(t.Context(), "task/job"); err == nil {
			t.Error("no error")
		}
		if len(w.calls) > 0 {
			t.Error("the callback was called")
		}
	})
}
