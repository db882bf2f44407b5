package client

import (
	"context"
	"crypto/ecdsa"
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
	j, err := beginJoin(jc.Token, jc.Config)
	if err != nil {
		return nil, err
	}
	defer j.client.Close()
	resp, err := j.client.Join.Join(ctx, connect.NewRequest(&droverv1.JoinRequest{
		Token: j.token, Csr: j.csr, Address: jc.Address, Hostname: jc.Hostname,
	}))
	if err != nil {
		return nil, err
	}
	joined := &Joined{Pair: pki.Pair{Key: j.key, CA: j.found.get()}}
	return joined, joined.accept(resp.Msg, j.client.cfg)
}

// joining is a join under way: a client that trusts whom the token pins.
type joining struct {
	token  string // without its server
	client *Client
	found  pinnedCA
	key    *ecdsa.PrivateKey
	csr    []byte
}

func beginJoin(text string, cfg Config) (*joining, error) {
	token, err := pki.ParseToken(text)
	if err != nil {
		return nil, err
	}
	if token.Server != "" {
		cfg.Servers = []string{token.Server}
	}
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	token.Server = ""
	j := &joining{token: token.String()}
	if j.key, err = pki.NewKey(); err != nil {
		return nil, err
	}
	if j.csr, err = pki.NewRequest(j.key); err != nil {
		return nil, err
	}
	cfg.tls = pki.JoinTLS(token.Digest, cfg.Now, j.found.set)
	j.client, err = Dial(cfg)
	return j, err
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
