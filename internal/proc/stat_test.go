package proc

import "testing"

func TestParseStat(t *testing.T) {
	tail := " S 7 8 9 0 -1 4194304 103 0 0 0 0 0 0 0 20 0 1 0 157378 3133440 390\n"
	for _, name := range []string{"cat", "a b", "evil) R 1 1 1", "(("} {
		s, err := parseStat([]byte("42 (" + name + ")" + tail))
		want := stat{state: 'S', ppid: 7, pgid: 8, session: 9, start: 157378}
		if err != nil || s != want {
			t.Errorf("command %q: got %+v, %v; want %+v", name, s, err, want)
		}
	}
	for _, bad := range []string{"", "42", "42 (x", "42 (x) S 1", "42 (x) S a b c 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 z"} {
		if _, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("1 (x) S 1 1 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 5"))
	f.Fuzz(func(_ *testing.T, b []byte) { _, _ = parseStat(b) })
}
