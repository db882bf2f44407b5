package executor

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"drover/act/executor/shim"
	"drover/noun/fault"
	"drover/noun/work"
)

const (
	progressFile = "progress"
	pastTargets  = 200                    // of which logs are kept after their container is gone
	followEvery  = 200 * time.Millisecond // between looks at growing files
)

// LogQuery says what to read of a target's log.
type LogQuery struct {
	Target string // "web/3" for an instance, "task:hello" for a task
	Lines  int    // the last ones; 0: all
	Follow bool   // until the context ends
}

// Log writes what the target's processes wrote, of the container before the
// present one too, if it was on this cell. NotFound when nothing is known.
func (e *Executor) Log(ctx context.Context, q LogQuery, w io.Writer) error {
	past, match, err := e.target(q.Target)
	if err != nil {
		return err
	}
	t := &tail{files: map[string]*os.File{}, out: w}
	defer t.close()
	files := func() []string { return append(logsIn(past), e.logFiles(match)...) }
	first := files()
	if len(first) == 0 && !e.known(match) {
		return fault.New(fault.NotFound, "no log of %s on cell %s", q.Target, e.cfg.Cell)
	}
	if err := t.last(first, q.Lines); err != nil || !q.Follow {
		return err
	}
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := t.more(e.logFiles(match)); err != nil {
			return err
		}
	}
}

// target turns a target's text into its folder of past logs and its containers.
func (e *Executor) target(text string) (past string, match func(*work.Container) bool, err error) {
	if guid, ok := strings.CutPrefix(text, "task:"); ok && work.ValidateGUID("task guid", guid) == nil {
		return e.pastDir("task." + guid), func(c *work.Container) bool { return c.Task == work.TaskGUID(guid) }, nil
	}
	guid, index, ok := strings.Cut(text, "/")
	n, numErr := strconv.Atoi(index)
	if ok && numErr == nil && n >= 0 && work.ValidateGUID("process guid", guid) == nil {
		key := work.LRPKey{ProcessGUID: work.ProcessGUID(guid), Index: n}
		return e.pastDir(pastName(&work.Container{LRP: &key})), func(c *work.Container) bool { return c.LRP != nil && *c.LRP == key }, nil
	}
	return "", nil, fault.New(fault.Invalid, "%q names no log of a cell", text).Why("it must be like web/3 or task:hello")
}

func pastName(c *work.Container) string {
	if c.LRP != nil {
		return "lrp." + string(c.LRP.ProcessGUID) + "." + strconv.Itoa(c.LRP.Index)
	}
	return "task." + string(c.Task)
}

func (e *Executor) pastDir(name string) string { return filepath.Join(e.cfg.Dir, "past", name) }

func (e *Executor) matching(match func(*work.Container) bool) []*container {
	cs := slices.DeleteFunc(e.all(), func(c *container) bool { return c.leftover || !match(&c.origin) })
	sort.SliceStable(cs, func(i, j int) bool { return cs[i].origin.Created < cs[j].origin.Created })
	return cs
}

func (e *Executor) known(match func(*work.Container) bool) bool { return len(e.matching(match)) > 0 }

// logFiles lists the files of the containers, oldest first.
func (e *Executor) logFiles(match func(*work.Container) bool) []string {
	var files []string
	for _, c := range e.matching(match) {
		files = append(files, containerLogs(c)...)
	}
	return files
}

func containerLogs(c *container) []string {
	files := existing(filepath.Join(c.place.Dir, progressFile))
	for _, name := range processNames(&c.origin.Spec) {
		if name == monitorName || strings.HasPrefix(name, monitorName+".") {
			continue
		}
		dir := filepath.Join(c.place.Dir, "procs", name)
		files = append(files, existing(filepath.Join(dir, shim.OldLogFile), filepath.Join(dir, shim.LogFile))...)
	}
	return files
}

func existing(paths ...string) []string {
	return slices.DeleteFunc(paths, func(p string) bool {
		_, err := os.Stat(p)
		return err != nil
	})
}

func logsIn(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var files []string
	for _, e := range entries {
		files = append(files, filepath.Join(dir, e.Name()))
	}
	return files
}

// keepLogs moves a container's logs to where Log finds them when it is gone, in
// place of those of the target's container before. Losing them is not worth
// failing a deletion for.
func (e *Executor) keepLogs(c *container) {
	files := containerLogs(c)
	if len(files) == 0 {
		return
	}
	dir := e.pastDir(pastName(&c.origin))
	err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o700))
	for i, f := range files {
		err = errors.Join(err, os.Rename(f, filepath.Join(dir, strconv.Itoa(10000+i))))
	}
	if err = errors.Join(err, e.prunePast()); err != nil {
		e.cfg.Log.Warn("a container's logs were not kept", "container", c.place.GUID, "err", err)
	}
}

func (e *Executor) prunePast() error {
	entries, err := os.ReadDir(e.pastDir(""))
	if err != nil || len(entries) <= pastTargets {
		return err
	}
	age := func(d os.DirEntry) time.Time {
		fi, err := d.Info()
		if err != nil {
			return time.Time{}
		}
		return fi.ModTime()
	}
	sort.SliceStable(entries, func(i, j int) bool { return age(entries[i]).Before(age(entries[j])) })
	for _, d := range entries[:len(entries)-pastTargets] {
		err = errors.Join(err, os.RemoveAll(e.pastDir(d.Name())))
	}
	return err
}

// tail writes the ends of files and then what is added to them.
type tail struct {
	files map[string]*os.File // read up to their offset
	out   io.Writer
}

func (t *tail) close() {
	for _, f := range t.files { // order-free: each is closed
		_ = f.Close()
	}
}

// last writes the last lines of the files taken as one; 0 lines means all.
func (t *tail) last(files []string, lines int) error {
	from := 0
	if lines > 0 {
		for from = len(files); from > 0 && lines > 0; {
			from--
			n, err := t.open(files[from], lines)
			if err != nil {
				return err
			}
			lines -= n
		}
	}
	for i, path := range files {
		if i < from {
			continue
		}
		if err := t.rest(path); err != nil {
			return err
		}
	}
	return nil
}

// open opens a file at its n-th last line and tells how many lines that is.
func (t *tail) open(path string, n int) (int, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	t.files[path] = f
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, err
	}
	buf := make([]byte, 64<<10)
	count := 0
	for at := end; at > 0; {
		size := min(at, int64(len(buf)))
		at -= size
		if _, err := f.ReadAt(buf[:size], at); err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		for i := size - 1; i >= 0; i-- {
			if buf[i] != '\n' || at+i == end-1 {
				continue
			}
			if count++; count == n {
				_, err := f.Seek(at+i+1, io.SeekStart)
				return n, err
			}
		}
	}
	_, err = f.Seek(0, io.SeekStart)
	if end > 0 {
		count++
	}
	return count, err
}

// rest writes what follows the offset of a file.
func (t *tail) rest(path string) error {
	f := t.files[path]
	if f == nil {
		var err error
		if f, err = os.Open(path); err != nil {
			if errors.Is(err, os.ErrNotExist) {
				return nil
			}
			return err
		}
		t.files[path] = f
	}
	_, err := io.Copy(t.out, f)
	return err
}

// more writes what was added. A file that was rotated away is read to its end
// first; its new name holds nothing else.
func (t *tail) more(files []string) error {
	for _, path := range files {
		if f := t.files[path]; f != nil && replaced(f, path) {
			if err := t.rest(path); err != nil {
				return err
			}
			_ = f.Close()
			delete(t.files, path)
		}
		if t.files[path] == nil && t.readElsewhere(path) {
			continue
		}
		if err := t.rest(path); err != nil {
			return err
		}
	}
	return nil
}

func replaced(f *os.File, path string) bool {
	a, err1 := f.Stat()
	b, err2 := os.Stat(path)
	return err1 == nil && err2 == nil && !os.SameFile(a, b)
}

// readElsewhere reports whether the path is the new name of a file that is or
// was read under its old one.
func (t *tail) readElsewhere(path string) bool {
	return filepath.Base(path) == shim.OldLogFile && t.files[strings.TrimSuffix(path, ".1")] != nil
}
