package charm

import (
	"bytes"
	"errors"
	"io"
	"regexp"

	"drover/noun/fault"

	"go.yaml.in/yaml/v3"
)

// The bounds on a YAML document of a charm or bundle. Aliases count as what
// they stand for.
const (
	MaxYAMLSize  = 1 << 20
	maxYAMLDepth = 64
	maxYAMLNodes = 100_000
)

// bad is the error of a file: what is wrong, at which field.
func bad(file, field, format string, args ...any) *fault.Error {
	where := file
	if field != "" {
		where += ": " + field
	}
	return fault.New(fault.Invalid, "%s is not valid", where).Why(format, args...)
}

// parseYAML reads one document within the bounds. An empty document is nil.
func parseYAML(file string, data []byte) (*yaml.Node, error) {
	if len(data) > MaxYAMLSize {
		return nil, bad(file, "", "it has %d bytes, at most %d are allowed", len(data), MaxYAMLSize)
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, bad(file, "", "%s", yamlProblem(err))
	}
	var second yaml.Node
	if err := dec.Decode(&second); !errors.Is(err, io.EOF) {
		return nil, bad(file, "", "it must hold exactly one document")
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	budget := maxYAMLNodes
	if err := measure(file, doc.Content[0], 1, &budget); err != nil {
		return nil, err
	}
	return doc.Content[0], nil
}

// measure walks the document as if its aliases were written out.
func measure(file string, n *yaml.Node, depth int, budget *int) error {
	if depth > maxYAMLDepth {
		return bad(file, "", "line %d: nested deeper than %d levels", n.Line, maxYAMLDepth)
	}
	if *budget--; *budget < 0 {
		return bad(file, "", "line %d: more than %d values, aliases written out", n.Line, maxYAMLNodes)
	}
	if n.Kind == yaml.AliasNode {
		return measure(file, n.Alias, depth+1, budget)
	}
	for _, c := range n.Content {
		if err := measure(file, c, depth+1, budget); err != nil {
			return err
		}
	}
	return nil
}

// decode fills into from the document; nil leaves it as it is.
func decode(file string, n *yaml.Node, into any) error {
	if n == nil {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		return bad(file, "", "line %d: a mapping is expected at the top", n.Line)
	}
	if err := n.Decode(into); err != nil {
		return bad(file, "", "%s", yamlProblem(err))
	}
	return nil
}

var goTypes = regexp.MustCompile(` into (\*?\w+\.\w+|\[\]\S+|map\S+|\S+)`)

// yamlProblem is the library's message without names of Go types.
func yamlProblem(err error) string {
	var te *yaml.TypeError
	if errors.As(err, &te) && len(te.Errors) > 0 {
		return goTypes.ReplaceAllString(te.Errors[0], " here")
	}
	return err.Error()
}
