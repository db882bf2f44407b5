package up

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"drover/noun/fault"
)

// small are the programs that start often: built beside drover if possible, else
// links to drover, which knows them by name.
var small = []string{"drover-hook", "drover-shim"}

// install puts the running program into the data folder, with the small ones.
// changed says that another version was there before.
func (h *House) install() (changed bool, err error) {
	exe, err := os.Executable()
	if err != nil {
		return false, err
	}
	if exe == h.o.Program() {
		return false, h.linkMissing()
	}
	sum, err := digest(exe)
	if err != nil {
		return false, fault.New(fault.Internal, "cannot read this program").Why("%s", plain(err)).Wrap(err)
	}
	have, err := digest(h.o.Program())
	same := err == nil && bytes.Equal(sum, have)
	if !same {
		changed = err == nil
		if err := copyProgram(exe, h.o.Program()); err != nil {
			return false, cannotWrite(h.o.Data, err)
		}
	}
	return changed, h.installSmall(filepath.Dir(exe), same)
}

func (h *House) installSmall(beside string, same bool) error {
	missing := false
	for _, name := range small {
		if src := filepath.Join(beside, name); isProgram(src) {
			if err := copyProgram(src, h.o.bin(name)); err != nil {
				return cannotWrite(h.o.Data, err)
			}
			continue
		}
		fi, err := os.Lstat(h.o.bin(name))
		if err == nil && same && fi.Mode().IsRegular() {
			continue
		}
		missing = true
		if err := link("drover", h.o.bin(name)); err != nil {
			return cannotWrite(h.o.Data, err)
		}
	}
	if !missing {
		return nil
	}
	gotool, root := toolchain()
	if gotool == "" {
		h.o.Say("drover-hook and drover-shim are not beside drover: it plays them itself, which costs some memory")
		return nil
	}
	h.built.Go(func() { h.build(gotool, root) })
	return nil
}

// linkMissing makes drover play the small programs that are not there.
func (h *House) linkMissing() error {
	for _, name := range small {
		if _, err := os.Stat(h.o.bin(name)); err == nil {
			continue
		}
		if err := link("drover", h.o.bin(name)); err != nil {
			return cannotWrite(h.o.Data, err)
		}
	}
	return nil
}

// build compiles the small programs and puts each in place of its link.
func (h *House) build(gotool, root string) {
	for _, name := range small {
		tmp := h.o.bin("." + name + ".new")
		cmd := exec.Command(gotool, "build", "-ldflags", "-s -w", "-o", tmp, "./cmd/"+name)
		cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
		out, err := cmd.CombinedOutput()
		if err == nil {
			err = os.Rename(tmp, h.o.bin(name))
		}
		if err != nil {
			h.o.Say("cannot build %s, drover plays it itself: %s", name, clip(strings.TrimSpace(string(out))+" "+err.Error(), 300))
			_ = os.Remove(tmp) // may not exist
		}
	}
}

// Built waits for the small programs to be built.
func (h *House) Built() { h.built.Wait() }

// toolchain finds the go command and the module's root, when the program runs
// inside its own source.
func toolchain() (gotool, root string) {
	dir, err := os.Getwd()
	if err != nil {
		return "", ""
	}
	for {
		b, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil {
			first, _, _ := strings.Cut(string(b), "\n")
			if strings.TrimSpace(first) != "module drover" || !isDir(filepath.Join(dir, "cmd", small[0])) {
				return "", ""
			}
			if gotool, err = exec.LookPath("go"); err != nil {
				return "", ""
			}
			return gotool, dir
		}
		if !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			return "", ""
		}
		dir = filepath.Dir(dir)
	}
}

func isDir(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.IsDir()
}

func isProgram(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.Mode().IsRegular() && fi.Mode()&0o111 != 0
}

func digest(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return nil, err
	}
	return sum.Sum(nil), nil
}

// copyProgram replaces a program as a whole; a running one goes on with the old
// file.
func copyProgram(from, to string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	tmp := to + ".new"
	dst, err := os.OpenFile(tmp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	if err = errors.Join(err, dst.Close()); err == nil {
		err = os.Rename(tmp, to)
	}
	if err != nil {
		_ = os.Remove(tmp) // may not exist
	}
	return err
}

// link makes or replaces a symbolic link.
func link(target, path string) error {
	tmp := path + ".new"
	_ = os.Remove(tmp) // may not exist
	if err := os.Symlink(target, tmp); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}
