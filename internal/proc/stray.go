package proc

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Marks are names in the environment of what runs on a local machine: their
// values are that machine's folder, or lie below it.
var Marks = []string{"DROVER_MACHINE_DIR", "DROVER_UNIT_DIR", "CHARM_DIR"}

// BootMark is a name in the environment of a local machine's supervisor, from
// before it has recorded itself: its value is the machine's folder. It is no
// Mark, for a supervisor that looks for strays must not find itself.
const BootMark = "DROVER_MACHINE_BOOT"

// recordNames are the files in which a container's shim records itself and its
// process.
var recordNames = []string{"shim", "pid"}

// Strays lists living processes that belong to a local machine's folder, whoever
// their parent is now: marked by their environment, or recorded below the
// folder. It finds what outlived the machine's supervisor.
func Strays(folder string) ([]ID, error) {
	below := folder + string(filepath.Separator)
	ids, err := EnvMatch(Marks, func(v string) bool { return v == folder || strings.HasPrefix(v, below) })
	if err != nil {
		return nil, err
	}
	err = filepath.WalkDir(filepath.Join(folder, "containers"), func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
			return nil
		}
		if err != nil || d.IsDir() || !slices.Contains(recordNames, d.Name()) {
			return err
		}
		if id, ok := readShim(path); ok && id.Alive() && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
		return nil
	})
	return ids, err
}

// readShim reads a shim's record: names and values that each end with NUL.
func readShim(path string) (ID, bool) {
	const most = 4 << 10
	if fi, err := os.Stat(path); err != nil || fi.Size() > most {
		return ID{}, false
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return ID{}, false
	}
	return parseShim(string(b))
}

func parseShim(text string) (ID, bool) {
	words := strings.Split(text, "\x00")
	var id ID
	var err error
	for i := 0; i+1 < len(words); i += 2 {
		switch words[i] {
		case "pid":
			id.PID, err = strconv.Atoi(words[i+1])
		case "start":
			id.Start, err = strconv.ParseUint(words[i+1], 10, 64)
		case "boot":
			id.Boot = words[i+1]
		}
		if err != nil {
			return ID{}, false
		}
	}
	return id, id.PID > 0
}
