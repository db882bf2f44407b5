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

func (a *App) integrateCmd() *cobra.Command {
	return &cobra.Command{
		Use: "integrate APP[:ENDPOINT] APP[:ENDPOINT]", Aliases: []string{"relate", "add-relation"},
		Short:             "Relate two applications",
		Args:              needArgs("APP[:ENDPOINT]", "APP[:ENDPOINT]"),
		ValidArgsFunction: a.completeNames(2, "application"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.services()
			if err != nil {
				return err
			}
			resp, err := s.Model.Integrate(cmd.Context(), connect.NewRequest(&droverv1.IntegrateRequest{
				RequestId: a.NewID(), Model: a.flags.model, A: args[0], B: args[1],
			}))
			if err != nil {
				return a.suggest(cmd.Context(), err, "application", appPart(args[0]), appPart(args[1]))
			}
			a.say("Integrated %s.", relationName(resp.Msg))
			return nil
		},
	}
}

func appPart(endpoint string) string {
	app, _, _ := strings.Cut(endpoint, ":")
	return app
}

func (a *App) addUnitCmd() *cobra.Command {
	var n int
	var to []string
	var w waitFlags
	cmd := &cobra.Command{
		Use: "add-unit APP", Short: "Add units to an application",
		Args:              needArgs("APP"),
		ValidArgsFunction: a.completeNames(1, "application"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.services()
			if err != nil {
				return err
			}
			resp, err := s.Model.AddUnit(cmd.Context(), connect.NewRequest(&droverv1.AddUnitRequest{
				RequestId: a.NewID(), Model: a.flags.model, Application: args[0], NumUnits: int32(n), To: to,
			}))
			if err != nil {
				return a.suggest(cmd.Context(), err, "application", args[0])
			}
			a.say("Added to %s%s.", args[0], withUnits(resp.Msg.Units, resp.Msg.Machines))
			return a.afterwards(cmd, w, appsReady{args[0]})
		},
	}
	cmd.Flags().IntVarP(&n, "num-units", "n", 1, "units to add")
	cmd.Flags().StringSliceVar(&to, "to", nil, "machines to use: an id, or new")
	w.add(cmd, a)
	return cmd
}

func (a *App) configCmd() *cobra.Command {
	var reset []string
	var file string
	cmd := &cobra.Command{
		Use: "config APP [KEY | KEY=VALUE ...]", Short: "Show or change an application's options",
		Args:              needSome("APP", 0),
		ValidArgsFunction: a.completeNames(1, "application"),
		RunE: func(cmd *cobra.Command, args []string) error {
			set, show, err := configArgs(cmd, args[1:], file)
			if err != nil {
				return err
			}
			if len(set) == 0 && len(reset) == 0 {
				return a.showConfig(cmd, args[0], show)
			}
			if show != "" {
				return usage(cmd, "%q is neither KEY=VALUE nor alone", show)
			}
			s, err := a.services()
			if err != nil {
				return err
			}
			_, err = s.Model.SetConfig(cmd.Context(), connect.NewRequest(&droverv1.SetConfigRequest{
				RequestId: a.NewID(), Model: a.flags.model, Application: args[0], Set: set, Reset_: reset,
			}))
			return a.suggest(cmd.Context(), err, "application", args[0])
		},
	}
	cmd.Flags().StringSliceVar(&reset, "reset", nil, "options to take back to their defaults")
	cmd.Flags().StringVar(&file, "file", "", "a YAML file of options to set")
	formatFlag(cmd)
	return cmd
}

func configArgs(cmd *cobra.Command, args []string, file string) (set map[string]string, show string, err error) {
	set = map[string]string{}
	if file != "" {
		if set, err = readOptionsFile(file); err != nil {
			return nil, "", err
		}
	}
	for _, arg := range args {
		if key, value, ok := strings.Cut(arg, "="); ok {
			set[key] = value
		} else if show != "" || len(args) > 1 {
			return nil, "", usage(cmd, "%q is not KEY=VALUE", arg)
		} else {
			show = arg
		}
	}
	return set, show, nil
}

func (a *App) showConfig(cmd *cobra.Command, app, key string) error {
	s, err := a.services()
	if err != nil {
		return err
	}
	resp, err := s.Model.GetConfig(cmd.Context(), connect.NewRequest(&droverv1.GetConfigRequest{Model: a.flags.model, Application: app}))
	if err != nil {
		return a.suggest(cmd.Context(), err, "application", app)
	}
	options := resp.Msg.Options
	out := shown{data: object{{"schema", "drover.config/v1"}, {"application", app}, {"options", plain(messages(options))}}}
	t := newTable("Option", "Value", "Type", "From", "Description")
	for _, o := range options {
		out.names = append(out.names, o.Name)
		from := "set"
		if o.IsDefault {
			from = "default"
		}
		value := o.Value
		if !o.IsSet {
			value, from = "-", "unset"
		}
		t.add(o.Name, cut(value, 40), o.Type, from, cut(o.Description, 60))
		if o.Name == key {
			return a.show(cmd, shown{data: plain(o), names: []string{o.Name}, table: func(w io.Writer) {
				_, _ = io.WriteString(w, o.Value+"\n") // a buffer: cannot fail
			}})
		}
	}
	if key != "" {
		f := fault.New(fault.NotFound, "application %q has no option %q", app, key).Coded(fault.CodeUnknownOption).Try("drover config " + app)
		if n := nearest(key, out.names); n != "" {
			f = f.Why("the nearest is %q", n)
		}
		return f
	}
	out.table = func(w io.Writer) { t.print(w, a.painter()) }
	return a.show(cmd, out)
}

func (a *App) resolveCmd() *cobra.Command {
	var noRetry, all, retry bool
	cmd := &cobra.Command{
		Use: "resolve UNIT", Aliases: []string{"resolved"}, Short: "Retry a unit's failed hook, or mark it done",
		Args: func(cmd *cobra.Command, args []string) error {
			if all {
				return needArgs()(cmd, args)
			}
			return needArgs("UNIT")(cmd, args)
		},
		ValidArgsFunction: a.completeNames(1, "unit"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if retry && noRetry {
				return usage(cmd, "--retry and --no-retry exclude each other")
			}
			s, err := a.services()
			if err != nil {
				return err
			}
			req := &droverv1.ResolveRequest{RequestId: a.NewID(), Model: a.flags.model, NoRetry: noRetry, All: all}
			if len(args) > 0 {
				req.Unit = args[0]
			}
			resp, err := s.Model.Resolve(cmd.Context(), connect.NewRequest(req))
			if err != nil {
				return a.suggest(cmd.Context(), err, "unit", req.Unit)
			}
			how := "its hook runs again"
			if noRetry {
				how = "its hook counts as done"
			}
			for _, u := range resp.Msg.Units {
				a.say("Resolved %s: %s.", u, how)
			}
			if len(resp.Msg.Units) == 0 {
				a.say("No unit waits for a failed hook.")
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&noRetry, "no-retry", false, "do not run the hook again, mark it done")
	cmd.Flags().BoolVar(&noRetry, "skip", false, "the same as --no-retry")
	cmd.Flags().BoolVar(&retry, "retry", false, "run the hook again now (the default)")
	cmd.Flags().BoolVar(&all, "all", false, "all units that wait for a failed hook")
	return cmd
}

// suggest adds the nearest existing names to an error about a name that does
// not exist.
func (a *App) suggest(ctx context.Context, err error, kind string, names ...string) error {
	if !fault.Is(err, fault.NotFound) {
		return err
	}
	f := asFault(err)
	known := a.names(ctx, kind)
	for _, name := range names {
		if contains(known, name) {
			continue
		}
		if n := nearest(name, known); n != "" {
			why := f.Because
			if why != "" {
				why += "\n"
			}
			return f.Why("%sthe nearest %s is %q", why, kind, n)
		}
	}
	return err
}

func contains(words []string, word string) bool {
	for _, w := range words {
		if w == word {
			return true
		}
	}
	return false
}
