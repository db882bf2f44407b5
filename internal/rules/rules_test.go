package rules

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

const ledger = "id\tseed\theading\trule\tnote\nE-001\t000\tLife\tthings live\t\nE-002\t000\tLife\tthings die\tL1\nD-LRP-01\t002\tWork\tthings run\n"

func TestClaimsAreFoundInNamesCommentsAndScripts(t *testing.T) {
	fsys := fstest.MapFS{}
	for name, text := range map[string]string{ // order-free: a set of files
		"a/a_test.go":          "package a\n\n// Rule: E-001, E-002\nfunc f() {}\n\nvar cases = []string{\"D-LRP-01 things run\", \"no P-256\"}\n// see E-001 in passing\n",
		"a/a.go":               "package a\n// Rule: E-002\n",
		"a/testdata/s.txtar":   "# Rule: D-LRP-01\nexec x\nRule: E-001\n",
		"a/testdata/x_test.go": "package x\n// Rule: E-001\n",
		".hidden/b_test.go":    "package b\n// Rule: E-001\n",
	} {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	got, err := Claims(fsys)
	if err != nil {
		t.Fatal(err)
	}
	want := []Claim{{"E-001", "a/a_test.go:3"}, {"E-002", "a/a_test.go:3"}, {"D-LRP-01", "a/a_test.go:6"}, {"D-LRP-01", "a/testdata/s.txtar:1"}}
	if !slices.Equal(got, want) {
		t.Errorf("claims are\n%v, want\n%v", got, want)
	}
}

func TestUnknownIDsAreFound(t *testing.T) {
	rules, err := Read([]byte(ledger))
	if err != nil {
		t.Fatal(err)
	}
	got := Unknown(rules, []Claim{{"E-001", "x"}, {"E-003", "y"}})
	if len(got) != 1 || got[0].ID != "E-003" {
		t.Errorf("unknown claims are %v, want E-003 only", got)
	}
}

func TestALedgerWithBadLinesIsRefused(t *testing.T) {
	for name, text := range map[string]string{ // order-free: cases
		"an id twice":    ledger + "E-001\t000\tLife\tagain\t\n",
		"no id":          ledger + "\t000\tLife\tagain\t\n",
		"too few fields": ledger + "E-009\t000\n",
	} {
		if _, err := Read([]byte(text)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestPrint(t *testing.T) {
	rules, err := Read([]byte(ledger))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	Print(&b, rules, []Claim{{"E-002", "a_test.go:3"}}, true)
	want := `
000 Life
  [ ] E-001 things live
  [x] E-002 things die
        a_test.go:3

002 Work
  [ ] D-LRP-01 things run

family    covered       of
E               1        2
D-LRP           0        1
all             1        3
`
	if b.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", b.String(), want)
	}
}
