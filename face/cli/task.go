package cli

import (
	"context"
	"io"

	"drover/noun/fault"
	"drover/wire/droverv1"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/emptypb"
)

func (a *App) taskCmd() *cobra.Command {
	cmd := group(&cobra.Command{Use: "task", Short: "Tasks, run at most once"})
	cmd.AddCommand(a.taskRunCmd(), a.taskListCmd(), a.taskCancelCmd(), a.taskDeleteCmd())
	return cmd
}

func (a *App) taskRunCmd() *cobra.Command {
	var f runFlags
	var result, callback string
	var w waitFlags
	cmd := &cobra.Command{
		Use: "run GUID [flags] -- COMMAND [ARG...]", Short: "Run a task",
		Example: "  drover task run hello --result-file out -- /bin/sh -c 'echo hello >out'",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			t := &droverv1.Task{}
			if f.file != "" {
				if err := a.readDefinition(f.file, t); err != nil {
					return err
				}
			}
			if err := fillTask(cmd, t, args, &f, result, callback); err != nil {
				return err
			}
			s, err := a.services()
			if err != nil {
				return err
			}
			if _, err := s.Work.RunTask(cmd.Context(), connect.NewRequest(&droverv1.RunTaskRequest{RequestId: a.NewID(), Task: t})); err != nil {
				return err
			}
			a.say("Task %s is pending.", t.Guid)
			return a.afterwards(cmd, w, taskDone(t.Guid))
		},
	}
	cmd.Flags().StringVar(&result, "result-file", "", "file of the task whose content is its result")
	cmd.Flags().StringVar(&callback, "callback", "", "URL that is told when the task has completed")
	f.add(cmd)
	w.add(cmd, a)
	return cmd
}

func fillTask(cmd *cobra.Command, t *droverv1.Task, args []string, f *runFlags, result, callback string) error {
	if len(args) > 0 {
		t.Guid = args[0]
	}
	if t.Guid == "" {
		return usage(cmd, "%s needs a GUID", cmd.CommandPath())
	}
	if t.Domain == "" || cmd.Flags().Changed("domain") {
		t.Domain = f.domain
	}
	if result != "" {
		t.ResultFile = result
	}
	if callback != "" {
		t.Callback = callback
	}
	if f.file != "" && len(args) < 2 {
		return nil
	}
	var command []string
	if len(args) > 1 {
		command = args[1:]
	}
	var err error
	t.Spec, err = f.spec(cmd, command)
	return err
}

func (a *App) taskListCmd() *cobra.Command {
	var domain, cell string
	cmd := &cobra.Command{
		Use: "list [GUID]", Aliases: []string{"ls"}, Short: "List tasks with their results",
		ValidArgsFunction: a.completeNames(1, "task"),
		RunE: func(cmd *cobra.Command, args []string) error {
			req := &droverv1.ListTasksRequest{Domain: domain, Cell: cell}
			if len(args) > 0 {
				req.Guid = args[0]
			}
			s, err := a.services()
			if err != nil {
				return err
			}
			stream, err := s.Work.ListTasks(cmd.Context(), connect.NewRequest(req))
			if err != nil {
				return err
			}
			defer stream.Close()
			var tasks []*droverv1.Task
			for stream.Receive() {
				tasks = append(tasks, stream.Msg())
			}
			if err := stream.Err(); err != nil {
				return err
			}
			if req.Guid != "" && len(tasks) == 0 {
				return a.suggest(cmd.Context(), fault.New(fault.NotFound, "there is no task %q", req.Guid).Coded(fault.CodeNoSuchTask).Try("drover task list"), "task", req.Guid)
			}
			return a.showTasks(cmd, tasks)
		},
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return usage(cmd, "%s does not take %q", cmd.CommandPath(), args[1])
		}
		return nil
	}
	cmd.Flags().StringVar(&domain, "domain", "", "only of this domain")
	cmd.Flags().StringVar(&cell, "cell", "", "only on this cell")
	formatFlag(cmd)
	return cmd
}

func (a *App) showTasks(cmd *cobra.Command, tasks []*droverv1.Task) error {
	out := shown{data: object{{"schema", "drover.tasks/v1"}, {"tasks", plain(messages(tasks))}}}
	t := newTable("GUID", "Domain", "State", "Cell", "Since", "Result")
	now := a.Now().UnixNano()
	for _, k := range tasks {
		out.names = append(out.names, k.Guid)
		state, result := k.State, k.Result
		if k.Failed {
			state, result = state+" failed", k.FailureReason
		} else if result == "" {
			result = k.PlacementError
		}
		t.add(k.Guid, k.Domain, state, k.Cell, ago(now, k.Updated), cut(result, 80))
	}
	out.table = func(w io.Writer) { t.print(w, a.painter()) }
	return a.show(cmd, out)
}

func (a *App) taskCancelCmd() *cobra.Command {
	cmd := &cobra.Command{Use: "cancel GUID", Short: "Cancel a pending or running task"}
	return a.endTask(cmd, "Cancelling", func(s *services) taskCall { return s.Work.CancelTask })
}

func (a *App) taskDeleteCmd() *cobra.Command {
	cmd := &cobra.Command{Use: "delete GUID", Aliases: []string{"rm", "remove"}, Short: "Delete a completed task"}
	return a.endTask(cmd, "Deleting", func(s *services) taskCall { return s.Work.DeleteTask })
}

type taskCall func(context.Context, *connect.Request[droverv1.TaskRequest]) (*connect.Response[emptypb.Empty], error)

// endTask makes a command that says what it does to a task, and does it.
func (a *App) endTask(cmd *cobra.Command, doing string, pick func(*services) taskCall) *cobra.Command {
	var f destroyFlags
	cmd.Args, cmd.ValidArgsFunction = needArgs("GUID"), a.completeNames(1, "task")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := a.services()
		if err != nil {
			return err
		}
		t, err := a.findTask(cmd.Context(), s, args[0])
		if err != nil {
			return err
		}
		if on, err := a.announce(cmd, f, "%s task %s, which is %s", doing, t.Guid, t.State); !on {
			return err
		}
		_, err = pick(s)(cmd.Context(), connect.NewRequest(&droverv1.TaskRequest{RequestId: a.NewID(), Guid: args[0]}))
		return a.suggest(cmd.Context(), err, "task", args[0])
	}
	f.add(cmd, a)
	return cmd
}

func (a *App) findTask(ctx context.Context, s *services, guid string) (*droverv1.Task, error) {
	stream, err := s.Work.ListTasks(ctx, connect.NewRequest(&droverv1.ListTasksRequest{Guid: guid}))
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	if stream.Receive() {
		return stream.Msg(), nil
	}
	if err := stream.Err(); err != nil {
		return nil, err
	}
	missing := fault.New(fault.NotFound, "there is no task %q", guid).Coded(fault.CodeNoSuchTask).Try("drover task list")
	return nil, a.suggest(ctx, missing, "task", guid)
}
