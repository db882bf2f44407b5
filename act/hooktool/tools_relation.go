package hooktool

import (
	"slices"
	"strings"

	"drover/act/hooktool/client"
	"drover/noun/entity"

	"go.yaml.in/yaml/v3"
)

func relationIDs(k *call) (any, *toolError) {
	endpoint := k.cfg.Hook.Endpoint
	if len(k.flags.args) > 0 {
		endpoint = k.flags.args[0]
	}
	if endpoint == "" {
		return nil, usage("no endpoint name specified")
	}
	rels := slices.Clone(k.cfg.Relations)
	slices.SortFunc(rels, func(a, b Relation) int { return int(int64(a.ID) - int64(b.ID)) })
	ids := []string{}
	for i := range rels {
		if rels[i].Endpoint == endpoint {
			ids = append(ids, rels[i].name())
		}
	}
	return ids, nil
}

func relationList(k *call) (any, *toolError) {
	r, err := k.relation()
	if err != nil {
		return nil, err
	}
	if k.flags.is["app"] {
		return string(r.RemoteApp), nil
	}
	units := []string{}
	for _, u := range r.Members {
		units = append(units, string(u))
	}
	return units, nil
}

func relationGet(k *call) (any, *toolError) {
	args := k.flags.args
	if len(args) > 2 {
		return nil, usage("unrecognized args: %q", args[2:])
	}
	r, terr := k.relation()
	if terr != nil {
		return nil, terr
	}
	key := ""
	if len(args) > 0 && args[0] != "-" {
		key = args[0]
	}
	name, terr := k.whose(r, args)
	if terr != nil {
		return nil, terr
	}
	if name == k.ownerName(true) && !k.cfg.Leader {
		return nil, failed("permission denied: this unit is not the leader")
	}
	values, terr := k.settings(r, name)
	if terr != nil {
		return nil, terr
	}
	if key == "" {
		return values, nil
	}
	if v, ok := values[key]; ok {
		return v, nil
	}
	return nil, nil
}

// whose is the unit or application whose settings are asked for: of the second
// argument, or the hook's remote unit, if the relation is the hook's.
func (k *call) whose(r *Relation, args []string) (string, *toolError) {
	name := ""
	if len(args) == 2 {
		name = args[1]
	} else if k.cfg.Hook.Kind.IsRelation() && k.cfg.Hook.Relation == r.ID {
		name = string(k.cfg.Hook.Remote)
		if name == "" && k.flags.is["app"] {
			name = string(r.RemoteApp)
		}
	}
	if name == "" {
		return "", usage("no unit or application specified")
	}
	if k.flags.is["app"] {
		name, _, _ = strings.Cut(name, "/")
		return name, nil
	}
	if !strings.Contains(name, "/") {
		if entity.AppName(name).Validate() != nil {
			return "", usage("invalid unit or application name %q", name)
		}
		return name, nil
	}
	if entity.UnitName(name).Validate() != nil {
		return "", usage("invalid unit or application name %q", name)
	}
	return name, nil
}

func relationSet(k *call) (any, *toolError) {
	r, terr := k.relation()
	if terr != nil {
		return nil, terr
	}
	values := map[string]string{}
	if k.flags.value["file"] != "" {
		if terr := k.readFile(values); terr != nil {
			return nil, terr
		}
	}
	for _, arg := range k.flags.args {
		key, value, ok := strings.Cut(arg, "=")
		if !ok || key == "" {
			return nil, usage("expected \"key=value\", got %q", arg)
		}
		values[key] = value
	}
	app := k.flags.is["app"]
	if app && !k.cfg.Leader {
		return nil, failed("cannot write relation settings: this unit is not the leader")
	}
	return nil, k.write(r, app, values)
}

// readFile reads a YAML map of settings, which the client has sent along.
func (k *call) readFile(into map[string]string) *toolError {
	data := k.req.Stdin
	if len(data) > client.MaxInput {
		return failed("cannot write relation settings: the file has more than %d bytes", client.MaxInput)
	}
	var nodes map[string]yaml.Node
	if err := yaml.Unmarshal(data, &nodes); err != nil {
		return failed("cannot read settings: expected a YAML map of strings")
	}
	for key, n := range nodes { // order-free: each key once
		if n.Kind != yaml.ScalarNode || key == "" {
			return failed("cannot read settings: the value of %q is not a string", key)
		}
		if n.Tag == "!!null" {
			n.Value = ""
		}
		into[key] = n.Value
	}
	return nil
}
