package charm_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"drover/noun/charm"
	"drover/noun/entity"
	"drover/noun/fault"
)

const blog = `
name: blog
summary: a blog
provides:
  website: http
requires:
  db:
    interface: mysql
    limit: 1
  logging:
    interface: logging
    scope: container
peers:
  cluster: {interface: blog-cluster}
storage: {data: {type: filesystem}}
`

// Rule: E-024
func TestParseMeta(t *testing.T) {
	m, err := charm.ParseMeta([]byte(blog))
	if err != nil {
		t.Fatal(err)
	}
	want := []entity.Endpoint{
		{Name: "cluster", Role: entity.Peer, Interface: "blog-cluster", Scope: entity.ScopeGlobal},
		{Name: "db", Role: entity.Requirer, Interface: "mysql", Scope: entity.ScopeGlobal, Limit: 1},
		{Name: "logging", Role: entity.Requirer, Interface: "logging", Scope: entity.ScopeContainer},
		{Name: "website", Role: entity.Provider, Interface: "http", Scope: entity.ScopeGlobal},
	}
	if m.Name != "blog" || !reflect.DeepEqual(m.Endpoints, want) {
		t.Errorf("got %+v", m)
	}
}

func TestNonsenseIsRefusedByField(t *testing.T) {
	meta := func(b []byte) error { _, err := charm.ParseMeta(b); return err }
	config := func(b []byte) error { _, err := charm.ParseConfig(b); return err }
	bundle := func(b []byte) error { _, err := charm.ParseBundle(b); return err }
	for _, c := range []struct {
		name, data, want string
		parse            func([]byte) error
	}{
		{"no name", "summary: x", "metadata.yaml: name", meta},
		{"empty", "", "metadata.yaml: name", meta},
		{"a list", "- a\n- b", "a mapping is expected", meta},
		{"not YAML", "name: [", "metadata.yaml is not valid", meta},
		{"a bad name", "name: Blog!", "metadata.yaml: name", meta},
		{"a reserved name", "name: juju-blog", "reserved", meta},
		{"a reserved endpoint", "name: a\nprovides: {juju-info: juju-info}", "reserved", meta},
		{"no interface", "name: a\nprovides: {db: {}}", "provides.db", meta},
		{"an unknown scope", "name: a\nrequires: {db: {interface: x, scope: wide}}", "requires.db.scope", meta},
		{"a negative limit", "name: a\nrequires: {db: {interface: x, limit: -1}}", "requires.db.limit", meta},
		{"an endpoint twice", "name: a\nrequires: {db: x}\nprovides: {db: x}", "given twice", meta},
		{"a subordinate without a container", "name: a\nsubordinate: true\nrequires: {db: x}", "scope: container", meta},
		{"a number for a mapping", "name: a\nprovides: 7", "metadata.yaml is not valid", meta},
		{"two documents", "name: a\n---\nname: b", "exactly one document", meta},
		{"too deep", "name: a\nx: " + strings.Repeat("[", 100) + strings.Repeat("]", 100), "nested deeper", meta},
		{"too big", "name: a\n#" + strings.Repeat("x", 1<<20), "at most", meta},
		{"aliases that explode", bomb(), "aliases written out", meta},
		{"an option without a type", "options: {a: {default: 1}}", "options.a.type", config},
		{"an unknown type", "options: {a: {type: list}}", "options.a.type", config},
		{"a default of another type", "options: {a: {type: int, default: x}}", "options.a.default", config},
		{"a default that is a list", "options: {a: {type: string, default: [x]}}", "options.a.default", config},
		{"nothing in it", "description: x", "names no applications", bundle},
		{"no charm", "applications: {a: {num_units: 1}}", "applications.a.charm", bundle},
		{"negative units", "applications: {a: {charm: ./a, num_units: -1}}", "applications.a.num_units", bundle},
		{"more places than units", "applications: {a: {charm: ./a, num_units: 1, to: [1, 2]}}", "applications.a.to", bundle},
		{"a relation to nowhere", "applications: {a: {charm: ./a}}\nrelations: [[a:db, b:db]]", "relations[0]", bundle},
		{"a relation of three", "applications: {a: {charm: ./a}}\nrelations: [[a, a, a]]", "relations[0]", bundle},
		{"bad constraints", "applications: {a: {charm: ./a, constraints: mem=lots}}", "applications.a.constraints", bundle},
		{"a process without a command", "processes: {web: {instances: 3}}", "processes.web.command", bundle},
		{"a task with ports", "tasks: {t: {command: [x], ports: [1]}}", "tasks.t", bundle},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.parse([]byte(c.data))
			if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want Invalid with %q", err, c.want)
			}
		})
	}
}

// bomb is a document of 400 bytes that stands for a billion values.
func bomb() string {
	text := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i < 9; i++ {
		text += fmt.Sprintf("a%d: &a%d [%s*a%d]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 9), i-1)
	}
	return text
}

func TestConfig(t *testing.T) {
	options, err := charm.ParseConfig([]byte(`
options:
  port: {type: int, default: 8080}
  title: {type: string, description: of the page, default: ""}
  debug: {type: boolean, default: no}
  ratio: {type: float}
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, value, want string }{
		{"port", "0x10", "16"}, {"debug", "yes", "true"}, {"debug", "0", "false"}, {"ratio", "1.50", "1.5"}, {"title", "", ""},
		{"port", "abc", "!\"abc\" is not an int"}, {"debug", "perhaps", "!not a boolean"}, {"ratio", "NaN", "!not a float"},
		{"colour", "red", "!unknown option"},
	} {
		got, err := charm.ValidateOption(options, c.name, c.value)
		if want, bad := strings.CutPrefix(c.want, "!"); bad {
			if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s=%s: got %v, want %q", c.name, c.value, err, want)
			}
		} else if err != nil || got != c.want {
			t.Errorf("%s=%s: got %q, %v", c.name, c.value, got, err)
		}
	}
	values := charm.Effective(options, map[string]string{"title": "x"})
	if want := map[string]string{"port": "8080", "debug": "false", "title": "x"}; !reflect.DeepEqual(values, want) {
		t.Errorf("got %v", values)
	}
}

func TestParseBundle(t *testing.T) {
	b, err := charm.ParseBundle([]byte(`
applications:
  store: {charm: ./store, num_units: 2, constraints: mem=1G cores=0.5}
  blog:
    charm: ./blog
    num_units: 1
    to: ["3"]
    expose: true
    options: {port: 80, debug: true}
relations: [["blog:db", "store:server"]]
processes:
  web: {command: [drover, demo-page], instances: 3, ports: [8080], env: {B: "2", A: "1"}, memory_mb: 16}
tasks:
  hello: {command: [sh, -c, "echo hi"], result_file: out}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := &charm.Bundle{
		Applications: []charm.BundleApp{
			{Name: "blog", Charm: "./blog", NumUnits: 1, To: []string{"3"}, Expose: true, Options: map[string]string{"port": "80", "debug": "true"}},
			{Name: "store", Charm: "./store", NumUnits: 2, Constraints: entity.Constraints{MemoryMB: 1024, MilliCPU: 500}},
		},
		Relations: []charm.BundleRelation{{A: "blog:db", B: "store:server"}},
		Processes: []charm.BundleProcess{{GUID: "web", Instances: 3, Ports: []int{8080}, Run: charm.BundleRun{
			Path: "drover", Args: []string{"demo-page"}, Env: [][2]string{{"A", "1"}, {"B", "2"}}, MemoryMB: 16,
		}}},
		Tasks: []charm.BundleTask{{GUID: "hello", ResultFile: "out", Run: charm.BundleRun{Path: "sh", Args: []string{"-c", "echo hi"}}}},
	}
	if !reflect.DeepEqual(b, want) {
		t.Errorf("got  %+v\nwant %+v", b, want)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(blog))
	f.Add([]byte("options: {a: {type: int, default: 1}}"))
	f.Add([]byte("applications: {a: {charm: ./a, to: 1}}\nrelations: [[a, a]]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if m, err := charm.ParseMeta(data); err == nil && entity.AppName(m.Name).Validate() != nil {
			t.Errorf("accepted the name %q", m.Name)
		}
		_, _ = charm.ParseConfig(data)
		_, _ = charm.ParseBundle(data)
	})
}
