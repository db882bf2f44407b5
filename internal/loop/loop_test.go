package loop

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

type actorFunc func(ctx context.Context, key string) (Next, error)

func (f actorFunc) Step(ctx context.Context, key string) (Next, error) { return f(ctx, key) }

func start(t *testing.T, cfg Config) *Loop {
	t.Helper()
	cfg.Now, cfg.Log = time.Now, slog.New(slog.DiscardHandler)
	l := New(cfg)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = l.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return l
}

func TestWakeUpsOfOneKeyCoalesce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		steps := 0
		l := start(t, Config{Actor: actorFunc(func(context.Context, string) (Next, error) {
			steps++
			<-release
			return Next{}, nil
		})})
		l.Wake("a")
		synctest.Wait()
		l.Wake("a", "a")
		l.Wake("a")
		close(release)
		synctest.Wait()
		if steps != 2 {
			t.Errorf("%d steps, want 2: the one under way and one for all that came meanwhile", steps)
		}
	})
}

func TestAKeyIsNeverSteppedTwiceAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		busy, total := map[string]bool{}, 0
		l := start(t, Config{Workers: 8, Actor: actorFunc(func(_ context.Context, key string) (Next, error) {
			mu.Lock()
			if busy[key] {
				t.Errorf("key %s stepped twice at once", key)
			}
			busy[key] = true
			total++
			mu.Unlock()
			<-time.After(time.Millisecond)
			mu.Lock()
			busy[key] = false
			mu.Unlock()
			return Next{}, nil
		})})
		for range 50 {
			l.Wake("a", "b", "c")
			<-time.After(300 * time.Microsecond)
		}
		synctest.Wait()
		if total < 10 {
			t.Errorf("only %d steps", total)
		}
	})
}

func TestAFailingStepBacksOffAndRecovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at []time.Duration
		begin := time.Now()
		l := start(t, Config{Backoff: 20 * time.Millisecond, Actor: actorFunc(func(context.Context, string) (Next, error) {
			at = append(at, time.Since(begin))
			if len(at) < 6 {
				return Next{}, errors.New("no")
			}
			return Next{}, nil
		})})
		l.Wake("a")
		<-time.After(time.Second)
		synctest.Wait()
		ms := time.Millisecond
		want := []time.Duration{0, 5 * ms, 15 * ms, 35 * ms, 55 * ms, 75 * ms}
		if !slices.Equal(at, want) {
			t.Errorf("steps at %v, want %v", at, want)
		}
	})
}

func TestADeadlineStepsTheKeyWithoutAWakeUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at []time.Duration
		begin := time.Now()
		l := start(t, Config{Actor: actorFunc(func(context.Context, string) (Next, error) {
			at = append(at, time.Since(begin))
			if len(at) == 1 {
				return Next{At: time.Now().Add(3 * time.Second)}, nil
			}
			return Next{}, nil
		})})
		l.Wake("a")
		<-time.After(10 * time.Second)
		synctest.Wait()
		if !slices.Equal(at, []time.Duration{0, 3 * time.Second}) {
			t.Errorf("steps at %v, want 0s and 3s", at)
		}
	})
}

func TestDueKeysComeInTheOrderOfWaking(t *testing.T) {
	now := time.Unix(100, 0)
	l := New(Config{Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)})
	l.Wake("c")
	l.Wake("a", "b")
	l.Wake("c")
	if got := l.Due(now); !slices.Equal(got, []string{"c", "a", "b"}) {
		t.Errorf("due %v, want c a b", got)
	}
}

func TestRunWaitsForTheStepUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		finished := false
		l := New(Config{Now: time.Now, Log: slog.New(slog.DiscardHandler), Actor: actorFunc(func(ctx context.Context, _ string) (Next, error) {
			<-ctx.Done()
			finished = true
			return Next{}, ctx.Err()
		})})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); _ = l.Run(ctx) }()
		l.Wake("a")
		synctest.Wait()
		cancel()
		<-done
		if !finished {
			t.Error("Run returned before its step")
		}
	})
}
