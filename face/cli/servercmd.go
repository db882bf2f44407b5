package cli

import (
	"fmt"
	"io"
	"time"

	"drover/wire/droverv1"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/emptypb"
)

func (a *App) serverShowCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "show", Short: "Show how the answering server fares: revision, agents, memory, log level", Args: needArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.services()
			if err != nil {
				return err
			}
			resp, err := s.Admin.ServerStatus(cmd.Context(), connect.NewRequest(&emptypb.Empty{}))
			if err != nil {
				return err
			}
			st := resp.Msg
			return a.show(cmd, shown{
				data:  object{{"schema", "drover.server/v1"}, {"server", plain(st)}},
				names: []string{st.Server},
				table: func(w io.Writer) { serverStatus(w, st) },
			})
		},
	}
	formatFlag(cmd)
	return cmd
}

func serverStatus(w io.Writer, st *droverv1.ServerStatusResponse) {
	role := "follows " + st.Leader + " (" + st.LeaderAddress + ")"
	switch {
	case st.Leading:
		role = fmt.Sprintf("leads, epoch %d", st.Epoch)
	case st.Leader == "":
		role = "knows no leader"
	}
	ready := "ready"
	if !st.Ready {
		ready = "not ready"
	}
	rows := [][2]string{
		{"Server", st.Server + " at " + st.Address}, {"State", role + ", " + ready}, {"Revision", fmt.Sprint(st.Revision)},
		{"Agents", fmt.Sprintf("%d connected", st.Agents)}, {"Storage", st.Storage}, {"Version", st.Version},
		{"Up", short(time.Duration(st.Now - st.Started))}, {"Memory", fmt.Sprintf("%d MiB heap, %d goroutines", st.HeapBytes>>20, st.Goroutines)},
		{"Log level", st.LogLevel},
	}
	if st.CertificateExpires != 0 {
		rows = append(rows, [2]string{"Certificate", "expires " + time.Unix(0, st.CertificateExpires).UTC().Format(time.RFC3339)})
	}
	if st.Quarantined > 0 {
		rows = append(rows, [2]string{"Unreadable", fmt.Sprintf("%d rows, kept aside", st.Quarantined)})
	}
	for _, r := range rows {
		fmt.Fprintf(w, "%-12s %s\n", r[0], r[1])
	}
}

func (a *App) logLevelCmd() *cobra.Command {
	return &cobra.Command{
		Use: "log-level debug|info|warn|error", Short: "Change what the server writes into its log, until it restarts",
		Args: needArgs("LEVEL"), ValidArgs: []string{"debug", "info", "warn", "error"},
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.services()
			if err != nil {
				return err
			}
			resp, err := s.Admin.SetLogLevel(cmd.Context(), connect.NewRequest(&droverv1.SetLogLevelRequest{Level: args[0]}))
			if err != nil {
				return err
			}
			a.say("The log level is %s, it was %s.", args[0], resp.Msg.Was)
			return nil
		},
	}
}
