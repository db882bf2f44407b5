package charm_test

import (
	"strings"
	"testing"

	"drover/noun/charm"
	"drover/noun/entity"
)

// runsOf reads a trace: hooks separated by spaces, "!" after one that failed,
// "~" after one marked as done, "@2" before one of the second boot.
// "joined:7:mysql/0" is a relation hook.
func runsOf(t *testing.T, text string) []charm.Run {
	t.Helper()
	kinds := map[string]charm.HookKind{}
	for k := charm.Install; k.String() != "unset"; k++ {
		kinds[k.String()] = k
		kinds[strings.TrimPrefix(k.String(), "relation-")] = k
	}
	var runs []charm.Run
	for _, word := range strings.Fields(text) {
		r := charm.Run{Outcome: charm.Succeeded, BootID: "1"}
		if rest, ok := strings.CutPrefix(word, "@2"); ok {
			word, r.BootID = rest, "2"
		}
		switch {
		case strings.HasSuffix(word, "!"):
			r.Outcome = charm.Failed
		case strings.HasSuffix(word, "~"):
			r.Outcome = charm.Skipped
		}
		parts := strings.Split(strings.TrimRight(word, "!~"), ":")
		kind, ok := kinds[parts[0]]
		if !ok {
			t.Fatalf("no hook %q", parts[0])
		}
		r.Hook.Kind = kind
		if len(parts) > 1 {
			r.Hook.Endpoint, r.Hook.Relation, r.Hook.RemoteApp = "db", entity.RelationID(parts[1][0]-'0'), "mysql"
		}
		if len(parts) > 2 {
			r.Hook.Remote = entity.UnitName(parts[2])
		}
		runs = append(runs, r)
	}
	return runs
}

func TestCheckTrace(t *testing.T) {
	const begun = "install start config-changed "
	for _, c := range []struct {
		name  string
		order charm.Order
		runs  string
		want  string // part of the error; empty: none
	}{
		{"a whole life", charm.SeedOrder, begun + "joined:7:m/0 changed:7:m/0 departed:7:m/0 broken:7 stop remove", ""},
		{"install is first", charm.SeedOrder, "start", "install runs before"},
		{"install once", charm.SeedOrder, "install install", "once and only once"},
		{"a failed install runs again", charm.SeedOrder, "install! install start", ""},
		{"a failed hook holds everything up", charm.SeedOrder, "install! start", "not resolved"},
		{"marked as done", charm.SeedOrder, "install! install~ start", ""},
		{"not marked without a failure", charm.SeedOrder, begun + "config-changed~", "had not failed"},
		{"start right after install", charm.SeedOrder, "install config-changed start", "config-changed runs after start"},
		{"config-changed right after start", charm.SeedOrder, "install start update-status", "immediately after start"},
		{"start once a boot", charm.SeedOrder, begun + "start", "once for each boot"},
		{"start after a reboot", charm.SeedOrder, begun + "@2start", ""},
		{"today config-changed is before start", charm.TodayOrder, "install config-changed start", ""},
		{"today start is not second", charm.TodayOrder, "install start", "before start"},
		{"config-changed after upgrade-charm", charm.SeedOrder, begun + "upgrade-charm start", "immediately after upgrade-charm"},
		{"no relation before start", charm.SeedOrder, "install joined:7:m/0", "only after install, start"},
		{"changed right after joined", charm.SeedOrder, begun + "joined:7:m/0 joined:7:m/1", "next hook in the relation"},
		{"others may come between", charm.SeedOrder, begun + "joined:7:m/0 config-changed joined:8:m/0 changed:8:m/0 changed:7:m/0", ""},
		{"joined once", charm.SeedOrder, begun + "joined:7:m/0 changed:7:m/0 joined:7:m/0", "joined runs once"},
		{"joined again after departed", charm.SeedOrder, begun + "joined:7:m/0 changed:7:m/0 departed:7:m/0 joined:7:m/0", ""},
		{"changed of a stranger", charm.SeedOrder, begun + "changed:7:m/0", "has not joined"},
		{"changed of the application", charm.SeedOrder, begun + "changed:7", ""},
		{"nothing after departed", charm.SeedOrder, begun + "joined:7:m/0 changed:7:m/0 departed:7:m/0 changed:7:m/0", "has departed"},
		{"departed once", charm.SeedOrder, begun + "joined:7:m/0 changed:7:m/0 departed:7:m/0 departed:7:m/0", "has departed before"},
		{"broken after all departed", charm.SeedOrder, begun + "joined:7:m/0 changed:7:m/0 broken:7", "1 are left"},
		{"broken alone", charm.SeedOrder, begun + "broken:7", ""},
		{"broken once", charm.SeedOrder, begun + "broken:7 broken:7", "last hook in its relation"},
		{"stop after broken", charm.SeedOrder, begun + "joined:7:m/0 changed:7:m/0 departed:7:m/0 stop", "not broken yet"},
		{"nothing after stop", charm.SeedOrder, begun + "stop config-changed", "last hook but remove"},
		{"nothing after remove", charm.SeedOrder, begun + "stop remove install", "nothing runs after"},
		{"stop before remove", charm.SeedOrder, begun + "remove", "stop runs before"},
		{"stop without start", charm.SeedOrder, "install stop", "only after start"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := charm.CheckTrace(c.order, runsOf(t, c.runs))
			if c.want == "" && err != nil {
				t.Errorf("refused: %v", err)
			}
			if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want an error about %q", err, c.want)
			}
		})
	}
}

// Rule: H-039 H-040
func TestHookKinds(t *testing.T) {
	m := &charm.Meta{Endpoints: []entity.Endpoint{{Name: "db"}, {Name: "my-peers"}}}
	for _, file := range []string{
		"install", "start", "config-changed", "upgrade-charm", "stop", "db-relation-joined", "db-relation-changed",
		"db-relation-departed", "db-relation-broken", "my-peers-relation-joined",
	} {
		h, ok := charm.ParseHookName(m, file)
		if !ok || h.Name() != file {
			t.Errorf("%s: got %q, %v", file, h.Name(), ok)
		}
	}
	for _, file := range []string{"instal", "relation-joined", "web-relation-joined", "db-relation", "install.bak", ""} {
		if h, ok := charm.ParseHookName(m, file); ok {
			t.Errorf("%q must be no hook, got %s", file, h)
		}
	}
	names := map[string]bool{}
	for k := charm.Install; k <= charm.StorageDetaching; k++ {
		if names[k.String()] || k.String() == "unset" {
			t.Errorf("kind %d has the name %q", k, k)
		}
		names[k.String()] = true
	}
}
