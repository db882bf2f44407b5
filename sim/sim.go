package sim

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"drover/noun/work"
)

// Options say what to simulate.
type Options struct {
	Seed  uint64
	Steps int
	Dir   string    // an empty folder for what lies on disks
	Trace io.Writer // every line of the trace too; may be nil
}

// Sim is one simulation. It belongs to one goroutine.
type Sim struct {
	opts     Options
	rng      *rand.Rand
	clock    *clock
	trace    *trace
	ctx      context.Context
	ids      int
	server   *server
	machines []*machine // in the order of their instances
	users    *users
	faults   *faults
	oracle   *oracle
	starts   map[string]int // of processes, by container and name
	broken   []string
	step     int
	still    int // events since the clock moved
}

// event is something that could happen next.
type event struct {
	name   string
	weight int
	run    func()
}

// Run simulates and returns the digest of the trace. The error is a *Failure if
// an invariant broke.
func Run(ctx context.Context, opts Options) (digest string, err error) {
	s := &Sim{
		opts: opts, rng: rand.New(rand.NewPCG(opts.Seed, 2)), //nolint:gosec // a seeded source is the point
		clock: &clock{now: epoch}, trace: newTrace(opts.Trace), ctx: ctx, starts: map[string]int{},
	}
	s.users, s.faults, s.oracle = newUsers(s), newFaults(s), newOracle(s)
	defer s.close()
	if _, err = newServer(s); err != nil {
		return "", err
	}
	s.users.populate()
	for s.step = range opts.Steps {
		s.next()
		if len(s.broken) > 0 {
			return s.trace.digest(), s.failure()
		}
	}
	s.settle()
	if len(s.broken) > 0 {
		return s.trace.digest(), s.failure()
	}
	return s.trace.digest(), nil
}

func (s *Sim) failure() error {
	return &Failure{Seed: s.opts.Seed, Steps: s.opts.Steps, What: s.broken, Trace: s.trace.end()}
}

func (s *Sim) close() {
	for _, m := range s.machines {
		m.close()
	}
	if s.server != nil {
		s.server.close()
	}
}

// newID makes ids that are the same in each run.
func (s *Sim) newID() string {
	s.ids++
	return fmt.Sprintf("id%05d", s.ids)
}

func (s *Sim) line(format string, args ...any) { s.trace.line(s.clock.since(), format, args...) }

// fail notes a broken invariant.
func (s *Sim) fail(format string, args ...any) {
	what := fmt.Sprintf(format, args...)
	s.line("BROKEN %s", what)
	if len(s.broken) < 10 {
		s.broken = append(s.broken, what)
	}
}

// started counts the starts of a container's process: each happens once (T1).
func (s *Sim) started(guid work.ContainerGUID, name string) {
	key := string(guid) + "/" + name
	if s.starts[key]++; s.starts[key] > 1 {
		s.fail("T1: the process %s is started %d times", key, s.starts[key])
	}
}

// next lets one thing happen.
func (s *Sim) next() {
	events := s.events()
	pick := s.rng.IntN(total(events))
	for _, e := range events {
		if pick -= e.weight; pick < 0 {
			s.happen(e)
			return
		}
	}
}

func total(events []event) int {
	sum := 0
	for _, e := range events {
		sum += e.weight
	}
	return sum
}

// mostStill is how many events may happen at one moment.
const mostStill = 20_000

func (s *Sim) happen(e event) {
	s.line("%s", e.name)
	before := s.clock.now
	e.run()
	s.server.check()
	s.server.sync()
	if s.still++; s.clock.now.After(before) {
		s.still = 0
	}
	if s.still > mostStill {
		s.fail("%d events and no time passes: something wakes itself over and over", s.still)
	}
}

// events lists what could happen, in an order that depends on the state alone.
func (s *Sim) events() []event {
	work := s.work()
	out := append(work, s.users.events()...)
	// The first third is quiet enough for units to come up and relations to join.
	if s.step > s.opts.Steps/3 || s.rng.IntN(4) == 0 {
		out = append(out, s.faults.events()...)
	}
	weight := 3
	if len(work) == 0 {
		weight = 60
	}
	return append(out, event{"time passes", weight, s.pass})
}

// work is what the system itself would do next, without users, faults and time.
func (s *Sim) work() []event {
	out := s.server.events()
	for _, m := range s.machines {
		out = append(out, m.events()...)
	}
	return out
}

// pass moves the clock: a little while there is work, so that things take time,
// otherwise to the next thing that waits for it.
func (s *Sim) pass() {
	if len(s.work()) > 0 {
		s.clock.to(s.clock.now.Add(time.Duration(1+s.rng.IntN(400)) * time.Millisecond))
		return
	}
	s.clock.to(s.deadline())
}

// deadline is the earliest time at which something becomes due.
func (s *Sim) deadline() time.Time {
	first := s.clock.now.Add(30 * time.Second)
	sooner := func(t time.Time) {
		if !t.IsZero() && t.Before(first) {
			first = t
		}
	}
	sooner(s.server.deadline())
	sooner(s.faults.deadline())
	for _, m := range s.machines {
		sooner(m.deadline())
	}
	return first
}

// patience is how long after the last fault everything must be at rest.
const patience = 20 * time.Minute

// settle ends faults and requests, lets the system come to rest and checks what
// must hold then.
func (s *Sim) settle() {
	s.line("== the faults end")
	s.faults.end()
	until := s.clock.now.Add(patience)
	for s.clock.now.Before(until) && len(s.broken) == 0 {
		work := s.work()
		if len(work) == 0 {
			if s.unrest() == nil {
				break
			}
			s.happen(event{name: "time passes", run: s.pass})
			continue
		}
		s.happen(work[s.rng.IntN(len(work))])
	}
	for _, what := range s.unrest() {
		s.fail("not at rest %s after the last fault: %s", patience, what)
	}
	s.line("== at rest")
}
