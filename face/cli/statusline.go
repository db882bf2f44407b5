package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"drover/wire/droverv1"
)

// statusLine is one thing in one line: its name, its state, what else is known
// as NAME=VALUE, and why. It holds no ages, so it changes when the thing does.
type statusLine struct {
	name  string // "unit/blog/0"
	state string
	facts []string
	note  string
}

func (l statusLine) String() string {
	words := append([]string{l.name, orDash(l.state)}, l.facts...)
	if l.note != "" {
		words = append(words, "# "+strings.Join(strings.Fields(l.note), " "))
	}
	return strings.Join(words, " ")
}

// fact adds NAME=VALUE, quoted where it has spaces, if there is a value.
func (l *statusLine) fact(name, value string) {
	if value == "" {
		return
	}
	if strings.ContainsAny(value, " \t\n\"") {
		value = strconv.Quote(value)
	}
	l.facts = append(l.facts, name+"="+value)
}

func statusLines(st *droverv1.StatusResponse) []statusLine {
	var out []statusLine
	for _, x := range st.Applications {
		l := statusLine{name: "app/" + x.Name, state: x.Status.GetValue(), note: x.Status.GetMessage()}
		l.fact("life", x.Life)
		l.fact("units", fmt.Sprintf("%d/%d", x.ActiveUnits, x.Units))
		l.fact("charm", fmt.Sprintf("%s-%d", x.Charm, x.CharmRevision))
		l.held(x.Name, x.Impediments)
		out = append(out, l)
	}
	for _, u := range st.Units {
		l := statusLine{name: "unit/" + u.Name, state: u.Workload.GetValue()}
		l.fact("agent", agentWord(u))
		l.fact("life", u.Life)
		l.fact("machine", u.Machine)
		l.fact("address", addressOf(u))
		if u.Leader {
			l.fact("leader", "true")
		}
		l.fact("since", stamp(u.Workload.GetSince()))
		l.note, _ = unitMessage(u)
		out = append(out, l)
	}
	for _, r := range st.Relations {
		l := statusLine{name: "relation/" + strings.ReplaceAll(endsOf(r), " ", "+"), state: r.Life}
		l.fact("scope", r.Scope)
		l.fact("in_scope", fmt.Sprint(r.InScopeCount))
		l.held(r.Name, r.Impediments)
		out = append(out, l)
	}
	for _, m := range st.Machines {
		l := statusLine{name: "machine/" + m.Id, state: m.Agent, note: m.InstanceError}
		l.fact("life", m.Life)
		l.fact("address", m.Address)
		l.held(m.Id, m.Impediments)
		out = append(out, l)
	}
	return append(out, workLines(st)...)
}

func workLines(st *droverv1.StatusResponse) []statusLine {
	var out []statusLine
	for _, p := range st.Lrps {
		l := statusLine{name: "lrp/" + p.ProcessGuid, state: p.Life}
		l.fact("domain", p.Domain)
		l.fact("instances", fmt.Sprint(max(0, p.Instances)))
		l.held(p.ProcessGuid, p.Impediments)
		out = append(out, l)
		for _, x := range p.Indexes {
			name := fmt.Sprintf("%s/%d", p.ProcessGuid, x.Index)
			l := statusLine{name: "lrp/" + name, state: x.State, note: x.Note}
			l.fact("cell", x.Cell)
			l.fact("address", x.Address)
			l.fact("since", stamp(x.Since))
			if x.CrashCount > 0 {
				l.fact("crashes", fmt.Sprint(x.CrashCount))
			}
			l.fact("restart_at", stamp(x.RestartAt))
			if x.Note == "" {
				l.held(name, x.Impediments)
			}
			out = append(out, l)
		}
	}
	for _, t := range st.Tasks {
		l := statusLine{name: "task/" + t.Guid, state: t.State, note: t.Note}
		l.fact("cell", t.Cell)
		l.fact("since", stamp(t.Since))
		if t.Failed {
			l.fact("failed", "true")
		}
		if t.Note == "" {
			l.held("task:"+t.Guid, t.Impediments)
		}
		out = append(out, l)
	}
	for _, c := range st.Cells {
		l := statusLine{name: "cell/" + c.Id, state: c.Presence, note: c.Unfit}
		if c.Evacuating {
			l.fact("evacuating", "true")
		}
		l.fact("instances", fmt.Sprint(c.Instances))
		l.fact("tasks", fmt.Sprint(c.Tasks))
		out = append(out, l)
	}
	return out
}

// held says what the thing waits for.
func (l *statusLine) held(self string, ims []*droverv1.Impediment) {
	if len(ims) > 0 {
		l.note = waitText(self, ims)
	}
}

func stamp(nanos int64) string {
	if nanos == 0 {
		return ""
	}
	return time.Unix(0, nanos).UTC().Format(time.RFC3339)
}
