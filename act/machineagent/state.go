package machineagent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// state is what the agent must not forget when it is restarted.
type state struct {
	Epoch uint64 `json:"epoch"` // of the newest leader obeyed
	Dead  bool   `json:"dead,omitempty"`
}

func statePath(dir string) string { return filepath.Join(dir, "agent.json") }

func loadState(dir string) (state, error) {
	data, err := os.ReadFile(statePath(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return state{}, nil
	} else if err != nil {
		return state{}, err
	}
	var s state
	if err := json.Unmarshal(data, &s); err != nil {
		return state{}, fmt.Errorf("%s: %w", statePath(dir), err)
	}
	return s, nil
}

// obey remembers a leader's epoch; false for one that is over.
func (a *Agent) obey(epoch uint64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if epoch <= a.state.Epoch {
		return epoch == a.state.Epoch
	}
	a.state.Epoch = epoch
	a.saveState()
	return true
}

func (a *Agent) epoch() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.state.Epoch
}

// die makes the agent refuse to run again.
func (a *Agent) die() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.state.Dead = true
	a.saveState()
}

func (a *Agent) saveState() {
	data, err := json.Marshal(a.state)
	if err == nil {
		err = renameio.WriteFile(statePath(a.cfg.DataDir), data, 0o600, renameio.WithTempDir(a.cfg.DataDir))
	}
	if err != nil {
		a.cfg.Log.Error("cannot remember the agent's state", "err", err)
	}
}
