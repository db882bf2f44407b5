package cli

import (
	"context"
	"fmt"
	"io"
	"sort"
	"strings"
	"time"

	"drover/wire/droverv1"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
)

func (a *App) status(ctx context.Context, s *services, work bool) (*droverv1.StatusResponse, error) {
	resp, err := s.Model.Status(ctx, connect.NewRequest(&droverv1.StatusRequest{Model: a.flags.model, Work: work}))
	if err != nil {
		return nil, err
	}
	return resp.Msg, nil
}

func (a *App) statusCmd() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "status [SELECTOR...]", Short: "Show applications, units, relations, processes and tasks",
		Long: `Show applications, units, relations, processes and tasks.

A selector is an application, a unit, a machine's id, a cell, an LRP, a task, or
state=WORD for everything that is in that state; several show what matches any.`,
		ValidArgsFunction: a.completeNames(0, "application"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.services()
			if err != nil {
				return err
			}
			st, err := a.status(cmd.Context(), s, true)
			if err != nil {
				return err
			}
			selectStatus(st, args)
			return a.show(cmd, shown{data: plain(st), names: statusNames(st), table: func(w io.Writer) { a.printStatus(w, st, all) }})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "every unit, also when there are more than 200")
	formatFlag(cmd)
	return cmd
}

func statusNames(st *droverv1.StatusResponse) []string {
	var names []string
	for _, x := range st.Applications {
		names = append(names, "app/"+x.Name)
	}
	for _, x := range st.Units {
		names = append(names, "unit/"+x.Name)
	}
	for _, x := range st.Machines {
		names = append(names, "machine/"+x.Id)
	}
	for _, x := range st.Lrps {
		names = append(names, "lrp/"+x.ProcessGuid)
	}
	for _, x := range st.Tasks {
		names = append(names, "task/"+x.Guid)
	}
	return names
}

const unitsShown = 200

func (a *App) printStatus(w io.Writer, st *droverv1.StatusResponse, all bool) {
	paint := a.painter()
	fmt.Fprintf(w, "Cluster %s   leader %s (epoch %d)   rev %d%s\n", st.Cluster, orDash(st.Leader), st.Epoch, st.Revision, problemCount(st.Problems))
	if st.Model != "" && st.Model != "default" {
		fmt.Fprintf(w, "Model %s\n", st.Model)
	}
	for _, t := range []*table{appTable(st), unitTable(st, all), relationTable(st), machineTable(st), workTable(st)} {
		if len(t.rows) > 0 {
			fmt.Fprintln(w)
			t.print(w, paint)
		}
	}
	if !all && len(st.Units) > unitsShown {
		fmt.Fprintf(w, "%d units are not shown: drover status --all\n", len(st.Units)-unitsShown)
	}
	if len(st.Applications)+len(st.Lrps)+len(st.Tasks) == 0 {
		fmt.Fprintln(w, "\nNothing runs yet. Try: drover deploy demo")
	}
	for _, q := range st.Quarantined {
		fmt.Fprintf(w, "unreadable row set aside: %s\n", q)
	}
}

func problemCount(n int32) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "   1 problem: drover why --all"
	default:
		return fmt.Sprintf("   %d problems: drover why --all", n)
	}
}

func appTable(st *droverv1.StatusResponse) *table {
	t := newTable("App", "Status", "Units", "Charm", "Life", "Version", "Message")
	for _, x := range st.Applications {
		life := x.Life
		msg := x.Status.GetMessage()
		if im := firstLeaf(x.Impediments); im != nil {
			msg = impedimentText(im) + " ▸ drover why " + x.Name
		}
		if life == "alive" {
			life = ""
		}
		t.add(x.Name, orDash(x.Status.GetValue()), fmt.Sprintf("%d/%d", x.ActiveUnits, x.Units),
			fmt.Sprintf("%s r%d", x.Charm, x.CharmRevision), life, x.Version, cut(msg, 100))
	}
	return t
}

func unitTable(st *droverv1.StatusResponse, all bool) *table {
	t := newTable("Unit", "Machine", "Workload", "Agent", "Life", "Address", "Since", "Message")
	units := sortedUnits(st.Units)
	if !all && len(units) > unitsShown {
		units = units[:unitsShown]
	}
	for _, u := range units {
		name, life := u.Name, u.Life
		if u.Leader {
			name += "*"
		}
		if u.Principal != "" {
			name = "  " + name
		}
		if life == "alive" {
			life = ""
		}
		t.add(name, u.Machine, orDash(u.Workload.GetValue()), orDash(agentWord(u)), life, addressOf(u),
			ago(st.Now, u.Workload.GetSince()), cut(unitMessage(u), 100))
	}
	return t
}

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

func unitMessage(u *droverv1.Unit) string {
	if f := u.Failure; f != nil {
		return fmt.Sprintf("hook failed: %s (%s) ▸ drover logs %s --last-hook", f.Hook, failureReason(f), u.Name)
	}
	if u.Hook != "" {
		return "running " + u.Hook
	}
	if m := u.Workload.GetMessage(); m != "" {
		return m
	}
	if im := firstLeaf(u.Impediments); im != nil {
		return impedimentText(im)
	}
	return u.Agent.GetMessage()
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

func relationTable(st *droverv1.StatusResponse) *table {
	t := newTable("Relation", "Scope", "Life", "In scope", "Message")
	for _, r := range st.Relations {
		msg := ""
		if im := firstLeaf(r.Impediments); im != nil {
			msg = impedimentText(im)
		}
		t.add(relationName(r), r.Scope, r.Life, fmt.Sprint(r.InScopeCount), cut(msg, 80))
	}
	return t
}

func machineTable(st *droverv1.StatusResponse) *table {
	t := newTable("Machine", "Agent", "Life", "Address", "Provider", "Message")
	for _, m := range st.Machines {
		msg, life := m.InstanceError, m.Life
		if life == "alive" {
			life = ""
		}
		if im := firstLeaf(m.Impediments); im != nil {
			msg = impedimentText(im)
		} else if m.Agent != "alive" && m.LastHeard != 0 {
			msg = "not heard for " + ago(st.Now, m.LastHeard)
		}
		t.add(m.Id, orDash(m.Agent), life, m.Address, m.Provider, cut(msg, 80))
	}
	return t
}

func workTable(st *droverv1.StatusResponse) *table {
	t := newTable("LRP/Task", "Index", "State", "Cell", "Since", "Note")
	for _, l := range st.Lrps {
		addLRP(t, st, l)
	}
	for _, k := range st.Tasks {
		note := k.Note
		if im := firstLeaf(k.Impediments); im != nil && note == "" {
			note = impedimentText(im)
		}
		t.add("task "+k.Guid, "", k.State, k.Cell, ago(st.Now, k.Since), cut(note, 80))
	}
	return t
}

// addLRP shows the running indexes of an LRP in one line and each other one in
// a line of its own.
func addLRP(t *table, st *droverv1.StatusResponse, l *droverv1.LRPStatus) {
	var running []*droverv1.LRPIndexStatus
	cells := map[string]bool{}
	oldest := int64(0)
	for _, x := range l.Indexes {
		if x.State == "RUNNING" {
			running = append(running, x)
			cells[x.Cell] = true
			oldest = max(oldest, x.Since)
		}
	}
	name := l.ProcessGuid
	if len(running) > 0 || len(l.Indexes) == 0 {
		note := ""
		if l.Instances < 0 {
			note = "no longer desired"
		}
		t.add(name, indexRange(running), fmt.Sprintf("RUNNING %d/%d", len(running), max(0, l.Instances)),
			strings.Join(sortedKeys(cells), ","), ago(st.Now, oldest), note)
	}
	for _, x := range l.Indexes {
		if x.State == "RUNNING" {
			continue
		}
		note := x.Note
		if im := firstLeaf(x.Impediments); im != nil && note == "" {
			note = impedimentText(im)
		}
		if note != "" || x.State == "UNCLAIMED" || x.State == "CRASHED" {
			note = strings.TrimSpace(note + fmt.Sprintf(" ▸ drover why %s/%d", name, x.Index))
		}
		t.add(name, fmt.Sprint(x.Index), x.State, x.Cell, ago(st.Now, x.Since), cut(note, 100))
	}
}

func indexRange(xs []*droverv1.LRPIndexStatus) string {
	var parts []string
	for i := 0; i < len(xs); {
		j := i
		for j+1 < len(xs) && xs[j+1].Index == xs[j].Index+1 {
			j++
		}
		if i == j {
			parts = append(parts, fmt.Sprint(xs[i].Index))
		} else {
			parts = append(parts, fmt.Sprintf("%d..%d", xs[i].Index, xs[j].Index))
		}
		i = j + 1
	}
	return strings.Join(parts, ",")
}

func sortedKeys(m map[string]bool) []string {
	keys := make([]string, 0, len(m))
	for k := range m { // order-free: sorted below
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
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
