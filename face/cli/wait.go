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
	followFlags
}

// followFlags say how long a goal is waited for, and how long it must hold.
type followFlags struct {
	timeout, stable time.Duration
}

func (f *followFlags) add(cmd *cobra.Command) {
	cmd.Flags().DurationVar(&f.timeout, "timeout", defaultTimeout, "longest time to wait")
	cmd.Flags().DurationVar(&f.stable, "stable", 0, "it must hold for so long without a break")
}

const defaultTimeout = 10 * time.Minute

func (f *waitFlags) add(cmd *cobra.Command, _ *App) {
	cmd.Flags().BoolVar(&f.wait, "wait", false, "wait until it is done (the default on a terminal)")
	cmd.Flags().BoolVar(&f.detach, "detach", false, "do not wait")
	f.followFlags.add(cmd)
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
	return a.follow(cmd.Context(), s, f.followFlags, g, a.newProgress())
}

func (a *App) waitCmd() *cobra.Command {
	var cond string
	var f followFlags
	cmd := &cobra.Command{
		Use: "wait ENTITY...", Short: "Wait until something is ready, idle or removed, or a condition holds",
		Long: `Wait until something is ready, idle or removed, or a condition holds.

ENTITY is app/NAME, unit/NAME, machine/ID, lrp/GUID or task/GUID; the kind may be
left out where the name tells it. Without --for it waits until the entity is
ready: units active and their agents idle, the agent alive, all instances
RUNNING, the task COMPLETED.

Conditions: removed, idle, ready, or comparisons joined by "&&" over
  life, status, idle, units, units.active          (applications)
  life, status, agent, idle                        (units)
  life, agent                                      (machines)
  life, instances, running, crashed, crashes       (LRPs)
  life, state, failed                              (tasks)

With --stable it must hold for that long. A wait ends at once when something has
failed: with 8, and the last lines of its output. When the time is up it ends
with 7, or 9 if no cell has room; what it waits for goes on.`,
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
			return a.follow(cmd.Context(), s, f, g, p)
		},
	}
	cmd.Flags().StringVar(&cond, "for", "ready", "what to wait for")
	f.add(cmd)
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
	if cond == "ready" || cond == "" || cond == "idle" && (kind == "lrp" || kind == "task") {
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
	kind, code := fault.Timeout, fault.CodeStillWaiting
	if v.unplaced {
		kind, code = fault.NotPlaceable, fault.CodeNotPlaceable
	}
	f := fault.New(kind, "still waiting for %s after %s", what, timeout)
	if v.waiting != "" {
		f = f.Why("%s\nit goes on in the background", v.waiting)
	} else {
		f = f.Why("it goes on in the background")
	}
	return f.Coded(code).Try("drover wait "+what, "drover why "+whyName(what))
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
	fmt.Fprintf(a.Err, "\nStill going on in the background. Check: drover wait %s\n", what)
	return exitCode(ExitInterrupted)
}

// stderrIsTerminal tells whether progress may rewrite its lines.
func (a *App) stderrIsTerminal() bool {
	_, isFile := a.Err.(*os.File)
	return isFile && isTerminal(a.Err) && a.Getenv("TERM") != "dumb"
}
