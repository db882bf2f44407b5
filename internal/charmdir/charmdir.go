// Package charmdir reads charms where they lie: folders, archives, and files
// embedded in the program. It packs a folder into an archive that is the same
// byte for byte whenever the files are, and extracts archives.
//
// Archives are untrusted: their size, count of files, ratio, paths and links are
// bounded before anything is written, and writing goes through an os.Root. It
// parses with noun/charm and knows nothing of deployment.
//
// Invariants: what Pack made, Read accepts; Extract writes nothing outside its
// folder; after Extract every hook that the charm may have can be run.
//
// Spec: 003 "Charm deployment"; design of the charm contract of today.
package charmdir

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

	"drover/noun/charm"
	"drover/noun/entity"
	"drover/noun/fault"
)

// The bounds on an archive.
const (
	MaxArchive  = 256 << 20 // bytes
	maxFiles    = 20_000
	maxUnpacked = 1 << 30
	freeRatio   = 64 << 20 // below this many bytes any ratio is allowed
	maxRatio    = 100
	maxPath     = 1024
)

const (
	versionFile  = "version"
	revisionFile = "revision"
)

// Packed is a charm with its archive.
type Packed struct {
	Charm   charm.Charm
	Archive []byte
}

// Load reads a charm given as a folder or as an archive file. A path with
// neither is NotFound; a folder with a hook that cannot be run is Invalid and
// says which chmod helps.
func Load(name string) (*Packed, error) {
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.NotFound, "no charm at %s", name).Why("there is no such folder or file")
	}
	if err != nil {
		return nil, fault.New(fault.Invalid, "cannot read the charm at %s", name).Coded(fault.CodeBadCharm).Why("%s", plain(err)).Wrap(err)
	}
	if info.IsDir() {
		return PackFolder(name)
	}
	if info.Size() > MaxArchive {
		return nil, tooBig(info.Size())
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fault.New(fault.Invalid, "cannot read the charm at %s", name).Coded(fault.CodeBadCharm).Why("%s", plain(err)).Wrap(err)
	}
	ch, err := Read(data)
	if err != nil {
		return nil, err
	}
	return &Packed{Charm: *ch, Archive: data}, nil
}

// Read parses and checks an archive. SHA, Size, Version and Revision are filled
// in. Errors are Invalid. It may be called concurrently.
func Read(data []byte) (*charm.Charm, error) {
	if len(data) > MaxArchive {
		return nil, tooBig(int64(len(data)))
	}
	zr, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, badArchive("it is not a zip archive").Wrap(err)
	}
	files, err := checkEntries(zr, int64(len(data)))
	if err != nil {
		return nil, err
	}
	ch, err := parse(func(name string) ([]byte, error) {
		f, ok := files[name]
		if !ok {
			return nil, fs.ErrNotExist
		}
		return readBounded(f)
	})
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	ch.SHA, ch.Size = entity.CharmSHA(hex.EncodeToString(sum[:])), int64(len(data))
	return ch, nil
}

func readBounded(f *zip.File) ([]byte, error) {
	if f.Name == charm.DispatchFile {
		return nil, nil // often a link; only its being there counts
	}
	if f.FileInfo().Mode()&fs.ModeSymlink != 0 {
		return nil, badArchive("%s is a link", f.Name)
	}
	r, err := f.Open()
	if err != nil {
		return nil, badArchive("%s cannot be read", f.Name).Wrap(err)
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, charm.MaxYAMLSize+1))
	if err != nil {
		return nil, badArchive("%s cannot be read", f.Name).Wrap(err)
	}
	return data, nil
}

// parse makes a Charm of the files that read finds; a file that is not there is
// fs.ErrNotExist.
func parse(read func(name string) ([]byte, error)) (*charm.Charm, error) {
	data, err := read(charm.MetadataFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.Invalid, "this is not a charm").Coded(fault.CodeBadCharm).Why("it has no %s", charm.MetadataFile)
	} else if err != nil {
		return nil, err
	}
	ch := &charm.Charm{Options: map[string]charm.Option{}}
	if ch.Meta, err = charm.ParseMeta(data); err != nil {
		return nil, err
	}
	for _, part := range []struct {
		file string
		use  func(data []byte) error
	}{
		{charm.ConfigFile, func(b []byte) error { ch.Options, err = charm.ParseConfig(b); return err }},
		{charm.ManifestFile, func([]byte) error { ch.Meta.HasManifest = true; return nil }},
		{charm.DispatchFile, func([]byte) error { ch.Meta.HasDispatch = true; return nil }},
		{versionFile, func(b []byte) error { ch.Version = firstLine(b); return nil }},
		{revisionFile, func(b []byte) error { ch.Revision, _ = strconv.Atoi(firstLine(b)); return nil }},
	} {
		data, err := read(part.file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = part.use(data)
		}
		if err != nil {
			return nil, err
		}
	}
	return ch, nil
}

func firstLine(data []byte) string {
	line, _, _ := strings.Cut(string(data), "\n")
	return strings.TrimSpace(line[:min(len(line), 256)])
}

// isRunnable reports whether the file is one that the unit agent would run.
func isRunnable(m *charm.Meta, name string) bool {
	if name == charm.DispatchFile {
		return true
	}
	dir, file := path.Split(name)
	if dir != charm.HooksFolder+"/" {
		return false
	}
	_, ok := charm.ParseHookName(m, file)
	return ok
}

func badArchive(format string, args ...any) *fault.Error {
	return fault.New(fault.Invalid, "the charm's archive is not valid").Coded(fault.CodeBadCharm).Why(format, args...)
}

func tooBig(size int64) *fault.Error {
	return fault.New(fault.ResourceExhausted, "the charm's archive is too big").
		Why("it has %d MiB, at most %d are allowed", size>>20, MaxArchive>>20)
}

// plain is the error of a file operation without its path.
func plain(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}
