package proc

import (
	"context"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Children lists the living children of a process.
func Children(parent ID) ([]ID, error) {
	all, err := snapshot()
	if err != nil || !parent.Alive() {
		return nil, err
	}
	return all.children(parent.PID), nil
}

// Descendants lists every living descendant of the roots, without the roots,
// parents before children.
func Descendants(roots ...ID) ([]ID, error) {
	all, err := snapshot()
	if err != nil {
		return nil, err
	}
	seen := map[int]bool{}
	var queue, found []ID
	for _, r := range roots {
		if r.Alive() && !seen[r.PID] {
			seen[r.PID] = true
			queue = append(queue, r)
		}
	}
	for len(queue) > 0 {
		for _, c := range all.children(queue[0].PID) {
			if !seen[c.PID] {
				seen[c.PID] = true
				queue, found = append(queue, c), append(found, c)
			}
		}
		queue = queue[1:]
	}
	return found, nil
}

// KillTree ends the roots and all that descends from them with SIGKILL, looking
// again until nothing is left, since a process may fork while it is being
// looked for. Children found once are followed even if their parent is gone.
// It returns the context's error if something is still there when that ends.
func KillTree(ctx context.Context, roots ...ID) error {
	known := slices.Clone(roots)
	for {
		ds, err := Descendants(known...)
		if err != nil {
			return err
		}
		known = append(known, ds...)
		known = slices.DeleteFunc(known, func(id ID) bool { return !id.Alive() })
		if len(known) == 0 {
			return nil
		}
		// Stopped first, so that nobody forks between being seen and being killed.
		for _, sig := range []unix.Signal{unix.SIGSTOP, unix.SIGKILL} {
			for _, id := range known {
				if err := id.Signal(sig); err != nil && !errors.Is(err, ErrGone) {
					return err
				}
			}
		}
		if err := pause(ctx, 2*time.Millisecond); err != nil {
			return err
		}
	}
}

// KillDescendants ends all that descends from the process, not itself. Called by
// a subreaper for itself it leaves nothing behind, however it was detached.
func KillDescendants(ctx context.Context, root ID) error {
	for {
		ds, err := Descendants(root)
		if err != nil || len(ds) == 0 {
			return err
		}
		if err := KillTree(ctx, ds...); err != nil {
			return err
		}
	}
}

// End asks the process to go with SIGTERM, waits for up to grace and then kills
// it with all that descends from it.
func End(ctx context.Context, id ID, grace time.Duration) error {
	ds, err := Descendants(id)
	if err != nil {
		return err
	}
	if err := id.Signal(unix.SIGTERM); errors.Is(err, ErrGone) {
		return nil
	} else if err != nil {
		return err
	}
	gctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	if err := id.Wait(gctx); err == nil {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return KillTree(ctx, append(ds, id)...)
}

// EnvMatch lists living processes whose environment holds one of the names with
// a value for which match holds, leaving out the caller. It finds what outlived
// every parent that knew it; processes of other users are not seen.
func EnvMatch(names []string, match func(value string) bool) ([]ID, error) {
	all, err := snapshot()
	if err != nil {
		return nil, err
	}
	var found []ID
	for _, p := range all {
		if p.id.PID == os.Getpid() {
			continue
		}
		env, err := os.ReadFile("/proc/" + strconv.Itoa(p.id.PID) + "/environ")
		if err != nil {
			continue
		}
		for kv := range strings.SplitSeq(string(env), "\x00") {
			name, value, ok := strings.Cut(kv, "=")
			if ok && slices.Contains(names, name) && match(value) {
				found = append(found, p.id)
				break
			}
		}
	}
	return found, nil
}

// processes is one look at /proc, ordered by pid.
type processes []process

type process struct {
	id   ID
	ppid int
}

func (ps processes) children(pid int) []ID {
	var ids []ID
	for _, p := range ps {
		if p.ppid == pid {
			ids = append(ids, p.id)
		}
	}
	return ids
}

func snapshot() (processes, error) {
	pids, err := pids()
	if err != nil {
		return nil, err
	}
	var ps processes
	for _, pid := range pids {
		st, err := readStat(pid)
		if err != nil || st.dead() {
			continue
		}
		ps = append(ps, process{ID{PID: pid, Start: st.start, Boot: HostBoot()}, st.ppid})
	}
	return ps, nil
}

// pids lists the pids of /proc in order.
func pids() ([]int, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var ids []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			ids = append(ids, pid)
		}
	}
	slices.Sort(ids)
	return ids, nil
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
