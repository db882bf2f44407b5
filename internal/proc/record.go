package proc

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"
)

// Record is what is kept on disk about a process that was started, so that a
// later run finds it again. Fields holds what else its owner wants to remember;
// never a secret.
type Record struct {
	ID     ID                `json:"id"`
	Role   string            `json:"role"`
	Fields map[string]string `json:"fields,omitempty"`
}

const maxRecord = 64 << 10

// WriteRecord writes the record durably, replacing an older one as a whole.
func WriteRecord(path string, r Record) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return renameio.WriteFile(path, append(b, '\n'), 0o600, renameio.WithTempDir(filepath.Dir(path)))
}

// ReadRecord reads a record; os.ErrNotExist when there is none.
func ReadRecord(path string) (Record, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return Record{}, err
	}
	if fi.Size() > maxRecord {
		return Record{}, fmt.Errorf("record %s is larger than %d bytes", path, maxRecord)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return Record{}, err
	}
	var r Record
	if err := json.Unmarshal(b, &r); err != nil {
		return Record{}, fmt.Errorf("record %s: %w", path, err)
	}
	return r, nil
}

// Records reads all records of a folder by their names without ".json". Files
// that are not records are left out and reported in the error.
func Records(dir string) (map[string]Record, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	rs := map[string]Record{}
	var errs []error
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok || !e.Type().IsRegular() {
			continue
		}
		r, err := ReadRecord(filepath.Join(dir, e.Name()))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		rs[name] = r
	}
	return rs, errors.Join(errs...)
}
