package cli

import (
	"fmt"
	"os"
	"strings"
	"time"

	"drover/noun/fault"

	"github.com/spf13/cobra"
)

// waitFlags say whether a command waits for what it asked for.
type waitFlags struct {
	wait, detach bool
	timeout      time.Duration
}

const defaultTimeout = 10 * time.Minute

func (f *waitFlags) add(cmd *cobra.Command, _ *App) {
	cmd.Flags().BoolVar(&f.wait, "wait", false, "wait until it is done (the default on a terminal)")
	cmd.Flags().BoolVar(&f.detach, "detach", false, "do not wait")
	cmd.Flags().DurationVar(&f.timeout, "timeout", defaultTimeout, "longest time to wait")
}

// afterwards waits for the goal if the flags and the terminal say so.
func (a *App) afterwards(cmd *cobra.Command, f waitFlags, g goal) error {
	if !f.wait && (f.detach || !isTerminal(a.Out) || !isTerminal(a.Err)) {
		return nil
	}
	s, err := a.services()
	if err != nil {
		return err
	}
	return a.follow(cmd.Context(), s, f.timeout, g, a.newProgress())
}

func (a *App) waitCmd() *cobra.Command {
	var cond string
	var timeout time.Duration
	cmd := &cobra.Command{
		Use: "wait ENTITY...", Short: "Wait until something is ready, idle or removed, or a condition holds",
		Long: `Wait until something is ready, idle or removed, or a condition holds.

ENTITY is app/NAME, unit/NAME, machine/ID, lrp/GUID or task/GUID; the kind may be
left out where the name tells it. Without --for it waits until the entity is
ready: units active and their agents idle, the agent alive, all instances
RUNNING, the task COMPLETED.

Conditions: removed, idle, ready, or comparisons joined by "&&" over
  life, status, units, units.active (applications)
  life, status, agent               (units)
  life, agent                       (machines)
  instances, running, crashed       (LRPs)
  state, failed                     (tasks)`,
		Example: `  drover wait app/blog
  drover wait app/blog --for 'units.active>=2 && life==alive'
  drover wait app/blog --for removed`,
		Args:              needSome("ENTITY", 0),
		ValidArgsFunction: a.completeNames(0, "application", "unit", "lrp", "task"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var g goals
			for _, arg := range args {
				one, err := parseGoal(arg, cond)
				if err != nil {
					return err
				}
				g = append(g, one)
			}
			s, err := a.services()
			if err != nil {
				return err
			}
			p := a.newProgress()
			if formatOf(cmd) == "json" {
				p = a.newJSONProgress()
			}
			return a.follow(cmd.Context(), s, timeout, g, p)
		},
	}
	cmd.Flags().StringVar(&cond, "for", "ready", "what to wait for")
	cmd.Flags().DurationVar(&timeout, "timeout", defaultTimeout, "longest time to wait")
	formatsFlag(cmd, "text", "json")
	return cmd
}

// parseGoal reads an entity and a condition.
func parseGoal(entity, cond string) (goal, error) {
	kind, name, ok := strings.Cut(entity, "/")
	switch {
	case ok && contains([]string{"app", "application"}, kind):
		kind = "app"
	case ok && contains([]string{"unit", "machine", "lrp", "task"}, kind):
	case ok:
		kind, name = "unit", entity
	case strings.HasPrefix(entity, "task:"):
		kind, name = "task", strings.TrimPrefix(entity, "task:")
	case isNumber(entity):
		kind, name = "machine", entity
	default:
		kind, name = "app", entity
	}
	if name == "" {
		return nil, fault.New(fault.Invalid, "%q names nothing", entity).Why("an entity is app/NAME, unit/NAME, machine/ID, lrp/GUID or task/GUID").Try("drover wait --help")
	}
	if cond == "removed" {
		return gone{kind + "/" + name}, nil
	}
	if cond == "ready" || cond == "" {
		switch kind {
		case "app":
			return appsReady{name}, nil
		case "lrp":
			return lrpReady(name), nil
		case "task":
			return taskDone(name), nil
		}
	}
	terms, err := parseTerms(kind, cond)
	if err != nil {
		return nil, err
	}
	return condition{kind: kind, name: name, text: cond, terms: terms}, nil
}

func isNumber(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// timedOut is the error of a wait whose time is up.
func timedOut(timeout time.Duration, what string, v verdict) error {
	kind := fault.Timeout
	if v.unplaced {
		kind = fault.NotPlaceable
	}
	f := fault.New(kind, "still waiting for %s after %s", what, timeout)
	if v.waiting != "" {
		f = f.Why("%s\nit goes on in the background", v.waiting)
	} else {
		f = f.Why("it goes on in the background")
	}
	return f.Try("drover wait "+what, "drover why "+whyName(what))
}

// whyName is an entity as why wants it.
func whyName(what string) string {
	first, _, _ := strings.Cut(what, " ")
	kind, name, ok := strings.Cut(first, "/")
	switch {
	case !ok:
		return first
	case kind == "task":
		return "task:" + name
	case contains([]string{"app", "unit", "machine", "lrp"}, kind):
		return name
	}
	return first
}

// interrupted says how to go on looking after Ctrl-C.
func (a *App) interrupted(what string) error {
	fmt.Fprintf(a.Err, "\nIt goes on in the background. Check: drover wait %s\n", what)
	return exitCode(ExitInterrupted)
}

// stderrIsTerminal tells whether progress may rewrite its lines.
func (a *App) stderrIsTerminal() bool {
	_, isFile := a.Err.(*os.File)
	return isFile && isTerminal(a.Err) && a.Getenv("TERM") != "dumb"
}
