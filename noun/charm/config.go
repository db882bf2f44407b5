package charm

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"

	"drover/noun/fault"

	"go.yaml.in/yaml/v3"
)

// The types of config options.
const (
	TypeString  OptionType = "string"
	TypeInt     OptionType = "int"
	TypeFloat   OptionType = "float"
	TypeBoolean OptionType = "boolean"
	TypeSecret  OptionType = "secret"
)

// The bounds on a charm's configuration.
const (
	maxOptions     = 1024
	MaxOptionValue = 256 << 10
)

var (
	optionName = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_.-]*$`)
	secretURI  = regexp.MustCompile(`^secret:[a-z0-9/-]{1,80}$`)
)

type optionYAML struct {
	Type        string    `yaml:"type"`
	Description string    `yaml:"description"`
	Default     yaml.Node `yaml:"default"`
}

// ParseConfig reads config.yaml. Errors are Invalid and name the option.
func ParseConfig(data []byte) (map[string]Option, error) {
	node, err := parseYAML(ConfigFile, data)
	if err != nil {
		return nil, err
	}
	var y struct {
		Options map[string]optionYAML `yaml:"options"`
	}
	if err := decode(ConfigFile, node, &y); err != nil {
		return nil, err
	}
	if len(y.Options) > maxOptions {
		return nil, bad(ConfigFile, "options", "more than %d options", maxOptions)
	}
	options := make(map[string]Option, len(y.Options))
	for _, name := range sortedKeys(y.Options) {
		opt, err := makeOption(name, y.Options[name])
		if err != nil {
			return nil, err
		}
		options[name] = opt
	}
	return options, nil
}

func makeOption(name string, y optionYAML) (Option, error) {
	field := "options." + name
	if len(name) > 255 || !optionName.MatchString(name) {
		return Option{}, bad(ConfigFile, field, "it is not a valid option name")
	}
	opt := Option{Type: OptionType(y.Type), Description: y.Description}
	switch opt.Type {
	case TypeString, TypeInt, TypeFloat, TypeBoolean, TypeSecret:
	case "":
		return Option{}, bad(ConfigFile, field+".type", "it is missing; a type is string, int, float, boolean or secret")
	default:
		return Option{}, bad(ConfigFile, field+".type", "it is %q; a type is string, int, float, boolean or secret", y.Type)
	}
	if y.Default.Kind == 0 || y.Default.Tag == "!!null" {
		return opt, nil
	}
	if y.Default.Kind != yaml.ScalarNode {
		return Option{}, bad(ConfigFile, field+".default", "it must be a single value")
	}
	// An empty default is none, as charms written for Juju expect.
	if y.Default.Value == "" {
		return opt, nil
	}
	value, err := canonical(opt.Type, y.Default.Value)
	if err != nil {
		return Option{}, bad(ConfigFile, field+".default", "%s", err)
	}
	opt.Default, opt.HasDefault = value, true
	return opt, nil
}

// ValidateOption checks a value that an operator gives for an option and returns
// its canonical text ("yes" of a boolean becomes "true"). Errors are Invalid.
func ValidateOption(options map[string]Option, name, value string) (string, error) {
	opt, ok := options[name]
	if !ok {
		err := fault.New(fault.Invalid, "unknown option %q", name)
		if len(options) == 0 {
			return "", err.Why("the charm has no options")
		}
		return "", err.Why("the charm's options are %s", list(sortedKeys(options)))
	}
	text, err := canonical(opt.Type, value)
	if err != nil {
		return "", fault.New(fault.Invalid, "option %q cannot be set", name).Why("%s", err)
	}
	return text, nil
}

// Effective is the value of every option that has one: the operator's, else the
// charm's default.
func Effective(options map[string]Option, set map[string]string) map[string]string {
	values := make(map[string]string, len(options))
	for name, opt := range options { // order-free: builds a map
		if v, ok := set[name]; ok {
			values[name] = v
		} else if opt.HasDefault {
			values[name] = opt.Default
		}
	}
	return values
}

func canonical(t OptionType, value string) (string, error) {
	if len(value) > MaxOptionValue {
		return "", fmt.Errorf("the value has %d bytes, at most %d are allowed", len(value), MaxOptionValue)
	}
	switch t {
	case TypeInt:
		i, err := strconv.ParseInt(value, 0, 64)
		if err != nil {
			return "", fmt.Errorf("%q is not an int", value)
		}
		return strconv.FormatInt(i, 10), nil
	case TypeFloat:
		f, err := strconv.ParseFloat(value, 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return "", fmt.Errorf("%q is not a float", value)
		}
		return strconv.FormatFloat(f, 'g', -1, 64), nil
	case TypeBoolean:
		return canonicalBool(value)
	case TypeSecret:
		if value != "" && !secretURI.MatchString(value) {
			return "", fmt.Errorf("%q is not a secret's URI", value)
		}
	}
	return value, nil
}

func canonicalBool(value string) (string, error) {
	switch value {
	case "yes", "Yes", "YES", "on", "On", "ON":
		return "true", nil
	case "no", "No", "NO", "off", "Off", "OFF":
		return "false", nil
	}
	b, err := strconv.ParseBool(value)
	if err != nil {
		return "", fmt.Errorf("%q is not a boolean", value)
	}
	return strconv.FormatBool(b), nil
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m { // order-free: sorted below
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// list is at most ten names, then how many more.
func list(names []string) string {
	const most = 10
	text := ""
	for i, n := range names {
		if i == most {
			return fmt.Sprintf("%s and %d more", text, len(names)-most)
		}
		if i > 0 {
			text += ", "
		}
		text += n
	}
	return text
}
