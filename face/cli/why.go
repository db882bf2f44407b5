package cli

import (
	"fmt"
	"io"
	"strings"

	"drover/wire/droverv1"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
)

func (a *App) whyCmd() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "why ENTITY", Short: "Tell why something is not done yet, and what you can do",
		Example: `  drover why mysql            an application
  drover why mysql/0          a unit
  drover why web/3            an instance of an LRP
  drover why task:hello       a task
  drover why --all            everything that waits`,
		Args: func(cmd *cobra.Command, args []string) error {
			if all {
				return needArgs()(cmd, args)
			}
			return needArgs("ENTITY")(cmd, args)
		},
		ValidArgsFunction: a.completeNames(1, "application", "unit", "lrp"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.services()
			if err != nil {
				return err
			}
			req := &droverv1.WhyRequest{Model: a.flags.model, All: all}
			if len(args) > 0 {
				req.Entity = args[0]
			}
			resp, err := s.Model.Why(cmd.Context(), connect.NewRequest(req))
			if err != nil {
				return a.suggest(cmd.Context(), err, "application", req.Entity)
			}
			out := shown{
				data:  object{{"schema", "drover.why/v1"}, {"summary", resp.Msg.Summary}, {"impediments", plain(messages(resp.Msg.Impediments))}},
				table: func(w io.Writer) { printWhy(w, resp.Msg) },
			}
			for _, im := range resp.Msg.Impediments {
				out.names = append(out.names, im.Entity)
			}
			return a.show(cmd, out)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "everything that waits for something")
	formatFlag(cmd)
	return cmd
}

func printWhy(w io.Writer, r *droverv1.WhyResponse) {
	if r.Summary != "" {
		fmt.Fprintln(w, r.Summary)
	}
	if len(r.Impediments) == 0 {
		if r.Summary == "" {
			fmt.Fprintln(w, "Nothing holds it.")
		}
		return
	}
	var steps []string
	for _, im := range r.Impediments {
		printImpediment(w, im, "")
		collectSteps(im, &steps)
	}
	if len(steps) > 0 {
		fmt.Fprintln(w, "What you can do")
		for _, s := range steps {
			fmt.Fprintf(w, "  %s\n", s)
		}
	}
}

func printImpediment(w io.Writer, im *droverv1.Impediment, indent string) {
	for i, line := range strings.Split(strings.TrimRight(impedimentText(im), "\n"), "\n") {
		if i == 0 {
			fmt.Fprintf(w, "%s└─ %s\n", indent, line)
		} else {
			fmt.Fprintf(w, "%s   %s\n", indent, line)
		}
	}
	for _, c := range im.Children {
		printImpediment(w, c, indent+"   ")
	}
}

// collectSteps gathers the next steps of the leaves, each once.
func collectSteps(im *droverv1.Impediment, steps *[]string) {
	for _, c := range im.Children {
		collectSteps(c, steps)
	}
	if len(im.Children) == 0 {
		for _, s := range im.NextSteps {
			if !contains(*steps, s) {
				*steps = append(*steps, s)
			}
		}
	}
}

func impedimentText(im *droverv1.Impediment) string {
	if im.Detail != "" {
		return im.Detail
	}
	return strings.TrimSpace(im.Subject + " " + strings.ReplaceAll(im.Kind, "_", " "))
}

// firstLeaf is the end of the first chain of impediments; nil when there is
// none.
func firstLeaf(ims []*droverv1.Impediment) *droverv1.Impediment {
	if len(ims) == 0 {
		return nil
	}
	im := ims[0]
	for len(im.Children) > 0 {
		im = im.Children[0]
	}
	return im
}
