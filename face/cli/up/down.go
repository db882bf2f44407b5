package up

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"drover/internal/proc"
	"drover/noun/fault"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

const (
	keeperGrace  = 30 * time.Second
	machineGrace = 10 * time.Second
	killGrace    = 10 * time.Second
)

// Down ends what up started in the folders, and with purge removes them. The
// report is a sentence for people.
func Down(ctx context.Context, f Folders, purge bool) (report string, err error) {
	if _, err := os.Stat(f.Data); errors.Is(err, fs.ErrNotExist) {
		return "Nothing was up: there is no data folder " + f.Data + ".", nil
	}
	mine := credentialsMatch(f)
	if err := CheckVersion(f.Data); err != nil {
		return "", err
	}
	keeper, err := Running(f)
	if err == nil {
		// It stops everything itself; what it leaves is ended below.
		if err := proc.End(ctx, keeper, keeperGrace); err != nil {
			return "", err
		}
	} else if !errors.Is(err, proc.ErrGone) {
		return "", err
	}
	ended, err := stopAll(ctx, f)
	if err != nil {
		return "", err
	}
	report = "Stopped. The state stays in " + f.Data + " for the next drover up."
	if ended == 0 && keeper.IsZero() {
		report = "Nothing was up."
	}
	if !purge {
		return report, nil
	}
	if err := removeData(f.Data); err != nil {
		return "", err
	}
	if !mine {
		return "Stopped and removed. The credentials in " + f.Config + " are of another cluster and stay.", nil
	}
	return "Stopped and removed.", removeCredentials(f)
}

// credentialsMatch reports whether the credentials are of the folder's cluster.
func credentialsMatch(f Folders) bool {
	v, err := readVersion(f.Data)
	if err != nil || v.cluster == "" {
		return err == nil // never came up: there is nothing to compare
	}
	id, err := clusterOf(f.Config)
	return err == nil && (id == "" || id == v.cluster)
}

// stopAll ends the server, then the machines, then whatever is left of them.
func stopAll(ctx context.Context, f Folders) (ended int, err error) {
	// The server first, or it would start the machines again.
	if r, err := proc.ReadRecord(f.record("server")); err == nil && r.ID.Alive() {
		ended++
		if err := proc.End(ctx, r.ID, serverGrace); err != nil {
			return ended, err
		}
	}
	machines, err := machineIDs(f)
	if err != nil {
		return ended, err
	}
	ended += len(machines)
	var g errgroup.Group
	for _, id := range machines {
		g.Go(func() error { return proc.End(ctx, id, machineGrace) })
	}
	if err := g.Wait(); err != nil {
		return ended, err
	}
	left, err := leftovers(f)
	if err != nil {
		return ended, err
	}
	kctx, cancel := context.WithTimeout(ctx, killGrace)
	defer cancel()
	if err := proc.KillTree(kctx, left...); err != nil {
		return ended, fault.New(fault.Internal, "some processes cannot be ended").Why("%v", left).Wrap(err)
	}
	_ = os.Remove(f.record("server")) // names a process that is gone
	return ended + len(left), nil
}

// machineIDs are the supervisors of local machines that are alive.
func machineIDs(f Folders) ([]proc.ID, error) {
	files, err := filepath.Glob(filepath.Join(f.machines(), "*", "machine.json"))
	if err != nil {
		return nil, err
	}
	var ids []proc.ID
	for _, file := range files {
		r, err := proc.ReadRecord(file)
		if err == nil && r.ID.Alive() {
			ids = append(ids, r.ID)
		}
	}
	return ids, nil
}

// leftovers are processes of local machines whose supervisor is gone, and
// supervisors that had not recorded themselves when the server ended.
func leftovers(f Folders) ([]proc.ID, error) {
	below := f.machines() + string(filepath.Separator)
	ids, err := proc.EnvMatch([]string{proc.BootMark}, func(dir string) bool { return strings.HasPrefix(dir, below) })
	if err != nil {
		return nil, err
	}
	dirs, err := filepath.Glob(filepath.Join(f.machines(), "*"))
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		more, err := proc.Strays(dir)
		if err != nil {
			return nil, err
		}
		for _, id := range more {
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	return ids, nil
}

// removeData removes a data folder that is Drover's, after unmounting what is
// mounted below it.
func removeData(data string) error {
	if _, err := readVersion(data); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := unmountBelow(data); err != nil {
		return err
	}
	units, err := filepath.Glob(filepath.Join(data, "machines", "*", "units", "*"))
	if err != nil {
		return err
	}
	for _, unit := range units {
		if err := os.RemoveAll(proc.ShortFolder(proc.UnitSocket(unit))); err != nil {
			return fault.New(fault.Denied, "cannot remove the socket of %s", unit).Why("%s", plain(err)).Wrap(err)
		}
	}
	if err := os.RemoveAll(data); err != nil {
		return fault.New(fault.Denied, "cannot remove %s", data).Why("%s", plain(err)).Wrap(err)
	}
	return nil
}

func unmountBelow(dir string) error {
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	const pointField = 4
	lines := strings.Split(string(b), "\n")
	slices.Reverse(lines) // the last mounted first
	for _, line := range lines {
		f := strings.Fields(line)
		if len(f) <= pointField || !strings.HasPrefix(unescape(f[pointField]), dir+"/") {
			continue
		}
		point := unescape(f[pointField])
		if err := unix.Unmount(point, unix.MNT_DETACH); err != nil {
			return fault.New(fault.Denied, "cannot unmount %s", point).Why("%s", err).Wrap(err)
		}
	}
	return nil
}

// unescape undoes the octal escapes of mountinfo.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// removeCredentials removes what the first start wrote; other files stay.
func removeCredentials(f Folders) error {
	for _, name := range []string{"admin.crt", "admin.key", "ca.crt", "client.json"} {
		if err := os.Remove(filepath.Join(f.Config, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fault.New(fault.Denied, "cannot remove %s", name).Why("%s", plain(err)).Wrap(err)
		}
	}
	err := os.Remove(f.Config)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ENOTEMPTY) {
		return fmt.Errorf("remove %s: %w", f.Config, err)
	}
	return nil
}
