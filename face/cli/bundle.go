package cli

import (
	"context"
	"io/fs"
	"path"
	"path/filepath"
	"sort"

	"drover/internal/charmdir"
	"drover/noun/charm"
	"drover/noun/fault"
	"drover/wire/convert"
	"drover/wire/droverv1"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
)

// readBundle reads a bundle and every charm that it names.
func readBundle(fsys fs.FS, name string, load func(path string) (*charmdir.Packed, error)) (source, error) {
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return source{}, fault.New(fault.NotFound, "cannot read the bundle %s", name).Why("%s", reason(err)).Wrap(err)
	}
	b, err := charm.ParseBundle(data)
	if err != nil {
		return source{}, err
	}
	src := source{bundle: b, charms: map[string]*charmdir.Packed{}}
	for _, app := range b.Applications {
		if src.charms[app.Charm] != nil {
			continue
		}
		p, err := load(app.Charm)
		if err != nil {
			f := asFault(err)
			return source{}, fault.New(f.Kind, "application %q of the bundle: %s", app.Name, f.What).
				Why("%s", f.Because).Try(f.Next...).Wrap(err)
		}
		src.charms[app.Charm] = p
	}
	return src, nil
}

// folderCharms loads the charms of a bundle relative to its folder.
func folderCharms(dir string) func(string) (*charmdir.Packed, error) {
	return func(p string) (*charmdir.Packed, error) {
		if path.Base(p) == p {
			return nil, fault.New(fault.NotFound, "its charm %q is only a name, and Drover has no charm store", p).Coded(fault.CodeNoCharmStore).
				Why("give a path that begins with ./")
		}
		if !filepath.IsAbs(p) {
			p = filepath.Join(dir, filepath.FromSlash(p))
		}
		return charmdir.Load(p)
	}
}

func (a *App) deployBundle(cmd *cobra.Command, src source, w waitFlags) error {
	ready, err := a.applyBundle(cmd.Context(), src)
	if err != nil {
		return err
	}
	return a.afterwards(cmd, w, ready)
}

// bundleReady are the things a bundle is about.
type bundleReady struct {
	apps, lrps, tasks []string
}

// applyBundle makes everything the bundle names. What is there already is left
// as it is, so that the same bundle can be applied again.
func (a *App) applyBundle(ctx context.Context, src source) (bundleReady, error) {
	var r bundleReady
	s, err := a.services()
	if err != nil {
		return r, err
	}
	st, err := a.status(ctx, s, true)
	if err != nil {
		return r, err
	}
	for _, app := range src.bundle.Applications {
		r.apps = append(r.apps, string(app.Name))
		if err := a.applyApp(ctx, st, app, src.charms[app.Charm]); err != nil {
			return r, err
		}
	}
	for _, rel := range src.bundle.Relations {
		if err := a.applyRelation(ctx, s, rel); err != nil {
			return r, err
		}
	}
	for _, p := range src.bundle.Processes {
		r.lrps = append(r.lrps, p.GUID)
		if err := a.applyProcess(ctx, s, st, p); err != nil {
			return r, err
		}
	}
	for _, t := range src.bundle.Tasks {
		r.tasks = append(r.tasks, t.GUID)
		if err := a.applyTask(ctx, s, st, t); err != nil {
			return r, err
		}
	}
	return r, nil
}

func (a *App) applyApp(ctx context.Context, st *droverv1.StatusResponse, app charm.BundleApp, p *charmdir.Packed) error {
	for _, there := range st.Applications {
		if there.Name == string(app.Name) {
			if there.Charm != p.Charm.Meta.Name {
				return fault.New(fault.Conflict, "cannot deploy application %q of the bundle", app.Name).
					Why("an application of that name runs the charm %s, not %s", there.Charm, p.Charm.Meta.Name).
					Try("drover status", "drover remove-application "+string(app.Name))
			}
			a.say("Application %s is there already.", app.Name)
			return nil
		}
	}
	req := &droverv1.DeployRequest{
		Model: a.flags.model, Application: string(app.Name), Config: app.Options, To: app.To,
		Constraints: convert.ConstraintsToWire(app.Constraints),
	}
	if app.NumUnits >= 0 {
		n := int32(app.NumUnits)
		req.NumUnits = &n
	}
	resp, err := a.deployCharm(ctx, p, req)
	if err != nil {
		return err
	}
	a.say("Deployed %s%s.", resp.Application, withUnits(resp.Units, resp.Machines))
	return nil
}

func (a *App) applyRelation(ctx context.Context, s *services, rel charm.BundleRelation) error {
	resp, err := s.Model.Integrate(ctx, connect.NewRequest(&droverv1.IntegrateRequest{
		RequestId: a.NewID(), Model: a.flags.model, A: rel.A, B: rel.B,
	}))
	if fault.Is(err, fault.Conflict) {
		a.say("Relation %s – %s is there already.", rel.A, rel.B)
		return nil
	}
	if err != nil {
		return err
	}
	a.say("Integrated %s.", relationName(resp.Msg))
	return nil
}

func (a *App) applyProcess(ctx context.Context, s *services, st *droverv1.StatusResponse, p charm.BundleProcess) error {
	for _, there := range st.Lrps {
		if there.ProcessGuid == p.GUID && there.Instances >= 0 {
			a.say("LRP %s is there already.", p.GUID)
			return nil
		}
	}
	lrp := &droverv1.DesiredLRP{ProcessGuid: p.GUID, Domain: orDefault(p.Domain), Instances: int32(p.Instances), Spec: runSpec(p.Run)}
	for _, port := range p.Ports {
		lrp.Spec.Ports = append(lrp.Spec.Ports, int32(port))
	}
	if _, err := s.Work.DesireLRP(ctx, connect.NewRequest(&droverv1.DesireLRPRequest{RequestId: a.NewID(), Lrp: lrp})); err != nil {
		return err
	}
	a.say("Desired LRP %s ×%d.", p.GUID, p.Instances)
	return nil
}

func (a *App) applyTask(ctx context.Context, s *services, st *droverv1.StatusResponse, t charm.BundleTask) error {
	for _, there := range st.Tasks {
		if there.Guid == t.GUID {
			a.say("Task %s is there already.", t.GUID)
			return nil
		}
	}
	task := &droverv1.Task{Guid: t.GUID, Domain: orDefault(t.Domain), ResultFile: t.ResultFile, Spec: runSpec(t.Run)}
	if _, err := s.Work.RunTask(ctx, connect.NewRequest(&droverv1.RunTaskRequest{RequestId: a.NewID(), Task: task})); err != nil {
		return err
	}
	a.say("Started task %s.", t.GUID)
	return nil
}

func runSpec(r charm.BundleRun) *droverv1.Spec {
	run := &droverv1.RunAction{Path: r.Path, Args: r.Args, Dir: r.Dir}
	for _, e := range r.Env {
		run.Env = append(run.Env, &droverv1.EnvVar{Name: e[0], Value: e[1]})
	}
	return &droverv1.Spec{
		Action: &droverv1.Action{Kind: &droverv1.Action_Run{Run: run}}, MemoryMb: r.MemoryMB, DiskMb: r.DiskMB,
	}
}

// orDefault is the domain of work whose author names none.
func orDefault(domain string) string {
	if domain == "" {
		return "default"
	}
	return domain
}

// relationName is "guestbook:db – store:db".
func relationName(r *droverv1.Relation) string {
	names := make([]string, 0, 2)
	for _, e := range r.Endpoints {
		names = append(names, e.Application+":"+e.Name)
	}
	sort.Strings(names)
	if len(names) == 2 {
		return names[0] + " – " + names[1]
	}
	return r.Name
}
