package registry

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"drover/decide/lifecycle"
	"drover/keep/store"
	"drover/noun/charm"
	"drover/noun/entity"
	"drover/noun/fault"
	"drover/noun/when"
)

// MaxConfigValue bounds one config value, in bytes.
const MaxConfigValue = 1 << 20

// SetConfig sets and resets options of an Alive application. Invalid names the
// first option that does not exist or whose value is not of its type; nothing
// changes then.
func (r *Registry) SetConfig(tx *store.Txn, _ when.Instant, m entity.ModelUID, app entity.AppName, set map[string]string, reset []string) error {
	a, ok := r.Application(tx, m, app)
	if !ok {
		return lifecycle.NoApplication(app)
	}
	if a.Life != entity.Alive {
		return fault.New(fault.Conflict, "cannot configure %q", string(app)).Coded(fault.CodeLifeForbids).Why("the application is %s", a.Life).Try("drover why " + string(app))
	}
	ch, _ := r.Charm(tx, a.Charm)
	row, _ := r.configs.Get(tx, appKey(m, app))
	values, err := setConfig(app, ch.Options, row.Values, set, reset)
	if err != nil || maps.Equal(values, row.Values) {
		return err
	}
	r.configs.Put(tx, entity.AppConfig{Model: m, App: app, Values: values})
	return nil
}

// setConfig is the new map of an application's own values.
func setConfig(app entity.AppName, options map[string]charm.Option, old, set map[string]string, reset []string) (map[string]string, error) {
	values := maps.Clone(old)
	if values == nil {
		values = map[string]string{}
	}
	for _, name := range reset {
		if _, ok := options[name]; !ok {
			return nil, noOption(app, options, name)
		}
		delete(values, name)
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		option, ok := options[name]
		if !ok {
			return nil, noOption(app, options, name)
		}
		value, err := typed(option.Type, set[name])
		if err != nil {
			return nil, fault.New(fault.Invalid, "option %q of %q cannot be %.60q", name, string(app), set[name]).Coded(fault.CodeBadOption).Why("%v", err)
		}
		values[name] = value
	}
	return values, nil
}

func noOption(app entity.AppName, options map[string]charm.Option, name string) error {
	names := slices.Sorted(maps.Keys(options))
	e := fault.New(fault.Invalid, "application %q has no option %.60q", string(app), name).Coded(fault.CodeUnknownOption).Try("drover config " + string(app))
	if len(names) == 0 {
		return e.Why("its charm has no options")
	}
	return e.Why("it has %s", strings.Join(names[:min(len(names), 20)], ", "))
}

// typed is the canonical text of a value of the type.
func typed(t charm.OptionType, value string) (string, error) {
	if len(value) > MaxConfigValue {
		return "", fmt.Errorf("it is longer than %d bytes", MaxConfigValue)
	}
	switch t {
	case "int":
		n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		if err != nil {
			return "", fmt.Errorf("it is an int")
		}
		return strconv.FormatInt(n, 10), nil
	case "float":
		f, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil || f != f || f-f != 0 {
			return "", fmt.Errorf("it is a float")
		}
		return strconv.FormatFloat(f, 'g', -1, 64), nil
	case "boolean":
		b, err := strconv.ParseBool(strings.ToLower(strings.TrimSpace(value)))
		if err != nil {
			return "", fmt.Errorf("it is a boolean: true or false")
		}
		return strconv.FormatBool(b), nil
	default:
		return value, nil
	}
}

// Config are all options of the application with their effective values, sorted
// by name.
func (r *Registry) Config(rd store.Reader, m entity.ModelUID, app entity.AppName) ([]ConfigValue, error) {
	a, ok := r.Application(rd, m, app)
	if !ok {
		return nil, lifecycle.NoApplication(app)
	}
	ch, _ := r.Charm(rd, a.Charm)
	row, _ := r.configs.Get(rd, appKey(m, app))
	var out []ConfigValue
	for _, name := range slices.Sorted(maps.Keys(ch.Options)) {
		o := ch.Options[name]
		v := ConfigValue{Name: name, Type: string(o.Type), Description: o.Description, Value: o.Default, IsSet: o.HasDefault, IsDefault: true}
		if own, set := row.Values[name]; set {
			v.Value, v.IsSet, v.IsDefault = own, true, false
		}
		out = append(out, v)
	}
	return out, nil
}

// ConfigHash is the hash of the effective values: equal for equal values.
func (r *Registry) ConfigHash(values []ConfigValue) string {
	h := sha256.New()
	for _, v := range values {
		if v.IsSet {
			fmt.Fprintf(h, "%d:%s=%d:%s\n", len(v.Name), v.Name, len(v.Value), v.Value)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
