package proc

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
)

// UnitSocket is where the hook tools of the unit with that folder are served,
// unless the path is too long for a socket.
func UnitSocket(unit string) string { return filepath.Join(unit, "state", "hook.sock") }

// ShortFolder is the folder beside the system's temporary files for a socket
// whose own path is too long. It depends on that path only, so that whoever
// removes the unit finds it again.
func ShortFolder(socket string) string {
	sum := sha256.Sum256([]byte(socket))
	return filepath.Join(os.TempDir(), "drover-"+hex.EncodeToString(sum[:8]))
}
