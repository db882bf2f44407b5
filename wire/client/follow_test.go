package client

import (
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	"drover/wire/convert"
)

func answer(header, value string) *http.Response {
	return &http.Response{Header: http.Header{http.CanonicalHeaderKey(header): {value}}, Body: http.NoBody}
}

func dialed(t *testing.T, cfg Config) *Client {
	t.Helper()
	c, err := Dial(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestServersAreLearnedFromAnswers(t *testing.T) {
	var told [][]string
	c := dialed(t, Config{Servers: []string{"a:1", "gone:1"}, Learned: func(s []string) { told = append(told, s) }})
	for _, tc := range []struct {
		name, answered, list string
		want                 []string
		told                 int
	}{
		{"new ones are added, old ones go", "a:1", "b:1 a:1 c:1", []string{"a:1", "b:1", "c:1"}, 1},
		{"the same list again", "a:1", "b:1 a:1 c:1", []string{"a:1", "b:1", "c:1"}, 1},
		{"another order is no news", "b:1", "c:1 b:1 a:1", []string{"b:1", "c:1", "a:1"}, 1},
		{"where it answers stays known", "tunnel:9", "a:1 b:1", []string{"tunnel:9", "a:1", "b:1"}, 2},
		{"nonsense is left out", "a:1", "a:1 nonsense b:1 b:1", []string{"a:1", "b:1"}, 3},
		{"no list", "a:1", "", []string{"a:1", "b:1"}, 3},
	} {
		c.learn(tc.answered, tc.list)
		if got := c.Servers(); !slices.Equal(got, tc.want) || len(told) != tc.told {
			t.Errorf("%s: servers %v, want %v; told %d times", tc.name, got, tc.want, len(told))
		}
	}
	fixed := dialed(t, Config{Servers: []string{"a:1"}, Fixed: true})
	fixed.learn("a:1", "b:1 c:1")
	if got := fixed.Servers(); !slices.Equal(got, []string{"a:1"}) {
		t.Errorf("a fixed client knows %v", got)
	}
}

func TestWhatWasLearnedIsRemembered(t *testing.T) {
	dir := t.TempDir()
	if err := (Folder{Servers: []string{"a:1"}, ClusterID: "c", Cell: "c7"}).Save(dir, AdminName, credential(t, time.Hour)); err != nil {
		t.Fatal(err)
	}
	c, err := FromDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.learn("a:1", "b:1 a:1")
	f, err := ReadFolder(dir)
	if err != nil || !slices.Equal(f.Servers, []string{"a:1", "b:1"}) || f.ClusterID != "c" || f.Cell != "c7" {
		t.Errorf("client.json holds %+v, %v", f, err)
	}
}

func TestARequestWalksUntilSomebodyLeads(t *testing.T) {
	refused := &dialError{server: "a:1", err: errors.New("refused")}
	c := dialed(t, Config{Servers: []string{"a:1", "b:1"}, Patience: time.Nanosecond})
	w := walk{c: c}
	if !w.note("a:1", nil, refused) || c.Servers()[0] != "b:1" {
		t.Errorf("after a server that is not reached: %v", c.Servers())
	}
	if !w.note("b:1", answer(convert.LeaderHeader, convert.NoLeader), nil) || c.Servers()[0] != "a:1" {
		t.Errorf("after a server that knows no leader: %v", c.Servers())
	}
	if !w.note("b:1", answer(convert.LeaderHeader, "c:1"), nil) || c.Servers()[0] != "c:1" {
		t.Errorf("after a server that names the leader: %v", c.Servers())
	}
	if w.note("c:1", nil, errors.New("connection lost")) {
		t.Error("a request with an unknown outcome is sent again")
	}
	if w.note("c:1", answer(convert.ServersHeader, "c:1"), nil) {
		t.Error("an answer is asked for again")
	}
	if err := w.why(&dialError{server: "b:1"}); !errors.Is(err, refused) {
		t.Errorf("it ended with %v, want the first server's error", err)
	}
	tries := 0
	for w := (walk{c: dialed(t, Config{Servers: []string{"a:1", "b:1"}, Patience: time.Nanosecond})}); w.again(t.Context()); tries++ {
		if tries > 10 {
			t.Fatal("it has no end")
		}
	}
	alone := walk{c: dialed(t, Config{Servers: []string{"a:1"}})}
	if alone.again(t.Context()) {
		t.Error("a lone server is asked again")
	}
}
