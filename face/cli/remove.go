package cli

import (
	"bufio"
	"context"
	"fmt"
	"strings"
	"time"

	"drover/noun/fault"
	"drover/wire/droverv1"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
)

type removeFlags struct {
	force, dryRun, keepMachine bool
	maxWait                    time.Duration
	wait                       waitFlags
}

func (f *removeFlags) add(cmd *cobra.Command, a *App) {
	cmd.Flags().BoolVar(&f.force, "force", false, "go on without a clean departure after --max-wait")
	cmd.Flags().DurationVar(&f.maxWait, "max-wait", time.Minute, "with --force: time for each step to be done cleanly")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "only say what would go")
	cmd.Flags().BoolVarP(&a.flags.yes, "yes", "y", false, "do not ask")
	f.wait.add(cmd, a)
}

func (f *removeFlags) request(a *App, name string) *droverv1.RemoveRequest {
	return &droverv1.RemoveRequest{
		Model: a.flags.model, Name: name, Force: f.force,
		MaxWaitMs: f.maxWait.Milliseconds(), KeepMachine: f.keepMachine,
	}
}

func (a *App) removeApplicationCmd() *cobra.Command {
	var f removeFlags
	cmd := &cobra.Command{
		Use: "remove-application APP...", Aliases: []string{"remove-app"}, Short: "Remove applications",
		Args: needSome("APP", 0), ValidArgsFunction: a.completeNames(0, "application"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.remove(cmd, "application", "app/", args, f, func(s *services) removeCall { return s.Model.RemoveApplication })
		},
	}
	f.add(cmd, a)
	return cmd
}

func (a *App) removeUnitCmd() *cobra.Command {
	var f removeFlags
	cmd := &cobra.Command{
		Use: "remove-unit UNIT...", Short: "Remove units",
		Args: needSome("UNIT", 0), ValidArgsFunction: a.completeNames(0, "unit"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.remove(cmd, "unit", "unit/", args, f, func(s *services) removeCall { return s.Model.RemoveUnit })
		},
	}
	cmd.Flags().BoolVar(&f.keepMachine, "keep-machine", false, "keep the unit's machine, even if it was made for it")
	f.add(cmd, a)
	return cmd
}

func (a *App) removeMachineCmd() *cobra.Command {
	var f removeFlags
	cmd := &cobra.Command{
		Use: "remove-machine MACHINE...", Short: "Remove machines",
		Args: needSome("MACHINE", 0), ValidArgsFunction: a.completeNames(0, "machine"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.remove(cmd, "machine", "machine/", args, f, func(s *services) removeCall { return s.Model.RemoveMachine })
		},
	}
	f.add(cmd, a)
	return cmd
}

type removeCall func(context.Context, *connect.Request[droverv1.RemoveRequest]) (*connect.Response[droverv1.RemoveResponse], error)

// remove shows what will go, asks where a person can answer, and removes.
func (a *App) remove(cmd *cobra.Command, kind, prefix string, names []string, f removeFlags, pick func(*services) removeCall) error {
	s, err := a.services()
	if err != nil {
		return err
	}
	call, ctx := pick(s), cmd.Context()
	for _, name := range names {
		req := f.request(a, name)
		req.DryRun, req.RequestId = true, a.NewID()
		resp, err := call(ctx, connect.NewRequest(req))
		if err != nil {
			return a.suggest(ctx, err, kind, name)
		}
		a.printPlan(name, resp.Msg, f.dryRun)
	}
	if f.dryRun {
		return nil
	}
	if err := a.confirm(cmd); err != nil {
		return err
	}
	var gone gone
	for _, name := range names {
		req := f.request(a, name)
		req.RequestId = a.NewID()
		resp, err := call(ctx, connect.NewRequest(req))
		if err != nil {
			return a.suggest(ctx, err, kind, name)
		}
		switch {
		case resp.Msg.Gone:
			a.say("Removed %s %s.", kind, name)
		case !resp.Msg.Changed:
			a.say("%s %s is being removed already.", kind, name)
		default:
			a.say("Removing %s %s.", kind, name)
		}
		gone = append(gone, prefix+name)
	}
	return a.afterwards(cmd, f.wait, gone)
}

// printPlan says what goes; a dry run says it also with --quiet.
func (a *App) printPlan(name string, r *droverv1.RemoveResponse, dryRun bool) {
	switch {
	case len(r.Plan) == 0:
	case dryRun:
		fmt.Fprintf(a.Err, "Removing %s: %s\n", name, strings.Join(r.Plan, "; "))
	default:
		a.say("Removing %s: %s", name, strings.Join(r.Plan, "; "))
	}
}

// destroyFlags are those of every command that ends or removes something.
type destroyFlags struct{ dryRun bool }

func (f *destroyFlags) add(cmd *cobra.Command, a *App) {
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "only say what would go")
	cmd.Flags().BoolVarP(&a.flags.yes, "yes", "y", false, "do not ask")
}

// announce says what will go, and whether to go on: not after a dry run.
func (a *App) announce(cmd *cobra.Command, f destroyFlags, format string, args ...any) (bool, error) {
	if f.dryRun {
		fmt.Fprintf(a.Err, format+"\n", args...) // it is what was asked for, also with --quiet
		return false, nil
	}
	a.say(format, args...)
	err := a.confirm(cmd)
	return err == nil, err
}

// confirm asks whether to go on, if a person can answer and --yes is not given.
func (a *App) confirm(cmd *cobra.Command) error {
	noInput, _ := cmd.Flags().GetBool("no-input") // false for unknown flags
	switch {
	case a.flags.yes:
		return nil
	case noInput:
		return usage(cmd, "%s asks before it goes on, and --no-input forbids to: add --yes", cmd.CommandPath())
	case !isTerminal(a.In) || !isTerminal(a.Err):
		return nil
	}
	fmt.Fprint(a.Err, "Go on? [y/N] ")
	line, err := bufio.NewReader(a.In).ReadString('\n')
	if err != nil && line == "" {
		line = "n"
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return nil
	}
	fmt.Fprintln(a.Err, "Nothing was changed.")
	return exitCode(ExitFailed)
}

func (a *App) removeRelationCmd() *cobra.Command {
	var f removeFlags
	cmd := &cobra.Command{
		Use: "remove-relation APP[:ENDPOINT] APP[:ENDPOINT]", Short: "Remove a relation",
		Args: needArgs("APP[:ENDPOINT]", "APP[:ENDPOINT]"), ValidArgsFunction: a.completeNames(2, "application"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.removeRelation(cmd, args, f) },
	}
	cmd.Flags().BoolVar(&f.force, "force", false, "go on without a clean departure after --max-wait")
	cmd.Flags().DurationVar(&f.maxWait, "max-wait", time.Minute, "with --force: time for each step to be done cleanly")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "only say what would go")
	cmd.Flags().BoolVarP(&a.flags.yes, "yes", "y", false, "do not ask")
	return cmd
}

func (a *App) removeRelation(cmd *cobra.Command, args []string, f removeFlags) error {
	s, err := a.services()
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	st, err := a.status(ctx, s, false)
	if err != nil {
		return err
	}
	if rel := findRelation(st, args[0], args[1]); rel != nil {
		a.say("Removing %s: %d units leave it", relationName(rel), rel.InScopeCount)
	} else if f.dryRun {
		return a.suggest(ctx, fault.New(fault.NotFound, "there is no relation between %s and %s", args[0], args[1]).Coded(fault.CodeNoSuchRelation).
			Try("drover status"), "application", appPart(args[0]), appPart(args[1]))
	}
	if f.dryRun {
		return nil
	}
	if err := a.confirm(cmd); err != nil {
		return err
	}
	resp, err := s.Model.RemoveRelation(ctx, connect.NewRequest(&droverv1.RemoveRelationRequest{
		RequestId: a.NewID(), Model: a.flags.model, A: args[0], B: args[1], Force: f.force, MaxWaitMs: f.maxWait.Milliseconds(),
	}))
	if err != nil {
		return a.suggest(ctx, err, "application", appPart(args[0]), appPart(args[1]))
	}
	if resp.Msg.Gone {
		a.say("Removed the relation.")
	}
	return nil
}

func findRelation(st *droverv1.StatusResponse, x, y string) *droverv1.Relation {
	for _, r := range st.Relations {
		if len(r.Endpoints) != 2 {
			continue
		}
		p, q := r.Endpoints[0], r.Endpoints[1]
		if isEnd(p, x) && isEnd(q, y) || isEnd(p, y) && isEnd(q, x) {
			return r
		}
	}
	return nil
}

func isEnd(e *droverv1.Endpoint, text string) bool {
	app, name, named := strings.Cut(text, ":")
	return e.Application == app && (!named || e.Name == name)
}
