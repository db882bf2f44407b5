package up

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"drover/internal/proc"
)

// A socket whose path would be too long lies outside the data folder.
func TestPurgeRemovesTheSocketsThatLieElsewhere(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	data := filepath.Join(t.TempDir(), "data")
	unit := filepath.Join(data, "machines", "0", "units", "blog-0")
	short := proc.ShortFolder(proc.UnitSocket(unit))
	for _, dir := range []string{unit, short} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(short, "hook.sock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := removeData(data); err != nil {
		t.Fatal(err)
	}
	for _, gone := range []string{data, short} {
		if _, err := os.Stat(gone); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", gone, err)
		}
	}
}
