package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"drover/internal/charmdir"
	"drover/noun/charm"
	"drover/noun/fault"
	"drover/wire/convert"
	"drover/wire/droverv1"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"
)

type deployFlags struct {
	num         int
	config      []string
	constraints string
	to          []string
	wait        waitFlags
}

func (a *App) deployCmd() *cobra.Command {
	var f deployFlags
	cmd := &cobra.Command{
		Use:   "deploy CHARM|BUNDLE [NAME]",
		Short: "Deploy a charm (folder or .charm file) or a bundle (folder or .yaml file)",
		Example: `  drover deploy ./my-charm blog -n 2 --config title=Hello
  drover deploy ./bundle.yaml
  drover deploy demo              the demo's bundle, from the program itself`,
		Args: needSome("CHARM or BUNDLE", 2),
		RunE: func(cmd *cobra.Command, args []string) error { return a.deploy(cmd, args, f) },
	}
	cmd.Flags().IntVarP(&f.num, "num-units", "n", 1, "units to begin with")
	cmd.Flags().StringArrayVar(&f.config, "config", nil, "option as KEY=VALUE, or a YAML file of them")
	cmd.Flags().StringVar(&f.constraints, "constraints", "", `what each unit needs: "mem=512M cores=2 root-disk=4G arch=amd64"`)
	cmd.Flags().StringSliceVar(&f.to, "to", nil, "machines to use: an id, or new")
	f.wait.add(cmd, a)
	return cmd
}

func (a *App) deploy(cmd *cobra.Command, args []string, f deployFlags) error {
	src, err := a.findSource(args[0])
	if err != nil {
		return err
	}
	if src.bundle != nil {
		if len(args) > 1 || cmd.Flags().Changed("num-units") || len(f.config)+len(f.to) > 0 || f.constraints != "" {
			return usage(cmd, "a bundle says itself what to deploy: only --wait, --detach and --timeout go with it")
		}
		return a.deployBundle(cmd, src, f.wait)
	}
	req := &droverv1.DeployRequest{Model: a.flags.model, To: f.to}
	if len(args) > 1 {
		req.Application = args[1]
	}
	if cmd.Flags().Changed("num-units") {
		n := int32(f.num)
		req.NumUnits = &n
	}
	if req.Config, err = readOptions(f.config); err != nil {
		return err
	}
	if req.Constraints, err = readConstraints(f.constraints); err != nil {
		return err
	}
	resp, err := a.deployCharm(cmd.Context(), src.charm, req)
	if err != nil {
		return err
	}
	a.say("Deployed %s%s.", resp.Application, withUnits(resp.Units, resp.Machines))
	return a.afterwards(cmd, f.wait, appsReady{resp.Application})
}

// source is what deploy was given: a bundle with the charms it names, or one
// charm.
type source struct {
	bundle *charm.Bundle
	charms map[string]*charmdir.Packed // by the bundle's path
	charm  *charmdir.Packed
}

// findSource reads everything that will be deployed before anything changes.
func (a *App) findSource(arg string) (source, error) {
	info, err := os.Stat(arg)
	switch {
	case err == nil && info.IsDir():
		if _, err := os.Stat(filepath.Join(arg, charm.BundleFile)); err == nil {
			return readBundle(os.DirFS(arg), charm.BundleFile, folderCharms(arg))
		}
		p, err := charmdir.PackFolder(arg)
		return source{charm: p}, err
	case err == nil && isYAML(arg):
		return readBundle(os.DirFS(filepath.Dir(arg)), filepath.Base(arg), folderCharms(filepath.Dir(arg)))
	case err == nil:
		p, err := charmdir.Load(arg)
		return source{charm: p}, err
	case !errors.Is(err, fs.ErrNotExist):
		return source{}, fault.New(fault.Invalid, "cannot read %s", arg).Why("%s", err).Wrap(err)
	}
	if name, ok := strings.CutPrefix(arg, "demo/"); ok && a.hasExample(name) {
		p, err := charmdir.PackEmbedded(a.Programs.Demo, name)
		return source{charm: p}, err
	}
	if arg == "demo" && a.Programs.Demo != nil {
		return a.demoSource()
	}
	return source{}, a.noSource(arg)
}

func (a *App) demoSource() (source, error) {
	return readBundle(a.Programs.Demo, charm.BundleFile, func(path string) (*charmdir.Packed, error) {
		return charmdir.PackEmbedded(a.Programs.Demo, filepath.Clean(path))
	})
}

// noSource explains a name that is neither a folder nor a file.
func (a *App) noSource(arg string) error {
	if strings.ContainsAny(arg, "./") {
		f := fault.New(fault.NotFound, "there is no charm or bundle at %s", arg)
		if abs, err := filepath.Abs(arg); err == nil {
			f = f.Why("no such file or folder: %s", abs)
		}
		return f.Try("ls " + filepath.Dir(arg))
	}
	next := []string{"drover deploy ./" + arg, "drover deploy demo"}
	for _, e := range a.examples() {
		next = append(next, "drover deploy demo/"+e)
	}
	return fault.New(fault.NotFound, "%q is only a name, and Drover has no charm store", arg).Coded(fault.CodeNoCharmStore).
		Why("give a folder, a .charm file or one of these examples").Try(next...)
}

func (a *App) examples() []string {
	if a.Programs.Demo == nil {
		return nil
	}
	found, err := fs.Glob(a.Programs.Demo, "*/"+charm.MetadataFile)
	if err != nil {
		return nil
	}
	for i := range found {
		found[i] = filepath.Dir(found[i])
	}
	return found
}

func (a *App) hasExample(name string) bool {
	for _, e := range a.examples() {
		if e == name {
			return true
		}
	}
	return false
}

func isYAML(name string) bool {
	return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
}

// deployCharm uploads the charm and deploys it.
func (a *App) deployCharm(ctx context.Context, p *charmdir.Packed, req *droverv1.DeployRequest) (*droverv1.DeployResponse, error) {
	s, err := a.services()
	if err != nil {
		return nil, err
	}
	if req.CharmSha, err = a.upload(ctx, s, p); err != nil {
		return nil, err
	}
	req.RequestId = a.NewID()
	resp, err := s.Model.Deploy(ctx, connect.NewRequest(req))
	if err != nil {
		return nil, err
	}
	return resp.Msg, nil
}

const uploadChunk = 512 << 10

func (a *App) upload(ctx context.Context, s *services, p *charmdir.Packed) (string, error) {
	stream := s.Model.UploadCharm(ctx)
	for data := p.Archive; len(data) > 0; {
		n := min(len(data), uploadChunk)
		if err := stream.Send(&droverv1.UploadCharmRequest{Chunk: data[:n]}); err != nil {
			break // the answer says why
		}
		data = data[n:]
	}
	resp, err := stream.CloseAndReceive()
	if err != nil {
		return "", err
	}
	return resp.Msg.Sha, nil
}

// readOptions merges KEY=VALUE words and YAML files, later ones winning.
func readOptions(args []string) (map[string]string, error) {
	opts := map[string]string{}
	for _, arg := range args {
		if key, value, ok := strings.Cut(arg, "="); ok {
			opts[key] = value
			continue
		}
		more, err := readOptionsFile(arg)
		if err != nil {
			return nil, err
		}
		for k, v := range more { // order-free: into a map
			opts[k] = v
		}
	}
	return opts, nil
}

func readOptionsFile(name string) (map[string]string, error) {
	b, err := readSmallFile(name, charm.MaxYAMLSize)
	if err != nil {
		return nil, err
	}
	var nodes map[string]yaml.Node
	if err := yaml.Unmarshal(b, &nodes); err != nil {
		return nil, fault.New(fault.Invalid, "cannot read the options in %s", name).Why("%s", err).Wrap(err)
	}
	opts := map[string]string{}
	for k, n := range nodes { // order-free: into a map
		if n.Kind != yaml.ScalarNode {
			return nil, fault.New(fault.Invalid, "cannot read the options in %s", name).Why("%s is not a single value", k)
		}
		opts[k] = n.Value
	}
	return opts, nil
}

func readConstraints(text string) (*droverv1.Constraints, error) {
	if text == "" {
		return nil, nil
	}
	c, err := charm.ParseConstraints(text)
	if err != nil {
		return nil, fault.New(fault.Invalid, "the constraints %q are not valid", text).Why("%s", err)
	}
	return convert.ConstraintsToWire(c), nil
}

func readSmallFile(name string, most int64) ([]byte, error) {
	fi, err := os.Stat(name)
	if err != nil {
		return nil, fault.New(fault.NotFound, "cannot read %s", name).Why("%s", reason(err)).Wrap(err)
	}
	if fi.Size() > most {
		return nil, fault.New(fault.Invalid, "%s is too big", name).Why("it has %d bytes, at most %d are allowed", fi.Size(), most)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, fault.New(fault.Invalid, "cannot read %s", name).Why("%s", reason(err)).Wrap(err)
	}
	return b, nil
}

// reason is a file operation's error without the path.
func reason(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

func withUnits(units, machines []string) string {
	var b strings.Builder
	if len(units) > 0 {
		b.WriteString(": " + strings.Join(firstFew(units), ", "))
	}
	if len(machines) > 0 {
		b.WriteString(" on new machines " + strings.Join(firstFew(machines), ", "))
	}
	return b.String()
}

func firstFew(words []string) []string {
	const few = 8
	if len(words) <= few {
		return words
	}
	return append(append([]string(nil), words[:few]...), "…")
}
