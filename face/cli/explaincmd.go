package cli

import (
	"fmt"
	"io"

	"drover/face/cli/explain"
	"drover/noun/fault"

	"github.com/spf13/cobra"
)

// explainCmd shows the page of an error code, or the list of all codes. It asks
// no server.
func (a *App) explainCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "explain [CODE]", Short: "Explain an error code, or list all codes",
		Example: "  drover explain DRV-E0050",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage(cmd, "%s does not take %q", cmd.CommandPath(), args[1])
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return codes(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.show(cmd, allCodes())
			}
			p, ok := explain.Find(args[0])
			if !ok {
				f := fault.New(fault.NotFound, "there is no error code %q", args[0]).Try("drover explain")
				if n := nearest(args[0], codes()); n != "" {
					f = f.Why("the nearest is %q", n)
				}
				return f
			}
			return a.show(cmd, shown{
				data: plainPage(p), names: []string{p.Code},
				table: func(w io.Writer) { fmt.Fprint(w, p) },
			})
		},
	}
	formatFlag(cmd)
	return cmd
}

func codes() []string {
	var out []string
	for _, p := range explain.All() {
		out = append(out, p.Code)
	}
	return out
}

func allCodes() shown {
	var data []any
	t := newTable("Code", "Meaning")
	for _, p := range explain.All() {
		data = append(data, plainPage(p))
		t.add(p.Code, p.Title)
	}
	return shown{
		data: object{{"schema", "drover.codes/v1"}, {"codes", data}}, names: codes(),
		table: func(w io.Writer) { t.print(w, unpainted) },
	}
}

func plainPage(p explain.Page) object {
	return object{{"code", p.Code}, {"title", p.Title}, {"meaning", p.Meaning}, {"todo", p.Todo}}
}
