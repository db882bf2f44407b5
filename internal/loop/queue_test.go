package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// plain is the queue as its sentences say it, with a scan for every question.
type plain struct {
	keys map[string]*plainKey
	seq  int
}

type plainKey struct {
	due   time.Time
	woken int // 0: not woken
}

func (p *plain) wake(key string, again bool) {
	k := p.keys[key]
	if k == nil {
		k = &plainKey{}
		p.keys[key] = k
	}
	if k.woken == 0 || again {
		p.seq++
		k.woken = p.seq
	}
}

func (p *plain) due(now time.Time) []string {
	var keys []string
	for key, k := range p.keys { // order-free: sorted below
		if k.woken > 0 || !k.due.IsZero() && !k.due.After(now) {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(x, y string) int {
		a, b := p.keys[x], p.keys[y]
		switch {
		case a.woken > 0 && b.woken > 0:
			return cmp.Compare(a.woken, b.woken)
		case a.woken > 0:
			return -1
		case b.woken > 0:
			return 1
		}
		return cmp.Or(a.due.Compare(b.due), cmp.Compare(x, y))
	})
	return keys
}

func (p *plain) deadline() (first time.Time) {
	for _, k := range p.keys { // order-free: a minimum
		if !k.due.IsZero() && (first.IsZero() || k.due.Before(first)) {
			first = k.due
		}
	}
	return first
}

func TestWhatIsDueEqualsAScanOverAllKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.Unix(1000, 0)
		model := &plain{keys: map[string]*plainKey{}}
		var next Next
		var failure error
		l := New(Config{
			Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler),
			Actor: actorFunc(func(context.Context, string) (Next, error) { return next, failure }),
		})
		key := rapid.Map(rapid.IntRange(0, 12), func(i int) string { return fmt.Sprintf("k%02d", i) })
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				if got, want := l.Due(now), model.due(now); !slices.Equal(got, want) {
					t.Fatalf("due %v, want %v", got, want)
				}
				if got, want := l.Deadline(), model.deadline(); !got.Equal(want) {
					t.Fatalf("deadline %v, want %v", got, want)
				}
			},
			"wake": func(t *rapid.T) {
				k := key.Draw(t, "key")
				l.Wake(k)
				model.wake(k, false)
			},
			"forget": func(t *rapid.T) {
				k := key.Draw(t, "key")
				l.Forget(k)
				delete(model.keys, k)
			},
			"time": func(t *rapid.T) { now = now.Add(time.Duration(rapid.IntRange(0, 5).Draw(t, "s")) * time.Second) },
			"step": func(t *rapid.T) {
				k := key.Draw(t, "key")
				next, failure = Next{}, nil
				delete(model.keys, k)
				switch rapid.IntRange(0, 3).Draw(t, "end") {
				case 0:
					next.Again = true
					model.wake(k, true)
				case 1, 2:
					next.At = now.Add(time.Duration(rapid.IntRange(0, 9).Draw(t, "at")) * time.Second)
					model.keys[k] = &plainKey{due: next.At}
				}
				_ = l.StepKey(t.Context(), k)
			},
		})
	})
}

func TestAKeyWokenWhileItsStepFailsKeepsItsPlaceAndItsRetry(t *testing.T) {
	now := time.Unix(1000, 0)
	var l *Loop
	l = New(Config{
		Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler),
		Actor: actorFunc(func(_ context.Context, key string) (Next, error) {
			l.Wake(key, "b")
			if got := l.Due(now); !slices.Equal(got, []string{"b"}) {
				t.Errorf("due %v while a is busy, want b", got)
			}
			return Next{}, errors.New("no")
		}),
	})
	_ = l.StepKey(t.Context(), "a")
	if got := l.Due(now); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("due %v, want a b", got)
	}
	if got, want := l.Deadline(), now.Add(firstBackoff); !got.Equal(want) {
		t.Errorf("deadline %v, want %v", got, want)
	}
}

// One wake, one look and one deadline beside many keys that wait for their time.
func BenchmarkAWakeBesideIdleTimers(b *testing.B) {
	for _, keys := range []int{10_000, 250_000} {
		b.Run(fmt.Sprint(keys), func(b *testing.B) {
			now := time.Unix(1000, 0)
			l := New(Config{
				Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler),
				Actor: actorFunc(func(context.Context, string) (Next, error) {
					return Next{At: now.Add(time.Hour)}, nil
				}),
			})
			names := make([]string, keys)
			for i := range names {
				names[i] = fmt.Sprintf("guid-%06d", i)
				_ = l.StepKey(b.Context(), names[i])
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				l.Wake(names[i%keys])
				for _, key := range l.Due(now) {
					_ = l.StepKey(b.Context(), key)
				}
				if l.Deadline().IsZero() {
					b.Fatal("no deadline")
				}
			}
		})
	}
}
