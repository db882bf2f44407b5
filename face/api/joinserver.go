package api

import (
	"context"
	"crypto"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"connectrpc.com/connect"

	"drover/internal/pki"
	"drover/keep/identity"
	"drover/keep/store"
	"drover/noun/fault"
	"drover/noun/when"
	"drover/wire/client"
	"drover/wire/droverv1"
)

// joinServer spends a server's token: it gets a certificate and the key file, and
// will Enter when it listens.
func (j *joinService) joinServer(ctx context.Context, q *droverv1.JoinRequest, token pki.Token, public crypto.PublicKey, ca *pki.Authority) (*connect.Response[droverv1.JoinResponse], error) {
	members, err := j.members()
	if err != nil {
		return nil, err
	}
	return update(ctx, j.Server, func(tx *store.Txn) (*droverv1.JoinResponse, error) {
		row, err := j.cfg.Identity.SpendToken(tx, j.now(), token.Hash(), q.GetHostname())
		if err != nil {
			return nil, err
		}
		if row.Role != pki.RoleServer {
			return nil, wrongToken("machine", "server", "drover join-token --role server")
		}
		name := q.GetServer()
		if name == "" {
			name = j.cfg.Identity.FreeServerName(tx)
		}
		if err := identity.CheckServerName(name); err != nil {
			return nil, err
		}
		if slices.ContainsFunc(members, func(m Member) bool { return m.Name == name }) {
			return nil, fault.New(fault.Conflict, "there is a server %s already", name).
				Try("drover server --join TOKEN --name NAME", "drover server remove "+name)
		}
		return j.certifyServer(tx, ca, name, public)
	})
}

func wrongToken(of, wanted, next string) *fault.Error {
	return fault.New(fault.Denied, "the join token is refused").Why("it is for a %s, not for a %s", of, wanted).Try(next)
}

func (j *joinService) certifyServer(tx *store.Txn, ca *pki.Authority, name string, public crypto.PublicKey) (*droverv1.JoinResponse, error) {
	row, ok := j.cfg.Identity.Cluster(tx)
	if !ok {
		return nil, fault.New(fault.Unavailable, "the cluster is not set up yet")
	}
	cert, err := ca.Issue(pki.ServerIdentity(row.ID, name), public, j.cfg.Now(), pki.ServerLifetime)
	if err != nil {
		return nil, err
	}
	server := serverRow(&pki.Pair{Cert: cert}, name, "")
	server.Joined = j.now()
	j.cfg.Identity.PutServer(tx, j.now(), server)
	return &droverv1.JoinResponse{
		Certificate: cert.Raw, Ca: ca.Cert.Raw, Servers: j.cfg.Servers(), ClusterId: row.ID, Now: int64(j.now()),
		Server: name, Cluster: row.Name, SealKey: j.cfg.Seal[:], SealedAuthority: row.SealedKey,
	}, nil
}

// joinedFile says that the folder is of a server that joined a cluster, and where
// its servers were then. It is written first.
const joinedFile = "joined"

// Adopt writes the identity folder of a server that joined. It is complete when
// the pair is there.
func Adopt(dir string, j *client.JoinedServer) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	servers, err := json.Marshal(j.Servers)
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		data []byte
	}{{joinedFile, servers}, {sealFile, j.SealKey}, {authorityFile, j.SealedAuthority}, {clusterFile, []byte(j.Cluster + "\n")}} {
		if err := writeFile(filepath.Join(dir, f.name), f.data); err != nil {
			return err
		}
	}
	return j.Pair.Save(dir, serverFile)
}

// Identified reports whether the identity folder of a server is complete, and the
// digest of its authority.
func Identified(dir string) (digest string, ok bool, err error) {
	pair, err := pki.LoadPair(dir, serverFile)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	return pki.Digest(pair.CA), true, nil
}

// joinedServers are the servers that Adopt wrote; nil in the folder of a founder.
func joinedServers(dir string) ([]string, error) {
	data, err := os.ReadFile(filepath.Join(dir, joinedFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var servers []string
	return servers, json.Unmarshal(data, &servers)
}

// putSelf records the leading server itself; it changes nothing if that is known.
func (f *Founding) putSelf(tx *store.Txn, ids *identity.Identity, now time.Time) error {
	id, err := pki.IdentityOf(f.Pair.Cert)
	if err != nil {
		return err
	}
	row := serverRow(f.Pair, id.Name, f.Address)
	row.Joined = when.Of(now)
	if old, ok := ids.Server(tx, id.Name); ok {
		row.Joined = old.Joined
	}
	ids.PutServer(tx, when.Of(now), row)
	return nil
}
