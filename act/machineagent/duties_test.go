package machineagent

import (
	"testing"

	"drover/noun/work"
	"drover/wire/droverv1"
)

func TestPrincipalsReserveTheirConstraintsOnTheCell(t *testing.T) {
	units := []*droverv1.UnitState{
		{Name: "blog/0", Constraints: &droverv1.Constraints{MemoryMb: 512, DiskMb: 100}},
		{Name: "blog/1", Constraints: &droverv1.Constraints{MemoryMb: 512}},
		{Name: "logger/0", Principal: "blog/0", Constraints: &droverv1.Constraints{MemoryMb: 64}},
		{Name: "plain/0"},
	}
	if got, want := reserved(units), (work.Resources{MemoryMB: 1024, DiskMB: 100}); got != want {
		t.Errorf("reserved are %v, want %v", got, want)
	}
}
