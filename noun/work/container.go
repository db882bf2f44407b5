package work

import (
	"drover/noun/when"
)

// ContainerGUID names a container on its cell: the instance guid of an LRP's
// container, the incarnation of a task's.
type ContainerGUID string

// RunResult says how a COMPLETED container ended. Spec: 002 "RunResult".
type RunResult struct {
	Failed        bool   `json:"failed,omitempty"`
	FailureReason string `json:"failure_reason,omitempty"` // set iff Failed
	Stopped       bool   `json:"stopped,omitempty"`        // then Failed is false
	Result        string `json:"result,omitempty"`         // content of a task's result file
}

// Container is the executor's account of one container. Exactly one of LRP and
// Task is set.
type Container struct {
	GUID        ContainerGUID  `json:"guid"`
	State       ContainerState `json:"state"`
	Domain      Domain         `json:"domain"`
	Incarnation Incarnation    `json:"incarnation"`
	LRP         *LRPKey        `json:"lrp,omitempty"`
	Task        TaskGUID       `json:"task,omitempty"`
	Spec        Spec           `json:"spec"`
	ResultFile  string         `json:"result_file,omitempty"`
	Result      RunResult      `json:"result"`
	Net         NetInfo        `json:"net"`
	Since       when.Instant   `json:"since"` // of State
	Created     when.Instant   `json:"created"`
	Deleting    bool           `json:"deleting,omitempty"` // it is on its way out, whatever its state
}

// ContainerEventKind is what happened to a container. Spec: 002 "Container Events".
type ContainerEventKind uint8

// The events of the executor.
const (
	_ ContainerEventKind = iota
	ContainerReservedEvent
	ContainerRunningEvent
	ContainerCompletedEvent
)

// ContainerEvent names the container only: whoever hears it looks again.
type ContainerEvent struct {
	Kind ContainerEventKind
	GUID ContainerGUID
}
