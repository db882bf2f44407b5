package cli

import (
	"fmt"
	"strconv"
	"strings"

	"drover/noun/fault"
	"drover/wire/droverv1"
)

// condition waits for comparisons to hold for one entity.
type condition struct {
	kind, name, text string
	terms            []comparison
}

// comparison is one field, an operator and a value.
type comparison struct{ field, op, value string }

var fieldsOf = map[string][]string{
	"app":     {"life", "status", "units", "units.active"},
	"unit":    {"life", "status", "agent"},
	"machine": {"life", "agent"},
	"lrp":     {"life", "instances", "running", "crashed", "crashes"},
	"task":    {"life", "state", "failed"},
}

// words are conditions that have a name of their own.
var words = map[string]map[string]string{
	"app":     {"idle": "idle==true"},
	"unit":    {"ready": "status==active && agent==idle", "idle": "idle==true"},
	"machine": {"ready": "agent==alive", "idle": "agent==alive"},
}

// Longer operators first: ">=" is not ">".
var operators = []string{"==", "!=", ">=", "<=", ">", "<"}

func parseTerms(kind, text string) ([]comparison, error) {
	bad := func(format string, args ...any) error {
		return fault.New(fault.Invalid, "cannot wait for %q", text).Why(format, args...).Try("drover wait --help")
	}
	parts := strings.Split(text, "&&")
	for i, part := range parts {
		if long, ok := words[kind][strings.TrimSpace(part)]; ok {
			parts[i] = long
		}
	}
	var terms []comparison
	for part := range strings.SplitSeq(strings.Join(parts, "&&"), "&&") {
		t, ok := parseTerm(part)
		if !ok {
			return nil, bad("%q is not a comparison", strings.TrimSpace(part))
		}
		if !contains(fieldsOf[kind], t.field) && (t.field != "idle" || kind == "lrp" || kind == "task") {
			return nil, bad("%s has no field %q; it has %s", kind, t.field, orList(fieldsOf[kind]))
		}
		if _, err := strconv.Atoi(t.value); err != nil && strings.ContainsAny(t.op, "<>") {
			return nil, bad("%q is not a number", t.value)
		}
		terms = append(terms, t)
	}
	return terms, nil
}

func parseTerm(text string) (comparison, bool) {
	for _, op := range operators {
		if field, value, ok := strings.Cut(text, op); ok {
			t := comparison{strings.TrimSpace(field), op, strings.Trim(strings.TrimSpace(value), `"'`)}
			return t, t.field != "" && t.value != ""
		}
	}
	return comparison{}, false
}

func (t comparison) holds(value string) bool {
	switch t.op {
	case "==":
		return strings.EqualFold(value, t.value)
	case "!=":
		return !strings.EqualFold(value, t.value)
	}
	have, err1 := strconv.Atoi(value)
	want, err2 := strconv.Atoi(t.value)
	if err1 != nil || err2 != nil {
		return false
	}
	switch t.op {
	case ">=":
		return have >= want
	case "<=":
		return have <= want
	case ">":
		return have > want
	default:
		return have < want
	}
}

func (c condition) String() string {
	s := c.kind + "/" + c.name
	if c.text != "ready" && c.text != "" {
		s += " --for '" + c.text + "'"
	}
	return s
}

func (c condition) check(st *droverv1.StatusResponse) verdict {
	fields := fieldValues(st, c.kind, c.name)
	if fields == nil {
		return verdict{failed: fault.New(fault.NotFound, "there is no %s %q", kindWord(c.kind), c.name).Coded(codeOfKind(c.kind)).Try("drover status")}
	}
	v := verdict{done: true}
	for _, t := range c.terms {
		if !t.holds(fields[t.field]) {
			v.done = false
			v.waiting = fmt.Sprintf("%s is %s", t.field, orDash(fields[t.field]))
			v = v.and(c.hopeless(st, t))
		}
	}
	if text := heldBy(st, c.kind, c.name); text != "" && !v.done {
		v.waiting += ": " + text
	}
	v.lines = []line{{c.kind + "/" + c.name, v.waiting, v.done}}
	if v.done {
		v.lines[0].text = c.text
	}
	return v
}

// hopeless is a failure that keeps a comparison from ever holding by itself: of
// a unit that would have to be active or idle.
func (c condition) hopeless(st *droverv1.StatusResponse, t comparison) verdict {
	var failed *droverv1.Unit
	well := 0
	for _, u := range st.Units {
		switch {
		case c.kind == "app" && u.Application != c.name, c.kind == "unit" && u.Name != c.name:
		case c.kind != "app" && c.kind != "unit":
		case u.Failure != nil && !u.Resolved:
			failed = u
		default:
			well++
		}
	}
	if failed == nil {
		return verdict{done: true}
	}
	wants := t.field == "status" && t.op == "==" && t.value == "active" ||
		t.field == "agent" && t.op == "==" && t.value == "idle" ||
		t.field == "idle" && t.op == "==" && t.value == "true" ||
		t.field == "units.active" && contains([]string{"==", ">=", ">"}, t.op) && !t.holds(strconv.Itoa(well)) && t.above(well)
	if !wants {
		return verdict{done: true}
	}
	return verdict{failed: hookFailed(failed)}
}

// above reports whether the comparison wants more than n.
func (t comparison) above(n int) bool {
	want, err := strconv.Atoi(t.value)
	return err == nil && (want > n || t.op == ">" && want == n)
}

// heldBy is what the entity waits for, if anything is known to hold it.
func heldBy(st *droverv1.StatusResponse, kind, name string) string {
	switch kind {
	case "app":
		if x := findApp(st, name); x != nil && len(x.Impediments) > 0 {
			return waitText(name, x.Impediments)
		}
	case "unit":
		for _, u := range st.Units {
			if u.Name == name {
				return waitText(name, u.Impediments)
			}
		}
	case "machine":
		for _, m := range st.Machines {
			if m.Id == name {
				return waitText(name, m.Impediments)
			}
		}
	case "task":
		for _, t := range st.Tasks {
			if t.Guid == name {
				return waitText("task:"+name, t.Impediments)
			}
		}
	case "lrp":
		return lrpHeldBy(st, name)
	}
	return ""
}

func lrpHeldBy(st *droverv1.StatusResponse, name string) string {
	for _, l := range st.Lrps {
		if l.ProcessGuid != name {
			continue
		}
		if len(l.Impediments) > 0 {
			return waitText(name, l.Impediments)
		}
		for _, x := range l.Indexes {
			if len(x.Impediments) > 0 {
				return waitText(name, x.Impediments)
			}
		}
	}
	return ""
}

func codeOfKind(kind string) string {
	return map[string]string{
		"app": fault.CodeNoSuchApplication, "unit": fault.CodeNoSuchUnit, "machine": fault.CodeNoSuchMachine,
		"lrp": fault.CodeNoSuchLRP, "task": fault.CodeNoSuchTask,
	}[kind]
}

func kindWord(kind string) string {
	if kind == "app" {
		return "application"
	}
	return kind
}

// fieldValues are the fields of one entity; nil when there is no such entity.
func fieldValues(st *droverv1.StatusResponse, kind, name string) map[string]string {
	switch kind {
	case "app":
		if x := findApp(st, name); x != nil {
			idle := true
			for _, u := range st.Units {
				idle = idle && (u.Application != name || u.Agent.GetValue() == "idle" && u.Failure == nil)
			}
			return map[string]string{
				"life": x.Life, "status": x.Status.GetValue(), "idle": strconv.FormatBool(idle),
				"units": fmt.Sprint(x.Units), "units.active": fmt.Sprint(x.ActiveUnits),
			}
		}
	case "unit":
		for _, u := range st.Units {
			if u.Name == name {
				return map[string]string{
					"life": u.Life, "status": u.Workload.GetValue(), "agent": agentWord(u),
					"idle": strconv.FormatBool(u.Agent.GetValue() == "idle" && u.Failure == nil),
				}
			}
		}
	case "machine":
		for _, m := range st.Machines {
			if m.Id == name {
				return map[string]string{"life": m.Life, "agent": m.Agent, "idle": strconv.FormatBool(m.Agent == "alive")}
			}
		}
	case "lrp":
		return lrpFields(st, name)
	case "task":
		for _, t := range st.Tasks {
			if t.Guid == name {
				return map[string]string{"life": t.Life, "state": t.State, "failed": strconv.FormatBool(t.Failed)}
			}
		}
	}
	return nil
}

func lrpFields(st *droverv1.StatusResponse, name string) map[string]string {
	for _, l := range st.Lrps {
		if l.ProcessGuid != name {
			continue
		}
		n, crashes := map[string]int{}, int32(0)
		for _, x := range l.Indexes {
			n[x.State]++
			crashes += x.CrashCount
		}
		return map[string]string{
			"instances": fmt.Sprint(l.Instances), "running": fmt.Sprint(n["RUNNING"]), "crashed": fmt.Sprint(n["CRASHED"]),
			"crashes": fmt.Sprint(crashes), "life": l.Life,
		}
	}
	return nil
}
