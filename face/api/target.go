package api

import (
	"strconv"
	"strings"

	"drover/noun/entity"
	"drover/noun/fault"
	"drover/noun/work"
)

// target is what people name on the command line: "blog/0" and "web/3" may be a
// unit or an instance, the state tells.
type target struct {
	machine entity.MachineID
	task    work.TaskGUID
	lrp     work.LRPKey
}

func parseTarget(text string) (target, error) {
	if id, ok := strings.CutPrefix(text, "machine:"); ok && id != "" {
		return target{machine: entity.MachineID(id)}, nil
	}
	if guid, ok := strings.CutPrefix(text, "task:"); ok && guid != "" {
		return target{task: work.TaskGUID(guid)}, nil
	}
	if i := strings.LastIndexByte(text, '/'); i > 0 {
		if n, err := strconv.Atoi(text[i+1:]); err == nil && n >= 0 {
			return target{lrp: work.LRPKey{ProcessGUID: work.ProcessGUID(text[:i]), Index: n}}, nil
		}
	}
	return target{}, fault.New(fault.Invalid, "%q names nothing that has a log", text).
		Why("name a unit (blog/0), an instance (web/3), task:GUID or machine:ID")
}
