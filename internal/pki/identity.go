package pki

import (
	"crypto/x509"
	"fmt"
	"net/url"
	"strings"
)

// Role is what kind of peer a certificate stands for.
type Role string

// The roles.
const (
	RoleServer  Role = "server"
	RoleUser    Role = "user"
	RoleMachine Role = "machine"
)

// Identity is what a certificate's URI says:
// spiffe://drover/<cluster>/<role>/<name>, for machines
// spiffe://drover/<cluster>/machine/<model uid>/<machine id>/<machine uid>.
type Identity struct {
	Cluster string
	Role    Role
	Name    string // of a server or user

	Model      string // of a machine: its model's uid,
	Machine    string // its id
	MachineUID string // and its uid
}

// ServerIdentity is the identity of a server.
func ServerIdentity(cluster, name string) Identity {
	return Identity{Cluster: cluster, Role: RoleServer, Name: name}
}

// UserIdentity is the identity of a person.
func UserIdentity(cluster, name string) Identity {
	return Identity{Cluster: cluster, Role: RoleUser, Name: name}
}

// MachineIdentity is the identity of a machine's agent.
func MachineIdentity(cluster, model, machine, uid string) Identity {
	return Identity{Cluster: cluster, Role: RoleMachine, Model: model, Machine: machine, MachineUID: uid}
}

func (id Identity) path() string {
	if id.Role == RoleMachine {
		return id.Model + "/" + id.Machine + "/" + id.MachineUID
	}
	return id.Name
}

// URI is the identity as it stands in a certificate.
func (id Identity) URI() *url.URL {
	return &url.URL{Scheme: "spiffe", Host: "drover", Path: "/" + id.Cluster + "/" + string(id.Role) + "/" + id.path()}
}

// String is the identity in words: "user admin", "machine 3".
func (id Identity) String() string {
	if id.Role == RoleMachine {
		return "machine " + id.Machine
	}
	if id.Role == "" {
		return "nobody"
	}
	return string(id.Role) + " " + id.Name
}

// ParseIdentity is the inverse of URI.
func ParseIdentity(u *url.URL) (Identity, error) {
	if u.Scheme != "spiffe" || u.Host != "drover" {
		return Identity{}, fmt.Errorf("%q is not a drover identity", u)
	}
	parts := strings.Split(strings.TrimPrefix(u.Path, "/"), "/")
	for _, p := range parts {
		if p == "" {
			return Identity{}, fmt.Errorf("%q has an empty part", u)
		}
	}
	if len(parts) < 3 {
		return Identity{}, fmt.Errorf("%q is not a drover identity", u)
	}
	id := Identity{Cluster: parts[0], Role: Role(parts[1])}
	rest := parts[2:]
	switch {
	case (id.Role == RoleServer || id.Role == RoleUser) && len(rest) == 1:
		id.Name = rest[0]
	case id.Role == RoleMachine && len(rest) >= 3:
		id.Model, id.MachineUID = rest[0], rest[len(rest)-1]
		id.Machine = strings.Join(rest[1:len(rest)-1], "/")
	default:
		return Identity{}, fmt.Errorf("%q is not a drover identity", u)
	}
	return id, nil
}

// IdentityOf reads the identity of a certificate, without verifying anything.
func IdentityOf(cert *x509.Certificate) (Identity, error) {
	if len(cert.URIs) != 1 {
		return Identity{}, fmt.Errorf("the certificate carries %d URIs, not one", len(cert.URIs))
	}
	return ParseIdentity(cert.URIs[0])
}
