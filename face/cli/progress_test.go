package cli

import (
	"strings"
	"testing"
	"time"

	"drover/wire/droverv1"
)

func TestAWaitIsNeverSilent(t *testing.T) {
	now := time.Unix(1000, 0).UTC()
	clock := func() time.Time { return now }
	var b strings.Builder
	p := &changes{w: &b, now: clock, quiet: &quietness{now: clock, since: now}, last: map[string]string{}}
	v := verdict{waiting: "machine 2: agent not heard for 42s", lines: []line{{key: "blog/0", text: "waiting"}}}
	for _, step := range []struct {
		after time.Duration
		want  string
	}{
		{0, "blog/0 waiting\n"},
		{9 * time.Second, ""},
		{2 * time.Second, "waiting: machine 2: agent not heard for 42s\n"},
		{20 * time.Second, ""}, // it is told once
	} {
		now = now.Add(step.after)
		b.Reset()
		p.show(&droverv1.StatusResponse{}, v)
		_, got, _ := strings.Cut(b.String(), " ")
		if got != step.want {
			t.Errorf("after %s it says %q, want %q", step.after, got, step.want)
		}
	}
	v.waiting = "machine 2: agent not heard for 1m12s"
	b.Reset()
	p.show(&droverv1.StatusResponse{}, v)
	if b.Len() > 0 {
		t.Errorf("an age alone is told as news: %q", b.String())
	}
	v.waiting = "hook start is running"
	b.Reset()
	p.show(&droverv1.StatusResponse{}, v)
	if !strings.Contains(b.String(), "hook start is running") {
		t.Errorf("another reason is not told: %q", b.String())
	}
}

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
