package hooktool

import (
	"bytes"
	"encoding/json"
	"strings"

	"go.yaml.in/yaml/v3"
)

var formats = []string{"smart", "json", "yaml"}

// format prints a value as charms expect it. Smart prints a string as it is, a
// list of strings line by line, True and False, and everything else as YAML;
// nothing at all for nil and the empty string.
func format(asked, byDefault string, value any) ([]byte, error) {
	if asked == "" {
		asked = byDefault
	}
	switch asked {
	case "json":
		out, err := json.Marshal(value)
		return append(out, '\n'), err
	case "yaml":
		return formatYAML(value)
	default:
		return formatSmart(value)
	}
}

func formatSmart(value any) ([]byte, error) {
	switch v := value.(type) {
	case nil:
		return nil, nil
	case string:
		if v == "" {
			return nil, nil
		}
		return []byte(v + "\n"), nil
	case bool:
		if v {
			return []byte("True\n"), nil
		}
		return []byte("False\n"), nil
	case []string:
		if len(v) == 0 {
			return nil, nil
		}
		return []byte(strings.Join(v, "\n") + "\n"), nil
	default:
		return formatYAML(value)
	}
}

func formatYAML(value any) ([]byte, error) {
	if value == nil {
		return nil, nil
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(value); err != nil {
		return nil, err
	}
	return b.Bytes(), enc.Close()
}
