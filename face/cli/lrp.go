package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"drover/noun/fault"
	"drover/wire/droverv1"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// runFlags describe what a process or task runs.
type runFlags struct {
	file, domain string
	memory, disk int64
	env          []string
	dir          string
}

func (f *runFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&f.file, "file", "f", "", "a YAML or JSON file with the whole definition; - reads standard input")
	cmd.Flags().StringVar(&f.domain, "domain", "default", "domain")
	cmd.Flags().Int64Var(&f.memory, "memory", 0, "MiB of memory")
	cmd.Flags().Int64Var(&f.disk, "disk", 0, "MiB of disk")
	cmd.Flags().StringArrayVar(&f.env, "env", nil, "environment, NAME=VALUE")
	cmd.Flags().StringVar(&f.dir, "dir", "", "working folder")
}

func (f *runFlags) spec(cmd *cobra.Command, command []string) (*droverv1.Spec, error) {
	if len(command) == 0 {
		return nil, usage(cmd, "%s needs -- COMMAND or --file", cmd.CommandPath())
	}
	run := &droverv1.RunAction{Path: command[0], Args: command[1:], Dir: f.dir}
	for _, e := range f.env {
		name, value, ok := strings.Cut(e, "=")
		if !ok {
			return nil, usage(cmd, "--env is NAME=VALUE, not %q", e)
		}
		run.Env = append(run.Env, &droverv1.EnvVar{Name: name, Value: value})
	}
	return &droverv1.Spec{
		Action:   &droverv1.Action{Kind: &droverv1.Action_Run{Run: run}},
		MemoryMb: f.memory, DiskMb: f.disk,
	}, nil
}

const maxDefinition = 1 << 20

// readDefinition reads a message from a file of YAML or JSON.
func (a *App) readDefinition(name string, m proto.Message) error {
	var data []byte
	var err error
	if name == "-" {
		if data, err = io.ReadAll(io.LimitReader(a.In, maxDefinition+1)); err == nil && len(data) > maxDefinition {
			err = fault.New(fault.Invalid, "the definition is too big").Why("at most %d bytes are allowed", maxDefinition)
		}
	} else {
		data, err = readSmallFile(name, maxDefinition)
	}
	if err != nil {
		return err
	}
	bad := fault.New(fault.Invalid, "cannot read the definition in %s", name)
	var tree any
	if err := yaml.Unmarshal(data, &tree); err != nil {
		return bad.Why("%s", err).Wrap(err)
	}
	asJSON, err := json.Marshal(tree)
	if err != nil {
		return bad.Why("%s", err).Wrap(err)
	}
	if err := protojson.Unmarshal(asJSON, m); err != nil {
		_, text, _ := strings.Cut(strings.ReplaceAll(err.Error(), "\u00a0", " "), "): ")
		return bad.Why("%s", text).Wrap(err)
	}
	return nil
}

func (a *App) lrpCmd() *cobra.Command {
	cmd := group(&cobra.Command{Use: "lrp", Short: "Long-running processes, kept at a number of instances"})
	cmd.AddCommand(a.lrpDesireCmd(), a.lrpListCmd(), a.lrpScaleCmd(), a.lrpRemoveCmd(), a.lrpShowCmd())
	return cmd
}

func (a *App) lrpDesireCmd() *cobra.Command {
	var f runFlags
	var n int
	var ports []int32
	var w waitFlags
	cmd := &cobra.Command{
		Use: "desire GUID [flags] -- COMMAND [ARG...]", Short: "Desire a process",
		Example: "  drover lrp desire web -n 3 -- /usr/bin/python3 -m http.server",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			lrp := &droverv1.DesiredLRP{}
			if f.file != "" {
				if err := a.readDefinition(f.file, lrp); err != nil {
					return err
				}
			}
			if err := fillLRP(cmd, lrp, args, &f, n, ports); err != nil {
				return err
			}
			s, err := a.services()
			if err != nil {
				return err
			}
			if _, err := s.Work.DesireLRP(cmd.Context(), connect.NewRequest(&droverv1.DesireLRPRequest{RequestId: a.NewID(), Lrp: lrp})); err != nil {
				return err
			}
			a.say("Desired LRP %s ×%d.", lrp.ProcessGuid, lrp.Instances)
			return a.afterwards(cmd, w, lrpReady(lrp.ProcessGuid))
		},
	}
	cmd.Flags().IntVarP(&n, "instances", "n", 1, "instances")
	cmd.Flags().Int32SliceVar(&ports, "port", nil, "ports of the process; each instance gets host ports for them")
	f.add(cmd)
	w.add(cmd, a)
	return cmd
}

func fillLRP(cmd *cobra.Command, lrp *droverv1.DesiredLRP, args []string, f *runFlags, n int, ports []int32) error {
	if len(args) > 0 {
		lrp.ProcessGuid = args[0]
	}
	if lrp.ProcessGuid == "" {
		return usage(cmd, "%s needs a GUID", cmd.CommandPath())
	}
	if f.file == "" || cmd.Flags().Changed("instances") {
		lrp.Instances = int32(n)
	}
	if f.file == "" || cmd.Flags().Changed("domain") || lrp.Domain == "" {
		lrp.Domain = f.domain
	}
	if f.file != "" && len(args) < 2 {
		return nil
	}
	var command []string
	if len(args) > 1 {
		command = args[1:]
	}
	var err error
	if lrp.Spec, err = f.spec(cmd, command); err != nil {
		return err
	}
	lrp.Spec.Ports = ports
	return nil
}

// listLRPs collects the answer of ListLRPs.
func (a *App) listLRPs(cmd *cobra.Command, req *droverv1.ListLRPsRequest) ([]*droverv1.LRP, error) {
	s, err := a.services()
	if err != nil {
		return nil, err
	}
	stream, err := s.Work.ListLRPs(cmd.Context(), connect.NewRequest(req))
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	var lrps []*droverv1.LRP
	for stream.Receive() {
		lrps = append(lrps, stream.Msg())
	}
	return lrps, stream.Err()
}

func (a *App) lrpListCmd() *cobra.Command {
	var domain, cell string
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List LRPs", Args: needArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			lrps, err := a.listLRPs(cmd, &droverv1.ListLRPsRequest{Domain: domain, Cell: cell})
			if err != nil {
				return err
			}
			t := newTable("GUID", "Domain", "Running", "Desired", "Memory", "Note")
			out := shown{data: object{{"schema", "drover.lrps/v1"}, {"lrps", plain(messages(lrps))}}}
			for _, l := range lrps {
				guid, dom := lrpName(l)
				out.names = append(out.names, guid)
				running, note := 0, ""
				for _, x := range l.Actual {
					if x.State == "RUNNING" && !x.Evacuating {
						running++
					} else if x.PlacementError != "" {
						note = x.PlacementError
					}
				}
				desired, memory := "-", "-"
				if l.Desired != nil {
					desired, memory = fmt.Sprint(l.Desired.Instances), fmt.Sprintf("%d MiB", l.Desired.Spec.GetMemoryMb())
				}
				t.add(guid, dom, fmt.Sprint(running), desired, memory, cut(note, 60))
			}
			out.table = func(w io.Writer) { t.print(w, a.painter()) }
			return a.show(cmd, out)
		},
	}
	cmd.Flags().StringVar(&domain, "domain", "", "only of this domain")
	cmd.Flags().StringVar(&cell, "cell", "", "only with instances on this cell")
	formatFlag(cmd)
	return cmd
}

func lrpName(l *droverv1.LRP) (guid, domain string) {
	if l.Desired != nil {
		return l.Desired.ProcessGuid, l.Desired.Domain
	}
	for _, x := range l.Actual {
		return x.ProcessGuid, x.Domain
	}
	return "", ""
}

func (a *App) lrpShowCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "show GUID", Short: "Show one LRP with its instances", Args: needArgs("GUID"),
		ValidArgsFunction: a.completeNames(1, "lrp"),
		RunE: func(cmd *cobra.Command, args []string) error {
			lrps, err := a.listLRPs(cmd, &droverv1.ListLRPsRequest{ProcessGuid: args[0]})
			if err != nil {
				return err
			}
			if len(lrps) == 0 {
				return a.suggest(cmd.Context(), fault.New(fault.NotFound, "there is no LRP %q", args[0]).Coded(fault.CodeNoSuchLRP).Try("drover lrp list"), "lrp", args[0])
			}
			l := lrps[0]
			return a.show(cmd, shown{data: plain(l), names: []string{args[0]}, table: func(w io.Writer) { a.printLRP(w, l) }})
		},
	}
	formatFlag(cmd)
	return cmd
}

func (a *App) printLRP(w io.Writer, l *droverv1.LRP) {
	guid, domain := lrpName(l)
	fmt.Fprintf(w, "LRP %s   domain %s", guid, domain)
	if d := l.Desired; d != nil {
		fmt.Fprintf(w, "   %d instances   %d MiB memory   %d MiB disk\n", d.Instances, d.Spec.GetMemoryMb(), d.Spec.GetDiskMb())
		if run := d.Spec.GetAction().GetRun(); run != nil {
			fmt.Fprintf(w, "runs %s\n", strings.Join(append([]string{run.Path}, run.Args...), " "))
		}
	} else {
		fmt.Fprintln(w, "   no longer desired")
	}
	fmt.Fprintln(w)
	t := newTable("Index", "State", "Cell", "Address", "Crashes", "Since", "Note")
	now := a.Now().UnixNano()
	for _, x := range l.Actual {
		state, note := x.State, x.PlacementError
		if x.Evacuating {
			state += " (evacuating)"
		}
		if note == "" {
			note = x.CrashReason
		}
		address := x.Net.GetAddress()
		for i, p := range x.Net.GetPorts() {
			if i == 0 {
				address += fmt.Sprintf(":%d", p.Host)
			} else {
				address += fmt.Sprintf(",%d", p.Host)
			}
		}
		t.add(fmt.Sprint(x.Index), state, x.Holder.GetCell(), address, fmt.Sprint(x.CrashCount), ago(now, x.Since), cut(note, 60))
	}
	t.print(w, a.painter())
}

func (a *App) lrpScaleCmd() *cobra.Command {
	var w waitFlags
	cmd := &cobra.Command{
		Use: "scale GUID N", Short: "Change how many instances are desired", Args: needArgs("GUID", "N"),
		ValidArgsFunction: a.completeNames(1, "lrp"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var n int32
			if _, err := fmt.Sscanf(args[1], "%d", &n); err != nil || n < 0 || fmt.Sprint(n) != args[1] {
				return usage(cmd, "%q is not a number of instances", args[1])
			}
			s, err := a.services()
			if err != nil {
				return err
			}
			_, err = s.Work.UpdateLRP(cmd.Context(), connect.NewRequest(&droverv1.UpdateLRPRequest{
				RequestId: a.NewID(), ProcessGuid: args[0], Instances: &n,
			}))
			if err != nil {
				return a.suggest(cmd.Context(), err, "lrp", args[0])
			}
			a.say("LRP %s is now desired ×%d.", args[0], n)
			return a.afterwards(cmd, w, lrpReady(args[0]))
		},
	}
	w.add(cmd, a)
	return cmd
}

func (a *App) lrpRemoveCmd() *cobra.Command {
	var f destroyFlags
	var w waitFlags
	cmd := &cobra.Command{
		Use: "remove GUID", Aliases: []string{"rm"}, Short: "Remove a desired LRP; its instances are stopped", Args: needArgs("GUID"),
		ValidArgsFunction: a.completeNames(1, "lrp"),
		RunE: func(cmd *cobra.Command, args []string) error {
			lrps, err := a.listLRPs(cmd, &droverv1.ListLRPsRequest{ProcessGuid: args[0]})
			if err != nil {
				return err
			}
			if len(lrps) == 0 || lrps[0].Desired == nil {
				missing := fault.New(fault.NotFound, "there is no LRP %q", args[0]).Coded(fault.CodeNoSuchLRP).Try("drover lrp list")
				return a.suggest(cmd.Context(), missing, "lrp", args[0])
			}
			if on, err := a.announce(cmd, f, "Removing LRP %s: %d instances", args[0], len(lrps[0].Actual)); !on {
				return err
			}
			s, err := a.services()
			if err != nil {
				return err
			}
			if _, err := s.Work.RemoveLRP(cmd.Context(), connect.NewRequest(&droverv1.RemoveLRPRequest{RequestId: a.NewID(), ProcessGuid: args[0]})); err != nil {
				return a.suggest(cmd.Context(), err, "lrp", args[0])
			}
			return a.afterwards(cmd, w, gone{"lrp/" + args[0]})
		},
	}
	f.add(cmd, a)
	w.add(cmd, a)
	return cmd
}
