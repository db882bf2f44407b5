package cli

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares with testdata/golden/NAME.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
	}
}

// narrow fails for a line of more columns than there are.
func narrow(t *testing.T, text []byte, width int) {
	t.Helper()
	for line := range bytes.Lines(text) {
		if n := utf8.RuneCount(bytes.TrimSuffix(line, []byte("\n"))); n > width {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}
