package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"drover/wire/droverv1"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/emptypb"
)

func (a *App) cellsCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "cells", Aliases: []string{"cell"}, Short: "List cells with their room", Args: needArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.services()
			if err != nil {
				return err
			}
			resp, err := s.Work.ListCells(cmd.Context(), connect.NewRequest(&emptypb.Empty{}))
			if err != nil {
				return err
			}
			cells := resp.Msg.Cells
			out := shown{data: object{{"schema", "drover.cells/v1"}, {"cells", plain(messages(cells))}}}
			t := newTable("Cell", "Machine", "Presence", "Memory free", "Disk free", "Containers free", "Instances", "Tasks", "Runtimes", "Note")
			for _, c := range cells {
				out.names = append(out.names, c.Id)
				note := c.Unfit
				if c.Evacuating {
					note = strings.TrimSpace("evacuating " + note)
				}
				t.add(c.Id, c.Machine, c.Presence, room(c.Free.GetMemoryMb(), c.Capacity.GetMemoryMb(), " MiB"),
					room(c.Free.GetDiskMb(), c.Capacity.GetDiskMb(), " MiB"), room(c.Free.GetContainers(), c.Capacity.GetContainers(), ""),
					fmt.Sprint(c.Instances), fmt.Sprint(c.Tasks), strings.Join(c.Runtimes, ","), note)
			}
			out.table = func(w io.Writer) { t.print(w, a.painter()) }
			return a.show(cmd, out)
		},
	}
	formatFlag(cmd)
	return cmd
}

func room(free, total int64, unit string) string { return fmt.Sprintf("%d/%d%s", free, total, unit) }

func (a *App) logsCmd() *cobra.Command {
	req := &droverv1.ReadLogRequest{}
	var n int
	var hook string
	cmd := &cobra.Command{
		Use: "logs UNIT|LRP/INDEX|task:GUID|machine:ID", Short: "Show the log of a unit, an instance, a task or a machine",
		Args: needArgs("a UNIT, an LRP/INDEX, a task:GUID or a machine:ID"), ValidArgsFunction: a.completeNames(1, "unit", "lrp"),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch hook {
			case "":
			case "last":
				req.LastHook = true
			default:
				return usage(cmd, "--hook is last, not %q", hook)
			}
			s, err := a.services()
			if err != nil {
				return err
			}
			req.Model, req.Target, req.Lines = a.flags.model, args[0], int32(n)
			stream, err := s.Server.ReadLog(cmd.Context(), connect.NewRequest(req))
			if err != nil {
				return a.suggest(cmd.Context(), err, "unit", args[0])
			}
			defer stream.Close()
			for stream.Receive() {
				if err := a.write(stream.Msg().Data); err != nil {
					return err
				}
			}
			if cmd.Context().Err() != nil && req.Follow {
				return exitCode(ExitInterrupted)
			}
			return a.suggest(cmd.Context(), stream.Err(), "unit", args[0])
		},
	}
	cmd.Flags().BoolVarP(&req.Follow, "follow", "f", false, "go on as lines are written")
	cmd.Flags().IntVarP(&n, "lines", "n", 100, "last lines to begin with")
	cmd.Flags().StringVar(&hook, "hook", "", "last: only the output of the unit's last hook")
	_ = cmd.RegisterFlagCompletionFunc("hook", cobra.FixedCompletions([]string{"last"}, cobra.ShellCompDirectiveNoFileComp)) // fails only for unknown flags
	cmd.Flags().BoolVar(&req.LastHook, "last-hook", false, "the same as --hook last")
	_ = cmd.Flags().MarkHidden("last-hook") // fails only for unknown flags
	return cmd
}

func (a *App) eventsCmd() *cobra.Command {
	req := &droverv1.WatchRequest{}
	var count int
	cmd := &cobra.Command{
		Use: "events", Short: "Follow what changes in the cluster", Args: needArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.services()
			if err != nil {
				return err
			}
			req.Model = a.flags.model
			stream, err := s.Server.Watch(cmd.Context(), connect.NewRequest(req))
			if err != nil {
				return err
			}
			defer stream.Close()
			seen := 0
			for stream.Receive() {
				if stream.Msg().Kind == "" {
					continue
				}
				if err := a.printEvent(cmd, stream.Msg()); err != nil {
					return err
				}
				if seen++; seen == count {
					return nil
				}
			}
			if cmd.Context().Err() != nil {
				return exitCode(ExitInterrupted)
			}
			return stream.Err()
		},
	}
	cmd.Flags().Uint64Var(&req.From, "from", 0, "resume after this revision")
	cmd.Flags().StringSliceVar(&req.Kinds, "kind", nil, "only these kinds")
	cmd.Flags().StringVar(&req.Entity, "entity", "", "only about this entity")
	cmd.Flags().StringVar(&req.Guid, "guid", "", "only about this LRP or task")
	cmd.Flags().StringVar(&req.Cell, "cell", "", "only about this cell")
	cmd.Flags().IntVarP(&count, "count", "n", 0, "end after this many")
	formatsFlag(cmd, "table", "json", "yaml", "name")
	return cmd
}

// printEvent writes one event: a line, a JSON object a line, or a YAML document.
func (a *App) printEvent(cmd *cobra.Command, e *droverv1.Event) error {
	o := object{
		{"revision", e.Revision}, {"kind", e.Kind}, {"key", e.Key}, {"summary", e.Summary}, {"at", e.At}, {"last", e.Last},
	}
	if json.Valid(e.Json) {
		o = append(o, member{"row", json.RawMessage(e.Json)})
	}
	switch formatOf(cmd) {
	case "json":
		b, err := json.Marshal(o)
		if err != nil {
			return err
		}
		return a.write(append(b, '\n'))
	case "yaml":
		b, err := yamlOf(o)
		if err != nil {
			return err
		}
		return a.write(append([]byte("---\n"), b...))
	case "name":
		return a.write([]byte(e.Key + "\n"))
	default:
		return a.write(fmt.Appendf(nil, "%s  %d  %-22s %s\n", at(e.At), e.Revision, e.Kind, e.Summary))
	}
}

func (a *App) versionCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "version", Short: "Show the versions of this program and of the server", Args: needArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			server := ""
			if s, err := a.services(); err == nil {
				ctx, cancel := bounded(cmd.Context())
				defer cancel()
				if resp, err := s.Server.Info(ctx, connect.NewRequest(&emptypb.Empty{})); err == nil {
					server = resp.Msg.Version
				}
			}
			return a.show(cmd, shown{
				data:  object{{"schema", "drover.version/v1"}, {"client", a.Programs.Version}, {"server", server}},
				names: []string{a.Programs.Version},
				table: func(w io.Writer) {
					fmt.Fprintf(w, "drover %s\n", a.Programs.Version)
					if server != "" && server != a.Programs.Version {
						fmt.Fprintf(w, "server %s\n", server)
					}
				},
			})
		},
	}
	formatFlag(cmd)
	return cmd
}
