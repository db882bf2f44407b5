// Package harmony decides what a rep does for one container and the records of
// the board: the tables of the seed, a decision for every pair.
//
// It never reads a clock, talks to the board or touches a container; it answers
// with a Decision, and the rep executes its plan in order, stopping at the first
// failure, each step on the revision that the decision saw.
//
// Invariants: every cell of every table is decided; a plan changes the board
// before it deletes the container, or a crash loses the record; every record
// step is a transition that work allows to the cell.
//
// Spec: 002 "Harmonizing ActualLRPs with Container State: Rep", "Harmonizing
// during evacuation", "Harmonizing Tasks with Container State: Rep".
package harmony

import "strings"

// Likelihood is how surprised the rep is to find itself here.
type Likelihood uint8

// The likelihoods of the seed. NotAsked marks pairs that the rep cannot meet,
// since it enumerates only its own containers and records: reaching one is a bug
// of Classify and is logged. Undecided, the zero value, is in no table. Unstated
// is for the rows to which the seed gives no likelihood.
const (
	Undecided Likelihood = iota
	Expected
	Conceivable
	Inconceivable
	Unstated
	NotAsked
	numLikelihoods
)

var likelihoodNames = [numLikelihoods]string{"undecided", "expected", "conceivable", "inconceivable", "unstated", "not asked"}

// String is the likelihood in lower case.
func (l Likelihood) String() string { return name(likelihoodNames[:], int(l)) }

// Step is one thing to do. Each is one call, to the board or to the executor.
type Step uint8

// The steps. The comment says who is called and with what.
const (
	_                Step = iota
	DeleteContainer       // executor
	RunContainer          // executor: start the reserved container
	Claim                 // board: record becomes CLAIMED α
	Start                 // board: record becomes RUNNING α, made if there is none; evacuating siblings go
	Crash                 // board: RepCrashDance on the record, made if there is none
	RemoveRecord          // board: delete the instance record of α
	Unclaim               // board: instance record becomes UNCLAIMED, a start is requested
	CreateEvacuating      // board: evacuating record becomes RUNNING α, made if there is none
	RemoveEvacuating      // board: delete the evacuating record of α
	StartTask             // board: task becomes RUNNING on α
	CompleteTask          // board: task becomes COMPLETED with the container's result
	FailTask              // board: task becomes COMPLETED and Failed, the reason is the decision's Why
	numSteps
)

var stepNames = [numSteps]string{
	"nothing", "DeleteContainer", "RunContainer", "Claim", "Start", "Crash", "RemoveRecord", "Unclaim",
	"CreateEvacuating", "RemoveEvacuating", "StartTask", "CompleteTask", "FailTask",
}

// String is the step's name.
func (s Step) String() string { return name(stepNames[:], int(s)) }

// OnBoard reports whether the step changes the board rather than a container.
func (s Step) OnBoard() bool { return s >= Claim && s < numSteps }

// Plan is what to do in order; unused places at the end are zero. It is an
// array, so that decisions compare with ==.
type Plan [3]Step

// Steps are the steps of the plan in order.
func (p Plan) Steps() []Step {
	for i, s := range p {
		if s == 0 {
			return p[:i]
		}
	}
	return p[:]
}

// String is the steps joined by "then".
func (p Plan) String() string {
	steps := p.Steps()
	if len(steps) == 0 {
		return "do nothing"
	}
	names := make([]string, len(steps))
	for i, s := range steps {
		names[i] = s.String()
	}
	return strings.Join(names, ", then ")
}

// Decision is what the rep does, and the table's sentence for it. Loud asks for
// a warning in the log with both records.
type Decision struct {
	Likelihood Likelihood
	Plan       Plan
	Why        string
}

// Loud reports whether the decision deserves a warning.
func (d Decision) Loud() bool {
	return d.Likelihood == Inconceivable || d.Likelihood == NotAsked || d.Likelihood == Undecided
}

func do(steps ...Step) (p Plan) {
	copy(p[:], steps)
	return p
}

func name(names []string, i int) string {
	if i >= len(names) {
		return "invalid"
	}
	return names[i]
}

// before is the decision with a step in front of its plan.
func (d Decision) before(s Step) Decision {
	p := Plan{s}
	copy(p[1:], d.Plan[:])
	d.Plan = p
	return d
}
