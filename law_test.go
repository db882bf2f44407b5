package drover

import (
	"os"
	"regexp"
	"sync"
	"testing"

	"drover/internal/law"
	"drover/internal/mutants"
	"drover/internal/rules"
)

// edges is the import law: what is not listed here is forbidden. Imports go
// downwards only, siblings are listed one by one, and the machine side of act
// never reaches keep: an agent knows the cluster only through wire.
var edges = []law.Edge{
	// noun: words, built on words.
	{From: "noun/...", To: "noun/fault", Why: "parsers refuse in the vocabulary of refusals"},
	{From: "noun/...", To: "noun/when", Why: "rows carry moments"},
	{From: "noun/charm", To: "noun/entity", Why: "a charm's endpoints are endpoints of entities"},
	{From: "noun/work", To: "noun/entity", Why: "a cell is a machine"},

	// decide: pure functions over words.
	{From: "decide/...", To: "noun/...", Why: "state in, decision out, both in the words of the seeds"},

	// keep: the store, and rows with their rules over it.
	{From: "keep/...", To: "noun/...", Why: "rows are the structs of noun"},
	{From: "keep/...", To: "decide/...", Why: "a transaction asks a decision and writes its rows"},
	{From: "keep/...", To: "internal/...", Why: "craft"},
	{From: "keep/...", To: "keep/store", Why: "all state lies in the store's tables"},
	{From: "keep/store/raftlog/...", To: "keep/store/raftlog/disk", Why: "the log's floor: files that a test can make forget"},
	{From: "keep/store/raftlog", To: "keep/store/raftlog/disk/forgetful", Why: "the disk that forgets", Tests: true},
	{From: "keep/store/...", To: "keep/store/storetest", Why: "one suite runs against every log", Tests: true},

	// wire: messages and the client. It knows no rows of the store.
	{From: "wire/...", To: "noun/...", Why: "messages are translated to and from words"},
	{From: "wire/...", To: "wire/...", Why: "generated messages and what handles them"},
	{From: "wire/...", To: "internal/...", Why: "craft"},

	// act, leader side.
	{From: "act/auctioneer", To: "keep/...", Why: "leader side: places what the board holds"},
	{From: "act/converger", To: "keep/...", Why: "leader side: compares desired with actual rows"},
	{From: "act/cleaner", To: "keep/...", Why: "leader side: works off recorded bulk work"},
	{From: "act/resolver", To: "keep/...", Why: "leader side: hands completed tasks to their callbacks"},
	{From: "act/provisioner/...", To: "keep/...", Why: "leader side: machines without an instance"},
	{From: "act/presence", To: "keep/...", Why: "leader side: who was heard when"},
	{From: "act/auctioneer", To: "act/presence", Why: "auctions count on what cells last reported"},
	{From: "act/converger", To: "act/presence", Why: "a cell not heard is lost"},
	{From: "act/provisioner", To: "act/presence", Why: "a machine that was heard needs no instance"},
	{From: "act/provisioner/...", To: "act/provisioner/...", Why: "providers stand behind its interface and pass its suite"},

	// act, machine side: wire, decide, noun, internal, and the next smaller actor.
	{From: "act/...", To: "noun/...", Why: "words"},
	{From: "act/...", To: "decide/...", Why: "look, decide, act"},
	{From: "act/...", To: "wire/...", Why: "what travels"},
	{From: "act/...", To: "internal/...", Why: "craft: the loop"},
	{From: "act/machineagent", To: "act/unitagent", Why: "the machine's agent hosts its units' agents"},
	{From: "act/machineagent", To: "act/rep", Why: "the machine's agent hosts the cell's rep"},
	{From: "act/machineagent", To: "act/executor/...", Why: "the machine's agent makes the rep's executor"},
	{From: "act/unitagent", To: "act/hooktool/...", Why: "a running hook is served its tools"},
	{From: "act/rep", To: "act/executor/...", Why: "the rep reconciles the executor's containers"},
	{From: "act/executor/...", To: "act/executor/...", Why: "its runtimes and the shim"},
	{From: "act/hooktool/...", To: "act/hooktool/...", Why: "the tools' client and server share their frames"},

	// face: the server's handlers see everything kept; the command line sees only
	// what travels.
	{From: "face/api/...", To: "keep/...", Why: "a handler is one transaction or one View"},
	{From: "face/api/...", To: "act/presence", Why: "status says who was heard when"},
	{From: "face/...", To: "noun/...", Why: "words"},
	{From: "face/...", To: "decide/...", Why: "the same pure functions explain and decide"},
	{From: "face/...", To: "wire/...", Why: "what travels"},
	{From: "face/...", To: "internal/...", Why: "craft"},
	{From: "face/api/...", To: "face/api/...", Why: "parts of the API"},
	{From: "face/cli/...", To: "face/cli/...", Why: "parts of the command line"},

	// examples: software that knows nothing of Drover; only tests reach further.
	{From: "examples/demo", To: "examples/demo/software", Why: "the test runs the charms over it"},
	{From: "examples/demo", To: "internal/...", Why: "the test packs the charms and ends what their hooks started"},
	{From: "examples/demo", To: "noun/charm", Why: "the test reads the bundle"},

	// wiring.
	{From: "cmd/drover", To: "...", Why: "the program wires everything"},
	{From: "cmd/drover-hook", To: "act/hooktool/client", Why: "a tiny main, it starts hundreds of times"},
	{From: "cmd/drover-shim", To: "act/executor/shim", Why: "a tiny main, one lives beside each container"},
	{From: "sim/...", To: "...", Why: "the whole system in one process"},

	// examples: the demo that up --demo deploys, and its software.
	{From: "examples/...", To: "examples/...", Why: "the demo's charms and the software that they run"},
	{From: "examples/...", To: "internal/...", Why: "its test runs the hooks as an agent would"},
	{From: "examples/...", To: "noun/...", Why: "its test reads the charms"},

	// e2e: tests of the programs, from outside.
	{From: "e2e", To: "wire/...", Why: "looks at what a user sees", Tests: true},
	{From: "e2e", To: "noun/...", Why: "checks what units ran in the words of the seeds", Tests: true},
	{From: "e2e", To: "internal/proc", Why: "kills processes by identity", Tests: true},

	// internal: craft, which knows nothing of the cluster.
	{From: "internal/...", To: "internal/...", Why: "craft on craft"},
	{From: "internal/...", To: "noun/fault", Why: "craft refuses in the same vocabulary"},
	{From: "internal/charmdir", To: "noun/...", Why: "reads the folder of a charm into the words for it"},
	{From: ".", To: "internal/...", Why: "the laws are tests of the root"},
}

// pure is the purity law of noun and decide. Its reason is one: the same
// function must run inside a transaction, over a View, in a test and in a
// simulation, and give the same answer.
var pure = law.Pure{
	Packages: []string{"noun/...", "decide/..."},
	Imports: map[string]string{
		"context":          "ctx is the colour of I/O",
		"crypto/rand":      "randomness is an input",
		"math/rand/...":    "randomness is an input",
		"log/...":          "pure code returns its reason, loops log it",
		"os/...":           "no I/O",
		"io/ioutil":        "no I/O",
		"net":              "no I/O",
		"net/http/...":     "no I/O",
		"sync/...":         "no shared state",
		"syscall":          "no I/O",
		"runtime/...":      "no machine",
		"testing/...":      "test helpers belong into tests",
		"golang.org/x/...": "no system calls, no concurrency",
	},
	Names: map[string]string{
		"time.Now":       "time is an input",
		"time.Since":     "time is an input",
		"time.Until":     "time is an input",
		"time.Sleep":     "decisions do not wait",
		"time.After":     "decisions do not wait",
		"time.AfterFunc": "decisions do not wait",
		"time.Tick":      "decisions do not wait",
		"time.NewTimer":  "decisions do not wait",
		"time.NewTicker": "decisions do not wait",
		"time.Local":     "the machine's time zone is not an input",
	},
}

// machinePath matches absolute paths of somebody's machine: homes and the like.
var machinePath = regexp.MustCompile(`(^|[\s"'=(:` + "`" + `])/(home|Users|work|root)/[A-Za-z.]`)

const mostLines = 500

var tree = sync.OnceValues(func() (*law.Tree, error) { return law.Load(os.DirFS("."), "drover") })

func TestLaws(t *testing.T) {
	source, err := tree()
	if err != nil {
		t.Fatal(err)
	}
	report := func(name string, breaches []law.Breach) {
		t.Run(name, func(t *testing.T) {
			for _, b := range breaches {
				t.Error(b)
			}
		})
	}
	report("imports go downwards, along listed edges", law.Imports(source, edges))
	report("libraries are used where the table says, for its reason", law.Libraries(source, libraries))
	report("noun and decide are pure", law.Purity(source, pure))
	report("every package says what it is", law.PackageComments(source))
	report("files are small", law.FileSizes(source, mostLines))
	report("tests do not sleep", law.SleepingTests(source))
	words, err := law.Words(os.DirFS("."), machinePath, "a path of one machine", "docs/spec/...", "go.sum", "tools/go.sum")
	if err != nil {
		t.Fatal(err)
	}
	report("no paths of machines", words)
}

func TestTestsClaimOnlyRulesOfTheLedger(t *testing.T) {
	data, err := os.ReadFile("docs/spec/rules.tsv")
	if err != nil {
		t.Fatal(err)
	}
	ledger, err := rules.Read(data)
	if err != nil {
		t.Fatal(err)
	}
	claims, err := rules.Claims(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range rules.Unknown(ledger, claims) {
		t.Errorf("%s: the ledger has no rule %s", c.At, c.ID)
	}
}

// TestPlantedMistakesStillApply: the text of each planted mistake stands in its
// file. Whether the tests notice them is asked by make mutants.
func TestPlantedMistakesStillApply(t *testing.T) {
	root := os.DirFS(".")
	all, err := mutants.Load(root, "testdata/mutants")
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Error("no mistakes are planted")
	}
	for _, m := range all {
		if _, err := m.Apply(root); err != nil {
			t.Error(err)
		}
	}
}
