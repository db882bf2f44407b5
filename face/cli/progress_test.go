package cli

import "testing"

func TestALineLeavesOutTheOldestHooks(t *testing.T) {
	parts, hooks := []string{"store/0"}, []string{"install ✓", "start ✓", "config-changed ✓"}
	for _, c := range []struct {
		width int
		want  string
	}{
		{80, "store/0  install ✓  start ✓  config-changed ✓   active"},
		{48, "store/0  …  start ✓  config-changed ✓   active"},
		{40, "store/0  …  config-changed ✓   active"},
		{10, "store/0  …   active"},
	} {
		if got := fit(c.width, parts, hooks, " active"); got != c.want {
			t.Errorf("in %d columns: %q, want %q", c.width, got, c.want)
		}
	}
}

func TestNearest(t *testing.T) {
	words := []string{"blog", "mysql", "mediawiki"}
	for name, want := range map[string]string{"blgo": "blog", "mysq": "mysql", "mediawki": "mediawiki", "zebra": "", "": ""} {
		if got := nearest(name, words); got != want {
			t.Errorf("nearest to %q is %q, want %q", name, got, want)
		}
	}
}
