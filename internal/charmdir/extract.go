package charmdir

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"drover/noun/charm"
	"drover/noun/fault"
)

// Extract checks the archive and writes it into dir, which must be empty or not
// exist. Known hooks get their run bit. On error dir is left as far as it came:
// extract beside the place and rename.
func Extract(data []byte, dir string) (*charm.Charm, error) {
	ch, err := Read(data)
	if err != nil {
		return nil, err
	}
	zr, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, badArchive("it is not a zip archive").Wrap(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, writeFault(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, writeFault(err)
	}
	defer root.Close()
	var links []*zip.File
	left := int64(maxUnpacked)
	for _, f := range zr.File {
		switch {
		case strings.TrimSuffix(f.Name, "/") == ".":
		case f.Mode().IsDir():
			if err := root.MkdirAll(strings.TrimSuffix(f.Name, "/"), 0o755); err != nil {
				return nil, writeFault(err)
			}
		case f.Mode()&fs.ModeSymlink != 0:
			links = append(links, f)
		default:
			if err := extractFile(root, f, &ch.Meta, &left); err != nil {
				return nil, err
			}
		}
	}
	// Links come last, so that no file is written through one.
	for _, f := range links {
		if err := extractLink(root, f); err != nil {
			return nil, err
		}
	}
	return ch, nil
}

func extractFile(root *os.Root, f *zip.File, m *charm.Meta, left *int64) error {
	if dir := path.Dir(f.Name); dir != "." {
		if err := root.MkdirAll(dir, 0o755); err != nil {
			return writeFault(err)
		}
	}
	mode := fs.FileMode(0o644)
	if f.Mode()&0o111 != 0 || isRunnable(m, f.Name) {
		mode = 0o755
	}
	in, err := f.Open()
	if err != nil {
		return badArchive("%s cannot be read", f.Name).Wrap(err)
	}
	defer in.Close()
	out, err := root.OpenFile(f.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return writeFault(err)
	}
	n, err := io.Copy(out, io.LimitReader(in, *left+1))
	if cerr := out.Close(); err == nil && cerr != nil {
		return writeFault(cerr)
	}
	if errors.Is(err, zip.ErrChecksum) || errors.Is(err, zip.ErrFormat) || errors.Is(err, io.ErrUnexpectedEOF) {
		return badArchive("%s is damaged", f.Name).Wrap(err)
	} else if err != nil {
		return writeFault(err)
	}
	if *left -= n; *left < 0 {
		return badArchive("it unpacks to more than %d MiB", maxUnpacked>>20)
	}
	return writeFaultOrNil(root.Chmod(f.Name, mode))
}

func extractLink(root *os.Root, f *zip.File) error {
	target, err := linkTarget(f)
	if err != nil {
		return err
	}
	if dir := path.Dir(f.Name); dir != "." {
		if err := root.MkdirAll(dir, 0o755); err != nil {
			return writeFault(err)
		}
	}
	return writeFaultOrNil(root.Symlink(target, f.Name))
}

func linkTarget(f *zip.File) (string, error) {
	r, err := f.Open()
	if err != nil {
		return "", badArchive("%s cannot be read", f.Name).Wrap(err)
	}
	defer r.Close()
	target, err := io.ReadAll(io.LimitReader(r, maxPath+1))
	if err != nil {
		return "", badArchive("%s cannot be read", f.Name).Wrap(err)
	}
	return string(target), checkLink(f.Name, string(target))
}

func writeFault(err error) error {
	return fault.New(fault.Internal, "cannot write the charm's files").Why("%s", plain(err)).Wrap(err)
}

func writeFaultOrNil(err error) error {
	if err == nil {
		return nil
	}
	return writeFault(err)
}
