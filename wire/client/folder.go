package client

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/google/renameio/v2"

	"drover/internal/pki"
	"drover/noun/fault"
)

// Folder is client.json: where the servers are.
type Folder struct {
	Servers   []string `json:"servers"`
	ClusterID string   `json:"cluster_id"`
	Cell      string   `json:"cell,omitempty"` // of a machine's agent
}

// AdminName is the base name of the credential files in a configuration folder.
const AdminName = "admin"

// FromDir is a client with the credential of the configuration folder:
// admin.crt, admin.key, ca.crt and client.json.
func FromDir(dir string) (*Client, error) { return FromFiles(dir, AdminName) }

// FromFiles is a client with the credential NAME.crt and NAME.key in the folder.
func FromFiles(dir, name string) (*Client, error) {
	cfg, err := LoadConfig(dir, name)
	if err != nil {
		return nil, err
	}
	return Dial(cfg)
}

// LoadConfig reads the configuration of a client from a folder. An expired
// credential is refused here, before a server has to.
func LoadConfig(dir, name string) (Config, error) {
	folder, err := ReadFolder(dir)
	if err != nil {
		return Config{}, err
	}
	pair, err := pki.LoadPair(dir, name)
	if err != nil {
		return Config{}, unusable(dir, err)
	}
	if now := time.Now(); now.After(pair.Cert.NotAfter) {
		return Config{}, fault.New(fault.Denied, "the credential in %s has expired", dir).Coded(fault.CodeExpired).
			Why("it was valid until %s, and here it is %s", pair.Cert.NotAfter.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339)).
			Try("drover up")
	}
	cert := pair.TLS()
	return Config{Servers: folder.Servers, CA: pair.CA, Cert: &cert, Learned: func(servers []string) { remember(dir, servers) }}, nil
}

// remember writes the servers that were learned into client.json. When it cannot,
// they are learned again.
func remember(dir string, servers []string) {
	folder, err := ReadFolder(dir)
	if err != nil || sameServers(folder.Servers, servers) {
		return
	}
	folder.Servers = servers
	_ = folder.write(dir) // see above
}

// ReadFolder reads client.json.
func ReadFolder(dir string) (Folder, error) {
	var f Folder
	data, err := os.ReadFile(filepath.Join(dir, "client.json"))
	if err != nil {
		return f, unusable(dir, err)
	}
	if err := json.Unmarshal(data, &f); err != nil {
		return f, fault.New(fault.Invalid, "cannot read %s", filepath.Join(dir, "client.json")).Why("it is not valid JSON").Try("drover up").Wrap(err)
	}
	return f, nil
}

// Save writes client.json and the credential NAME.crt, NAME.key, ca.crt.
func (f Folder) Save(dir, name string, pair *pki.Pair) error {
	if err := pair.Save(dir, name); err != nil {
		return err
	}
	return f.write(dir)
}

func (f Folder) write(dir string) error {
	data, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	return renameio.WriteFile(filepath.Join(dir, "client.json"), append(data, '\n'), 0o600, renameio.WithTempDir(dir))
}

func unusable(dir string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.Unavailable, "no cluster is known here").Coded(fault.CodeNoCluster).
			Why("%s has no credentials", dir).
			Try("drover up", "drover join TOKEN").Wrap(err)
	}
	return fault.New(fault.Denied, "the credentials in %s cannot be used", dir).Why("%s", err).Try("drover up").Wrap(err)
}
