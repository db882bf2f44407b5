package cli

import (
	"strings"

	"drover/noun/fault"

	"github.com/spf13/cobra"
)

const about = `Drover runs software on your machines: applications made of charms, and
processes and tasks placed on cells.

Exit codes:
  0  done                          6  no server reached
  1  failed                        7  timed out, still going on
  2  wrong usage                   8  an entity reached an error state
  3  not found                     9  not placeable
  4  conflict, or life forbids it  10 done in part
  5  no identity, or not allowed   130 interrupted, goes on in the background`

// root is the whole tree of commands.
func (a *App) root() *cobra.Command {
	root := group(&cobra.Command{
		Use:               "drover",
		Short:             "Run applications, processes and tasks on your machines",
		Long:              about,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return a.begin(cmd) },
	})
	f := root.PersistentFlags()
	f.StringVar(&a.flags.data, "data", "", "data folder (default $DROVER_DATA or ~/.local/share/drover)")
	f.StringVar(&a.flags.config, "config-dir", "", "credentials (default $DROVER_CONFIG or ~/.config/drover)")
	f.StringVarP(&a.flags.model, "model", "m", "", "model (default $DROVER_MODEL or \"default\")")
	f.StringVar(&a.flags.color, "color", "auto", "colour: never, auto or always")
	f.BoolVar(&a.flags.debug, "debug", false, "show the causes of errors")
	f.BoolVarP(&a.flags.quiet, "quiet", "q", false, "say nothing but data and errors")
	f.Bool("no-input", false, "never ask a question")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fault.New(fault.Invalid, "%s", err).Coded(fault.CodeUsage).Try(cmd.CommandPath() + " --help")
	})
	groups := []struct {
		id, title string
		cmds      []*cobra.Command
	}{
		{"cluster", "Cluster:", []*cobra.Command{
			a.upCmd(), a.downCmd(), a.serverCmd(), a.agentCmd(), a.machineCmd(), a.joinTokenCmd(), a.joinCmd(),
			a.userCmd(), a.certCmd(), a.auditCmd()}},
		{"apps", "Applications:", []*cobra.Command{
			a.deployCmd(), a.integrateCmd(), a.addUnitCmd(), a.configCmd(), a.resolveCmd(),
			a.removeApplicationCmd(), a.removeUnitCmd(), a.removeRelationCmd(), a.removeMachineCmd()}},
		{"work", "Processes and tasks:", []*cobra.Command{a.lrpCmd(), a.taskCmd(), a.cellsCmd()}},
		{"look", "Look:", []*cobra.Command{
			a.statusCmd(), a.whyCmd(), a.waitCmd(), a.logsCmd(), a.eventsCmd(), a.explainCmd(), a.versionCmd(), a.completionCmd()}},
	}
	for _, g := range groups {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, c := range g.cmds {
			c.GroupID = g.id
			root.AddCommand(c)
		}
	}
	root.AddCommand(a.keepCmd())
	root.AddCommand(a.hiddenCmds()...)
	return root
}

// begin checks what all commands share.
func (a *App) begin(cmd *cobra.Command) error {
	a.used = cmd
	switch a.flags.color {
	case "never", "auto", "always":
	default:
		return usage(cmd, "--color is never, auto or always, not %q", a.flags.color)
	}
	if a.flags.model == "" {
		a.flags.model = a.Getenv("DROVER_MODEL")
	}
	if cmd.Flags().Changed("wait") && cmd.Flags().Changed("detach") {
		return usage(cmd, "--wait and --detach exclude each other")
	}
	if f := cmd.Flags().Lookup("format"); f != nil {
		allowed := strings.Split(f.Annotations[formatsKey][0], ",")
		for _, name := range allowed {
			if f.Value.String() == name {
				return nil
			}
		}
		return usage(cmd, "--format is %s, not %q", orList(allowed), f.Value.String())
	}
	return nil
}

// hiddenCmds are programs that only Drover itself starts; their arguments are
// their own.
func (a *App) hiddenCmds() []*cobra.Command {
	var cmds []*cobra.Command
	for name, run := range a.Programs.Hidden { // order-free: each is added under its own name
		cmds = append(cmds, &cobra.Command{
			Use: name, Hidden: true, DisableFlagParsing: true,
			RunE: func(cmd *cobra.Command, args []string) error { return run(cmd.Context(), args) },
		})
	}
	return cmds
}

func orList(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}
