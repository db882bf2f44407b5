package cleaner_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"drover/act/cleaner"
	"drover/keep/registry"
	"drover/keep/store"
	"drover/noun/charm"
	"drover/noun/entity"
	"drover/noun/when"
)

// bench is a cleaner on a real registry.
type bench struct {
	*testing.T
	s     *store.Store
	r     *registry.Registry
	c     *cleaner.Cleaner
	model entity.ModelUID
	now   time.Time
}

func newBench(t *testing.T) *bench {
	schema := store.NewSchema()
	b := &bench{T: t, r: registry.New(schema), now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	b.s = store.OpenMemory(schema)
	t.Cleanup(func() { _ = b.s.Close() })
	b.update(func(tx *store.Txn) error {
		m, _, err := b.r.Bootstrap(tx, b.at(), "fake")
		b.model = m.UID
		for name, e := range map[string]entity.Endpoint{
			"a": {Name: "out", Role: entity.Requirer, Interface: "x", Scope: entity.ScopeGlobal},
			"b": {Name: "in", Role: entity.Provider, Interface: "x", Scope: entity.ScopeGlobal},
		} {
			if err != nil {
				return err
			}
			_, err = b.r.AddCharm(tx, b.at(), charm.Charm{SHA: entity.CharmSHA(name), Meta: charm.Meta{Name: name, Endpoints: []entity.Endpoint{e}}})
		}
		return err
	})
	b.c = cleaner.New(cleaner.Config{Store: b.s, Registry: b.r, Now: func() time.Time { return b.now }, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	return b
}

func (b *bench) at() when.Instant { return when.Of(b.now) }

func (b *bench) update(fn func(tx *store.Txn) error) {
	b.Helper()
	if _, err := b.s.Update(context.Background(), fn); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) deploy(app entity.AppName, units int) {
	b.Helper()
	b.update(func(tx *store.Txn) error {
		_, err := b.r.Deploy(tx, b.at(), b.model, registry.DeployRequest{Charm: entity.CharmSHA(app), NumUnits: &units})
		return err
	})
}

// clean steps all keys until nothing changes and returns the most rows that one
// transaction changed in the table of units or of settings.
func (b *bench) clean() (most int) {
	b.Helper()
	for range 500 {
		before := b.s.View()
		for _, key := range b.c.Keys() {
			if err := b.c.Loop().StepKey(b.Context(), key); err != nil {
				b.Fatal(err)
			}
		}
		after := b.s.View()
		if after.Revision() == before.Revision() {
			return most
		}
		rows := func(v *store.View) int {
			return len(b.r.World(v, b.model).Units()) + len(b.r.World(v, b.model).AllSettings())
		}
		most = max(most, rows(after)-rows(before), rows(before)-rows(after))
	}
	b.Fatal("the cleaner never comes to rest")
	return 0
}

func (b *bench) count(app entity.AppName) int { return b.r.UnitCount(b.s.View(), b.model, app) }

func TestUnitsBeyondOneTransactionAreCreatedInSteps(t *testing.T) {
	b := newBench(t)
	b.deploy("a", 600)
	if got := b.count("a"); got != registry.MaxUnitsAtOnce {
		t.Fatalf("deploy created %d units at once, want %d", got, registry.MaxUnitsAtOnce)
	}
	if most := b.clean(); most > registry.MaxCleanRows {
		t.Errorf("a step changed %d rows", most)
	}
	if got := b.count("a"); got != 600 {
		t.Errorf("there are %d units, want 600", got)
	}
	if left := b.r.ListCleanups(b.s.View()); len(left) > 0 {
		t.Errorf("cleanups are left: %v", left)
	}
}

func TestUnitsAddedWhileOthersAreStillCreatedCountToo(t *testing.T) {
	b := newBench(t)
	b.deploy("a", 300)
	b.update(func(tx *store.Txn) error {
		_, err := b.r.AddUnits(tx, b.at(), b.model, registry.AddUnitsRequest{App: "a", Count: 10})
		return err
	})
	b.update(func(tx *store.Txn) error {
		_, err := b.r.RemoveUnit(tx, b.at(), b.model, "a/3", registry.RemoveOptions{})
		return err
	})
	b.clean()
	if got := b.count("a"); got != 309 {
		t.Errorf("there are %d units, want 300 + 10 - 1", got)
	}
}

// Rule: E-089
func TestARemoveMeanwhileWins(t *testing.T) {
	b := newBench(t)
	b.deploy("a", 5000)
	b.update(func(tx *store.Txn) error {
		_, err := b.r.RemoveApplication(tx, b.at(), b.model, "a", registry.RemoveOptions{})
		return err
	})
	if most := b.clean(); most > registry.MaxCleanRows {
		t.Errorf("a step changed %d rows", most)
	}
	if _, still := b.r.Application(b.s.View(), b.model, "a"); still {
		t.Errorf("application a is still there with %d units", b.count("a"))
	}
}

// Rule: E-072 E-073 E-074
func TestSettingsOfARemovedRelationGoInSteps(t *testing.T) {
	b := newBench(t)
	const units = 1200
	b.deploy("a", 1)
	b.deploy("b", 1)
	b.update(func(tx *store.Txn) error {
		_, err := b.r.AddUnits(tx, b.at(), b.model, registry.AddUnitsRequest{App: "a", Count: units})
		return err
	})
	b.clean()
	var kept, gone entity.Relation
	b.update(func(tx *store.Txn) (err error) { kept, err = b.r.Integrate(tx, b.at(), b.model, "a", "b"); return })
	b.deploySecond(&gone)
	for _, rel := range []entity.Relation{kept, gone} {
		for _, u := range b.r.UnitsOf(b.s.View(), b.model, "a") {
			b.update(func(tx *store.Txn) error {
				_, err := b.r.EnterScope(tx, b.at(), b.model, registry.UnitRef{Name: u.Name}, rel.ID, nil)
				return err
			})
		}
	}
	b.update(func(tx *store.Txn) error {
		_, err := b.r.RemoveRelation(tx, b.at(), b.model, "a", "bb", registry.RemoveOptions{})
		return err
	})
	for _, m := range b.r.Members(b.s.View(), b.model, gone.ID, 0) {
		b.update(func(tx *store.Txn) error {
			return b.r.LeaveScope(tx, b.at(), b.model, registry.UnitRef{Name: m.Unit}, gone.ID)
		})
	}
	if n := len(b.r.ListCleanups(b.s.View())); n != 1 {
		t.Errorf("%d cleanups were recorded for the relation, want 1", n)
	}
	if most := b.clean(); most > registry.MaxCleanRows {
		t.Errorf("a step changed %d rows", most)
	}
	left := b.r.World(b.s.View(), b.model).AllSettings()
	for _, s := range left {
		if s.Relation != kept.ID {
			t.Fatalf("settings of %s are left of relation %d", s.Owner, s.Relation)
		}
	}
	if len(left) != units+1 {
		t.Errorf("%d settings are left of the relation that stays, want %d", len(left), units+1)
	}
}

func (b *bench) deploySecond(rel *entity.Relation) {
	b.Helper()
	b.update(func(tx *store.Txn) (err error) {
		if _, err = b.r.Deploy(tx, b.at(), b.model, registry.DeployRequest{App: "bb", Charm: "b"}); err != nil {
			return err
		}
		*rel, err = b.r.Integrate(tx, b.at(), b.model, "a", "bb")
		return err
	})
}

func TestRunHearsOfCleanups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- b.c.Run(ctx) }()
		synctest.Wait()
		b.deploy("a", 300)
		synctest.Wait()
		if got := b.count("a"); got != 300 {
			t.Errorf("there are %d units, want 300: %v", got, fmt.Sprint(b.r.ListCleanups(b.s.View())))
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run ended with %v", err)
		}
	})
}
