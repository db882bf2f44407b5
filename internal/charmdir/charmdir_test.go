package charmdir_test

import (
	"archive/zip"
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"drover/internal/charmdir"
	"drover/noun/fault"
)

const meta = "name: blog\nrequires: {db: mysql}\n"

func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		mode := os.FileMode(0o644)
		if strings.HasPrefix(text, "#!") {
			mode = 0o755
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestAFolderTravelsAsAnArchive(t *testing.T) {
	dir := folder(t, map[string]string{
		"metadata.yaml": meta, "config.yaml": "options: {port: {type: int}}", "hooks/install": "#!/bin/sh\n", "lib/data": "x",
		".git/config": "secret", "version": "1.2\n",
	})
	if err := os.Symlink("install", filepath.Join(dir, "hooks", "start")); err != nil {
		t.Fatal(err)
	}
	one, err := charmdir.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	two, err := charmdir.PackFolder(dir)
	if err != nil || !bytes.Equal(one.Archive, two.Archive) || one.Charm.SHA != two.Charm.SHA {
		t.Fatalf("the same folder makes another archive: %v", err)
	}
	if c := one.Charm; c.Meta.Name != "blog" || c.Version != "1.2" || len(c.Options) != 1 || c.Meta.HasDispatch || len(c.SHA) != 64 {
		t.Errorf("got %+v", c)
	}
	out := filepath.Join(t.TempDir(), "charm")
	if _, err := charmdir.Extract(one.Archive, out); err != nil {
		t.Fatal(err)
	}
	var found []string
	_ = filepath.WalkDir(out, func(path string, d fs.DirEntry, _ error) error {
		info, _ := d.Info()
		found = append(found, strings.TrimPrefix(path, out)+" "+info.Mode().String())
		return nil
	})
	want := []string{
		" drwxr-xr-x", "/config.yaml -rw-r--r--", "/hooks drwxr-xr-x", "/hooks/install -rwxr-xr-x", "/hooks/start Lrwxrwxrwx",
		"/lib drwxr-xr-x", "/lib/data -rw-r--r--", "/metadata.yaml -rw-r--r--", "/version -rw-r--r--",
	}
	if !slices.Equal(found, want) {
		t.Errorf("got  %q\nwant %q", found, want)
	}
}

func TestAHookWithoutRunBit(t *testing.T) {
	dir := folder(t, map[string]string{"metadata.yaml": meta, "hooks/install": "echo", "hooks/helper.txt": "x"})
	_, err := charmdir.Load(dir)
	if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "hooks/install has no run bit") {
		t.Fatalf("got %v", err)
	}
	if next := err.(*fault.Error).Next; len(next) != 1 || next[0] != "chmod +x "+filepath.Join(dir, "hooks/install") {
		t.Errorf("next commands: %q", next)
	}
}

func TestHooksOfArchivesGetTheirRunBit(t *testing.T) {
	packed, err := charmdir.PackEmbedded(fstest.MapFS{
		"demo/metadata.yaml": {Data: []byte(meta)}, "demo/hooks/db-relation-joined": {Data: []byte("#!/bin/sh")},
	}, "demo")
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	if _, err := charmdir.Extract(packed.Archive, out); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(out, "hooks/db-relation-joined")); err != nil || info.Mode()&0o111 == 0 {
		t.Errorf("%v, %v", info, err)
	}
}

type entry struct {
	name, text string
	mode       fs.FileMode
}

func archive(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range append(entries, entry{"metadata.yaml", meta, 0o644}) {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		h.SetMode(e.mode)
		f, err := w.CreateHeader(h)
		if err == nil {
			_, err = f.Write([]byte(e.text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestArchivesAreNotTrusted(t *testing.T) {
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"not a zip", []byte("hello"), "not a zip archive"},
		{"a way out", archive(t, entry{"../x", "x", 0o644}), "leads out"},
		{"an absolute path", archive(t, entry{"/etc/x", "x", 0o644}), "leads out"},
		{"a hidden way out", archive(t, entry{"a/../../x", "x", 0o644}), "leads out"},
		{"a backslash", archive(t, entry{`a\b`, "x", 0o644}), "usable path"},
		{"a link out", archive(t, entry{"a", "../../etc", fs.ModeSymlink | 0o777}), "leads out"},
		{"an absolute link", archive(t, entry{"a", "/etc", fs.ModeSymlink | 0o777}), "leads out"},
		{"twice the same", archive(t, entry{"a", "1", 0o644}, entry{"a", "2", 0o644}), "twice"},
		{"a file that is a folder", archive(t, entry{"a", "1", 0o644}, entry{"a/b", "2", 0o644}), "both a file and a folder"},
		{"a device", archive(t, entry{"a", "", fs.ModeDevice | 0o644}), "neither a file"},
		{"zeros", archive(t, entry{"a", strings.Repeat("\x00", 65<<20), 0o644}), "times its size"},
		{"a folder that is a link", archive(t, entry{"a", ".", fs.ModeSymlink | 0o777}, entry{"a/b", "2", 0o644}), "both a file and a folder"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "a", "b")
			_, err := charmdir.Extract(c.data, dir)
			if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestNoCharm(t *testing.T) {
	if _, err := charmdir.Load(filepath.Join(t.TempDir(), "none")); !fault.Is(err, fault.NotFound) {
		t.Errorf("got %v", err)
	}
	if _, err := charmdir.Load(t.TempDir()); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "no metadata.yaml") {
		t.Errorf("got %v", err)
	}
}

func FuzzExtract(f *testing.F) {
	f.Add([]byte("PK"))
	f.Fuzz(func(t *testing.T, data []byte) {
		parent := t.TempDir()
		_, _ = charmdir.Extract(data, filepath.Join(parent, "charm"))
		if left, _ := os.ReadDir(parent); len(left) > 1 {
			t.Errorf("something was written beside the folder: %v", left)
		}
	})
}
