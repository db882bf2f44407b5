package api

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/renameio/v2"

	"drover/internal/pki"
	"drover/keep/identity"
	"drover/keep/registry"
	"drover/keep/store"
	"drover/noun/fault"
	"drover/noun/when"
)

// The names of a server's identity files in its folder.
const (
	serverFile    = "server"
	sealFile      = "seal.key"
	authorityFile = "authority.sealed"
	clusterFile   = "cluster"
)

// Founding is a server's identity on disk. It is complete before raft starts;
// Found then brings the authority into the store.
type Founding struct {
	Pair    *pki.Pair
	Seal    identity.SealKey
	Cluster identity.Cluster
	Address string   // where the server is reached; set by the caller
	Joined  []string // the servers that it joined; nil: it founded the cluster
}

// Prepare reads the identity folder of a server, or makes it with the authority
// of a new cluster at the first start. The authority's key lies there sealed. A
// crash in between leaves a folder that the next start completes or makes anew,
// for the certificate is written last.
func Prepare(dir, cluster, server string, now time.Time, newID func() string) (*Founding, error) {
	if newID == nil {
		newID = randomID
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := keyIsThere(dir); err != nil {
		return nil, err
	}
	seal, err := identity.LoadSealKey(filepath.Join(dir, sealFile))
	if err != nil {
		return nil, err
	}
	pair, err := pki.LoadPair(dir, serverFile)
	joined, jerr := joinedServers(dir)
	if jerr != nil {
		return nil, jerr
	}
	if errors.Is(err, fs.ErrNotExist) && joined != nil {
		return nil, fault.New(fault.Conflict, "the join of this server was not completed").
			Why("%s holds a part of its identity", dir).Try("drover join-token --role server", "drover server --join TOKEN")
	}
	if errors.Is(err, fs.ErrNotExist) {
		return found(dir, cluster, server, seal, now, newID())
	}
	if err != nil {
		return nil, err
	}
	if _, err := pki.Verify(pair.Cert, pair.CA, now, pki.RoleServer); err != nil {
		return nil, fault.New(fault.Denied, "the server's certificate in %s cannot be used", dir).Why("%s", err).Try("date").Wrap(err)
	}
	sealed, err := os.ReadFile(filepath.Join(dir, authorityFile))
	if err != nil {
		return nil, err
	}
	name, err := os.ReadFile(filepath.Join(dir, clusterFile))
	if err != nil {
		return nil, err
	}
	row := identity.Cluster{ID: pki.ClusterOf(pair.CA), Name: strings.TrimSpace(string(name)), CA: pair.CA.Raw, SealedKey: sealed}
	return &Founding{Pair: pair, Seal: seal, Cluster: row, Joined: joined}, nil
}

// keyIsThere refuses a server with an identity and without the key to the
// cluster's secrets: a new key would open none of them.
func keyIsThere(dir string) error {
	_, err := os.Stat(filepath.Join(dir, serverFile+".crt"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // no identity yet: the key is made with it
	}
	if err != nil {
		return err
	}
	_, err = os.Stat(filepath.Join(dir, sealFile))
	if errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.Denied, "the server's key file is missing").
			Why("%s opens the secrets of this cluster, and a new one would not", filepath.Join(dir, sealFile)).
			Try("ls " + dir)
	}
	return err
}

func found(dir, cluster, server string, seal identity.SealKey, now time.Time, id string) (*Founding, error) {
	ca, err := pki.NewAuthority(id, now)
	if err != nil {
		return nil, err
	}
	der, err := ca.KeyDER()
	if err != nil {
		return nil, err
	}
	sealed, err := seal.Seal(der, []byte(id))
	if err != nil {
		return nil, err
	}
	pair, err := issue(ca, pki.ServerIdentity(id, server), now, pki.ServerLifetime)
	if err != nil {
		return nil, err
	}
	for _, f := range []struct {
		name string
		data []byte
	}{{authorityFile, sealed}, {clusterFile, []byte(cluster + "\n")}} {
		if err := writeFile(filepath.Join(dir, f.name), f.data); err != nil {
			return nil, err
		}
	}
	if err := pair.Save(dir, serverFile); err != nil {
		return nil, err
	}
	row := identity.Cluster{ID: id, Name: cluster, CA: ca.Cert.Raw, SealedKey: sealed}
	return &Founding{Pair: pair, Seal: seal, Cluster: row}, nil
}

func issue(ca *pki.Authority, id pki.Identity, now time.Time, lifetime time.Duration) (*pki.Pair, error) {
	key, err := pki.NewKey()
	if err != nil {
		return nil, err
	}
	cert, err := ca.Issue(id, key.Public(), now, lifetime)
	if err != nil {
		return nil, err
	}
	return &pki.Pair{Cert: cert, Key: key, CA: ca.Cert}, nil
}

// Found brings the authority, the first user, the default model and machine 0
// into the store. It changes nothing when they are there; a store of another
// cluster is refused. The caller must be the leader.
func (f *Founding) Found(ctx context.Context, st *store.Store, ids *identity.Identity, reg *registry.Registry, now time.Time, provider string) error {
	_, err := st.Update(ctx, func(tx *store.Txn) error {
		if err := ids.Found(tx, when.Of(now), f.Cluster, identity.Admin); err != nil {
			return err
		}
		if _, _, err := reg.Bootstrap(tx, when.Of(now), provider); err != nil {
			return err
		}
		return f.putSelf(tx, ids, now)
	})
	return err
}

// AdminPair signs a credential for the first user. The caller writes it with
// mode 0600 and keeps it out of logs.
func (f *Founding) AdminPair(now time.Time) (*pki.Pair, error) {
	der, err := f.Seal.Open(f.Cluster.SealedKey, []byte(f.Cluster.ID))
	if err != nil {
		return nil, err
	}
	ca, err := pki.LoadAuthority(f.Cluster.CA, der)
	if err != nil {
		return nil, err
	}
	return issue(ca, pki.UserIdentity(f.Cluster.ID, identity.Admin), now, pki.UserLifetime)
}

func writeFile(path string, data []byte) error {
	return renameio.WriteFile(path, data, 0o600, renameio.IgnoreUmask(), renameio.WithTempDir(filepath.Dir(path)))
}
