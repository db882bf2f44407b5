package executor

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"drover/act/executor/shim"
	"drover/noun/when"
	"drover/noun/work"
)

// meta is what the executor must still know when it starts again.
type meta struct {
	Format    int            `json:"format"`
	State     string         `json:"state"` // Container.State by name
	Container work.Container `json:"container"`
	Boot      string         `json:"boot"`
	StopAsked when.Instant   `json:"stop_asked,omitempty"`
	Ending    *ending        `json:"ending,omitempty"`
	Said      []string       `json:"said,omitempty"` // progress messages that are in the log
}

// ending is a result that was decided while processes still ran; they are left
// alone until After.
type ending struct {
	Result work.RunResult `json:"result"`
	After  when.Instant   `json:"after,omitempty"`
}

const (
	metaFile    = "meta"
	metaFormat  = 1
	maxMetaSize = 4 << 20
)

// write replaces the container's meta; with sync it survives a power loss,
// which matters where forgetting would repeat or hide something.
func (m *meta) write(dir string, sync bool) error {
	m.Format, m.State = metaFormat, m.Container.State.String()
	b, err := json.Marshal(m)
	if err == nil {
		err = shim.WriteFile(filepath.Join(dir, metaFile), b, sync)
	}
	if err != nil {
		return fmt.Errorf("record container %s: %w", m.Container.GUID, err)
	}
	return nil
}

func readMeta(dir string) (*meta, error) {
	path := filepath.Join(dir, metaFile)
	fi, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if fi.Size() > maxMetaSize {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, maxMetaSize)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var m meta
	if err := json.Unmarshal(b, &m); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	m.Container.State = work.ParseContainerState(m.State)
	switch {
	case m.Format != metaFormat:
		return nil, fmt.Errorf("%s has format %d, want %d", path, m.Format, metaFormat)
	case m.Container.State == 0:
		return nil, fmt.Errorf("%s: unknown state %q", path, m.State)
	case string(m.Container.GUID) != filepath.Base(dir):
		return nil, fmt.Errorf("%s is of container %q", path, m.Container.GUID)
	}
	return &m, nil
}
