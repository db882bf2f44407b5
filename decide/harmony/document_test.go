package harmony

import (
	"bufio"
	"os"
	"strings"
	"testing"
)

// row is one row of a table as the ledger of rules has it.
type row struct{ id, left, right, action, likelihood string }

// documentRows reads the rows whose id has the prefix.
func documentRows(t *testing.T, prefix string) (rows []row) {
	t.Helper()
	f, err := os.Open("../../docs/spec/rules.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		cols := strings.Split(s.Text(), "\t")
		if !strings.HasPrefix(cols[0], prefix) {
			continue
		}
		r := row{id: cols[0]}
		pair, rest, _ := strings.Cut(cols[3], " → ")
		r.left, r.right, _ = strings.Cut(pair, " × ")
		r.action, r.likelihood, _ = strings.Cut(rest, " [")
		r.likelihood = strings.TrimRight(strings.FieldsFunc(r.likelihood+" ", func(c rune) bool { return c == ':' || c == ']' })[0], "? ")
		rows = append(rows, r)
	}
	return rows
}

// vocabulary is the document's words for the steps.
var vocabulary = map[string]Plan{
	"do nothing":                          do(),
	"delete container":                    do(DeleteContainer),
	"delete container and log loudly":     do(DeleteContainer),
	"run container":                       do(RunContainer),
	"update to CLAIMED α":                 do(Claim),
	"create RUNNING α":                    do(Start),
	"update to RUNNING α":                 do(Start),
	"delete the evacuating record":        do(RemoveEvacuating),
	"RepCrashDance":                       do(Crash),
	"RepCrashDance with the reset rule":   do(Crash),
	"delete ActualLRP":                    do(RemoveRecord),
	"create evacuating RUNNING α":         do(CreateEvacuating),
	"update evacuating to RUNNING α":      do(CreateEvacuating),
	"update instance to UNCLAIMED":        do(Unclaim),
	"instance to UNCLAIMED":               do(Unclaim),
	"delete evacuating record":            do(RemoveEvacuating),
	"start Task":                          do(StartTask),
	"update Task to RUNNING on α":         do(StartTask),
	"update Task to COMPLETED":            do(CompleteTask),
	"update Task to COMPLETED and Failed": do(FailTask),
}

// departures are the rows from which the code departs, with the decision.
var departures = map[string]Plan{
	"D-LRP-17": do(Start), // SEMANTICS 70: the board's start deletes the evacuating record
}

// remarks are what the document adds to an action in words.
var remarks = strings.NewReplacer(
	", no BBS write", "", ", never stop the container because the BBS is blank", "", ", no restart", "",
	", if any", "", " (RUNNING on α)", "", " (row missing in the seed)", "", "RUNNING-α", "RUNNING α",
)

func translate(t *testing.T, r row) Plan {
	t.Helper()
	text, _, _ := strings.Cut(remarks.Replace(r.action), ";")
	text = strings.ReplaceAll(text, " and delete the", ", then delete the")
	var steps []Step
	for _, words := range strings.Split(text, ", then ") {
		p, ok := vocabulary[words]
		if !ok {
			t.Fatalf("%s: no step for %q", r.id, words)
		}
		steps = append(steps, p.Steps()...)
	}
	return do(steps...)
}

func (r row) compare(t *testing.T, got Decision) {
	t.Helper()
	want, departs := departures[r.id]
	if said := translate(t, r); !departs {
		want = said
	} else if said == want {
		t.Errorf("%s is listed as a departure and is none", r.id)
	}
	if got.Plan != want {
		t.Errorf("%s %s × %s: %s, the document says %s", r.id, r.left, r.right, got.Plan, want)
	}
	if r.likelihood != "" && got.Likelihood.String() != r.likelihood {
		t.Errorf("%s %s × %s is %s, the document says %s", r.id, r.left, r.right, got.Likelihood, r.likelihood)
	}
}

func byName[C ~uint8](t *testing.T, r row, name string, names []string) C {
	t.Helper()
	for i, n := range names {
		if i > 0 && n == name {
			return C(i)
		}
	}
	t.Fatalf("%s: no class %q", r.id, name)
	return 0
}

// Rule: D-LRP-01 D-LRP-02 D-LRP-03 D-LRP-04 D-LRP-05 D-LRP-06 D-LRP-07 D-LRP-08 D-LRP-09 D-LRP-10
// Rule: D-LRP-11 D-LRP-12 D-LRP-13 D-LRP-14 D-LRP-15 D-LRP-16 D-LRP-17 D-LRP-18 D-LRP-19 D-LRP-20
// Rule: D-LRP-21 D-LRP-22 D-LRP-23 D-LRP-24 D-LRP-25 D-LRP-26 D-LRP-27 D-LRP-28 D-LRP-29 D-LRP-30
// Rule: D-LRP-31 D-LRP-32 D-LRP-33 D-LRP-34 D-LRP-35 D-LRP-36 D-LRP-37 D-131
func TestTheProcessTableIsTheDocuments(t *testing.T) {
	rows := documentRows(t, "D-LRP-")
	if len(rows) != 37 {
		t.Fatalf("%d rows", len(rows))
	}
	asked := map[[2]uint8]bool{}
	for _, r := range rows {
		c, rec := byName[Container](t, r, r.left, containerNames[:]), byName[Record](t, r, r.right, recordNames[:])
		r.compare(t, Process(c, rec))
		asked[[2]uint8{uint8(c), uint8(rec)}] = true
	}
	for c := Reserved; c < numContainers; c++ {
		for r := Missing; r < numRecords; r++ {
			if d := Process(c, r); (d.Likelihood == NotAsked) == asked[[2]uint8{uint8(c), uint8(r)}] {
				t.Errorf("%s × %s: %s", c, r, d.Likelihood)
			}
		}
	}
}

// Rule: D-EVAC-01 D-EVAC-02 D-EVAC-03 D-EVAC-04 D-EVAC-05 D-EVAC-06 D-EVAC-07 D-EVAC-08
// Rule: D-EVAC-09 D-EVAC-10 D-EVAC-11 D-EVAC-12 D-EVAC-13 D-EVAC-14 D-EVAC-15 D-EVAC-16
// Rule: D-EVAC-17 D-EVAC-18 D-EVAC-19 D-EVAC-20 D-EVAC-21 D-EVAC-22 D-EVAC-23 D-EVAC-24
func TestTheEvacuationTableIsTheDocuments(t *testing.T) {
	rows := documentRows(t, "D-EVAC-")
	if len(rows) != 24 {
		t.Fatalf("%d rows", len(rows))
	}
	words := strings.NewReplacer("-α", " α", "-ω", " ω", " (placement error)", "", "no instance", "no ActualLRP")
	for _, r := range rows {
		rec := byName[Record](t, r, words.Replace(r.left), recordNames[:])
		r.compare(t, Evacuation(rec, byName[Evacuating](t, r, r.right, evacuatingNames[:])))
	}
}

// Rule: D-TASK-01 D-TASK-02 D-TASK-03 D-TASK-04 D-TASK-05 D-TASK-06 D-TASK-07 D-TASK-08 D-TASK-09
// Rule: D-TASK-10 D-TASK-11 D-TASK-12 D-TASK-13 D-TASK-14 D-TASK-15 D-TASK-16 D-TASK-17 D-TASK-18
// Rule: D-TASK-19 D-TASK-20 D-TASK-21 D-TASK-22 D-TASK-23 D-TASK-24 D-TASK-25 D-TASK-26 D-TASK-27 D-199
func TestTheTaskTableIsTheDocuments(t *testing.T) {
	rows := documentRows(t, "D-TASK-")
	if len(rows) != 27 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, r := range rows {
		c := byName[TaskContainer](t, r, r.left, taskContainerNames[:])
		r.compare(t, Task(c, byName[TaskRecord](t, r, r.right, taskRecordNames[:])))
		if loud := strings.Contains(r.action, "log loudly"); loud && !Task(c, byName[TaskRecord](t, r, r.right, taskRecordNames[:])).Loud() {
			t.Errorf("%s is not loud", r.id)
		}
	}
}
