package hooktool

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"drover/act/hooktool/client"
)

// tool is one hook tool: its flags, its arguments, and what it does.
type tool struct {
	usage   string            // of its arguments
	purpose string            //
	strings map[string]string // flags with a value, and what they are for
	bools   map[string]string // flags without
	formats bool              // prints a value: --format and --output
	format  string            // the default format; empty: smart
	run     func(k *call) (any, *toolError)
}

// call is one call of a tool.
type call struct {
	*Context
	ctx   context.Context
	flags *flags
	req   *client.Request
}

// toolError is what a failed tool prints, and its exit code: 1 for a failure, 2
// for wrong arguments.
type toolError struct {
	code int
	text string
}

func failed(format string, args ...any) *toolError {
	return &toolError{1, fmt.Sprintf(format, args...)}
}

func usage(format string, args ...any) *toolError {
	return &toolError{2, fmt.Sprintf(format, args...)}
}

func refuse(code int, format string, args ...any) *client.Response {
	return &client.Response{Code: code, Stderr: []byte("ERROR " + fmt.Sprintf(format, args...) + "\n")}
}

// flags are parsed arguments. Long names stand for short ones too.
type flags struct {
	args  []string
	value map[string]string
	is    map[string]bool
	help  bool
}

// short are the one-letter flags, where a tool has the long one.
var short = map[string]string{"r": "relation", "o": "output", "l": "log-level", "a": "all"}

var commonStrings = map[string]string{"format": "smart, json or yaml", "output": "write to a file"}

func (t *tool) takesValue(name string) bool {
	if _, ok := commonStrings[name]; ok && t.formats {
		return true
	}
	_, ok := t.strings[name]
	return ok
}

// parse reads flags wherever they stand; "--" ends them.
func parse(t *tool, args []string) (*flags, error) {
	f := &flags{value: map[string]string{}, is: map[string]bool{}}
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			f.args = append(f.args, args[i+1:]...)
			break
		}
		if arg == "-" || !strings.HasPrefix(arg, "-") {
			f.args = append(f.args, arg)
			continue
		}
		name, value, given := splitFlag(arg)
		switch _, isBool := t.bools[name]; {
		case name == "help" || name == "h":
			f.help = true
		case isBool:
			on := true
			if given {
				var err error
				if on, err = strconv.ParseBool(value); err != nil {
					return nil, fmt.Errorf("invalid value %q for option --%s", value, name)
				}
			}
			f.is[name] = on
		case t.takesValue(name):
			if !given {
				if i++; i == len(args) {
					return nil, fmt.Errorf("option needs an argument: %s", arg)
				}
				value = args[i]
			}
			if name == "format" && t.formats && !slices.Contains(formats, value) {
				return nil, fmt.Errorf("invalid value %q for option --format: unknown format %q", value, value)
			}
			f.value[name] = value
		default:
			return nil, fmt.Errorf("option provided but not defined: %s", strings.SplitN(arg, "=", 2)[0])
		}
	}
	return f, nil
}

// splitFlag gives a flag's long name and the value in the same word: --name=v,
// -n=v, -nv.
func splitFlag(arg string) (name, value string, given bool) {
	if long, ok := strings.CutPrefix(arg, "--"); ok {
		return strings.Cut(long, "=")
	}
	letters := arg[1:]
	name = letters[:1]
	if long, ok := short[name]; ok {
		name = long
	}
	if len(letters) > 1 {
		return name, strings.TrimPrefix(letters[1:], "="), true
	}
	return name, "", false
}

func (t *tool) help(name string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: %s [options] %s\n\nSummary:\n%s\n", name, t.usage, t.purpose)
	lines := map[string]string{}
	for _, group := range []map[string]string{t.strings, t.bools} {
		for flag, text := range group { // order-free: builds a map
			lines[flag] = text
		}
	}
	if t.formats {
		for flag, text := range commonStrings { // order-free: builds a map
			lines[flag] = text
		}
	}
	if len(lines) > 0 {
		b.WriteString("\nOptions:\n")
	}
	for _, flag := range sortedKeys(lines) {
		letters := ""
		for s, long := range short { // order-free: at most one letter per flag
			if long == flag {
				letters = "-" + s + ", "
			}
		}
		fmt.Fprintf(&b, "%s--%s\n    %s\n", letters, flag, lines[flag])
	}
	return b.String()
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m { // order-free: sorted below
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
