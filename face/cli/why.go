package cli

import (
	"io"
	"strings"

	"drover/wire/droverv1"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
)

func (a *App) whyCmd() *cobra.Command {
	var all, cells bool
	cmd := &cobra.Command{
		Use: "why ENTITY", Short: "Tell why something is not done yet, and what you can do",
		Example: `  drover why mysql                     an application
  drover why mysql/0                   a unit
  drover why blog:db mysql:server      a relation
  drover why machine:3                 a machine
  drover why web/3 --cells             an instance of an LRP, every cell's reason
  drover why task:hello                a task
  drover why --all                     everything that waits`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case all:
				return needArgs()(cmd, args)
			case len(args) == 2: // the ends of a relation
				return nil
			}
			return needArgs("ENTITY")(cmd, args)
		},
		ValidArgsFunction: a.completeNames(1, "application", "unit", "lrp"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.services()
			if err != nil {
				return err
			}
			req := &droverv1.WhyRequest{Model: a.flags.model, All: all, Cells: cells, Entity: strings.Join(args, " ")}
			if kind, name, ok := strings.Cut(req.Entity, "/"); ok && contains([]string{"app", "unit", "lrp"}, kind) && !isNumber(name) {
				req.Entity = name
			}
			resp, err := s.Model.Why(cmd.Context(), connect.NewRequest(req))
			if err != nil {
				return a.suggestAny(cmd.Context(), err, req.Entity)
			}
			out := shown{
				data: object{{"schema", "drover.why/v1"}, {"summary", resp.Msg.Summary}, {"impediments", plain(messages(resp.Msg.Impediments))}},
				table: func(w io.Writer) {
					whyView{w: w, now: a.Now().UnixNano(), width: terminalWidth(a.Out), cells: cells, self: strings.TrimPrefix(req.Entity, "machine:")}.print(resp.Msg)
				},
			}
			for _, im := range resp.Msg.Impediments {
				out.names = append(out.names, im.Entity)
			}
			return a.show(cmd, out)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "everything that waits for something")
	cmd.Flags().BoolVar(&cells, "cells", false, "the reason of every cell, not only of the first ones")
	formatFlag(cmd)
	return cmd
}

// impedimentText is what an impediment says, in one line or more.
func impedimentText(im *droverv1.Impediment) string {
	if im.Detail != "" {
		return strings.TrimRight(im.Detail, "\n")
	}
	return strings.TrimSpace(im.Subject + " " + strings.ReplaceAll(im.Kind, "_", " "))
}

// impedimentLine is the first line of what an impediment says.
func impedimentLine(im *droverv1.Impediment) string {
	line, _, _ := strings.Cut(impedimentText(im), "\n")
	return line
}

// firstLeaf is the end of the first chain of impediments; nil when there is
// none. What no cell can take ends with that, not with the first cell's reason.
func firstLeaf(ims []*droverv1.Impediment) *droverv1.Impediment {
	if len(ims) == 0 {
		return nil
	}
	im := ims[0]
	for len(im.Children) > 0 && !isPlacement(im) {
		im = im.Children[0]
	}
	return im
}
