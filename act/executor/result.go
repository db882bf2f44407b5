package executor

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// MaxResult bounds a task's result file, in bytes.
const MaxResult = 10 << 10

// readResult reads the file a task's user named; relative names are of the
// container's working directory. Spec: 002 "Task States".
func readResult(dir, name string) (string, error) {
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	// Without O_NONBLOCK a pipe of that name would hold up the loop.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", fmt.Errorf("cannot read the result file: %w", err)
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("cannot read the result file: %w", err)
	}
	if !fi.Mode().IsRegular() {
		return "", fmt.Errorf("the result file %s is not a regular file", name)
	}
	b, err := io.ReadAll(io.LimitReader(f, MaxResult+1))
	if err != nil {
		return "", fmt.Errorf("cannot read the result file: %w", err)
	}
	if len(b) > MaxResult {
		return "", fmt.Errorf("the result file %s is larger than %d bytes", name, MaxResult)
	}
	return string(b), nil
}

func signalName(n int) string { return syscall.Signal(n).String() }

func appendFile(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}
