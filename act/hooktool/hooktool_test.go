package hooktool_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"drover/act/hooktool"
	"drover/act/hooktool/client"
	"drover/noun/charm"
	"drover/noun/entity"
	"drover/noun/fault"
)

// cluster is a backend with settings, which counts how often it is read.
type cluster struct {
	settings map[string]map[string]string
	reads    int
	log      []string
	status   string
	err      error
}

func (c *cluster) ReadSettings(_ context.Context, relation entity.RelationID, owner string) (map[string]string, error) {
	c.reads++
	if c.err != nil {
		return nil, c.err
	}
	v, ok := c.settings[fmt.Sprintf("%d %s", relation, owner)]
	if !ok {
		return nil, fault.New(fault.NotFound, "no settings of %s", owner)
	}
	return v, nil
}

func (c *cluster) SetStatus(_ context.Context, s entity.StatusValue, m string) error {
	c.status = string(s) + ": " + m
	return nil
}

func (c *cluster) Log(l hooktool.Level, m string) { c.log = append(c.log, string(l)+" "+m) }

var joined = charm.Hook{Kind: charm.RelationJoined, Endpoint: "db", Relation: 7, Remote: "mysql/1", RemoteApp: "mysql"}

func newContext(h charm.Hook, leader bool) (*hooktool.Context, *cluster) {
	c := &cluster{settings: map[string]map[string]string{
		"7 mysql/1": {"private-address": "127.0.0.9", "password": "a b"},
		"7 mysql/0": {"private-address": "127.0.0.8"},
		"7 mysql":   {"shared": "yes"},
		"7 blog/0":  {"private-address": "127.0.0.2"},
		"7 blog":    {},
		"12 web/3":  {"x": "y"},
	}}
	return hooktool.New(hooktool.Config{
		ID: "ctx", Unit: "blog/0", Hook: h, Leader: leader, Address: "127.0.0.2", Endpoints: []string{"db", "website"},
		Options: []hooktool.Option{{"debug", charm.TypeBoolean, "true"}, {"port", charm.TypeInt, "8080"}, {"title", charm.TypeString, "My: blog"}},
		Relations: []hooktool.Relation{
			{ID: 7, Endpoint: "db", RemoteApp: "mysql", Members: []entity.UnitName{"mysql/0", "mysql/1"}},
			{ID: 12, Endpoint: "website", RemoteApp: "web"}, {ID: 9, Endpoint: "website", RemoteApp: "proxy"},
		},
		Ports:   []entity.Port{{From: 80, To: 80, Protocol: "tcp"}, {From: 8000, To: 8080, Protocol: "udp"}},
		Status:  entity.Status{Value: "waiting", Message: "for a database"},
		Backend: c,
	}), c
}

func call(c *hooktool.Context, line, stdin string) string {
	words := strings.Split(line, " ")
	for i := range words {
		words[i] = strings.ReplaceAll(words[i], "_", " ")
	}
	resp := c.Call(context.Background(), &client.Request{Context: "ctx", Tool: words[0], Args: words[1:], Stdin: []byte(stdin)})
	return fmt.Sprintf("%d|%s%s", resp.Code, resp.Stdout, resp.Stderr)
}

// Rule: H-025 H-026 H-027 H-028 H-029 H-030 H-031 H-032 H-033 H-034 H-059 H-060 H-061 H-064 H-090
func TestTools(t *testing.T) {
	unit := charm.Hook{Kind: charm.ConfigChanged}
	gone := charm.Hook{Kind: charm.RelationBroken, Endpoint: "db", Relation: 7, RemoteApp: "mysql"}
	for _, c := range []struct {
		hook charm.Hook
		line string
		want string
	}{
		{unit, "config-get", "0|debug: true\nport: 8080\ntitle: 'My: blog'\n"},
		{unit, "config-get --format=json", "0|{\"debug\":true,\"port\":8080,\"title\":\"My: blog\"}\n"},
		{unit, "config-get title", "0|My: blog\n"},
		{unit, "config-get port --format json", "0|8080\n"},
		{unit, "config-get debug", "0|True\n"},
		{unit, "config-get nothing", "0|"},
		{unit, "config-get nothing --format=json", "0|null\n"},
		{unit, "config-get --all port", "2|ERROR cannot use argument --all together with key \"port\"\n"},
		{unit, "config-get --colour", "2|ERROR option provided but not defined: --colour\n"},
		{unit, "config-get --format=xml", "2|ERROR invalid value \"xml\" for option --format: unknown format \"xml\"\n"},
		{unit, "unit-get private-address", "0|127.0.0.2\n"},
		{unit, "unit-get public-address --format=json", "0|\"127.0.0.2\"\n"},
		{unit, "unit-get colour", "2|ERROR unknown setting \"colour\"\n"},
		{unit, "is-leader", "0|True\n"},
		{unit, "is-leader --format=json", "0|true\n"},
		{unit, "relation-ids website", "0|website:9\nwebsite:12\n"},
		{unit, "relation-ids website --format=json", "0|[\"website:9\",\"website:12\"]\n"},
		{unit, "relation-ids none", "0|"},
		{unit, "relation-ids none --format=json", "0|[]\n"},
		{unit, "relation-ids", "2|ERROR no endpoint name specified\n"},
		{joined, "relation-ids", "0|db:7\n"},
		{joined, "relation-list", "0|mysql/0\nmysql/1\n"},
		{joined, "relation-list --format=json -r website:12", "0|[]\n"},
		{joined, "relation-list --app", "0|mysql\n"},
		{unit, "relation-list", "2|ERROR no relation id specified\n"},
		{unit, "relation-get - mysql/1", "2|ERROR no relation id specified\n"},
		{joined, "relation-get", "0|password: a b\nprivate-address: 127.0.0.9\n"},
		{joined, "relation-get password", "0|a b\n"},
		{joined, "relation-get - mysql/0 --format=json", "0|{\"private-address\":\"127.0.0.8\"}\n"},
		{joined, "relation-get nothing", "0|"},
		{joined, "relation-get nothing --format=json", "0|null\n"},
		{joined, "relation-get --app", "0|shared: \"yes\"\n"},
		{joined, "relation-get x web/3 -r 12", "0|y\n"},
		{joined, "relation-get x -r website:12", "2|ERROR no unit or application specified\n"},
		{unit, "relation-get -rdb:7 password mysql/1", "0|a b\n"},
		{gone, "relation-get", "2|ERROR no unit or application specified\n"},
		{gone, "relation-get private-address mysql/1", "0|127.0.0.9\n"},
		{joined, "relation-get - mysql/9", "1|ERROR cannot read settings for \"mysql/9\" in relation \"db:7\": settings not found\n"},
		{joined, "relation-get -r one", "2|ERROR invalid value \"one\" for option -r: invalid relation id\n"},
		{joined, "relation-get -r burble:123", "2|ERROR invalid value \"burble:123\" for option -r: relation not found\n"},
		{joined, "relation-get -r burble:7", "2|ERROR invalid value \"burble:7\" for option -r: relation not found\n"},
		{joined, "relation-set nonsense", "2|ERROR expected \"key=value\", got \"nonsense\"\n"},
		{unit, "relation-set a=b", "2|ERROR no relation id specified\n"},
		{unit, "open-port", "2|ERROR no port or range specified\n"},
		{unit, "open-port 80/TCP", "0|"},
		{unit, "open-port 99999", "2|ERROR invalid port range 99999\n"},
		{unit, "open-port 80/sctp", "2|ERROR invalid protocol \"sctp\", expected \"tcp\", \"udp\", or \"icmp\"\n"},
		{unit, "opened-ports", "0|80/tcp\n8000-8080/udp\n"},
		{unit, "opened-ports --format=json", "0|[\"80/tcp\",\"8000-8080/udp\"]\n"},
		{unit, "status-get", "0|waiting\n"},
		{unit, "status-get --include-data --format=json", "0|{\"message\":\"for a database\",\"status\":\"waiting\",\"status-data\":{}}\n"},
		{unit, "status-set --application=False active -- all_is_well", "0|"},
		{unit, "status-set happy", "2|ERROR invalid status \"happy\", expected one of [maintenance blocked waiting active]\n"},
		{unit, "status-set", "2|ERROR invalid args, require <status> [message]\n"},
		{unit, "application-version-set -- 1.2", "0|"},
		{unit, "juju-log", "2|ERROR no message specified\n"},
		{unit, "network-get db --bind-address", "0|127.0.0.2\n"},
		{unit, "network-get db --format=json", "0|{\"bind-addresses\":[{\"addresses\":[{\"address\":\"127.0.0.2\",\"cidr\":\"127.0.0.2/32\",\"hostname\":\"\",\"value\":\"127.0.0.2\"}]," +
			"\"interface-name\":\"\",\"mac-address\":\"\"}],\"egress-subnets\":[\"127.0.0.2/32\"],\"ingress-addresses\":[\"127.0.0.2\"]}\n"},
		{unit, "network-get nowhere", "1|ERROR no network config found for binding \"nowhere\"\n"},
		{unit, "function-get", "1|ERROR bad request: unknown command \"function-get\"\n"},
	} {
		t.Run(c.line, func(t *testing.T) {
			ctx, _ := newContext(c.hook, true)
			if got := call(ctx, c.line, ""); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// Rule: H-035
func TestWhatWasReadStays(t *testing.T) {
	ctx, backend := newContext(joined, false)
	before := call(ctx, "relation-get password", "")
	backend.settings["7 mysql/1"] = map[string]string{"password": "new"}
	if after := call(ctx, "relation-get password", ""); after != before || backend.reads != 1 {
		t.Errorf("read %q, then %q, with %d reads", before, after, backend.reads)
	}
	backend.err = fault.New(fault.Unavailable, "no server")
	if got := call(ctx, "relation-get - mysql/0", ""); got != "1|ERROR cannot read settings for \"mysql/0\" in relation \"db:7\": no server\n" {
		t.Errorf("without a server: %q", got)
	}
}

// Rule: H-036 H-038
func TestWritesAreKeptForTheEnd(t *testing.T) {
	ctx, _ := newContext(joined, true)
	for _, line := range []string{
		"relation-set a=1 b=2 private-address=", "relation-set b= c=x=y", "relation-set --app shared=1",
		"relation-set -r website:12 z=1", "open-port 80", "open-port 443/tcp", "close-port 80/tcp", "open-port icmp", "application-version-set 3",
	} {
		if got := call(ctx, line, ""); got != "0|" {
			t.Fatalf("%s: %q", line, got)
		}
	}
	if got := call(ctx, "relation-set --file -", "d: 4\ne: 'five'\na: ''\n"); got != "0|" {
		t.Fatalf("--file: %q", got)
	}
	if got := call(ctx, "relation-get - blog/0 --format=json", ""); got != "0|{\"c\":\"x=y\",\"d\":\"4\",\"e\":\"five\"}\n" {
		t.Errorf("the unit sees of its own: %q", got)
	}
	if got := call(ctx, "opened-ports", ""); got != "0|80/tcp\n8000-8080/udp\n" {
		t.Errorf("ports that are not committed show: %q", got)
	}
	want := hooktool.Writes{
		Settings: []hooktool.SettingsWrite{
			{Relation: 7, Set: map[string]string{"c": "x=y", "d": "4", "e": "five"}, Delete: []string{"a", "b", "private-address"}},
			{Relation: 7, App: true, Set: map[string]string{"shared": "1"}},
			{Relation: 12, Set: map[string]string{"z": "1"}},
		},
		Open:    []entity.Port{{From: 443, To: 443, Protocol: "tcp"}, {Protocol: "icmp"}},
		Close:   []entity.Port{{From: 80, To: 80, Protocol: "tcp"}},
		Version: "3",
	}
	ctx.Close()
	if got := ctx.Writes(); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if got := call(ctx, "is-leader", ""); got != "1|ERROR bad request: wrong context ID; got \"ctx\"\n" {
		t.Errorf("after the hook: %q", got)
	}
}

func TestOnlyTheLeaderHasTheApplicationsBag(t *testing.T) {
	ctx, _ := newContext(joined, false)
	for line, want := range map[string]string{
		"relation-set --app a=1":            "1|ERROR cannot write relation settings: this unit is not the leader\n",
		"relation-get - blog --app":         "1|ERROR permission denied: this unit is not the leader\n",
		"status-set --application active":   "1|ERROR this unit is not the leader\n",
		"status-get --application":          "1|ERROR this unit is not the leader\n",
		"relation-get shared mysql":         "0|yes\n",
		"relation-get shared mysql/1 --app": "0|yes\n",
	} {
		if got := call(ctx, line, ""); got != want {
			t.Errorf("%s: got %q, want %q", line, got, want)
		}
	}
}

func TestBounds(t *testing.T) {
	ctx, _ := newContext(joined, false)
	big := strings.Repeat("x", hooktool.MaxSettings)
	if got := call(ctx, "relation-set a="+big, ""); !strings.HasPrefix(got, "1|ERROR cannot write relation settings: they would have") {
		t.Errorf("got %.100q", got)
	}
	if got := call(ctx, "relation-set --file -", "a: [1]"); !strings.HasPrefix(got, "1|ERROR cannot read settings") {
		t.Errorf("got %q", got)
	}
	if got := call(ctx, "relation-set --file -", strings.Repeat("x", client.MaxInput+1)); !strings.HasPrefix(got, "1|ERROR cannot write relation settings") {
		t.Errorf("got %.100q", got)
	}
}

// Rule: H-013 H-026
func TestImmediateTools(t *testing.T) {
	ctx, backend := newContext(joined, false)
	for _, line := range []string{"juju-log hello world", "juju-log --debug x", "juju-log -l WARNING y", "juju-log --log-level=odd z",
		"status-set blocked no_disk", "juju-fail the_disk_is_full"} {
		if got := call(ctx, line, ""); got != "0|" {
			t.Errorf("%s: %q", line, got)
		}
	}
	if want := []string{"INFO db:7: hello world", "DEBUG db:7: x", "WARNING db:7: y", "INFO db:7: z"}; !slices.Equal(backend.log, want) {
		t.Errorf("log %q", backend.log)
	}
	if backend.status != "blocked: no disk" || call(ctx, "status-get", "") != "0|blocked\n" {
		t.Errorf("status %q", backend.status)
	}
	if text, failed := ctx.FailText(); !failed || text != "the disk is full" {
		t.Errorf("juju-fail: %q, %v", text, failed)
	}
}

// charmhelpers asks relation-set for its help and looks for --file in it.
func TestHelpNamesTheFlags(t *testing.T) {
	ctx, _ := newContext(joined, false)
	if got := call(ctx, "relation-set --help", ""); !strings.HasPrefix(got, "0|Usage: relation-set") || !strings.Contains(got, "--file") {
		t.Errorf("got %q", got)
	}
}

func TestSocket(t *testing.T) {
	dir, err := os.MkdirTemp("", "drover-test-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "s")
	l, err := hooktool.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	c, _ := newContext(joined, true)
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error)
	go func() { served <- hooktool.Serve(ctx, l, c) }()
	t.Setenv("JUJU_AGENT_SOCKET_ADDRESS", path)
	t.Setenv("JUJU_CONTEXT_ID", "ctx")
	out := filepath.Join(dir, "out")
	if code := client.Main([]string{"/tools/config-get", "title", "-o", out}); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if text, _ := os.ReadFile(out); string(text) != "My: blog\n" {
		t.Errorf("output file: %q", text)
	}
	file := filepath.Join(dir, "settings")
	if err := os.WriteFile(file, []byte("k: v"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code := client.Main([]string{"drover-hook", "relation-set", "--file", file}); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if w := c.Writes(); len(w.Settings) != 1 || w.Settings[0].Set["k"] != "v" {
		t.Errorf("writes %+v", w)
	}
	t.Setenv("JUJU_CONTEXT_ID", "another")
	if code := client.Main([]string{"config-get"}); code != 1 {
		t.Errorf("another context's call has exit code %d", code)
	}
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if code := client.Main([]string{"config-get"}); code != 1 {
		t.Errorf("without an agent the exit code is %d", code)
	}
}

func FuzzCall(f *testing.F) {
	f.Add("relation-get", "-r\x00db:7\x00-", "")
	f.Add("open-port", "1-2/udp", "")
	f.Add("relation-set", "--file\x00-", "a: b")
	f.Fuzz(func(t *testing.T, tool, args, stdin string) {
		c, _ := newContext(joined, true)
		resp := c.Call(t.Context(), &client.Request{Context: "ctx", Tool: tool, Args: strings.Split(args, "\x00"), Stdin: []byte(stdin)})
		if resp.Code == 0 && len(resp.Stderr) > 0 || resp.Code != 0 && len(resp.Stderr) == 0 {
			t.Errorf("exit code %d with %q", resp.Code, resp.Stderr)
		}
	})
}
