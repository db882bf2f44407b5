package charmdir

import (
	"archive/zip"
	"io/fs"
	"path"
	"strings"
	"unicode/utf8"
)

// checkEntries bounds what an archive holds, by its directory alone, and gives
// its files by path. What the directory says of sizes is enforced again while
// extracting.
func checkEntries(zr *zip.Reader, size int64) (map[string]*zip.File, error) {
	if len(zr.File) > maxFiles {
		return nil, badArchive("it has %d files, at most %d are allowed", len(zr.File), maxFiles)
	}
	files := make(map[string]*zip.File, len(zr.File))
	var total uint64
	for _, f := range zr.File {
		name := strings.TrimSuffix(f.Name, "/")
		if err := checkPath(name); err != nil {
			return nil, err
		}
		if name == "." {
			continue
		}
		if _, twice := files[name]; twice {
			return nil, badArchive("%s is in it twice", name)
		}
		switch mode := f.Mode(); {
		case mode.IsRegular(), mode.IsDir(), mode&fs.ModeType == fs.ModeSymlink:
		default:
			return nil, badArchive("%s is neither a file, a folder nor a link", name)
		}
		if total += f.UncompressedSize64; total > maxUnpacked || f.UncompressedSize64 > maxUnpacked {
			return nil, badArchive("it unpacks to more than %d MiB", maxUnpacked>>20)
		}
		files[name] = f
	}
	if total > freeRatio && total > maxRatio*uint64(size) {
		return nil, badArchive("it unpacks to more than %d times its size", maxRatio)
	}
	for name := range files { // order-free: any finding is an error
		if parent, ok := files[path.Dir(name)]; ok && !parent.Mode().IsDir() {
			return nil, badArchive("%s is both a file and a folder", path.Dir(name))
		}
	}
	return files, nil
}

func checkPath(name string) error {
	if name == "" || len(name) > maxPath || !utf8.ValidString(name) || strings.ContainsAny(name, "\\\x00") {
		return badArchive("%q is not a usable path", name)
	}
	if !fs.ValidPath(path.Clean(name)) || path.IsAbs(name) || strings.Contains("/"+name+"/", "/../") {
		return badArchive("%q leads out of the charm", name)
	}
	if path.Clean(name) != name {
		return badArchive("%q is not a usable path", name)
	}
	return nil
}

// checkLink allows links that stay inside the charm.
func checkLink(name, target string) error {
	if target == "" || len(target) > maxPath || strings.Contains(target, "\x00") {
		return badArchive("the link %s has no usable target", name)
	}
	if path.IsAbs(target) {
		return badArchive("the link %s leads out of the charm, to %s", name, target)
	}
	if to := path.Join(path.Dir(name), target); !fs.ValidPath(to) {
		return badArchive("the link %s leads out of the charm, to %s", name, target)
	}
	return nil
}
