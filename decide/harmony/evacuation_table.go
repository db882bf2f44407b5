package harmony

// evacuationTable is for RUNNING containers of a cell that evacuates: instance
// record, then evacuating record, in the seed's order.
var evacuationTable = [numEvacRecords][numEvacuating]Decision{
	Unclaimed: {
		NoEvacuating:  {Inconceivable, do(CreateEvacuating), "keep routing to the running instance"},
		EvacHere:      {Expected, do(), "another rep will win the auction"},
		EvacElsewhere: {Conceivable, do(DeleteContainer), "β ran our evacuated instance, then evacuated itself"},
	},
	UnclaimedWithError: {
		NoEvacuating:  {Inconceivable, do(), "nobody won the auction: the container stays meanwhile"},
		EvacHere:      {Conceivable, do(), "nobody won the auction: the container stays meanwhile"},
		EvacElsewhere: {Conceivable, do(DeleteContainer), "β ran our evacuated instance, then evacuated itself"},
	},
	ClaimedHere: {
		NoEvacuating:  {Conceivable, do(CreateEvacuating, Unclaim), "it runs here, and the board had not heard yet"},
		EvacHere:      {Conceivable, do(Unclaim), "the record was not unclaimed yet"},
		EvacElsewhere: {Conceivable, do(CreateEvacuating, Unclaim), "β evacuated it, we ran it, and now evacuate too"},
	},
	ClaimedElsewhere: {
		NoEvacuating:  {Inconceivable, do(CreateEvacuating), "keep routing to the running instance"},
		EvacHere:      {Expected, do(), "ω is starting it"},
		EvacElsewhere: {Conceivable, do(DeleteContainer), "β ran our evacuated instance, then evacuated itself"},
	},
	RunningHere: {
		NoEvacuating:  {Expected, do(CreateEvacuating, Unclaim), "the first step of an evacuation"},
		EvacHere:      {Conceivable, do(Unclaim), "the record was not unclaimed yet"},
		EvacElsewhere: {Conceivable, do(CreateEvacuating, Unclaim), "β evacuated it, we ran it, and now evacuate too"},
	},
	RunningElsewhere: {
		NoEvacuating:  {Conceivable, do(DeleteContainer), "it runs elsewhere now"},
		EvacHere:      {Expected, do(RemoveEvacuating, DeleteContainer), "the evacuation succeeded"},
		EvacElsewhere: {Conceivable, do(DeleteContainer), "ω ran it, then evacuated itself"},
	},
	RecordCrashed: {
		NoEvacuating:  {Conceivable, do(DeleteContainer), "it ran elsewhere and crashed"},
		EvacHere:      {Expected, do(RemoveEvacuating, DeleteContainer), "the evacuation succeeded, then it crashed"},
		EvacElsewhere: {Conceivable, do(DeleteContainer), "another rep ran it, and it crashed"},
	},
	Missing: {
		NoEvacuating:  {Conceivable, do(DeleteContainer), "it ran elsewhere, or is not desired any more"},
		EvacHere:      {Expected, do(RemoveEvacuating, DeleteContainer), "scaled down during the evacuation"},
		EvacElsewhere: {Conceivable, do(DeleteContainer), "β evacuated it, and it was scaled down"},
	},
}

// Evacuation is the cell of the table for a RUNNING container of an evacuating
// rep.
func Evacuation(r Record, e Evacuating) Decision { return evacuationTable[r][e] }

// unstartedTable is for containers that an evacuating cell had not brought to
// RUNNING: the record goes back to the auction, then the container goes.
// An instance held by another pair is none of ours.
var unstartedTable = [numRecords]Decision{
	Missing:          {Conceivable, do(DeleteContainer), "evacuating: no longer desired"},
	Unclaimed:        {Conceivable, do(Unclaim, DeleteContainer), "evacuating: another cell is to start it"},
	ClaimedHere:      {Expected, do(Unclaim, DeleteContainer), "evacuating: another cell is to start it"},
	ClaimedElsewhere: {Conceivable, do(DeleteContainer), "evacuating: it is starting elsewhere"},
	RunningHere:      {Inconceivable, do(Unclaim, DeleteContainer), "evacuating: the board says running, it is not: another cell is to start it"},
	RunningElsewhere: {Conceivable, do(DeleteContainer), "evacuating: it runs elsewhere"},
	RecordCrashed:    {Conceivable, do(DeleteContainer), "evacuating: crashed, it will be restarted later"},
}

// NotRunning is the decision for a container of an evacuating rep that is not
// RUNNING: our evacuating record goes first.
func NotRunning(c Container, r Record, e Evacuating) Decision {
	d := processTable[c][r]
	if c == Reserved || c == Initializing {
		d = unstartedTable[r]
	}
	if e == EvacHere && d.Likelihood != Undecided {
		if d.Likelihood == NotAsked {
			return orphan
		}
		return d.before(RemoveEvacuating)
	}
	return d
}

// orphan is for an evacuating record of this cell without a container.
var orphan = Decision{Conceivable, do(RemoveEvacuating), "our evacuating record has no container"}
