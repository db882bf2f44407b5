package charmdir

import (
	"archive/zip"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"drover/noun/charm"
	"drover/noun/fault"
)

// packedTime is the time of every file in an archive, so that equal files make
// equal archives.
var packedTime = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// skipped are folders that are never part of a charm.
var skipped = []string{".git", ".hg", ".svn", ".bzr"}

// PackFolder makes an archive of a charm's folder. A hook without its run bit is
// Invalid: the folder would do nothing when run from where it lies either.
func PackFolder(dir string) (*Packed, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fault.New(fault.Invalid, "cannot read the charm at %s", dir).Why("%s", plain(err)).Wrap(err)
	}
	defer root.Close()
	fsys := root.FS()
	ch, err := parse(func(name string) ([]byte, error) { return readSmall(fsys, name) })
	if err != nil {
		return nil, inFolder(dir, err)
	}
	if err := checkRunBits(dir, fsys, &ch.Meta); err != nil {
		return nil, err
	}
	archive, err := pack(fsys, &ch.Meta)
	if err != nil {
		return nil, inFolder(dir, err)
	}
	return finish(archive)
}

// PackEmbedded makes an archive of a charm among embedded files, which carry no
// run bits: its hooks get them.
func PackEmbedded(fsys fs.FS, dir string) (*Packed, error) {
	sub, err := fs.Sub(fsys, dir)
	if err != nil {
		return nil, err
	}
	ch, err := parse(func(name string) ([]byte, error) { return readSmall(sub, name) })
	if err != nil {
		return nil, inFolder(dir, err)
	}
	archive, err := pack(sub, &ch.Meta)
	if err != nil {
		return nil, err
	}
	return finish(archive)
}

func finish(archive []byte) (*Packed, error) {
	ch, err := Read(archive)
	if err != nil {
		return nil, err
	}
	return &Packed{Charm: *ch, Archive: archive}, nil
}

// inFolder says in the error which folder it is about.
func inFolder(dir string, err error) error {
	var f *fault.Error
	if errors.As(err, &f) {
		c := *f
		c.What = "charm " + dir + ": " + f.What
		return &c
	}
	return err
}

func readSmall(fsys fs.FS, name string) ([]byte, error) {
	info, err := fs.Stat(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fs.ErrNotExist
	} else if err != nil {
		return nil, badArchive("%s cannot be read: %s", name, plain(err)).Wrap(err)
	}
	if !info.Mode().IsRegular() {
		return nil, badArchive("%s is not a file", name)
	}
	if info.Size() > charm.MaxYAMLSize && name != charm.DispatchFile {
		return nil, badArchive("%s has more than %d bytes", name, charm.MaxYAMLSize)
	}
	if name == charm.DispatchFile {
		return nil, nil
	}
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, badArchive("%s cannot be read: %s", name, plain(err)).Wrap(err)
	}
	return data, nil
}

func checkRunBits(dir string, fsys fs.FS, m *charm.Meta) error {
	names := []string{charm.DispatchFile}
	entries, err := fs.ReadDir(fsys, charm.HooksFolder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.Invalid, "cannot read the charm at %s", dir).Why("hooks: %s", plain(err)).Wrap(err)
	}
	for _, e := range entries {
		names = append(names, path.Join(charm.HooksFolder, e.Name()))
	}
	for _, name := range names {
		info, err := fs.Stat(fsys, name)
		if err != nil || !isRunnable(m, name) || info.Mode()&0o111 != 0 {
			continue
		}
		file := filepath.Join(dir, filepath.FromSlash(name))
		return fault.New(fault.Invalid, "charm %s cannot be deployed", dir).
			Why("%s has no run bit, so it could never run", name).
			Try("chmod +x " + file)
	}
	return nil
}

// pack writes the files in sorted order with times and modes of our own.
func pack(fsys fs.FS, m *charm.Meta) ([]byte, error) {
	var buf bytes.Buffer
	zw := zip.NewWriter(&buf)
	var count int
	var total int64
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return badArchive("%s: %s", name, plain(err)).Wrap(err)
		}
		if name == "." {
			return nil
		}
		if d.IsDir() && slices.Contains(skipped, d.Name()) {
			return fs.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return badArchive("%s: %s", name, plain(err)).Wrap(err)
		}
		if count++; count > maxFiles {
			return badArchive("it has more than %d files", maxFiles)
		}
		if info.Mode().IsRegular() {
			total += info.Size()
		}
		if total > maxUnpacked || buf.Len() > MaxArchive {
			return badArchive("its files have more than %d MiB", maxUnpacked>>20)
		}
		return packOne(zw, fsys, m, name, info)
	})
	if err != nil {
		return nil, err
	}
	if err := zw.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

func packOne(zw *zip.Writer, fsys fs.FS, m *charm.Meta, name string, info fs.FileInfo) error {
	header := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: packedTime}
	var data []byte
	switch mode := info.Mode(); {
	case mode.IsDir():
		header.Name, header.Method = name+"/", zip.Store
		header.SetMode(fs.ModeDir | 0o755)
	case mode&fs.ModeSymlink != 0:
		target, err := fs.ReadLink(fsys, name)
		if err != nil {
			return badArchive("%s: %s", name, plain(err)).Wrap(err)
		}
		if err := checkLink(name, target); err != nil {
			return err
		}
		header.SetMode(fs.ModeSymlink | 0o777)
		data = []byte(target)
	case mode.IsRegular():
		header.SetMode(0o644)
		if mode&0o111 != 0 || isRunnable(m, name) {
			header.SetMode(0o755)
		}
		var err error
		if data, err = fs.ReadFile(fsys, name); err != nil {
			return badArchive("%s: %s", name, plain(err)).Wrap(err)
		}
	default:
		return badArchive("%s is neither a file, a folder nor a link", name)
	}
	w, err := zw.CreateHeader(header)
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}
