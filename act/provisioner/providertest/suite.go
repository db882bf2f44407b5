// Package providertest is the suite that every provider passes.
//
// It starts and stops real instances of the provider it is given and says what
// is wrong; it knows nothing of how they run.
//
// Invariant: whatever the suite started, it stopped.
//
// Spec: the contract of provisioner.Provider.
package providertest

import (
	"context"
	"testing"

	"drover/act/provisioner"
	"drover/noun/entity"
	"drover/noun/fault"
)

// Config describes the provider under test. New makes one that sees no
// instances. Reopen, if not nil, is the same provider after its process ended
// and started again. Halt, if not nil, ends what runs in the instance, as a
// power cut would, without the provider's doing.
type Config struct {
	New    func(t *testing.T) provisioner.Provider
	Reopen func(t *testing.T, p provisioner.Provider) provisioner.Provider
	Halt   func(t *testing.T, p provisioner.Provider, instance string)
}

// Run runs the suite.
func Run(t *testing.T, cfg Config) {
	for _, c := range []struct {
		name string
		test func(*testing.T, *trial)
	}{
		{"an instance carries the machine's uid and the epoch", tagged},
		{"starting again for the same machine finds the instance", startTwice},
		{"machines get instances of their own", two},
		{"a stopped instance is gone, and stopping again is no error", stopTwice},
		{"an older epoch is refused", fenced},
		{"a halted instance is listed and starts again", halted},
		{"instances are found again after a restart of the provider", reopened},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := &trial{cfg: cfg, p: cfg.New(t)}
			t.Cleanup(func() { tr.end(t) })
			c.test(t, tr)
		})
	}
}

type trial struct {
	cfg Config
	p   provisioner.Provider
}

func (tr *trial) end(t *testing.T) {
	ctx := context.Background()
	for _, i := range tr.list(t) {
		if err := tr.p.Stop(ctx, i.ID, 1<<40); err != nil {
			t.Errorf("Stop %s at the end: %v", i.ID, err)
		}
	}
	if left := tr.list(t); len(left) > 0 {
		t.Errorf("after stopping all, %d instances are left", len(left))
	}
}

func (tr *trial) list(t *testing.T) []provisioner.Instance {
	t.Helper()
	is, err := tr.p.List(context.Background())
	if err != nil {
		t.Fatalf("List: %v", err)
	}
	for n := 1; n < len(is); n++ {
		if is[n-1].ID >= is[n].ID {
			t.Errorf("List is not in order: %q before %q", is[n-1].ID, is[n].ID)
		}
	}
	return is
}

func request(machine entity.MachineID, epoch uint64) provisioner.StartRequest {
	return provisioner.StartRequest{Model: "m1", Machine: machine, MachineUID: entity.UID("uid-" + machine), Epoch: epoch, JoinToken: "token"}
}

func (tr *trial) start(t *testing.T, machine entity.MachineID, epoch uint64) provisioner.Instance {
	t.Helper()
	i, err := tr.p.Start(t.Context(), request(machine, epoch))
	if err != nil {
		t.Fatalf("Start %s: %v", machine, err)
	}
	if i.ID == "" || !i.Running {
		t.Errorf("Start %s gave instance %+v, want an id and that it runs", machine, i)
	}
	return i
}

func tagged(t *testing.T, tr *trial) {
	started := tr.start(t, "7", 3)
	is := tr.list(t)
	if len(is) != 1 {
		t.Fatalf("List gave %d instances, want the one that was started", len(is))
	}
	got := is[0]
	if got.ID != started.ID || got.Machine != "7" || got.MachineUID != "uid-7" || got.Model != "m1" || got.Epoch != 3 || !got.Running {
		t.Errorf("List gave %+v, want id %s, machine 7, uid-7, model m1, epoch 3, running", got, started.ID)
	}
}

func startTwice(t *testing.T, tr *trial) {
	a, b := tr.start(t, "1", 1), tr.start(t, "1", 1)
	if a.ID != b.ID || len(tr.list(t)) != 1 {
		t.Errorf("Start twice gave %q and %q, %d instances; want one", a.ID, b.ID, len(tr.list(t)))
	}
}

func two(t *testing.T, tr *trial) {
	a, b := tr.start(t, "1", 1), tr.start(t, "2", 1)
	if a.ID == b.ID || len(tr.list(t)) != 2 {
		t.Errorf("two machines have instances %q and %q, %d in the list", a.ID, b.ID, len(tr.list(t)))
	}
	if a.Address != "" && a.Address == b.Address {
		t.Errorf("two machines share the address %s", a.Address)
	}
}

func stopTwice(t *testing.T, tr *trial) {
	i := tr.start(t, "1", 1)
	for range 2 {
		if err := tr.p.Stop(t.Context(), i.ID, 1); err != nil {
			t.Fatalf("Stop: %v", err)
		}
	}
	if left := tr.list(t); len(left) != 0 {
		t.Errorf("after Stop List gives %+v", left)
	}
}

func fenced(t *testing.T, tr *trial) {
	i := tr.start(t, "1", 5)
	if _, err := tr.p.Start(t.Context(), request("2", 4)); !fault.Is(err, fault.Conflict) {
		t.Errorf("Start in epoch 4 after 5 gave %v, want a conflict", err)
	}
	if err := tr.p.Stop(t.Context(), i.ID, 4); !fault.Is(err, fault.Conflict) {
		t.Errorf("Stop in epoch 4 after 5 gave %v, want a conflict", err)
	}
	if n := len(tr.list(t)); n != 1 {
		t.Errorf("refused calls left %d instances, want 1", n)
	}
}

func halted(t *testing.T, tr *trial) {
	if tr.cfg.Halt == nil {
		t.Skip("this provider's instances cannot be halted from outside")
	}
	i := tr.start(t, "1", 1)
	tr.cfg.Halt(t, tr.p, i.ID)
	if is := tr.list(t); len(is) != 1 || is[0].Running {
		t.Fatalf("after a halt List gives %+v, want the instance, not running", is)
	}
	if again := tr.start(t, "1", 2); again.ID != i.ID {
		t.Errorf("Start after a halt gave %q, want %q again", again.ID, i.ID)
	}
}

func reopened(t *testing.T, tr *trial) {
	if tr.cfg.Reopen == nil {
		t.Skip("this provider cannot be reopened")
	}
	i := tr.start(t, "1", 4)
	tr.p = tr.cfg.Reopen(t, tr.p)
	is := tr.list(t)
	if len(is) != 1 || is[0].ID != i.ID || is[0].MachineUID != "uid-1" || !is[0].Running {
		t.Errorf("after reopening List gives %+v, want %s running", is, i.ID)
	}
	if _, err := tr.p.Start(t.Context(), request("2", 3)); !fault.Is(err, fault.Conflict) {
		t.Errorf("after reopening, Start in epoch 3 gave %v, want a conflict: 4 was seen", err)
	}
}
