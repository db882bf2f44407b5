package client

import (
	"context"
	"crypto/ecdsa"
	"crypto/x509"

	"connectrpc.com/connect"

	"drover/internal/pki"
	"drover/noun/fault"
	"drover/wire/droverv1"
	"drover/wire/droverv1/droverv1connect"
)

// AddUser adds the user of the request with the key, which stays here, and
// returns the credential with what its folder says of the cluster. A repeated
// request needs the same key.
func AddUser(ctx context.Context, c droverv1connect.AdminServiceClient, key *ecdsa.PrivateKey, req *droverv1.AddUserRequest) (*pki.Pair, Folder, error) {
	csr, err := pki.NewRequest(key)
	if err != nil {
		return nil, Folder{}, err
	}
	req.Csr = csr
	resp, err := c.AddUser(ctx, connect.NewRequest(req))
	if err != nil {
		return nil, Folder{}, err
	}
	return userCredential(key, resp.Msg)
}

// userCredential is the credential that an answer makes of the key.
func userCredential(key *ecdsa.PrivateKey, msg *droverv1.AddUserResponse) (*pki.Pair, Folder, error) {
	bad := fault.New(fault.Denied, "the server's answer is not usable")
	cert, err := x509.ParseCertificate(msg.Certificate)
	if err != nil {
		return nil, Folder{}, bad.Why("it holds no certificate").Wrap(err)
	}
	ca, err := x509.ParseCertificate(msg.Ca)
	if err != nil {
		return nil, Folder{}, bad.Why("it holds no authority").Wrap(err)
	}
	if !key.PublicKey.Equal(cert.PublicKey) {
		return nil, Folder{}, bad.Why("the certificate is for another key")
	}
	return &pki.Pair{Cert: cert, Key: key, CA: ca}, Folder{Servers: msg.Servers, ClusterID: msg.ClusterId}, nil
}
