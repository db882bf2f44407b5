package rep

import (
	"context"
	"errors"
	"log/slog"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"drover/internal/loop"
	"drover/noun/work"
	"drover/wire/droverv1"
)

// Board changes records. The results are one for each step; an error means that
// nothing is known of any step. It may be called concurrently.
type Board interface {
	Apply(ctx context.Context, steps []*droverv1.Step) ([]*droverv1.StepResult, error)
}

// Containers is what the rep uses of the executor, which documents it.
type Containers interface {
	Reserve(work.Container) error
	Keep(work.ContainerGUID) (release func())
	RunContainer(work.ContainerGUID) error
	StopContainer(work.ContainerGUID) error
	DeleteContainer(work.ContainerGUID) error
	Get(work.ContainerGUID) (work.Container, bool)
	List() []work.Container
	Resources() (capacity, taken work.Resources)
}

// Config is what a Rep needs.
type Config struct {
	Cell       work.CellID
	Zone       string
	Stack      string
	Runtimes   []string
	Tags       []string
	Volumes    []string
	Board      Board
	Containers Containers
	Now        func() time.Time
	Log        *slog.Logger
	Workers    int // keys in parallel; 0: 16

	Poll           time.Duration // 0: 30 s
	EvacuationPoll time.Duration // 0: 10 s
	Evacuation     time.Duration // 0: 10 min, then what is left is given up
}

// Validate reports what is missing.
func (c *Config) Validate() error {
	if c.Cell == "" || c.Board == nil || c.Containers == nil || c.Now == nil || c.Log == nil {
		return errors.New("rep: no cell, board, containers, clock or log")
	}
	return nil
}

// Rep reconciles. All methods may be called concurrently.
type Rep struct {
	cfg  Config
	loop *loop.Loop

	mu       sync.Mutex // guards all below
	mirror   mirror
	byKey    map[string]map[work.ContainerGUID]bool
	stops    map[work.ContainerGUID]bool
	epoch    uint64
	lastWork uint64
	unfit    string
	draining bool
	drainEnd time.Time
}

// New makes a rep that knows the executor's containers and no records yet.
func New(cfg Config) (*Rep, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	set := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	set(&cfg.Poll, 30*time.Second)
	set(&cfg.EvacuationPoll, 10*time.Second)
	set(&cfg.Evacuation, 10*time.Minute)
	if cfg.Workers == 0 {
		cfg.Workers = 16
	}
	r := &Rep{
		cfg: cfg, mirror: newMirror(), byKey: map[string]map[work.ContainerGUID]bool{}, stops: map[work.ContainerGUID]bool{},
	}
	r.loop = loop.New(loop.Config{Name: "rep", Actor: r, Now: cfg.Now, Log: cfg.Log, Workers: cfg.Workers})
	r.index()
	return r, nil
}

// Run reconciles until the context ends, which leaves containers alone.
func (r *Rep) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		timer := time.NewTimer(r.PollEvery())
		defer timer.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-timer.C:
				r.Poll()
				timer.Reset(r.PollEvery())
			}
		}
	})
	return r.loop.Run(ctx)
}

// Loop is the rep's loop, for who steps it himself.
func (r *Rep) Loop() *loop.Loop { return r.loop }

// PollEvery is the time between two polls.
func (r *Rep) PollEvery() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.draining {
		return r.cfg.EvacuationPoll
	}
	return r.cfg.Poll
}

// Poll wakes every key the rep has to do with.
// Spec: 002 "The Rep-Executor(-Garden) Cycle".
func (r *Rep) Poll() {
	r.index()
	r.mu.Lock()
	keys := r.mirror.keys()
	for k := range r.byKey { // order-free: sorted below
		keys = append(keys, k)
	}
	r.mu.Unlock()
	sort.Strings(keys)
	r.loop.Wake(keys...)
}

// index takes the executor's list of containers over.
func (r *Rep) index() {
	cs := r.cfg.Containers.List()
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.byKey)
	for i := range cs {
		r.note(&cs[i])
	}
}

func (r *Rep) note(c *work.Container) string {
	key := keyOf(c)
	set := r.byKey[key]
	if set == nil {
		set = map[work.ContainerGUID]bool{}
		r.byKey[key] = set
	}
	set[c.GUID] = true
	return key
}

// Event hears of a container. Spec: 002 "Container Events".
func (r *Rep) Event(e work.ContainerEvent) {
	c, ok := r.cfg.Containers.Get(e.GUID)
	if !ok {
		return
	}
	r.mu.Lock()
	key := r.note(&c)
	r.mu.Unlock()
	r.loop.Wake(key)
}

// Gone hears that a container does not exist any more.
func (r *Rep) Gone(c work.Container) {
	key := keyOf(&c)
	r.mu.Lock()
	delete(r.byKey[key], c.GUID)
	if len(r.byKey[key]) == 0 {
		delete(r.byKey, key)
	}
	delete(r.stops, c.GUID)
	r.mu.Unlock()
	r.loop.Wake(key)
}

// containers lists the key's containers as they are now, ordered by guid.
func (r *Rep) containers(key string) []work.Container {
	r.mu.Lock()
	var guids []work.ContainerGUID
	for g := range r.byKey[key] { // order-free: sorted below
		guids = append(guids, g)
	}
	r.mu.Unlock()
	sort.Slice(guids, func(i, j int) bool { return guids[i] < guids[j] })
	var cs []work.Container
	for _, g := range guids {
		if c, ok := r.cfg.Containers.Get(g); ok {
			cs = append(cs, c)
		}
	}
	return cs
}

// keyOf is the loop's key of a container's work.
func keyOf(c *work.Container) string {
	if c.LRP != nil {
		return lrpKey(*c.LRP)
	}
	return taskKey(c.Task)
}

func lrpKey(k work.LRPKey) string {
	return "lrp/" + string(k.ProcessGUID) + "/" + strconv.Itoa(k.Index)
}

func taskKey(g work.TaskGUID) string { return "task/" + string(g) }

// parseKey is the inverse of lrpKey and taskKey.
func parseKey(key string) (lrp *work.LRPKey, task work.TaskGUID, ok bool) {
	if guid, found := strings.CutPrefix(key, "task/"); found {
		return nil, work.TaskGUID(guid), guid != ""
	}
	rest, found := strings.CutPrefix(key, "lrp/")
	guid, index, cut := strings.Cut(rest, "/")
	n, err := strconv.Atoi(index)
	if !found || !cut || err != nil {
		return nil, "", false
	}
	return &work.LRPKey{ProcessGUID: work.ProcessGUID(guid), Index: n}, "", true
}
