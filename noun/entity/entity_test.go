package entity

import (
	"testing"

	"drover/noun/fault"
)

// Rule: E-001 E-002
func TestLivesHaveDistinctNamesAndParseBack(t *testing.T) {
	seen := map[string]Life{}
	for l := Alive; l < numLives; l++ {
		if other, dup := seen[l.String()]; dup {
			t.Errorf("lives %d and %d are both called %q", l, other, l)
		}
		seen[l.String()] = l
		if got := ParseLife(l.String()); got != l {
			t.Errorf("ParseLife(%q) = %v, want %v", l.String(), got, l)
		}
	}
	if len(seen) != 3 {
		t.Errorf("there are %d lives, want alive, dying, dead", len(seen))
	}
	if got := ParseLife("zombie"); got != 0 {
		t.Errorf("an unknown life parses as %v", got)
	}
}

func TestApplicationNames(t *testing.T) {
	for _, tc := range []struct {
		name  AppName
		valid bool
	}{
		{"blog", true},
		{"my-blog2", true},
		{"a", true},
		{"", false},
		{"Blog", false},
		{"2blog", false},
		{"blog-2", false}, // reads like a unit's file name
		{"blog--x", false},
		{"blog/0", false},
		{"../etc", false},
	} {
		err := tc.name.Validate()
		if (err == nil) != tc.valid {
			t.Errorf("AppName(%q).Validate() = %v, want valid %v", tc.name, err, tc.valid)
		}
		if err != nil && !fault.Is(err, fault.Invalid) {
			t.Errorf("AppName(%q): error of kind %v, want invalid", tc.name, fault.KindOf(err))
		}
	}
}

func TestUnitNames(t *testing.T) {
	u := AppName("my-blog").Unit(12)
	if u != "my-blog/12" || u.App() != "my-blog" || u.Number() != 12 || u.Tag() != "my-blog-12" {
		t.Errorf("unit %q: app %q number %d tag %q", u, u.App(), u.Number(), u.Tag())
	}
	for _, bad := range []UnitName{"", "blog", "blog/", "blog/x", "blog/-1", "/0", "blog/0/0"} {
		if bad.Validate() == nil {
			t.Errorf("%q passes as a unit name", bad)
		}
	}
}

func TestChildMachinesKnowTheirHost(t *testing.T) {
	for id, want := range map[MachineID]MachineID{"3": "", "3/nspawn/0": "3", "3/nspawn/0/nspawn/2": "3/nspawn/0"} {
		if got := id.Parent(); got != want {
			t.Errorf("the host of %q is %q, want %q", id, got, want)
		}
	}
}

var (
	blogDB   = Endpoint{App: "blog", Name: "db", Role: Requirer, Interface: "sql", Scope: ScopeGlobal}
	mysqlSrv = Endpoint{App: "mysql", Name: "server", Role: Provider, Interface: "sql", Scope: ScopeGlobal}
	logInfo  = Endpoint{App: "log", Name: "host", Role: Requirer, Interface: JujuInfo, Scope: ScopeContainer}
)

func TestCanonicalNameListsTheRequirerFirst(t *testing.T) {
	a := CanonicalName([]Endpoint{mysqlSrv, blogDB})
	b := CanonicalName([]Endpoint{blogDB, mysqlSrv})
	if a != b || a != "blog:db mysql:server" {
		t.Errorf("canonical names %q and %q, want \"blog:db mysql:server\"", a, b)
	}
}

// Rule: E-024
func TestARelationIsContainerScopedIfEitherEndIs(t *testing.T) {
	global := Relation{Endpoints: []Endpoint{blogDB, mysqlSrv}}
	container := Relation{Endpoints: []Endpoint{logInfo, {App: "blog", Name: JujuInfo, Role: Provider, Interface: JujuInfo, Scope: ScopeGlobal}}}
	if global.Scope() != ScopeGlobal || container.Scope() != ScopeContainer {
		t.Errorf("scopes %v and %v, want global and container", global.Scope(), container.Scope())
	}
}

func TestRolesWatchTheirCounterparts(t *testing.T) {
	for role, want := range map[Role]Role{Requirer: Provider, Provider: Requirer, Peer: Peer} {
		if got := role.Counterpart(); got != want {
			t.Errorf("%v watches %v, want %v", role, got, want)
		}
	}
}
