package client

import (
	"context"
	"crypto/x509"

	"connectrpc.com/connect"

	"drover/internal/pki"
	"drover/noun/fault"
	"drover/wire/droverv1"
)

// JoinedServer is what a server gets for its token.
type JoinedServer struct {
	Pair            pki.Pair
	Name            string
	Cluster         string // name
	SealKey         []byte // a secret: opens the authority's key
	SealedAuthority []byte
	Servers         []string // host:port
}

// JoinServer spends a server's token. The name may be empty: the cluster gives
// the next free one.
func JoinServer(ctx context.Context, text, name, hostname string, cfg Config) (*JoinedServer, error) {
	jc, err := beginJoin(text, cfg)
	if err != nil {
		return nil, err
	}
	defer jc.client.Close()
	resp, err := jc.client.Join.Join(ctx, connect.NewRequest(&droverv1.JoinRequest{
		Token: jc.token, Csr: jc.csr, Hostname: hostname, Role: string(pki.RoleServer), Server: name,
	}))
	if err != nil {
		return nil, err
	}
	return jc.server(resp.Msg)
}

func (jc *joining) server(msg *droverv1.JoinResponse) (*JoinedServer, error) {
	bad := fault.New(fault.Denied, "the server's answer to the join is not usable")
	cert, err := x509.ParseCertificate(msg.Certificate)
	if err != nil {
		return nil, bad.Why("it holds no certificate").Wrap(err)
	}
	ca := jc.found.get()
	id, err := pki.Verify(cert, ca, jc.client.cfg.Now(), pki.RoleServer)
	if err != nil {
		return nil, bad.Why("%s", err).Try("date").Wrap(err)
	}
	if !jc.key.PublicKey.Equal(cert.PublicKey) || len(msg.SealKey) == 0 || len(msg.SealedAuthority) == 0 {
		return nil, bad.Why("it is not complete")
	}
	j := &JoinedServer{
		Pair: pki.Pair{Cert: cert, Key: jc.key, CA: ca}, Name: id.Name, Cluster: msg.Cluster,
		SealKey: msg.SealKey, SealedAuthority: msg.SealedAuthority, Servers: msg.Servers,
	}
	if len(j.Servers) == 0 {
		j.Servers = jc.client.cfg.Servers
	}
	return j, nil
}
