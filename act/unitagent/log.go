package unitagent

import (
	"bytes"
	"os"
	"strings"
	"sync"
	"time"

	"drover/act/hooktool"
)

// The bounds of a unit's log: a file that has grown beyond the size becomes
// unit.log.1, in place of the one before.
const (
	maxLogSize = 16 << 20
	maxLine    = 64 << 10
)

// unitLog is a unit's log: one line per entry, "time LEVEL module message". Its
// methods may be called concurrently.
type unitLog struct {
	path string
	now  func() time.Time

	mu   sync.Mutex // guards all below
	file *os.File
	size int64
}

// line appends one entry. A log that cannot be written is no reason to stop a
// unit: what cannot be said is lost.
func (l *unitLog) line(level hooktool.Level, module, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil && l.open() != nil {
		return
	}
	text = strings.ToValidUTF8(text[:min(len(text), maxLine)], "\uFFFD")
	entry := l.now().UTC().Format("2006-01-02T15:04:05.000Z") + " " + string(level) + " " + module + " " +
		strings.ReplaceAll(text, "\n", "\n    ") + "\n"
	n, _ := l.file.WriteString(entry)
	if l.size += int64(n); l.size > maxLogSize {
		_ = l.file.Close()
		l.file = nil
		_ = os.Rename(l.path, l.path+".1")
	}
}

func (l *unitLog) open() error {
	f, err := os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o640)
	if err != nil {
		return err
	}
	l.file, l.size = f, 0
	if info, err := f.Stat(); err == nil {
		l.size = info.Size()
	}
	return nil
}

// Close closes the file; a later line opens it again.
func (l *unitLog) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}

// tail keeps the last lines of a hook's output.
type tail struct {
	mu    sync.Mutex // guards lines
	lines []string
}

// The bounds of a failed hook's last output.
const (
	tailLines = 10
	tailBytes = 4 << 10
)

func (t *tail) add(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lines = append(t.lines, line[:min(len(line), tailBytes)]); len(t.lines) > tailLines {
		t.lines = t.lines[1:]
	}
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.Join(t.lines, "\n")
	return strings.ToValidUTF8(text[max(0, len(text)-tailBytes):], "\uFFFD")
}

// lines splits what is written into lines and gives each to use. It is used by
// one goroutine at a time.
type lines struct {
	use  func(line string)
	rest []byte
}

// Write never fails.
func (l *lines) Write(p []byte) (int, error) {
	n := len(p)
	for {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			break
		}
		l.use(string(append(l.rest, bytes.TrimSuffix(p[:i], []byte("\r"))...)))
		l.rest, p = nil, p[i+1:]
	}
	l.rest = append(l.rest, p...)
	if len(l.rest) > maxLine {
		l.flush()
	}
	return n, nil
}

// flush gives the last line, which has no end.
func (l *lines) flush() {
	if len(l.rest) > 0 {
		l.use(string(l.rest))
		l.rest = nil
	}
}
