package cli

import (
	"io"
	"strconv"

	"drover/noun/fault"
	"drover/wire/droverv1"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/emptypb"
)

func (a *App) serverCmd() *cobra.Command {
	o := ServerOptions{Log: a.Err}
	var token string
	cmd := &cobra.Command{
		Use: "server", Short: "Run a server in the foreground; list and remove servers", Args: needArgs(),
		Long: `Run a server in the foreground.

On an empty data folder it founds a cluster, or joins one with --join TOKEN, where
TOKEN is what drover join-token --role server printed, the name of a file that
holds it, or - for standard input. A server that has joined needs no --join any
more, and does not mind it.`,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			o.Data, o.Config = a.dataDir(), a.configDir()
			if token != "" {
				if o.Join, err = a.readToken(token); err != nil {
					return err
				}
			}
			return a.program(cmd, a.Programs.Server == nil, func() error { return a.Programs.Server(cmd.Context(), o) })
		},
	}
	cmd.Flags().StringVar(&o.Name, "name", "", "name of the server (default: s1, or the next free one)")
	cmd.Flags().StringVar(&o.Cluster, "cluster", "drover", "name of a new cluster")
	cmd.Flags().StringVar(&o.Listen, "listen", DefaultListen, "address and port to listen on")
	cmd.Flags().StringVar(&o.Advertise, "advertise", "", "address and port that others are told (default: --listen)")
	cmd.Flags().BoolVar(&o.Local, "local", false, "start local machines on this host")
	cmd.Flags().StringVar(&token, "join", "", "TOKEN of the cluster to join")
	cmd.AddCommand(a.serverListCmd(), a.serverRemoveCmd(), a.serverShowCmd(), a.logLevelCmd())
	return cmd
}

func (a *App) serverListCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"status"}, Short: "List the servers: who leads, who follows, who is not reached", Args: needArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.services()
			if err != nil {
				return err
			}
			resp, err := s.Server.ListServers(cmd.Context(), connect.NewRequest(&emptypb.Empty{}))
			if err != nil {
				return err
			}
			return a.show(cmd, shown{data: plain(resp.Msg), names: serverNames(resp.Msg), table: func(w io.Writer) { a.printServers(w, resp.Msg) }})
		},
	}
	formatFlag(cmd)
	return cmd
}

func serverNames(l *droverv1.ListServersResponse) []string {
	var names []string
	for _, m := range l.Servers {
		names = append(names, "server/"+m.Name)
	}
	return names
}

func (a *App) printServers(w io.Writer, l *droverv1.ListServersResponse) {
	t := newTable("SERVER", "ADDRESS", "STATE", "REV", "VERSION", "JOINED", "NOTE")
	for _, m := range l.Servers {
		rev := "-"
		if m.State != "unreachable" {
			rev = strconv.FormatUint(m.Revision, 10)
		}
		t.add(m.Name, m.Address, m.State, rev, m.Version, ago(l.Now, m.Joined), m.Note)
	}
	t.print(w, a.painter())
}

func (a *App) serverRemoveCmd() *cobra.Command {
	return &cobra.Command{
		Use: "remove SERVER", Short: "Take a server out of the cluster: it votes no more and its certificate is refused", Args: needArgs("SERVER"),
		ValidArgsFunction: a.completeNames(1, "server"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.services()
			if err != nil {
				return err
			}
			req := &droverv1.RemoveServerRequest{RequestId: a.NewID(), Name: args[0]}
			if _, err := s.Server.RemoveServer(cmd.Context(), connect.NewRequest(req)); err != nil {
				return err
			}
			a.say("Server %s is no member any more.", args[0])
			return nil
		},
	}
}

// checkRole refuses what join-token cannot make.
func checkRole(role, machine string) error {
	switch {
	case role != "machine" && role != "server":
		return fault.New(fault.Invalid, "--role is machine or server, not %q", role).Try("drover join-token --help")
	case role == "server" && machine != "":
		return fault.New(fault.Invalid, "a server's token names no machine").Try("drover join-token --role server")
	}
	return nil
}
