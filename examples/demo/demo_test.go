package demo_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	demo "drover/examples/demo"
	"drover/examples/demo/software"
	"drover/internal/charmdir"
	"drover/internal/proc"
	"drover/noun/charm"
)

// The test binary plays the program, and the hook tools by their names.
func TestMain(m *testing.M) {
	name := filepath.Base(os.Args[0])
	if stub, ok := tools[name]; ok {
		stub(os.Args[1:])
		os.Exit(0)
	}
	if name == "drover" && len(os.Args) > 1 {
		var err error
		switch os.Args[1] {
		case "demo-store":
			err = software.Store(context.Background(), os.Args[2:])
		case "demo-page":
			err = software.Page(context.Background(), os.Args[2:])
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// world is what the stubs read and write: a file in STUB_WORLD.
type world struct {
	Address   string
	Config    map[string]string
	Relations map[string]map[string]map[string]string // id → unit → settings
	Set       map[string]map[string]string            // id → settings that were set
	Ports     []string
	Status    string
}

func load() *world {
	var w world
	b, err := os.ReadFile(os.Getenv("STUB_WORLD"))
	if err == nil {
		err = json.Unmarshal(b, &w)
	}
	if err != nil {
		panic(err)
	}
	return &w
}

func (w *world) save(path string) {
	b, err := json.Marshal(w)
	if err == nil {
		err = os.WriteFile(path, b, 0o600)
	}
	if err != nil {
		panic(err)
	}
}

var tools = map[string]func(args []string){
	"config-get": func(a []string) { fmt.Println(load().Config[a[0]]) },
	"unit-get":   func([]string) { fmt.Println(load().Address) },
	"juju-log":   func(a []string) { fmt.Fprintln(os.Stderr, a) },
	"status-set": change(func(w *world, a []string) { w.Status = strings.Join(a, " ") }),
	"open-port":  change(func(w *world, a []string) { w.Ports = append(w.Ports, a[0]) }),
	"close-port": change(func(w *world, a []string) {
		w.Ports = slices.DeleteFunc(w.Ports, func(p string) bool { return p == a[0] })
	}),
	"relation-ids": func(a []string) {
		for id := range load().Relations { // order-free: one of a kind in these tests
			if strings.HasPrefix(id, a[0]+":") {
				fmt.Println(id)
			}
		}
	},
	"relation-list": func(a []string) {
		var units []string
		for u := range load().Relations[a[1]] { // order-free: sorted below
			units = append(units, u)
		}
		slices.Sort(units)
		fmt.Println(strings.Join(units, "\n"))
	},
	"relation-get": func(a []string) { fmt.Println(load().Relations[a[1]][a[3]][a[2]]) },
	"relation-set": change(func(w *world, a []string) {
		id := os.Getenv("JUJU_RELATION_ID")
		if a[0] == "-r" {
			id, a = a[1], a[2:]
		}
		if w.Set == nil {
			w.Set = map[string]map[string]string{}
		}
		if w.Set[id] == nil {
			w.Set[id] = map[string]string{}
		}
		for _, kv := range a {
			k, v, _ := strings.Cut(kv, "=")
			w.Set[id][k] = v
		}
	}),
}

func change(f func(*world, []string)) func([]string) {
	return func(a []string) {
		w := load()
		f(w, a)
		w.save(os.Getenv("STUB_WORLD"))
	}
}

// unit is one unit with its folder, run by stubs.
type unit struct {
	t    *testing.T
	name string
	dir  string
	env  []string
	file string
}

func newUnit(t *testing.T, name string, w world) *unit {
	t.Helper()
	app, _, _ := strings.Cut(name, "/")
	u := &unit{t: t, name: name, dir: t.TempDir()}
	u.file = filepath.Join(u.dir, "world.json")
	w.save(u.file)
	bin := filepath.Join(u.dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"drover"}
	for n := range tools { // order-free: each is a link of its own
		names = append(names, n)
	}
	for _, n := range names {
		if err := os.Symlink(self, filepath.Join(bin, n)); err != nil {
			t.Fatal(err)
		}
	}
	charmDir, err := filepath.Abs(app)
	if err != nil {
		t.Fatal(err)
	}
	u.env = []string{
		"PATH=" + bin + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "CHARM_DIR=" + charmDir,
		"DROVER_UNIT_DIR=" + filepath.Join(u.dir, "data"), "JUJU_UNIT_NAME=" + name, "STUB_WORLD=" + u.file,
	}
	t.Cleanup(func() { endAll(t, u.dir) })
	return u
}

// endAll ends the daemons that the unit's hooks started.
func endAll(t *testing.T, dir string) {
	ids, err := proc.EnvMatch([]string{"STUB_WORLD"}, func(v string) bool { return strings.HasPrefix(v, dir) })
	if err == nil {
		err = proc.KillTree(context.Background(), ids...)
	}
	if err != nil {
		t.Error(err)
	}
}

func (u *unit) hook(name string, env ...string) {
	u.t.Helper()
	app, _, _ := strings.Cut(u.name, "/")
	cmd := exec.Command(filepath.Join("hooks", name))
	cmd.Dir, cmd.Env = app, append(slices.Clone(u.env), env...)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Second // a daemon may hold the output, as under the real agent
	if err := cmd.Run(); err != nil {
		u.t.Fatalf("%s of %s: %v\n%s", name, u.name, err, out.String())
	}
}

func (u *unit) world() *world {
	u.t.Setenv("STUB_WORLD", u.file)
	return load()
}

func (u *unit) change(f func(*world)) {
	w := u.world()
	f(w)
	w.save(u.file)
}

func freePort(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return strconv.Itoa(ln.Addr().(*net.TCPAddr).Port)
}

func TestTheCharmsTogetherServeAPageOverTheStore(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("the demo's charms need bash")
	}
	store := newUnit(t, "store/0", world{Address: "127.0.0.1", Config: map[string]string{"port": freePort(t)}})
	store.hook("install")
	store.hook("start")
	store.hook("config-changed")
	store.hook("db-relation-joined", "JUJU_RELATION_ID=db:1", "JUJU_REMOTE_UNIT=guestbook/0")
	published := store.world().Set["db:1"]
	if published["address"] != "127.0.0.1" || published["port"] == "" || len(published["password"]) < 20 {
		t.Fatalf("store published %v", published)
	}

	port := freePort(t)
	book := newUnit(t, "guestbook/0", world{
		Address: "127.0.0.1", Config: map[string]string{"port": port, "title": "A & B"},
		Relations: map[string]map[string]map[string]string{"db:1": {"store/0": {}}, "website:2": {}},
	})
	book.hook("install")
	book.hook("start")
	if s := book.world().Status; !strings.HasPrefix(s, "waiting") {
		t.Errorf("without data from the store the status is %q, want waiting", s)
	}
	book.change(func(w *world) { w.Relations["db:1"]["store/0"] = published })
	book.hook("db-relation-changed", "JUJU_RELATION_ID=db:1")
	if s := book.world().Status; !strings.HasPrefix(s, "active") {
		t.Errorf("with data from the store the status is %q, want active", s)
	}
	if got := book.world().Set["website:2"]["port"]; got != port {
		t.Errorf("the website's port was published as %q, want %q", got, port)
	}

	base := "http://127.0.0.1:" + port + "/"
	if _, err := http.PostForm(base, url.Values{"name": {"Ada"}, "text": {"<b>hi</b>"}}); err != nil {
		t.Fatal(err)
	}
	page := get(t, base)
	for _, want := range []string{"<h1>A &amp; B</h1>", "Ada", "&lt;b&gt;hi&lt;/b&gt;", "store/0 at 127.0.0.1:", ": 2 entries", "The guestbook is open."} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}

	probe := newUnit(t, "probe/0", world{
		Config:    map[string]string{"path": "/healthz"},
		Relations: map[string]map[string]map[string]string{"website:2": {"guestbook/0": book.world().Set["website:2"]}},
	})
	probe.hook("website-relation-changed")
	if got, want := probe.world().Status, "active guestbook/0 answers: 2 entries in 1 of 1 stores"; got != want {
		t.Errorf("probe says %q, want %q", got, want)
	}

	// A boot: everything ends, the start hooks bring it back with its data.
	endAll(t, store.dir)
	endAll(t, book.dir)
	probe.hook("update-status")
	if s := probe.world().Status; !strings.HasPrefix(s, "waiting") {
		t.Errorf("with no page probe says %q, want waiting", s)
	}
	store.hook("start")
	book.hook("start")
	if page := get(t, base); !strings.Contains(page, "Ada") {
		t.Errorf("after a boot the entry is gone:\n%s", page)
	}

	book.change(func(w *world) { delete(w.Relations["db:1"], "store/0") })
	book.hook("db-relation-departed", "JUJU_RELATION_ID=db:1")
	if s := book.world().Status; !strings.HasPrefix(s, "waiting") {
		t.Errorf("after the store left the status is %q, want waiting", s)
	}
	book.hook("stop")
	store.hook("stop")
	for _, u := range []*unit{store, book} {
		left, err := proc.EnvMatch([]string{"STUB_WORLD"}, func(v string) bool { return v == u.file })
		if err != nil || len(left) > 0 {
			t.Errorf("after stop of %s %v is left, %v", u.name, left, err)
		}
		if ports := u.world().Ports; len(ports) > 0 {
			t.Errorf("after stop of %s the ports %v are open", u.name, ports)
		}
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v\n%s", url, resp.Status, err, b)
	}
	return string(b)
}

func TestTheStoreRefusesAWrongPassword(t *testing.T) {
	store := newUnit(t, "store/0", world{Address: "127.0.0.1", Config: map[string]string{"port": freePort(t)}})
	store.hook("install")
	store.hook("start")
	resp, err := http.Get("http://127.0.0.1:" + store.world().Config["port"] + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("got %s, want 401", resp.Status)
	}
}

func TestTheBundleAndItsCharmsAreSound(t *testing.T) {
	data, err := demo.Files.ReadFile("bundle.yaml")
	if err != nil {
		t.Fatal(err)
	}
	b, err := charm.ParseBundle(data)
	if err != nil {
		t.Fatal(err)
	}
	if len(b.Applications) != 3 || len(b.Processes) != 1 || len(b.Tasks) != 1 || len(b.Relations) != 2 {
		t.Errorf("the bundle has %d applications, %d processes, %d tasks, %d relations",
			len(b.Applications), len(b.Processes), len(b.Tasks), len(b.Relations))
	}
	for _, app := range b.Applications {
		embedded, err := charmdir.PackEmbedded(demo.Files, filepath.Clean(app.Charm))
		if err != nil {
			t.Fatalf("%s: %v", app.Name, err)
		}
		folder, err := charmdir.PackFolder(app.Charm)
		if err != nil {
			t.Fatalf("%s: %v", app.Name, err)
		}
		if embedded.Charm.Meta.Name != folder.Charm.Meta.Name {
			t.Errorf("%s: embedded %q, in the folder %q", app.Name, embedded.Charm.Meta.Name, folder.Charm.Meta.Name)
		}
		if sub := app.NumUnits < 0; sub != embedded.Charm.Meta.Subordinate {
			t.Errorf("%s: subordinate is %v, units %d", app.Name, embedded.Charm.Meta.Subordinate, app.NumUnits)
		}
	}
}
