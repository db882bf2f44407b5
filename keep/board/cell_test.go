package board

import (
	"strings"
	"testing"
	"time"

	"drover/keep/store"
	"drover/noun/fault"
	"drover/noun/work"
)

// Rule: D-038 D-137 D-LRP-17
func TestEvacuation(t *testing.T) {
	w := newWorld(t)
	w.cell("c0")
	w.cell("c1")
	w.desire(1)
	w.claim(0, "c0")
	w.start(0, "c0")
	a := w.ask(0, "c0")
	w.must(func(tx *store.Txn) error { return w.b.CreateEvacuating(tx, w.now, a, work.NetInfo{}, 0) })
	w.must(func(tx *store.Txn) error { return w.b.Unclaim(tx, w.now, a) })
	w.want("0/e RUNNING i0@c0, 0 UNCLAIMED")
	e, _ := w.b.Actual(w.s.View(), a.Key, true)
	if e.Expires != w.now.Add(10*time.Minute) {
		t.Errorf("it expires at %s", e.Expires)
	}
	w.claim(0, "c1")
	w.refused(fault.Conflict, func(tx *store.Txn) error { return w.b.RemoveEvacuating(tx, w.now, w.ask(0, "c1")) })
	w.start(0, "c1")
	w.want("0 RUNNING i0@c1")
}

// Rule: D-139 D-142
func TestUnclaimingAnUnclaimedRecordAsksForItsStartAgain(t *testing.T) {
	w := newWorld(t)
	w.desire(1)
	w.now = w.now.Add(time.Second)
	rev := w.s.View().Revision()
	w.must(func(tx *store.Txn) error { return w.b.Unclaim(tx, w.now, w.ask(0, "c0")) })
	if w.s.View().Revision() == rev {
		t.Error("nobody is woken")
	}
}

func TestReadersRule(t *testing.T) {
	inst := func(s work.LRPState) *work.ActualLRP { return &work.ActualLRP{State: s} }
	evac := &work.ActualLRP{State: work.Running, Evacuating: true}
	for _, tt := range []struct {
		name       string
		instance   *work.ActualLRP
		evacuating *work.ActualLRP
		wantEvac   bool
	}{
		{"D-110 no evacuating record", inst(work.Unclaimed), nil, false},
		{"D-111 no instance", nil, evac, true},
		{"D-112 UNCLAIMED", inst(work.Unclaimed), evac, true},
		{"D-112 CLAIMED", inst(work.Claimed), evac, true},
		{"D-113 RUNNING", inst(work.Running), evac, false},
		{"D-113 CRASHED", inst(work.Crashed), evac, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Visible(tt.instance, tt.evacuating); (got == tt.evacuating && got != nil) != tt.wantEvac {
				t.Errorf("got %+v", got)
			}
		})
	}
	w := newWorld(t)
	w.cell("c0")
	w.desire(2)
	w.must(func(tx *store.Txn) error {
		return w.b.CreateEvacuating(tx, w.now, w.ask(0, "c0"), work.NetInfo{}, time.Minute)
	})
	got := Readers(w.b.ActualsOf(w.s.View(), "web"))
	if len(got) != 2 || !got[0].Evacuating || got[1].Evacuating {
		t.Errorf("%+v", got)
	}
}

// Rule: D-116 D-117
func TestALostCellsRecordsAreRescued(t *testing.T) {
	w := newWorld(t)
	w.cell("c0")
	w.desire(3)
	for i := range 3 {
		w.claim(i, "c0")
	}
	w.start(0, "c0")
	w.scale(2)
	w.must(func(tx *store.Txn) error { w.b.LoseCell(tx, w.now, "c0"); return nil })
	w.converge()
	w.want("0 UNCLAIMED, 1 UNCLAIMED")
	w.refused(fault.Conflict, func(tx *store.Txn) error { return w.b.Claim(tx, w.now, w.ask(0, "c0")) })
	w.cell("c0")
	w.claim(0, "c0")
}

func TestADeletedAndDesiredAgainLRPHasAnotherIncarnation(t *testing.T) {
	w := newWorld(t)
	w.cell("c0")
	w.desire(1)
	w.claim(0, "c0")
	old := w.ask(0, "c0")
	w.must(func(tx *store.Txn) error { return w.b.RemoveLRP(tx, w.now, "web") })
	w.desire(1)
	w.want("0 CLAIMED i0@c0 stopping")
	w.must(func(tx *store.Txn) error { return w.b.Remove(tx, w.now, old) })
	w.converge()
	w.want("0 UNCLAIMED")
	w.refused(fault.Conflict, func(tx *store.Txn) error { return w.b.Claim(tx, w.now, old) })
}

func TestRestartLRP(t *testing.T) {
	w := newWorld(t)
	w.cell("c0")
	w.desire(2)
	w.claim(0, "c0")
	w.start(0, "c0")
	w.must(func(tx *store.Txn) error { return w.b.RestartLRP(tx, w.now, "web", nil) })
	w.want("0 RUNNING i0@c0 stopping, 1 UNCLAIMED")
	w.crash(0, "c0") // killed by the stop
	w.converge()
	w.want("0 UNCLAIMED, 1 UNCLAIMED")
	two := 2
	w.refused(fault.NotFound, func(tx *store.Txn) error { return w.b.RestartLRP(tx, w.now, "web", &two) })
}

func TestDomains(t *testing.T) {
	w := newWorld(t)
	w.must(func(tx *store.Txn) error { return w.b.UpsertDomain(tx, w.now, "d", time.Minute) })
	w.must(func(tx *store.Txn) error { return w.b.UpsertDomain(tx, w.now, "ever", 0) })
	fresh := func(d work.Domain) bool { return w.b.Fresh(w.s.View(), w.now, d) }
	if !fresh("d") || !fresh("ever") || fresh("other") {
		t.Error("freshness is wrong") // Rule: D-033
	}
	w.now = w.now.Add(time.Minute)
	if fresh("d") || !fresh("ever") {
		t.Error("freshness is wrong after a minute")
	}
	w.must(func(tx *store.Txn) error {
		w.b.PruneDomain(tx, w.now, "d")
		w.b.PruneDomain(tx, w.now, "ever")
		return nil
	})
	if n := len(w.b.AllDomains(w.s.View())); n != 1 {
		t.Errorf("%d domains", n)
	}
	w.refused(fault.Invalid, func(tx *store.Txn) error { return w.b.UpsertDomain(tx, w.now, "a b", 0) })
}

func TestCells(t *testing.T) {
	w := newWorld(t)
	w.cell("c0")
	facts := work.Cell{ID: "c0", Machine: "m/c0", MachineUID: "c0", Stack: "linux", Runtimes: []string{}}
	if w.b.CellChanged(w.s.View(), facts) {
		t.Error("nothing changed")
	}
	rev := w.s.View().Revision()
	w.must(func(tx *store.Txn) error { return w.b.UpsertCell(tx, w.now, facts) })
	if w.s.View().Revision() != rev {
		t.Error("an equal report wrote")
	}
	w.must(func(tx *store.Txn) error { w.b.CellAway(tx, w.now, w.now.Add(time.Minute), "c0"); return nil })
	if !w.b.CellChanged(w.s.View(), facts) {
		t.Error("coming back is a change")
	}
	w.must(func(tx *store.Txn) error { w.b.EvacuateCell(tx, w.now, "c0"); return nil })
	w.must(func(tx *store.Txn) error { return w.b.UpsertCell(tx, w.now, facts) })
	if c, _ := w.b.Cell(w.s.View(), "c0"); !c.Evacuating || c.Presence != work.Present {
		t.Errorf("%+v", c)
	}
	facts.Machine, facts.MachineUID = "other/1", "u"
	w.refused(fault.Conflict, func(tx *store.Txn) error { return w.b.UpsertCell(tx, w.now, facts) })
	if w.b.CellBusy(w.s.View(), "c0") {
		t.Error("it holds nothing")
	}
	w.must(func(tx *store.Txn) error { w.b.RemoveCell(tx, w.now, "c0"); return nil })
	w.must(func(tx *store.Txn) error { w.b.LoseCell(tx, w.now, "c0"); return nil })
}

func TestValidation(t *testing.T) {
	deep := work.Action{Run: &work.RunAction{Path: "x"}}
	for range 20 {
		deep = work.Action{Try: &work.Action{Run: deep.Run, Try: deep.Try}}
	}
	for name, change := range map[string]func(*work.DesiredLRP){ // order-free: each on its own
		"a bad guid":         func(d *work.DesiredLRP) { d.ProcessGUID = "a/b" },
		"no domain":          func(d *work.DesiredLRP) { d.Domain = "" },
		"no action":          func(d *work.DesiredLRP) { d.Spec.Action = work.Action{} },
		"two actions in one": func(d *work.DesiredLRP) { d.Spec.Action.TCPCheck = &work.TCPCheckAction{Port: 1} },
		"a run without path": func(d *work.DesiredLRP) { d.Spec.Action.Run = &work.RunAction{} },
		"too deep":           func(d *work.DesiredLRP) { d.Spec.Action = deep },
		"negative instances": func(d *work.DesiredLRP) { d.Instances = -1 },
		"too many instances": func(d *work.DesiredLRP) { d.Instances = MaxInstances + 1 },
		"negative memory":    func(d *work.DesiredLRP) { d.Spec.MemoryMB = -1 },
		"absurd disk":        func(d *work.DesiredLRP) { d.Spec.DiskMB = 1 << 62 },
		"a bad port":         func(d *work.DesiredLRP) { d.Spec.Ports = []int{70000} },
		"a long annotation":  func(d *work.DesiredLRP) { d.Annotation = strings.Repeat("x", MaxAnnotation+1) },
		"large routes":       func(d *work.DesiredLRP) { d.Routes = []work.Route{{Data: make([]byte, MaxRoutes+1)}} },
		"large opaque data":  func(d *work.DesiredLRP) { d.Opaque = make([]byte, MaxOpaque+1) },
		"a huge environment": func(d *work.DesiredLRP) {
			d.Spec.Env = []work.EnvVar{{Name: "X", Value: strings.Repeat("x", maxSpecText+1)}}
		},
		"an empty list": func(d *work.DesiredLRP) { d.Spec.Action = work.Action{Serial: &work.ListAction{}} },
		"a bad sidecar": func(d *work.DesiredLRP) { d.Spec.Sidecars = []work.Sidecar{{}} },
		"a bad monitor": func(d *work.DesiredLRP) { d.Spec.Monitor = &work.Action{TCPCheck: &work.TCPCheckAction{}} },
		"a zero time-out": func(d *work.DesiredLRP) {
			d.Spec.Action = work.Action{Timeout: &work.TimeoutAction{Action: d.Spec.Action}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			d := lrp(1)
			change(&d)
			w.refused(fault.Invalid, func(tx *store.Txn) error {
				_, err := w.b.DesireLRP(tx, w.now, d)
				return err
			})
		})
	}
}
