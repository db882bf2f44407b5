package client

import (
	"context"
	"crypto/x509"
	"sync"
	"time"

	"connectrpc.com/connect"

	"drover/internal/pki"
	"drover/noun/fault"
	"drover/wire/droverv1"
)

// Joined is what a machine gets for its token.
type Joined struct {
	Pair     pki.Pair
	Identity pki.Identity
	Servers  []string
	Cell     string        // id of the machine's cell
	Skew     time.Duration // the server's clock minus ours
}

// Save writes the identity and the servers into the folder, under the name.
func (j *Joined) Save(dir, name string) error {
	return Folder{Servers: j.Servers, ClusterID: j.Identity.Cluster, Cell: j.Cell}.Save(dir, name, &j.Pair)
}

// JoinConfig is what a machine says when it joins.
type JoinConfig struct {
	Token    string // drover-1-SECRET-DIGEST@HOST:PORT
	Address  string // where the machine's units are reached
	Hostname string
	Config   Config // Servers when the token names none; Now, Dial, timeouts
}

// JoinMachine spends the token: the server must be of the authority that the
// token pins, and answers with the machine's certificate.
func JoinMachine(ctx context.Context, jc JoinConfig) (*Joined, error) {
	token, err := pki.ParseToken(jc.Token)
	if err != nil {
		return nil, err
	}
	cfg := jc.Config
	if token.Server != "" {
		cfg.Servers = []string{token.Server}
	}
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	var found pinnedCA
	cfg.tls = pki.JoinTLS(token.Digest, cfg.Now, found.set)
	c, err := Dial(cfg)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	key, err := pki.NewKey()
	if err != nil {
		return nil, err
	}
	csr, err := pki.NewRequest(key)
	if err != nil {
		return nil, err
	}
	token.Server = ""
	resp, err := c.Join.Join(ctx, connect.NewRequest(&droverv1.JoinRequest{
		Token: token.String(), Csr: csr, Address: jc.Address, Hostname: jc.Hostname,
	}))
	if err != nil {
		return nil, err
	}
	j := &Joined{Pair: pki.Pair{Key: key, CA: found.get()}}
	return j, j.accept(resp.Msg, cfg)
}

// Renew asks for a new certificate with the old pair, which may have expired.
func Renew(ctx context.Context, cfg Config, old *pki.Pair) (*Joined, error) {
	cfg.CA, cfg.Cert = old.CA, nil
	c, err := Dial(cfg)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	csr, err := pki.NewRequest(old.Key)
	if err != nil {
		return nil, err
	}
	proof, err := pki.Prove(old.Key, csr)
	if err != nil {
		return nil, err
	}
	resp, err := c.Join.Renew(ctx, connect.NewRequest(&droverv1.RenewRequest{Csr: csr, Certificate: old.Cert.Raw, Signature: proof}))
	if err != nil {
		return nil, err
	}
	j := &Joined{Pair: pki.Pair{Key: old.Key, CA: old.CA}}
	return j, j.accept(resp.Msg, c.cfg)
}

// accept checks the answer: a certificate for our key, by the pinned authority.
func (j *Joined) accept(msg *droverv1.JoinResponse, cfg Config) error {
	bad := fault.New(fault.Denied, "the server's answer to the join is not usable")
	cert, err := x509.ParseCertificate(msg.Certificate)
	if err != nil {
		return bad.Why("it holds no certificate").Wrap(err)
	}
	now := cfg.Now()
	j.Skew = time.Unix(0, msg.Now).Sub(now)
	id, err := pki.Verify(cert, j.Pair.CA, now, pki.RoleMachine)
	if err != nil {
		return bad.Why("%s; the server's clock is %s from ours", err, j.Skew.Round(time.Second)).Try("date").Wrap(err)
	}
	if !j.Pair.Key.PublicKey.Equal(cert.PublicKey) {
		return bad.Why("the certificate is for another key")
	}
	j.Pair.Cert, j.Identity, j.Servers, j.Cell = cert, id, msg.Servers, msg.Cell
	if len(j.Servers) == 0 {
		j.Servers = cfg.Servers
	}
	return nil
}

type pinnedCA struct {
	mu sync.Mutex // guards ca
	ca *x509.Certificate
}

func (p *pinnedCA) set(ca *x509.Certificate) { p.mu.Lock(); p.ca = ca; p.mu.Unlock() }
func (p *pinnedCA) get() *x509.Certificate {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ca
}
