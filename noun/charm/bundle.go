package charm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"drover/noun/entity"

	"go.yaml.in/yaml/v3"
)

// The bounds on a bundle.
const (
	maxBundleApps      = 1000
	maxBundleRelations = 10_000
	maxBundleUnits     = 10_000
)

// Bundle is what bundle.yaml asks for. Processes and Tasks are Drover's own
// sections.
type Bundle struct {
	Description  string
	Applications []BundleApp      // sorted by name
	Relations    []BundleRelation // in the file's order
	Processes    []BundleProcess  // sorted by guid
	Tasks        []BundleTask     // sorted by guid
}

// BundleApp is one application of a bundle. NumUnits is -1 when not given.
type BundleApp struct {
	Name        entity.AppName
	Charm       string // a path ("./store"), relative to the bundle's folder
	NumUnits    int
	To          []string
	Options     map[string]string // textual forms
	Constraints entity.Constraints
	Expose      bool
}

// BundleRelation joins two endpoints, each "app" or "app:endpoint".
type BundleRelation struct {
	A, B string
}

// BundleProcess is a long-running process of a bundle.
type BundleProcess struct {
	GUID      string
	Domain    string
	Instances int
	Run       BundleRun
	Ports     []int
}

// BundleTask is a task of a bundle.
type BundleTask struct {
	GUID       string
	Domain     string
	Run        BundleRun
	ResultFile string
}

// BundleRun is what a process or task runs and needs. Env is sorted by name.
type BundleRun struct {
	Path     string
	Args     []string
	Dir      string
	Env      [][2]string
	MemoryMB int64
	DiskMB   int64
}

type bundleYAML struct {
	Description  string                 `yaml:"description"`
	Applications map[string]bundleApp   `yaml:"applications"`
	Services     map[string]bundleApp   `yaml:"services"` // the old name
	Relations    [][]string             `yaml:"relations"`
	Processes    map[string]processYAML `yaml:"processes"`
	Tasks        map[string]processYAML `yaml:"tasks"`
}

type bundleApp struct {
	Charm       string               `yaml:"charm"`
	NumUnits    *int                 `yaml:"num_units"`
	To          stringList           `yaml:"to"`
	Options     map[string]yaml.Node `yaml:"options"`
	Constraints string               `yaml:"constraints"`
	Expose      bool                 `yaml:"expose"`
}

type processYAML struct {
	Domain     string            `yaml:"domain"`
	Instances  *int              `yaml:"instances"`
	Command    stringList        `yaml:"command"`
	Dir        string            `yaml:"dir"`
	Env        map[string]string `yaml:"env"`
	Memory     int64             `yaml:"memory_mb"`
	Disk       int64             `yaml:"disk_mb"`
	Ports      []int             `yaml:"ports"`
	ResultFile string            `yaml:"result_file"`
}

// stringList is a list, or one string alone.
type stringList []string

// UnmarshalYAML reads both forms.
func (l *stringList) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*l = stringList{n.Value}
		return nil
	}
	return n.Decode((*[]string)(l))
}

// ParseBundle reads bundle.yaml. It does not know whether the charms exist.
// Errors are Invalid and name the field.
func ParseBundle(data []byte) (*Bundle, error) {
	node, err := parseYAML(BundleFile, data)
	if err != nil {
		return nil, err
	}
	var y bundleYAML
	if err := decode(BundleFile, node, &y); err != nil {
		return nil, err
	}
	if y.Applications == nil {
		y.Applications = y.Services
	}
	if len(y.Applications) == 0 && len(y.Processes) == 0 && len(y.Tasks) == 0 {
		return nil, bad(BundleFile, "", "it names no applications, processes or tasks")
	}
	if len(y.Applications) > maxBundleApps || len(y.Relations) > maxBundleRelations ||
		len(y.Processes)+len(y.Tasks) > maxBundleApps {
		return nil, bad(BundleFile, "", "it has more than %d applications, relations, processes or tasks", maxBundleApps)
	}
	b := &Bundle{Description: y.Description}
	for _, name := range sortedKeys(y.Applications) {
		app, err := makeBundleApp(name, y.Applications[name])
		if err != nil {
			return nil, err
		}
		b.Applications = append(b.Applications, app)
	}
	if err := b.addRelations(&y); err != nil {
		return nil, err
	}
	return b, b.addWork(&y)
}

func makeBundleApp(name string, y bundleApp) (BundleApp, error) {
	field := "applications." + name
	app := BundleApp{Name: entity.AppName(name), Charm: y.Charm, NumUnits: -1, To: y.To, Expose: y.Expose}
	if err := app.Name.Validate(); err != nil {
		return app, bad(BundleFile, field, "%s", err)
	}
	if y.Charm == "" {
		return app, bad(BundleFile, field+".charm", "every application needs a charm, for example ./store")
	}
	if y.NumUnits != nil {
		if app.NumUnits = *y.NumUnits; app.NumUnits < 0 || app.NumUnits > maxBundleUnits {
			return app, bad(BundleFile, field+".num_units", "it is %d; 0 to %d are allowed", app.NumUnits, maxBundleUnits)
		}
		if app.NumUnits < len(app.To) {
			return app, bad(BundleFile, field+".to", "it places %d units, but num_units is %d", len(app.To), app.NumUnits)
		}
	}
	for _, option := range sortedKeys(y.Options) {
		node := y.Options[option]
		if node.Kind == yaml.AliasNode {
			node = *node.Alias
		}
		if node.Kind != yaml.ScalarNode {
			return app, bad(BundleFile, field+".options."+option, "it must be a single value")
		}
		if app.Options == nil {
			app.Options = map[string]string{}
		}
		app.Options[option] = node.Value
	}
	var err error
	if app.Constraints, err = ParseConstraints(y.Constraints); err != nil {
		return app, bad(BundleFile, field+".constraints", "%s", err)
	}
	return app, nil
}

func (b *Bundle) addRelations(y *bundleYAML) error {
	for i, r := range y.Relations {
		field := fmt.Sprintf("relations[%d]", i)
		if len(r) != 2 {
			return bad(BundleFile, field, "a relation has two endpoints, this has %d", len(r))
		}
		for _, end := range r {
			app, _, _ := strings.Cut(end, ":")
			if _, ok := y.Applications[app]; !ok {
				return bad(BundleFile, field, "%q names the application %q, which is not in the bundle", end, app)
			}
		}
		b.Relations = append(b.Relations, BundleRelation{r[0], r[1]})
	}
	return nil
}

func (b *Bundle) addWork(y *bundleYAML) error {
	for _, guid := range sortedKeys(y.Processes) {
		p := y.Processes[guid]
		run, err := makeRun("processes."+guid, p)
		if err != nil {
			return err
		}
		instances := 1
		if p.Instances != nil {
			instances = *p.Instances
		}
		if instances < 0 || instances > maxBundleUnits {
			return bad(BundleFile, "processes."+guid+".instances", "it is %d; 0 to %d are allowed", instances, maxBundleUnits)
		}
		for _, port := range p.Ports {
			if port < 1 || port > 65535 {
				return bad(BundleFile, "processes."+guid+".ports", "%d is not a port", port)
			}
		}
		b.Processes = append(b.Processes, BundleProcess{GUID: guid, Domain: p.Domain, Instances: instances, Run: run, Ports: p.Ports})
	}
	for _, guid := range sortedKeys(y.Tasks) {
		t := y.Tasks[guid]
		run, err := makeRun("tasks."+guid, t)
		if err != nil {
			return err
		}
		if t.Instances != nil || len(t.Ports) > 0 {
			return bad(BundleFile, "tasks."+guid, "a task has no instances and no ports")
		}
		b.Tasks = append(b.Tasks, BundleTask{GUID: guid, Domain: t.Domain, Run: run, ResultFile: t.ResultFile})
	}
	return nil
}

func makeRun(field string, p processYAML) (BundleRun, error) {
	if len(p.Command) == 0 || p.Command[0] == "" {
		return BundleRun{}, bad(BundleFile, field+".command", "it needs a command: a list of the program and its arguments")
	}
	if p.Memory < 0 || p.Disk < 0 {
		return BundleRun{}, bad(BundleFile, field, "memory_mb and disk_mb cannot be negative")
	}
	run := BundleRun{Path: p.Command[0], Args: slices.Clone(p.Command[1:]), Dir: p.Dir, MemoryMB: p.Memory, DiskMB: p.Disk}
	for _, name := range sortedKeys(p.Env) {
		run.Env = append(run.Env, [2]string{name, p.Env[name]})
	}
	return run, nil
}

// ParseConstraints reads "mem=512M cores=2 root-disk=4G arch=amd64". Sizes
// without a suffix are MiB. Errors are plain: the caller says where.
func ParseConstraints(text string) (entity.Constraints, error) {
	var c entity.Constraints
	for _, word := range strings.Fields(text) {
		key, value, ok := strings.Cut(word, "=")
		if !ok {
			return c, fmt.Errorf("%q is not KEY=VALUE", word)
		}
		var err error
		switch key {
		case "mem":
			c.MemoryMB, err = parseSize(value)
		case "root-disk", "disk":
			c.DiskMB, err = parseSize(value)
		case "cores", "cpu-cores":
			var cores float64
			cores, err = strconv.ParseFloat(value, 64)
			if err == nil && (cores < 0 || cores > 1e6) {
				err = fmt.Errorf("%q is out of range", value)
			}
			c.MilliCPU = int64(cores * 1000)
		case "arch":
			c.Arch = value
		default:
			return c, fmt.Errorf("unknown constraint %q; known are mem, root-disk, cores and arch", key)
		}
		if err != nil {
			return c, fmt.Errorf("%s: %q is not a valid amount", key, value)
		}
	}
	return c, nil
}

func parseSize(value string) (int64, error) {
	factor := 1.0
	switch {
	case strings.HasSuffix(value, "G"):
		factor = 1024
	case strings.HasSuffix(value, "T"):
		factor = 1024 * 1024
	}
	f, err := strconv.ParseFloat(strings.TrimRight(value, "MGT"), 64)
	if err != nil || f < 0 || f > 1e12 {
		return 0, fmt.Errorf("%q is not a size", value)
	}
	return int64(f * factor), nil
}
