package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"drover/decide/lifecycle"
	"drover/keep/store"
	"drover/noun/entity"
)

// checker looks at every commit: its rows go into the trace, and the invariants
// must hold over the state and over the move to it.
type checker struct {
	sim  *Sim
	feed *store.Feed
	was  *store.View
}

func newChecker(s *Sim, st *store.Store) *checker {
	v := st.View()
	return &checker{sim: s, feed: st.Changes(v.Revision()), was: v}
}

// look checks what was committed since the last look.
func (c *checker) look(st *store.Store) {
	sets := 0
	for {
		set, err := c.feed.Next()
		if err != nil {
			c.sim.fail("the feed of changes broke: %v", err)
			return
		}
		if set == nil {
			break
		}
		sets++
		c.record(set)
	}
	if sets == 0 {
		return
	}
	now := st.View()
	c.state(now)
	// The move is one transaction's only if nothing was committed in between, as
	// after an entry of unknown outcome.
	if sets == 1 && now.Revision() == c.was.Revision()+1 {
		c.move(now)
	}
	c.was = now
}

// record puts the changed rows into the trace. Rows are written as JSON, whose
// maps are sorted.
func (c *checker) record(set *store.ChangeSet) {
	for _, ch := range set.Changes {
		data, err := json.Marshal(ch.New)
		if err != nil {
			c.sim.fail("row %s %s cannot be written: %v", ch.Table, ch.Key, err)
			return
		}
		what := "="
		if ch.New == nil {
			what = "-"
		}
		sum := sha256.Sum256(data)
		c.sim.line("  r%d %s%s %s %s", set.Revision, what, ch.Table, ch.Key, hex.EncodeToString(sum[:4]))
	}
}

func (c *checker) models(v *store.View) []entity.ModelUID {
	var uids []entity.ModelUID
	for _, m := range c.sim.server.registry.ListModels(v) {
		uids = append(uids, m.UID)
	}
	return uids
}

func (c *checker) state(v *store.View) {
	for _, m := range c.models(v) {
		if err := lifecycle.Check(c.sim.server.registry.World(v, m)); err != nil {
			c.sim.fail("at revision %d: %v", v.Revision(), err)
		}
	}
	if err := c.sim.server.board.Check(v); err != nil {
		c.sim.fail("at revision %d: %v", v.Revision(), err)
	}
}

func (c *checker) move(v *store.View) {
	reg := c.sim.server.registry
	for _, m := range c.models(c.was) {
		if _, still := reg.Model(v, m); !still {
			continue
		}
		if err := lifecycle.CheckMove(reg.World(c.was, m), reg.World(v, m)); err != nil {
			c.sim.fail("by revision %d: %v", v.Revision(), err)
		}
	}
}

// Failure is a broken invariant, with what is needed to see it again.
type Failure struct {
	Seed  uint64
	Steps int
	What  []string
	Trace string
}

// Error says it all, the end of the trace last.
func (f *Failure) Error() string {
	text := fmt.Sprintf("seed %d broke an invariant within %d steps\nagain: go test ./sim -run=TestSeed -seed=%d -steps=%d -show\n", f.Seed, f.Steps, f.Seed, f.Steps)
	for _, w := range f.What {
		text += "\n" + w
	}
	return text + "\n\n" + f.Trace
}
