package harmony

// taskTable is the seed's long table, in its order: a task is started once, so a
// RESERVED container of a RUNNING task is left to the executor's reaper.
var taskTable = [numTaskContainers][numTaskRecords]Decision{
	TaskReserved: {
		NoTask:                 {Conceivable, do(DeleteContainer), "the task was cancelled"},
		TaskPending:            {Expected, do(StartTask, RunContainer), "we hold the reservation: start the task, then run"},
		TaskRunningHere:        {Expected, do(), "about to start, or to be reaped"},
		TaskRunningElsewhere:   {Conceivable, do(DeleteContainer), "it runs elsewhere"},
		TaskCompletedHere:      {Conceivable, do(DeleteContainer), "the task is completed"},
		TaskCompletedElsewhere: {Conceivable, do(DeleteContainer), "the task is completed"},
		TaskResolvingHere:      {Conceivable, do(DeleteContainer), "the task is being resolved"},
		TaskResolvingElsewhere: {Conceivable, do(DeleteContainer), "the task is being resolved"},
	},
	TaskActive: {
		NoTask:                 {Conceivable, do(DeleteContainer), "the task was cancelled"},
		TaskPending:            {Inconceivable, do(StartTask), "it should have been started before it was run"},
		TaskRunningHere:        {Expected, do(), "the board is up to date"},
		TaskRunningElsewhere:   {Inconceivable, do(DeleteContainer), "it runs elsewhere!"},
		TaskCompletedHere:      {Conceivable, do(DeleteContainer), "the task is completed, perhaps cancelled"},
		TaskCompletedElsewhere: {Inconceivable, do(DeleteContainer), "it ran elsewhere!"},
		TaskResolvingHere:      {Conceivable, do(DeleteContainer), "the task is being resolved, perhaps cancelled"},
		TaskResolvingElsewhere: {Inconceivable, do(DeleteContainer), "it ran elsewhere!"},
	},
	TaskDone: {
		NoTask:                 {Conceivable, do(DeleteContainer), "the task was cancelled"},
		TaskPending:            {Inconceivable, do(CompleteTask, DeleteContainer), "it should have been started before it was run"},
		TaskRunningHere:        {Expected, do(CompleteTask, DeleteContainer), "it is done"},
		TaskRunningElsewhere:   {Inconceivable, do(DeleteContainer), "it runs elsewhere!"},
		TaskCompletedHere:      {Conceivable, do(DeleteContainer), "the board knows already"},
		TaskCompletedElsewhere: {Inconceivable, do(DeleteContainer), "it ran elsewhere!"},
		TaskResolvingHere:      {Conceivable, do(DeleteContainer), "the board knows already"},
		TaskResolvingElsewhere: {Inconceivable, do(DeleteContainer), "it ran elsewhere!"},
	},
	TaskNoContainer: {
		NoTask:                 notAsked,
		TaskPending:            notAsked,
		TaskRunningHere:        {Conceivable, do(FailTask), "the cell has no container of it"},
		TaskRunningElsewhere:   notAsked,
		TaskCompletedHere:      {Expected, do(), "not resolved yet"},
		TaskCompletedElsewhere: notAsked,
		TaskResolvingHere:      {Expected, do(), "being resolved"},
		TaskResolvingElsewhere: notAsked,
	},
}

// Task is the cell of the table for a task.
func Task(c TaskContainer, r TaskRecord) Decision { return taskTable[c][r] }
