package cli

import (
	"context"
	"io"
	"strings"

	"drover/noun/fault"
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

// statusFlags say what of a status is shown.
type statusFlags struct {
	all, problems, watch bool
	selectors            []string
}

func (a *App) statusCmd() *cobra.Command {
	var f statusFlags
	cmd := &cobra.Command{
		Use: "status [SELECTOR...]", Short: "Show applications, units, relations, processes and tasks",
		Long: `Show applications, units, relations, processes and tasks.

A selector is an application, a unit, a machine's id, a cell, an LRP, an LRP's
index, a task, or state=WORD for everything that is in that state; several show
what matches any.

Before a state stands ✗ if something failed, ! if somebody has to act, … if it is
on its way, ↓ if it goes; ▸ names the command that tells more; * marks the leader.`,
		Example: `  drover status blog --watch
  drover status state=error --format line
  drover status --problems`,
		ValidArgsFunction: a.completeNames(0, "application", "unit", "lrp"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.selectors = args
			s, err := a.services()
			if err != nil {
				return err
			}
			if f.watch {
				return a.watchStatus(cmd, s, f)
			}
			st, err := a.selectedStatus(cmd.Context(), s, f)
			if err != nil {
				return err
			}
			return a.show(cmd, a.shownStatus(cmd, st, f))
		},
	}
	cmd.Flags().BoolVar(&f.all, "all", false, "every row, also when there are more than 200")
	cmd.Flags().BoolVar(&f.problems, "problems", false, "only what has a problem, the worst first")
	cmd.Flags().BoolVarP(&f.watch, "watch", "w", false, "go on showing it as it changes")
	formatsFlag(cmd, "table", "wide", "json", "yaml", "name", "line")
	return cmd
}

// selectedStatus is the part of the status that the flags ask for. A name that
// matches nothing is an error; a state that nothing is in is told.
func (a *App) selectedStatus(ctx context.Context, s *services, f statusFlags) (*droverv1.StatusResponse, error) {
	st, err := a.status(ctx, s, true)
	if err != nil {
		return nil, err
	}
	unmatched := selectStatus(st, f.selectors)
	if f.problems {
		onlyProblems(st)
	}
	for _, sel := range unmatched {
		if f.watch {
			break // it may come
		}
		if state, ok := strings.CutPrefix(sel, "state="); ok {
			a.say("Nothing is in the state %q.", state)
			continue
		}
		err := fault.New(fault.NotFound, "nothing is called %q", sel).Coded(fault.CodeNoSuchThing).
			Why("no application, unit, machine, cell, LRP or task").Try("drover status")
		return nil, a.suggestAny(ctx, err, sel)
	}
	return st, nil
}

// suggestAny adds the nearest name of any kind.
func (a *App) suggestAny(ctx context.Context, err error, name string) error {
	for _, kind := range []string{"application", "unit", "lrp", "task", "machine", "cell"} {
		if better := a.suggest(ctx, err, kind, name); better != err { //nolint:errorlint // only whether it is another one matters
			return better
		}
	}
	return err
}

func (a *App) shownStatus(cmd *cobra.Command, st *droverv1.StatusResponse, f statusFlags) shown {
	return shown{
		data: plainStatus(st), names: statusNames(st),
		lines: func() []string {
			var out []string
			for _, l := range statusLines(st) {
				out = append(out, l.String())
			}
			return out
		},
		table: func(w io.Writer) {
			a.viewOf(cmd, st, f).print(w, a.painter())
		},
	}
}

func (a *App) viewOf(cmd *cobra.Command, st *droverv1.StatusResponse, f statusFlags) statusView {
	v := statusView{
		st: st, all: f.all, wide: formatOf(cmd) == "wide", filtered: f.problems || len(f.selectors) > 0,
		ordered: f.problems, width: terminalWidth(a.Out),
	}
	if v.wide {
		v.width = 0
	}
	return v
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

// plainStatus is a status for programs: every record has uid, life, rev and
// impediments.
func plainStatus(st *droverv1.StatusResponse) any { return withRev(plain(st)) }

func withRev(v any) any {
	switch x := v.(type) {
	case object:
		for i := range x {
			if x[i].name == "revision" {
				x[i].name = "rev"
			}
			x[i].value = withRev(x[i].value)
		}
	case []any:
		for i := range x {
			x[i] = withRev(x[i])
		}
	}
	return v
}
