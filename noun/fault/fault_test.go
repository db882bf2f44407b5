package fault

import (
	"errors"
	"fmt"
	"testing"
)

func TestEveryKindHasAnOwnNameAndParsesBack(t *testing.T) {
	seen := map[string]bool{}
	for k := Internal; k < numKinds; k++ {
		if kinds[k].name == "" || kinds[k].exit == 0 || seen[k.String()] {
			t.Errorf("kind %d: name %q exit %d", k, kinds[k].name, kinds[k].exit)
		}
		seen[k.String()] = true
		if got := ParseKind(k.String()); got != k {
			t.Errorf("ParseKind(%q) = %v", k.String(), got)
		}
	}
}

// The exit codes are a promise to scripts: they never change.
func TestExitCodes(t *testing.T) {
	for kind, want := range map[Kind]int{
		Internal: 1, Invalid: 2, NotFound: 3, Conflict: 4, Denied: 5, Unavailable: 6,
		Timeout: 7, EntityFailed: 8, NotPlaceable: 9, Partial: 10,
	} {
		if got := kind.ExitCode(); got != want {
			t.Errorf("exit code of %v is %d, want %d", kind, got, want)
		}
	}
}

func TestTheKindSurvivesWrapping(t *testing.T) {
	cause := errors.New("disk on fire")
	err := fmt.Errorf("claim web/3: %w", New(Conflict, "cannot claim %s", "web/3").Why("taken").Try("drover why web/3").Wrap(cause))
	if !Is(err, Conflict) || !errors.Is(err, cause) {
		t.Errorf("kind %v, cause kept %v", KindOf(err), errors.Is(err, cause))
	}
	if KindOf(cause) != Internal {
		t.Errorf("a foreign error is of kind %v, want internal", KindOf(cause))
	}
	if Is(nil, Internal) {
		t.Error("nil is an error of some kind")
	}
}
