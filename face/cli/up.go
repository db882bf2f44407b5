package cli

import (
	"errors"
	"fmt"
	"time"

	"drover/face/cli/up"

	"github.com/spf13/cobra"
)

func (a *App) upCmd() *cobra.Command {
	var o up.Options
	var demo, detach bool
	cmd := &cobra.Command{
		Use: "up", Short: "Start Drover on this host: a server and local machines", Args: needArgs(),
		Long: `Start Drover on this host: a server and local machines.

It stays in the foreground and Ctrl-C stops everything; --detach returns. Up
again goes on with the same state, like a boot. It needs no configuration and
no root.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.up(cmd, o, demo, detach) },
	}
	cmd.Flags().BoolVar(&demo, "demo", false, "deploy the demo and show where it can be seen")
	cmd.Flags().BoolVar(&detach, "detach", false, "return when it is up; drover down stops it")
	cmd.Flags().StringVar(&o.Listen, "listen", "", "address and port of the server (default $DROVER_LISTEN or "+DefaultListen+")")
	cmd.Flags().StringVar(&o.Advertise, "advertise", "", "address at which other machines reach this server; also listens there")
	cmd.Flags().StringVar(&o.Cluster, "cluster", "", "name of a new cluster")
	return cmd
}

func (a *App) downCmd() *cobra.Command {
	var purge bool
	var f destroyFlags
	cmd := &cobra.Command{
		Use: "down", Short: "Stop what up started on this host", Args: needArgs(),
		Long: `Stop what up started on this host: the server, the machines, and everything
that runs on them. The state stays for the next up, unless --purge is given.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			what := "This ends everything that runs here; the state stays in " + a.dataDir() + "."
			if purge {
				what = fmt.Sprintf("This ends everything that runs here and removes %s and the credentials in %s.", a.tilde(a.dataDir()), a.tilde(a.configDir()))
			}
			if purge || f.dryRun {
				if on, err := a.announce(cmd, f, "%s", what); !on {
					return err
				}
			}
			started := a.Now()
			report, err := up.Down(cmd.Context(), up.Folders{Data: a.dataDir(), Config: a.configDir()}, purge)
			if err != nil {
				return err
			}
			a.say("%s  %.1fs", report, a.Now().Sub(started).Round(100*time.Millisecond).Seconds())
			return nil
		},
	}
	cmd.Flags().BoolVar(&purge, "purge", false, "also remove the data and the credentials")
	f.add(cmd, a)
	return cmd
}

// up prepares the folder, starts or adopts the server, shows what there is, and
// stays or returns.
func (a *App) up(cmd *cobra.Command, o up.Options, demo, detach bool) error {
	started := a.Now()
	o.Folders = up.Folders{Data: a.dataDir(), Config: a.configDir()}
	o.Default, o.Say = a.defaultListen(), a.say
	if err := up.Check(o.Folders); err != nil {
		return err
	}
	if id, err := up.Running(o.Folders); err == nil {
		a.say("drover up runs already (pid %d).", id.PID)
		return a.showUp(cmd, upView{folders: o.Folders, started: started, demo: demo})
	}
	if detach {
		return a.upDetached(cmd, o, started, demo)
	}
	h, err := up.Prepare(o)
	if err != nil {
		return err
	}
	fresh := !h.Adopted()
	if err := h.StartServer(); err != nil {
		h.Release()
		return err
	}
	if err := a.awaitReady(cmd.Context(), h.CheckServer); err != nil {
		if cmd.Context().Err() != nil {
			return errors.Join(err, h.Stop()) // Ctrl-C stops everything
		}
		return errors.Join(err, h.Abandon())
	}
	keeping := make(chan error, 1)
	go func() { keeping <- h.Keep(cmd.Context()) }()
	code := error(nil)
	if err := a.showUp(cmd, upView{folders: o.Folders, started: started, demo: demo, stays: true, fresh: fresh, built: h.Built}); err != nil {
		code = exitCode(a.fail(cmd.Context(), cmd, err))
		if cmd.Context().Err() == nil {
			a.say("Drover stays up. Ctrl-C stops everything.")
		}
	}
	if err := <-keeping; err != nil {
		return err
	}
	a.say("Stopped. The state stays in %s for the next drover up.", a.tilde(o.Data))
	return code
}

// upDetached lets a process of its own keep the server, and returns when it is
// up.
func (a *App) upDetached(cmd *cobra.Command, o up.Options, started time.Time, demo bool) error {
	keeper, err := up.Detach(o)
	if err != nil {
		return err
	}
	if err := a.awaitReady(cmd.Context(), keeper.Check); err != nil {
		return err
	}
	// A server that was adopted is ready before its new keeper is.
	for !keeper.Keeping() {
		if err := keeper.Check(); err != nil {
			return err
		}
		if !sleep(cmd.Context(), readyPoll) {
			return cmd.Context().Err()
		}
	}
	return a.showUp(cmd, upView{folders: o.Folders, started: started, demo: demo, fresh: true, built: keeper.Built})
}

// keepCmd is the process that up --detach leaves behind.
func (a *App) keepCmd() *cobra.Command {
	var o up.Options
	cmd := &cobra.Command{
		Use: "keep", Hidden: true, Args: needArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Folders = up.Folders{Data: a.dataDir(), Config: a.configDir()}
			o.Default, o.Say = a.defaultListen(), a.say
			h, err := up.Prepare(o)
			if err != nil {
				return err
			}
			if h.Adopted() {
				return h.Keep(cmd.Context()) // should it end at once, it is restarted
			}
			if err := h.StartServer(); err != nil {
				h.Release()
				return err
			}
			if err := a.awaitReady(cmd.Context(), h.CheckServer); err != nil {
				return errors.Join(err, h.Abandon())
			}
			return h.Keep(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&o.Listen, "listen", "", "")
	cmd.Flags().StringVar(&o.Advertise, "advertise", "", "")
	cmd.Flags().StringVar(&o.Cluster, "cluster", "", "")
	return cmd
}
