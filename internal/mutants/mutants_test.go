package mutants

import (
	"strings"
	"testing"
	"testing/fstest"
)

const one = "file: a.go\ntests: ./a\nwhy: one is one\n--- was\nreturn 1\n--- becomes\nreturn 2\n"

func TestAMistakeIsPlantedWhereItsTextStandsOnce(t *testing.T) {
	for _, c := range []struct{ name, source, want, err string }{
		{name: "once", source: "func f() int {\nreturn 1\n}\n", want: "func f() int {\nreturn 2\n}\n"},
		{name: "gone", source: "func f() int {\nreturn 3\n}\n", err: "0 times"},
		{name: "twice", source: "return 1\nreturn 1\n", err: "2 times"},
	} {
		t.Run(c.name, func(t *testing.T) {
			fsys := fstest.MapFS{"m/x.mutant": {Data: []byte(one)}, "a.go": {Data: []byte(c.source)}}
			ms, err := Load(fsys, "m")
			if err != nil || len(ms) != 1 || ms[0].Name != "x" {
				t.Fatalf("Load: %v, %v", ms, err)
			}
			got, err := ms[0].Apply(fsys)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("error %v, want %q", err, c.err)
				}
				return
			}
			if err != nil || string(got) != c.want {
				t.Errorf("planted %q, %v; want %q", got, err, c.want)
			}
		})
	}
}

func TestIncompleteMistakesAreRefused(t *testing.T) {
	for _, text := range []string{
		strings.Replace(one, "why: one is one\n", "", 1),
		strings.Replace(one, "return 2", "return 1", 1),
		"colour: red\n" + one,
	} {
		if _, err := parse([]byte(text)); err == nil {
			t.Errorf("no error for\n%s", text)
		}
	}
}
