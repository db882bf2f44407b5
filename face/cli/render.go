package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"drover/noun/fault"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

const formatsKey = "drover_formats"

// formatFlag adds --format with the formats of a read command.
func formatFlag(cmd *cobra.Command) {
	formatsFlag(cmd, "table", "json", "yaml", "name")
}

// formatsFlag adds --format with the given formats, the first as default.
func formatsFlag(cmd *cobra.Command, formats ...string) {
	cmd.Flags().VarPF(newFormat(formats[0]), "format", "", "output: "+orList(formats)).
		Annotations = map[string][]string{formatsKey: {strings.Join(formats, ",")}}
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp)) // fails only for unknown flags
}

func newFormat(v string) pflag.Value { f := format(v); return &f }

type format string

func (f *format) String() string     { return string(*f) }
func (f *format) Set(s string) error { *f = format(s); return nil }
func (f *format) Type() string       { return "format" }

func formatOf(cmd *cobra.Command) string {
	if f := cmd.Flags().Lookup("format"); f != nil {
		return f.Value.String()
	}
	return ""
}

// shown is what a read command answers: data that keeps its shape for programs,
// the names in it one a line, and text for people.
type shown struct {
	data  any
	names []string
	lines func() []string // one for each thing; nil: it has no such format
	table func(w io.Writer)
}

// show writes the answer in the command's format: the one renderer.
func (a *App) show(cmd *cobra.Command, s shown) error {
	switch f := formatOf(cmd); f {
	case "json":
		b, err := jsonOf(s.data)
		if err != nil {
			return err
		}
		return a.write(b)
	case "yaml":
		b, err := yamlOf(s.data)
		if err != nil {
			return err
		}
		return a.write(b)
	case "name", "line":
		lines := s.names
		if f == "line" {
			lines = s.lines()
		}
		var b bytes.Buffer
		for _, n := range lines {
			fmt.Fprintln(&b, n)
		}
		return a.write(b.Bytes())
	default:
		var b bytes.Buffer
		s.table(&b)
		return a.write(b.Bytes())
	}
}

func (a *App) write(b []byte) error {
	if _, err := a.Out.Write(b); err != nil {
		return fault.New(fault.Internal, "cannot write the output").Why("%s", err).Wrap(err)
	}
	return nil
}

func jsonOf(data any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(plain(data)); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// yamlOf writes the same document as jsonOf: JSON is YAML, only its style is
// changed.
func yamlOf(data any) ([]byte, error) {
	b, err := jsonOf(data)
	if err != nil {
		return nil, err
	}
	var n yaml.Node
	if err := yaml.Unmarshal(b, &n); err != nil {
		return nil, err
	}
	unstyle(&n)
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(&n); err != nil {
		return nil, err
	}
	return out.Bytes(), enc.Close()
}

func unstyle(n *yaml.Node) {
	if n.Kind != yaml.ScalarNode && len(n.Content) > 0 {
		n.Style = 0
	}
	if n.Kind == yaml.ScalarNode {
		n.Style = 0
	}
	for _, c := range n.Content {
		unstyle(c)
	}
}

// say tells people something that is not data.
func (a *App) say(format string, args ...any) {
	if !a.flags.quiet {
		fmt.Fprintf(a.Err, format+"\n", args...)
	}
}
