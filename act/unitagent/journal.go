package unitagent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"drover/act/hooktool"
	"drover/decide/uniter"
	"drover/internal/proc"
	"drover/noun/entity"

	"github.com/google/renameio/v2"
)

// journalFormat is the version of the journal's form.
const journalFormat = 1

// State is what a unit's agent keeps on the unit's disk.
type State struct {
	Format     int             `json:"format"`
	Unit       entity.UnitName `json:"unit"`
	UID        entity.UID      `json:"uid"`
	Uniter     uniter.Local    `json:"uniter"`
	Process    *proc.ID        `json:"process,omitempty"` // of the pending hook; it leads its group
	Number     int64           `json:"number"`            // of the last commit made
	Unsent     []Commit        `json:"unsent,omitempty"`  // in order
	Status     *Status         `json:"status,omitempty"`  // not yet sent
	LastHook   string          `json:"last_hook,omitempty"`
	LastHookMS int64           `json:"last_hook_ms,omitempty"`
	MaxRetries int             `json:"max_retries"` // as last heard
}

// Commit is what one hook wrote, sent once.
type Commit struct {
	Number   int64           `json:"number"`
	Hook     string          `json:"hook"`
	Writes   hooktool.Writes `json:"writes"`
	Workflow entity.Workflow `json:"workflow"`
	MS       int64           `json:"ms"`
}

// Status is what status-set said last.
type Status struct {
	Value   entity.StatusValue `json:"value"`
	Message string             `json:"message,omitempty"`
	Since   int64              `json:"since"`
}

func newState(unit entity.UnitName, uid entity.UID) State {
	return State{Format: journalFormat, Unit: unit, UID: uid, Uniter: uniter.New(), MaxRetries: 5}
}

func (s *State) validate(unit entity.UnitName, uid entity.UID) error {
	switch {
	case s.Format != journalFormat:
		return fmt.Errorf("the journal has format %d, this program reads %d", s.Format, journalFormat)
	case s.Unit != unit || s.UID != uid:
		return fmt.Errorf("the journal is that of %s (%s)", s.Unit, s.UID)
	}
	for i, c := range s.Unsent {
		if c.Number != s.Number-int64(len(s.Unsent)-1-i) {
			return fmt.Errorf("commits are not numbered in order at %d", c.Number)
		}
	}
	return s.Uniter.Validate()
}

// Journal is the file that holds a State. It is replaced as a whole and synced,
// so that a reader finds the old or the new one.
type Journal struct {
	Path string
}

// Load reads the state; a journal that does not exist is that of a new disk.
func (j Journal) Load(unit entity.UnitName, uid entity.UID) (State, error) {
	data, err := os.ReadFile(j.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return newState(unit, uid), nil
	} else if err != nil {
		return State{}, err
	}
	var s State
	if err := json.Unmarshal(data, &s); err != nil {
		return State{}, err
	}
	return s, s.validate(unit, uid)
}

// Save writes the state to the disk. An impossible one is refused.
func (j Journal) Save(s *State) error {
	if err := s.validate(s.Unit, s.UID); err != nil {
		return fmt.Errorf("journal of %s: %w", s.Unit, err)
	}
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return renameio.WriteFile(j.Path, data, 0o600, renameio.WithTempDir(filepath.Dir(j.Path)))
}

// PutAside renames the journal, for people to look at.
func (j Journal) PutAside() error {
	err := os.Rename(j.Path, j.Path+".unreadable")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
