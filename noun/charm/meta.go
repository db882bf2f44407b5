package charm

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"drover/noun/entity"

	"go.yaml.in/yaml/v3"
)

// The names of a charm's files that are read here.
const (
	MetadataFile = "metadata.yaml"
	ConfigFile   = "config.yaml"
	ManifestFile = "manifest.yaml"
	BundleFile   = "bundle.yaml"
	DispatchFile = "dispatch"
	HooksFolder  = "hooks"
)

// reservedPrefix begins names that belong to the system.
const reservedPrefix = "juju-"

const (
	maxEndpoints   = 256
	maxDescription = 64 << 10
)

var endpointName = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_]*(-[a-zA-Z0-9_]+)*$`)

type metaYAML struct {
	Name        string              `yaml:"name"`
	Summary     string              `yaml:"summary"`
	Description string              `yaml:"description"`
	Subordinate bool                `yaml:"subordinate"`
	Provides    map[string]endpoint `yaml:"provides"`
	Requires    map[string]endpoint `yaml:"requires"`
	Peers       map[string]endpoint `yaml:"peers"`
}

// endpoint is a mapping, or its short form: the interface alone.
type endpoint struct {
	Interface string `yaml:"interface"`
	Scope     string `yaml:"scope"`
	Limit     *int   `yaml:"limit"`
	Optional  bool   `yaml:"optional"`
}

// UnmarshalYAML reads both forms.
func (e *endpoint) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		return n.Decode(&e.Interface)
	}
	type plain endpoint
	return n.Decode((*plain)(e))
}

// ParseMeta reads metadata.yaml. HasManifest and HasDispatch are left for the
// caller, who knows which files there are. Errors are Invalid and name the field.
func ParseMeta(data []byte) (Meta, error) {
	node, err := parseYAML(MetadataFile, data)
	if err != nil {
		return Meta{}, err
	}
	var y metaYAML
	if err := decode(MetadataFile, node, &y); err != nil {
		return Meta{}, err
	}
	if err := checkMetaTexts(&y); err != nil {
		return Meta{}, err
	}
	m := Meta{Name: y.Name, Summary: y.Summary, Description: y.Description, Subordinate: y.Subordinate}
	for _, group := range []struct {
		field string
		role  entity.Role
		eps   map[string]endpoint
	}{{"provides", entity.Provider, y.Provides}, {"requires", entity.Requirer, y.Requires}, {"peers", entity.Peer, y.Peers}} {
		for name, e := range group.eps { // order-free: sorted below
			ep, err := makeEndpoint(group.field, name, group.role, e)
			if err != nil {
				return Meta{}, err
			}
			m.Endpoints = append(m.Endpoints, ep)
		}
	}
	slices.SortFunc(m.Endpoints, func(a, b entity.Endpoint) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Role, b.Role))
	})
	return m, checkMetaEndpoints(&m)
}

func checkMetaTexts(y *metaYAML) error {
	if y.Name == "" {
		return bad(MetadataFile, "name", "every charm needs one")
	}
	if err := entity.AppName(y.Name).Validate(); err != nil {
		return bad(MetadataFile, "name", "%s", err)
	}
	if strings.HasPrefix(y.Name, reservedPrefix) {
		return bad(MetadataFile, "name", "names that begin with %q are reserved", reservedPrefix)
	}
	if len(y.Summary) > maxDescription || len(y.Description) > maxDescription {
		return bad(MetadataFile, "description", "it is longer than %d bytes", maxDescription)
	}
	if len(y.Provides)+len(y.Requires)+len(y.Peers) > maxEndpoints {
		return bad(MetadataFile, "", "more than %d endpoints", maxEndpoints)
	}
	return nil
}

func makeEndpoint(field, name string, role entity.Role, e endpoint) (entity.Endpoint, error) {
	ep := entity.Endpoint{Name: name, Role: role, Interface: e.Interface, Scope: entity.ScopeGlobal}
	field += "." + name
	if len(name) > entity.MaxNameLength || !endpointName.MatchString(name) {
		return ep, bad(MetadataFile, field, "an endpoint's name is letters, digits, hyphens and underscores, and begins with a letter")
	}
	if e.Interface == "" {
		return ep, bad(MetadataFile, field, "it has no interface")
	}
	if len(e.Interface) > entity.MaxNameLength || !endpointName.MatchString(e.Interface) {
		return ep, bad(MetadataFile, field+".interface", "%q is not a valid interface name", e.Interface)
	}
	requiresInfo := role == entity.Requirer && e.Interface == entity.JujuInfo
	if strings.HasPrefix(name, reservedPrefix) && !requiresInfo || strings.HasPrefix(e.Interface, reservedPrefix) && !requiresInfo {
		return ep, bad(MetadataFile, field, "names that begin with %q are reserved", reservedPrefix)
	}
	switch e.Scope {
	case "", "global":
	case "container":
		ep.Scope = entity.ScopeContainer
	default:
		return ep, bad(MetadataFile, field+".scope", "it is %q; a scope is global or container", e.Scope)
	}
	if e.Limit != nil {
		if *e.Limit < 0 {
			return ep, bad(MetadataFile, field+".limit", "it is %d; a limit is positive", *e.Limit)
		}
		ep.Limit = *e.Limit
	}
	return ep, nil
}

func checkMetaEndpoints(m *Meta) error {
	container := false
	for i, e := range m.Endpoints {
		if i > 0 && m.Endpoints[i-1].Name == e.Name {
			return bad(MetadataFile, e.Name, "the endpoint is given twice, as %s and as %s", m.Endpoints[i-1].Role, e.Role)
		}
		container = container || e.Role == entity.Requirer && e.Scope == entity.ScopeContainer
	}
	if m.Subordinate && !container {
		return bad(MetadataFile, "subordinate", "a subordinate charm must require at least one endpoint with scope: container")
	}
	return nil
}
