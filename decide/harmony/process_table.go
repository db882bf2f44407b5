package harmony

// processTable is the seed's long table, in its order. The compact view beside
// it is not used: with it a reserved instance would never start.
var processTable = [numContainers][numRecords]Decision{
	Reserved: {
		Missing:          {Conceivable, do(DeleteContainer), "no longer desired"},
		Unclaimed:        {Expected, do(Claim, RunContainer), "we hold the reservation: claim, then run"},
		ClaimedHere:      {Conceivable, do(RunContainer), "already claimed: make sure that it runs"},
		ClaimedElsewhere: {Conceivable, do(DeleteContainer), "another rep got farther"},
		RunningHere:      {Inconceivable, do(Claim, RunContainer), "the board says running, it is only reserved: correct the board and run"},
		RunningElsewhere: {Conceivable, do(DeleteContainer), "another rep got farther"},
		RecordCrashed:    {Conceivable, do(DeleteContainer), "crashed: it will be restarted later"},
	},
	Initializing: {
		Missing:          {Conceivable, do(DeleteContainer), "no longer desired"},
		Unclaimed:        {Inconceivable, do(Claim), "it should have been claimed before it was run"},
		ClaimedHere:      {Expected, do(), "it is starting here"},
		ClaimedElsewhere: {Conceivable, do(DeleteContainer), "it is starting elsewhere"},
		RunningHere:      {Inconceivable, do(Claim), "the board says running, it is only starting"},
		RunningElsewhere: {Conceivable, do(DeleteContainer), "it runs elsewhere"},
		RecordCrashed:    {Conceivable, do(DeleteContainer), "crashed: a cell will pick it up later"},
	},
	Running: {
		Missing:          {Conceivable, do(Start), "it runs here: a blank board never stops containers"},
		Unclaimed:        {Conceivable, do(Start), "it runs here: no need to start it elsewhere"},
		ClaimedHere:      {Expected, do(Start), "it runs here now"},
		ClaimedElsewhere: {Conceivable, do(Start), "it runs here: no need to start it elsewhere"},
		RunningHere:      {Expected, do(), "it runs here, as the board says"},
		RunningElsewhere: {Conceivable, do(DeleteContainer), "it runs elsewhere"},
		RecordCrashed:    {Conceivable, do(Start), "it runs here: not crashed"},
	},
	Crashed: {
		Missing:          {Unstated, do(Crash, DeleteContainer), "it crashed and the board is blank: say what we know"},
		Unclaimed:        {Unstated, do(DeleteContainer), "it will be scheduled elsewhere"},
		ClaimedHere:      {Unstated, do(Crash, DeleteContainer), "it crashed here while starting"},
		ClaimedElsewhere: {Unstated, do(DeleteContainer), "it is starting elsewhere"},
		RunningHere:      {Unstated, do(Crash, DeleteContainer), "it crashed here while running"},
		RunningElsewhere: {Unstated, do(DeleteContainer), "it runs elsewhere"},
		RecordCrashed:    {Unstated, do(DeleteContainer), "the crash has been noted"},
	},
	Shutdown: {
		Missing:          {Conceivable, do(DeleteContainer), "it was told to stop"},
		Unclaimed:        {Conceivable, do(DeleteContainer), "it was told to stop"},
		ClaimedHere:      {Conceivable, do(RemoveRecord, DeleteContainer), "it was told to stop: clean the board up"},
		ClaimedElsewhere: {Conceivable, do(DeleteContainer), "it is starting elsewhere"},
		RunningHere:      {Expected, do(RemoveRecord, DeleteContainer), "it was told to stop: clean the board up"},
		RunningElsewhere: {Conceivable, do(DeleteContainer), "it runs elsewhere"},
		RecordCrashed:    {Conceivable, do(DeleteContainer), "it was told to stop"},
	},
	NoContainer: {
		Missing:          notAsked,
		Unclaimed:        notAsked,
		ClaimedHere:      {Conceivable, do(RemoveRecord), "no container: the board decides whether it is still desired"},
		ClaimedElsewhere: notAsked,
		RunningHere:      {Conceivable, do(RemoveRecord), "no container: the board decides whether it is still desired"},
		RunningElsewhere: notAsked,
		RecordCrashed:    notAsked,
	},
}

// notAsked stands where there is neither a container nor a record of this cell.
var notAsked = Decision{NotAsked, do(), "neither a container nor a record of ours"}

// Process is the cell of the table for a rep that does not evacuate.
func Process(c Container, r Record) Decision { return processTable[c][r] }
