package shim

import "os"

// logFile is a process's output: two files of at most max bytes each. A write
// that fails loses its bytes and is counted; it never holds up the process.
type logFile struct {
	max  int64
	size int64
	lost int64
	f    *os.File
}

func (l *logFile) open() {
	f, err := os.OpenFile(LogFile, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return
	}
	l.f, l.size = f, 0
	if fi, err := f.Stat(); err == nil {
		l.size = fi.Size()
	}
}

// Write never fails, so that copying goes on until the output ends.
func (l *logFile) Write(p []byte) (int, error) {
	if l.f != nil && l.size+int64(len(p)) > l.max && l.size > 0 {
		l.f.Close()
		l.f = nil
		if os.Rename(LogFile, OldLogFile) != nil {
			os.Remove(LogFile)
		}
	}
	if l.f == nil {
		l.open()
	}
	n := 0
	if l.f != nil {
		n, _ = l.f.Write(p)
	}
	l.size += int64(n)
	l.lost += int64(len(p) - n)
	return len(p), nil
}

// copyFrom reads until the last writer has closed.
func (l *logFile) copyFrom(r *os.File, done chan<- struct{}) {
	buf := make([]byte, 16<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			_, _ = l.Write(buf[:n]) // a full disk loses output, not the process
		}
		if err != nil {
			close(done)
			return
		}
	}
}
