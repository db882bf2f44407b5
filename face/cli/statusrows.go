package cli

import (
	"fmt"
	"sort"
	"strings"
	"time"

	"drover/wire/droverv1"
)

// sortedUnits puts subordinates below their principals.
func sortedUnits(units []*droverv1.Unit) []*droverv1.Unit {
	sorted := append([]*droverv1.Unit(nil), units...)
	root := func(u *droverv1.Unit) string {
		if u.Principal != "" {
			return u.Principal
		}
		return u.Name
	}
	sort.SliceStable(sorted, func(i, j int) bool {
		a, b := sorted[i], sorted[j]
		if root(a) != root(b) {
			return unitLess(root(a), root(b))
		}
		if (a.Principal == "") != (b.Principal == "") {
			return a.Principal == ""
		}
		return unitLess(a.Name, b.Name)
	})
	return sorted
}

// unitLess orders unit names by application, then by number.
func unitLess(a, b string) bool {
	aApp, aNum, _ := strings.Cut(a, "/")
	bApp, bNum, _ := strings.Cut(b, "/")
	if aApp != bApp {
		return aApp < bApp
	}
	if len(aNum) != len(bNum) {
		return len(aNum) < len(bNum)
	}
	return aNum < bNum
}

func agentWord(u *droverv1.Unit) string {
	if u.Failure != nil {
		return "failed"
	}
	return u.Agent.GetValue()
}

// unitMessage is what there is to say about a unit, and the command that tells
// more if it needs one.
func unitMessage(u *droverv1.Unit) (note, pointer string) {
	held := ""
	if len(u.Impediments) > 0 {
		held = waitText(u.Name, u.Impediments)
	}
	switch {
	case u.Failure != nil:
		return fmt.Sprintf("hook failed: %s (%s)", u.Failure.Hook, failureReason(u.Failure)), "drover logs " + u.Name + " --hook last"
	case held != "" && u.Life != "alive":
		return held, "drover why " + u.Name
	case u.Hook != "":
		return "running " + u.Hook, ""
	case u.Workload.GetMessage() != "" && held == "":
		return u.Workload.GetMessage(), ""
	case held != "":
		return held, "drover why " + u.Name
	}
	return u.Agent.GetMessage(), ""
}

func failureReason(f *droverv1.HookFailure) string {
	if f.Reason != "" {
		return f.Reason
	}
	return fmt.Sprintf("exit %d", f.Exit)
}

// addressOf is where a unit is reached, with the first port it opened.
func addressOf(u *droverv1.Unit) string {
	if len(u.Ports) == 0 || u.Address == "" || u.Ports[0].From == 0 {
		return u.Address
	}
	return fmt.Sprintf("%s:%d", u.Address, u.Ports[0].From)
}

// waitText is what a thing waits for: the end of its first chain of impediments,
// with the name of what that is about if it is another thing.
func waitText(self string, ims []*droverv1.Impediment) string {
	leaf := firstLeaf(ims)
	if leaf == nil {
		return ""
	}
	text := impedimentLine(leaf)
	if leaf.Entity == "" || leaf.Entity == self {
		return text
	}
	return "waiting for " + leaf.Entity + ": " + text
}

// Severities: the higher, the worse; 0 is no problem.
const (
	severityWaits = 1 + iota
	severityBlocked
	severityFailed
)

// severityOf is that of a state, or of being held by something.
func severityOf(state string, held int) int {
	switch {
	case looks[state].glyph == "✗":
		return severityFailed
	case looks[state].glyph == "!":
		return severityBlocked
	case held > 0:
		return severityWaits
	}
	return 0
}

func appSeverity(x *droverv1.Application) int {
	return severityOf(x.Status.GetValue(), len(x.Impediments))
}

func unitSeverity(u *droverv1.Unit) int {
	if u.Failure != nil {
		return severityFailed
	}
	return max(severityOf(u.Workload.GetValue(), len(u.Impediments)), severityOf(u.Agent.GetValue(), 0))
}

func machineSeverity(m *droverv1.Machine) int { return severityOf(m.Agent, len(m.Impediments)) }

func indexSeverity(x *droverv1.LRPIndexStatus) int { return severityOf(x.State, len(x.Impediments)) }

func taskSeverity(t *droverv1.TaskStatus) int {
	if t.Failed {
		return severityFailed
	}
	return severityOf(t.State, len(t.Impediments))
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func at(nanos int64) string {
	return time.Unix(0, nanos).Format("15:04:05")
}
