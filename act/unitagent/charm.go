package unitagent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"

	"drover/act/hooktool"
	"drover/act/hooktool/client"
	"drover/internal/charmdir"
	"drover/noun/charm"
	"drover/noun/entity"
	"drover/noun/fault"
)

// The folders of a unit.
func (a *Agent) charmDir() string { return filepath.Join(a.cfg.Dir, "charm") }
func (a *Agent) toolsDir() string { return filepath.Join(a.cfg.Dir, "tools") }
func (a *Agent) dataDir() string  { return filepath.Join(a.cfg.Dir, "data") }

func (a *Agent) makeFolders() error {
	for dir, mode := range map[string]os.FileMode{"": 0o755, "state": 0o700, "tools": 0o755, "log": 0o755, "data": 0o755} { // order-free: each by itself
		if err := os.MkdirAll(filepath.Join(a.cfg.Dir, dir), mode); err != nil {
			return fault.New(fault.Internal, "cannot make the folders of unit %s", a.cfg.Unit).Why("%s", err).Wrap(err)
		}
	}
	return nil
}

// linkTools makes a link for each hook tool, if it does not lead to the right
// program already.
func (a *Agent) linkTools() error {
	for _, name := range append(hooktool.Names(), client.Program) {
		link := filepath.Join(a.toolsDir(), name)
		if to, err := os.Readlink(link); err == nil && to == a.cfg.HookBinary {
			continue
		}
		if err := os.RemoveAll(link); err != nil {
			return err
		}
		if err := os.Symlink(a.cfg.HookBinary, link); err != nil {
			return err
		}
	}
	return nil
}

// installCharm puts the unit's charm on the disk. No hook has run from the
// folder yet, so what an agent that died in the middle left there may go.
func (a *Agent) installCharm(ctx context.Context, w *World) error {
	sha := w.Unit.CharmSha
	data, err := a.fetch(ctx, sha)
	if err != nil {
		return err
	}
	beside := a.charmDir() + ".new"
	for _, dir := range []string{beside, a.charmDir()} {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	ch, err := charmdir.Extract(data, beside)
	if err != nil {
		return err
	}
	if err := os.Rename(beside, a.charmDir()); err != nil {
		return err
	}
	a.state.Uniter.Charm, a.state.Uniter.Order = entity.CharmSHA(sha), ch.Meta.HookOrder()
	return a.save()
}

func (a *Agent) fetch(ctx context.Context, sha string) ([]byte, error) {
	r, err := a.cfg.Server.FetchCharm(ctx, sha)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, charmdir.MaxArchive+1))
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != sha {
		return nil, fault.New(fault.Unavailable, "the charm of unit %s did not arrive whole", a.cfg.Unit).
			Why("its digest is not %s", sha)
	}
	return data, nil
}

// endpoints are the names of the charm's endpoints.
func (a *Agent) endpoints() []string {
	data, err := os.ReadFile(filepath.Join(a.charmDir(), charm.MetadataFile))
	if err != nil {
		return nil
	}
	m, err := charm.ParseMeta(data)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range m.Endpoints {
		names = append(names, e.Name)
	}
	return names
}

// program is what runs for a hook: the charm's dispatch for every hook, else the
// hook's own file; empty when the charm has neither. Spec: 003 "Hooks".
func (a *Agent) program(h charm.Hook) string {
	for _, name := range []string{charm.DispatchFile, filepath.Join(charm.HooksFolder, h.Name())} {
		path := filepath.Join(a.charmDir(), name)
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return path
		}
	}
	return ""
}
