package provisioner_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"drover/act/provisioner"
	"drover/act/provisioner/fake"
	"drover/keep/registry"
	"drover/keep/store"
	"drover/noun/entity"
	"drover/noun/when"
)

// bench is a provisioner on a real registry, stepped by the test.
type bench struct {
	*testing.T
	s     *store.Store
	r     *registry.Registry
	p     *provisioner.Provisioner
	cloud *fake.Provider
	model entity.ModelUID
	now   time.Time
}

func newBench(t *testing.T) *bench {
	schema := store.NewSchema()
	b := &bench{T: t, r: registry.New(schema), cloud: fake.New(), now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	b.s = store.OpenMemory(schema)
	t.Cleanup(func() { _ = b.s.Close() })
	b.update(func(tx *store.Txn) error {
		m, _, err := b.r.Bootstrap(tx, when.Of(b.now), "fake")
		b.model = m.UID
		return err
	})
	b.newReign(1)
	return b
}

func (b *bench) newReign(epoch uint64) {
	b.p = provisioner.New(provisioner.Config{
		Store: b.s, Registry: b.r, Providers: map[string]provisioner.Provider{"fake": b.cloud}, Epoch: epoch,
		Now: func() time.Time { return b.now }, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
}

func (b *bench) update(fn func(tx *store.Txn) error) {
	b.Helper()
	if _, err := b.s.Update(context.Background(), fn); err != nil {
		b.Fatal(err)
	}
}

// rest steps every key until nothing changes.
func (b *bench) rest() {
	b.Helper()
	for range 20 {
		before := b.s.View().Revision()
		for _, key := range b.p.Keys() {
			_ = b.p.Loop().StepKey(b.Context(), key)
		}
		if b.s.View().Revision() == before {
			return
		}
	}
	b.Fatal("the provisioner never comes to rest")
}

func (b *bench) add() entity.Machine {
	var m entity.Machine
	b.update(func(tx *store.Txn) (err error) {
		m, err = b.r.AddMachine(tx, when.Of(b.now), b.model, registry.MachineSpec{Jobs: []entity.Job{entity.HostUnits}})
		return err
	})
	return m
}

func (b *bench) machine(id entity.MachineID) entity.Machine {
	m, _ := b.r.Machine(b.s.View(), b.model, id)
	return m
}

func (b *bench) destroy(id entity.MachineID) {
	b.Helper()
	b.update(func(tx *store.Txn) error {
		_, err := b.r.RemoveMachine(tx, when.Of(b.now), b.model, id, registry.RemoveOptions{})
		return err
	})
}

func (b *bench) setDead(id entity.MachineID) {
	b.Helper()
	b.update(func(tx *store.Txn) error { return b.r.SetMachineDead(tx, when.Of(b.now), b.model, id) })
}

func (b *bench) calls() string { return strings.Join(b.cloud.Calls(), ", ") }

// Rule: E-149
func TestAnAliveMachineWithoutInstanceGetsOne(t *testing.T) {
	b := newBench(t)
	b.rest()
	m := b.machine("0")
	if m.InstanceState != entity.InstanceRunning || m.Instance != "fake-1" || m.Address != "10.0.0.1" {
		t.Errorf("machine 0 is %s as %q at %q", m.InstanceState, m.Instance, m.Address)
	}
	b.rest()
	if got := b.calls(); got != "start 0" {
		t.Errorf("calls are %q, want one start", got)
	}
}

// Rule: E-052 E-054
func TestADeadMachineIsReleasedThenRemoved(t *testing.T) {
	b := newBench(t)
	m := b.add()
	b.rest()
	b.destroy(m.ID)
	b.rest()
	if got := b.machine(m.ID).Life; got != entity.Dying {
		t.Fatalf("machine is %v before its agent spoke, want dying", got)
	}
	b.setDead(m.ID)
	b.rest()
	if is, _ := b.cloud.List(t.Context()); len(is) != 1 || b.machine(m.ID).Life != 0 {
		t.Errorf("instances %+v are left, machine row is %v", is, b.machine(m.ID).Life)
	}
}

// Rule: E-101 E-150
func TestADyingMachineWithoutInstanceIsRemovedNotProvisioned(t *testing.T) {
	b := newBench(t)
	m := b.add()
	b.destroy(m.ID)
	b.rest()
	if b.machine(m.ID).Life != 0 {
		t.Errorf("machine is %v, want gone", b.machine(m.ID).Life)
	}
	if strings.Contains(b.calls(), "start "+string(m.ID)) {
		t.Errorf("it was provisioned: %s", b.calls())
	}
}

func TestAFailingProviderIsTriedWithBackoff(t *testing.T) {
	b := newBench(t)
	b.cloud.Fail(errors.New("no quota"))
	for range 12 {
		_ = b.p.Loop().StepKey(t.Context(), "machine/"+string(b.model)+"/0")
		m := b.machine("0")
		if m.InstanceState != entity.InstanceFailed || m.InstanceError != "no quota" {
			t.Fatalf("machine is %s, %q", m.InstanceState, m.InstanceError)
		}
		before := len(b.cloud.Calls())
		_ = b.p.Loop().StepKey(t.Context(), "machine/"+string(b.model)+"/0")
		if len(b.cloud.Calls()) != before {
			t.Fatalf("it was tried again before %v", m.NextLaunch)
		}
		if wait := m.NextLaunch.Time().Sub(b.now); wait <= 0 || wait > time.Minute {
			t.Fatalf("the wait after try %d is %v", m.LaunchTries, wait)
		}
		b.now = m.NextLaunch.Time()
	}
	b.cloud.Fail(nil)
	b.rest()
	if m := b.machine("0"); m.InstanceState != entity.InstanceRunning || m.LaunchTries != 0 || m.InstanceError != "" {
		t.Errorf("after the fault machine is %s after %d tries, %q", m.InstanceState, m.LaunchTries, m.InstanceError)
	}
}

func TestACrashBetweenCommitAndRecordStartsNothingTwice(t *testing.T) {
	b := newBench(t)
	m := b.machine("0")
	b.update(func(tx *store.Txn) error { return b.r.InstanceStarting(tx, when.Of(b.now), b.model, "0", m.UID) })
	if _, err := b.cloud.Start(t.Context(), provisioner.StartRequest{Model: b.model, Machine: "0", MachineUID: m.UID, Epoch: 1}); err != nil {
		t.Fatal(err)
	}
	b.newReign(2)
	b.rest()
	is, _ := b.cloud.List(t.Context())
	if len(is) != 1 || b.machine("0").Instance != is[0].ID {
		t.Errorf("instances %+v, machine has %q", is, b.machine("0").Instance)
	}
}

func TestAMachineDestroyedWhileStartingLeavesNoInstance(t *testing.T) {
	for _, tc := range []struct {
		name    string
		started bool
	}{{"the provider was called", true}, {"the provider was not called", false}} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t)
			m := b.add()
			b.update(func(tx *store.Txn) error { return b.r.InstanceStarting(tx, when.Of(b.now), b.model, m.ID, m.UID) })
			if tc.started {
				if _, err := b.cloud.Start(t.Context(), provisioner.StartRequest{Model: b.model, Machine: m.ID, MachineUID: m.UID, Epoch: 1}); err != nil {
					t.Fatal(err)
				}
			}
			b.destroy(m.ID)
			b.rest()
			if tc.started {
				b.setDead(m.ID)
				b.rest()
			}
			is, _ := b.cloud.List(t.Context())
			if len(is) != 1 || b.machine(m.ID).Life != 0 {
				t.Errorf("instances %+v are left, machine row is %v", is, b.machine(m.ID).Life)
			}
		})
	}
}

// Rule: E-036 E-038
func TestAVanishedInstanceIsReplaced(t *testing.T) {
	b := newBench(t)
	b.rest()
	b.cloud.Kill("fake-1")
	if err := b.p.Loop().StepKey(t.Context(), "list/fake"); err != nil {
		t.Fatal(err)
	}
	if m := b.machine("0"); m.InstanceState != entity.InstanceVanished {
		t.Fatalf("machine is %s, want vanished", m.InstanceState)
	}
	b.rest()
	if m := b.machine("0"); m.InstanceState != entity.InstanceRunning || m.Instance != "fake-2" {
		t.Errorf("machine is %s as %q, want a new instance", m.InstanceState, m.Instance)
	}
}

// Rule: E-036
func TestADyingMachineThatLostItsInstanceGoes(t *testing.T) {
	b := newBench(t)
	m := b.add()
	b.rest()
	b.destroy(m.ID)
	b.cloud.Kill(b.machine(m.ID).Instance)
	b.rest()
	if got := b.machine(m.ID).Life; got != 0 {
		t.Errorf("machine is %v, want gone", got)
	}
	if strings.Count(b.calls(), "start "+string(m.ID)) != 1 {
		t.Errorf("it was started again for nothing: %s", b.calls())
	}
}

func TestAnInstanceThatNoMachineMatchesIsShownThenReleased(t *testing.T) {
	b := newBench(t)
	b.rest()
	if _, err := b.cloud.Start(t.Context(), provisioner.StartRequest{Model: b.model, Machine: "9", MachineUID: "stranger", Epoch: 1}); err != nil {
		t.Fatal(err)
	}
	b.rest()
	if got := b.p.Unmatched(); len(got) != 1 || got[0] != "fake/fake-2" {
		t.Fatalf("unmatched are %v, want fake/fake-2", got)
	}
	b.now = b.now.Add(10*time.Minute - time.Second)
	b.rest()
	if is, _ := b.cloud.List(t.Context()); len(is) != 2 {
		t.Fatalf("it was released before its grace was over: %+v", is)
	}
	b.now = b.now.Add(time.Second)
	b.rest()
	if is, _ := b.cloud.List(t.Context()); len(is) != 1 || len(b.p.Unmatched()) != 0 {
		t.Errorf("after its grace instances are %+v, unmatched %v", is, b.p.Unmatched())
	}
}

func TestADeposedLeaderStartsNothing(t *testing.T) {
	b := newBench(t)
	b.newReign(2)
	b.rest()
	m := b.add()
	b.newReign(1)
	_ = b.p.Loop().StepKey(t.Context(), "machine/"+string(b.model)+"/"+string(m.ID))
	if is, _ := b.cloud.List(t.Context()); len(is) != 1 {
		t.Errorf("the leader of epoch 1 started an instance after epoch 2: %+v", is)
	}
}

func TestRunHearsOfNewMachines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- b.p.Run(ctx) }()
		synctest.Wait()
		m := b.add()
		synctest.Wait()
		if got := b.machine(m.ID).InstanceState; got != entity.InstanceRunning {
			t.Errorf("machine is %s, want running", got)
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run ended with %v", err)
		}
	})
}
