package store

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"drover/noun/fault"
)

func TestARequestIsAnsweredOnce(t *testing.T) {
	z := newZoo()
	s := OpenMemory(z.schema)
	runs := 0
	ask := func(id string, fail error) ([]byte, Revision, error) {
		return s.Once(t.Context(), id, func(tx *Txn) ([]byte, error) {
			runs++
			z.pets.Put(tx, pet{Name: "rex", Age: runs})
			return fmt.Append(nil, runs), fail
		})
	}
	no := errors.New("no")
	if _, _, err := ask("r1", no); !errors.Is(err, no) {
		t.Errorf("error %v, want the function's", err)
	}
	first, rev, err := ask("r1", nil)
	if err != nil || string(first) != "2" {
		t.Errorf("after a failure the request runs again: answer %q, %v", first, err)
	}
	z.put(t, s, pet{Name: "tom"})
	again, same, err := ask("r1", nil)
	if err != nil || string(again) != "2" || same != rev || runs != 2 {
		t.Errorf("the retry: %q at %d, %v, %d runs; the first: %q at %d", again, same, err, runs, first, rev)
	}
	if other, _, err := ask("r2", nil); err != nil || string(other) != "3" {
		t.Errorf("another request: %q, %v", other, err)
	}
	for _, id := range []string{"", strings.Repeat("x", maxRequestID+1)} {
		if _, _, err := ask(id, nil); !fault.Is(err, fault.Invalid) {
			t.Errorf("id of %d bytes: %v", len(id), err)
		}
	}
}

func TestARetryAfterAnUnknownOutcomeGetsTheFirstAnswer(t *testing.T) {
	for _, kind := range []FaultKind{FaultKept, FaultLate, FaultLost} {
		t.Run(kind.String(), func(t *testing.T) {
			z := newZoo()
			s, c := memoryStore(t, z)
			ask := func() ([]byte, Revision, error) {
				return s.Once(t.Context(), "r1", func(tx *Txn) ([]byte, error) {
					p, _ := z.pets.Get(tx, "rex")
					z.pets.Put(tx, pet{Name: "rex", Age: p.Age + 1})
					return fmt.Append(nil, p.Age+1), nil
				})
			}
			c.Log("a").Inject(Fault{Kind: kind})
			if _, _, err := ask(); !errors.Is(err, ErrUnknown) {
				t.Fatalf("answer %v", err)
			}
			answer, _, err := ask()
			if rex, _ := z.pets.Get(s.View(), "rex"); err != nil || string(answer) != "1" || rex.Age != 1 {
				t.Errorf("the retry: %q, %v, age %d", answer, err, rex.Age)
			}
		})
	}
}

func TestRequestsAreForgottenAfterADayInSteps(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	s, err := Open(Config{Schema: NewSchema(), Log: NewMemoryLog(), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(id string) {
		if _, _, err := s.Once(t.Context(), id, func(*Txn) ([]byte, error) { return nil, nil }); err != nil {
			t.Fatal(err)
		}
	}
	for i := range expirePerStep + 5 {
		ask(fmt.Sprint("old", i))
	}
	now = now.Add(time.Hour)
	ask("young")
	now = now.Add(RequestMemory - time.Hour)
	if more, err := s.ExpireRequests(t.Context()); more || err != nil || s.schema.requests.Len(s.View()) != expirePerStep+6 {
		t.Errorf("something was forgotten before its time, or %v", err)
	}
	now = now.Add(time.Second)
	for _, want := range []struct {
		more bool
		left int
	}{{true, 6}, {false, 1}, {false, 1}} {
		more, err := s.ExpireRequests(t.Context())
		if left := s.schema.requests.Len(s.View()); more != want.more || err != nil || left != want.left {
			t.Errorf("more %v, %v, %d left, want %+v", more, err, left, want)
		}
	}
	if !s.schema.requests.Has(s.View(), "young") {
		t.Error("a young request was forgotten")
	}
}
