package cli

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"drover/face/cli/up"
	"drover/noun/charm"
	"drover/noun/fault"
	"drover/wire/client"
	"drover/wire/droverv1"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/emptypb"
)

const (
	readyLimit  = time.Minute
	readyPoll   = 10 * time.Millisecond
	joinLimit   = 20 * time.Second
	demoTimeout = 5 * time.Minute
)

// upView is what up shows when the server is ready.
type upView struct {
	folders up.Folders
	started time.Time
	demo    bool
	stays   bool   // in the foreground
	fresh   bool   // the server was started now
	built   func() // waits for the small programs; nil: they are there
}

// awaitReady waits for the server to answer that it is ready; check says why it
// will not any more.
func (a *App) awaitReady(ctx context.Context, check func() error) error {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	var last error
	for {
		if info, err := a.info(ctx); err == nil && info.Ready {
			return up.SetCluster(a.dataDir(), info.ClusterId)
		} else if err != nil {
			last = err
			a.reconnect() // the addresses may have changed since
		}
		if err := check(); err != nil {
			return err
		}
		if !sleep(ctx, readyPoll) {
			break
		}
	}
	f := fault.New(fault.Timeout, "the server is not ready yet").
		Try("less " + up.Folders{Data: a.dataDir()}.ServerLog())
	if last != nil {
		f = f.Why("%s", last).Wrap(last)
	}
	return f
}

func (a *App) reconnect() {
	if a.conn != nil {
		a.conn.Close()
		a.conn = nil
	}
}

func (a *App) info(ctx context.Context) (*droverv1.ServerInfo, error) {
	s, err := a.services()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	resp, err := s.Server.Info(ctx, connect.NewRequest(&emptypb.Empty{}))
	if err != nil {
		return nil, err
	}
	return resp.Msg, nil
}

// showUp prints what there is, deploys the demo if asked, and what to do next.
func (a *App) showUp(cmd *cobra.Command, v upView) error {
	ctx := cmd.Context()
	info, err := a.info(ctx)
	if err != nil {
		return err
	}
	a.say("✓ %-48s %s", "certificate authority and admin credentials", a.tilde(v.folders.Config))
	took := ""
	if v.fresh {
		took = fmt.Sprintf("   %.1fs", a.Now().Sub(v.started).Seconds())
	}
	address := ""
	if f, err := client.ReadFolder(v.folders.Config); err == nil && len(f.Servers) > 0 {
		address = "https://" + f.Servers[0]
	}
	a.say("✓ %-48s %s%s", "server ready", address, took)
	a.say("✓ store: %s", strings.ReplaceAll(info.Storage, v.folders.Data, a.tilde(v.folders.Data)))
	a.sayMachine(ctx)
	if v.built != nil {
		v.built()
	}
	if v.demo {
		if err := a.showDemo(cmd, v); err != nil {
			return err
		}
	}
	a.say("Next:  %s status     (or put that folder on PATH)", a.tilde(v.folders.Program()))
	if !v.demo {
		a.say("       %s deploy demo", a.tilde(v.folders.Program()))
	}
	a.sayJoin(ctx, address)
	if v.stays {
		a.say("Ctrl-C stops everything.")
	}
	return nil
}

// sayMachine waits a little for machine 0 to be a cell and says what it has.
func (a *App) sayMachine(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, joinLimit)
	defer cancel()
	s, err := a.services()
	if err != nil {
		return
	}
	for ctx.Err() == nil {
		st, err := a.status(ctx, s, true)
		cells, cerr := s.Work.ListCells(ctx, connect.NewRequest(&emptypb.Empty{}))
		if err == nil && cerr == nil {
			for _, c := range cells.Msg.Cells {
				if c.Presence == "present" && c.Id == "c0" && hardware(st) != "" {
					a.say("✓ machine 0 joined as a cell (%s; runtimes: %s)", hardware(st), strings.Join(c.Runtimes, ", "))
					return
				}
			}
		}
		sleep(ctx, 5*readyPoll)
	}
	a.say("  machine 0 has not joined yet: drover why 0")
}

func hardware(st *droverv1.StatusResponse) string {
	for _, m := range st.Machines {
		if m.Id == "0" && m.Cpus > 0 {
			return fmt.Sprintf("%d cpu, %s", m.Cpus, gib(m.MemoryMb))
		}
	}
	return ""
}

func gib(mb int64) string {
	if mb < 1024 {
		return fmt.Sprintf("%d MiB", mb)
	}
	return fmt.Sprintf("%.4g GiB", float64(mb/102)/10.0)
}

// showDemo deploys the demo and waits for it, with progress.
func (a *App) showDemo(cmd *cobra.Command, v upView) error {
	src, err := a.demoSource()
	if err != nil {
		return err
	}
	a.say("deploying the demo: %s", bundleSummary(src.bundle))
	quiet := a.flags.quiet
	a.flags.quiet = true // the summary says it
	ready, err := a.applyBundle(cmd.Context(), src)
	a.flags.quiet = quiet
	if err != nil {
		return err
	}
	s, err := a.services()
	if err != nil {
		return err
	}
	if err := a.follow(cmd.Context(), s, followFlags{timeout: demoTimeout}, ready, a.newProgress()); err != nil {
		return err
	}
	a.say("✓ demo is up in %.1fs", a.Now().Sub(v.started).Seconds())
	st, err := a.status(cmd.Context(), s, true)
	if err != nil {
		return err
	}
	for _, app := range src.bundle.Applications {
		if app.Expose {
			a.sayOpen(st, string(app.Name))
		}
	}
	return nil
}

func (a *App) sayOpen(st *droverv1.StatusResponse, app string) {
	for _, u := range sortedUnits(st.Units) {
		if u.Application == app && len(u.Ports) > 0 && u.Address != "" {
			a.say("open:  http://%s", addressOf(u))
			return
		}
	}
}

func bundleSummary(b *charm.Bundle) string {
	var parts []string
	for _, app := range b.Applications {
		units := "subordinate"
		if app.NumUnits > 0 {
			units = fmt.Sprintf("×%d", app.NumUnits)
		}
		parts = append(parts, fmt.Sprintf("%s %s", app.Name, units))
	}
	for _, r := range b.Relations {
		parts = append(parts, fmt.Sprintf("relation %s %s", r.A, r.B))
	}
	for _, p := range b.Processes {
		parts = append(parts, fmt.Sprintf("LRP %s ×%d", p.GUID, p.Instances))
	}
	for _, t := range b.Tasks {
		parts = append(parts, "task "+t.GUID)
	}
	return strings.Join(parts, "; ")
}

// sayJoin tells how another host joins, if it could reach the server.
func (a *App) sayJoin(ctx context.Context, address string) {
	host, _, err := net.SplitHostPort(strings.TrimPrefix(address, "https://"))
	if err != nil {
		return
	}
	if ip := net.ParseIP(host); ip == nil || ip.IsLoopback() {
		return // drover up --help says what to do instead
	}
	s, err := a.services()
	if err != nil {
		return
	}
	resp, err := s.Server.CreateToken(ctx, connect.NewRequest(&droverv1.CreateTokenRequest{
		RequestId: a.NewID(), Role: "machine", Model: a.flags.model,
	}))
	if err != nil {
		a.say("No join token: %s", err)
		return
	}
	a.say("Add a machine:  drover join %s", resp.Msg.Token)
}

// tilde shortens the home folder in a path.
func (a *App) tilde(path string) string {
	home := a.Getenv("HOME")
	if home != "" && home != "/" && strings.HasPrefix(path, home+"/") {
		return "~" + strings.TrimPrefix(path, home)
	}
	return path
}
