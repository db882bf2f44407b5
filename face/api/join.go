package api

import (
	"cmp"
	"context"
	"crypto"
	"crypto/x509"
	"time"

	"connectrpc.com/connect"

	"drover/internal/pki"
	"drover/keep/identity"
	"drover/keep/registry"
	"drover/keep/store"
	"drover/noun/entity"
	"drover/noun/fault"
	"drover/wire/droverv1"
)

type joinService struct{ *Server }

// The lifetimes of join tokens.
const (
	defaultTokenTTL = time.Hour
	maxTokenTTL     = 7 * 24 * time.Hour
)

// JoinToken makes a join token for a machine that exists: what a provider gives
// to the instance it starts. The caller must be the leader.
func (s *Server) JoinToken(ctx context.Context, m entity.Machine) (string, error) {
	var token pki.Token
	_, err := s.cfg.Store.Update(ctx, func(tx *store.Txn) (err error) {
		token, err = s.newToken(tx, identity.Token{Role: pki.RoleMachine, Model: m.Model, Machine: m.ID, UID: m.UID, By: "provisioner"}, defaultTokenTTL)
		return err
	})
	return token.String(), err
}

// newToken records a token inside a transaction.
func (s *Server) newToken(tx *store.Txn, row identity.Token, ttl time.Duration) (pki.Token, error) {
	cluster, ok := s.cfg.Identity.Cluster(tx)
	if !ok {
		return pki.Token{}, fault.New(fault.Unavailable, "the cluster is not set up yet")
	}
	ca, err := x509.ParseCertificate(cluster.CA)
	if err != nil {
		return pki.Token{}, err
	}
	token, err := pki.NewToken(pki.Digest(ca), s.cfg.Address, s.cfg.Random)
	if err != nil {
		return pki.Token{}, err
	}
	row.Hash, row.Created, row.Expires = token.Hash(), s.now(), s.now().Add(ttl)
	s.cfg.Identity.SweepTokens(tx, s.now())
	s.cfg.Identity.AddToken(tx, row)
	return token, nil
}

// CreateToken makes a join token for a machine that exists, or for a new one.
func (c *serverService) CreateToken(ctx context.Context, req *connect.Request[droverv1.CreateTokenRequest]) (*connect.Response[droverv1.CreateTokenResponse], error) {
	q := req.Msg
	role, err := tokenRole(q.GetRole())
	if err != nil {
		return nil, err
	}
	if role == pki.RoleServer && q.GetMachine() != "" {
		return nil, fault.New(fault.Invalid, "a server's token names no machine")
	}
	ttl := time.Duration(q.GetTtlSeconds()) * time.Second
	switch {
	case q.GetTtlSeconds() == 0:
		ttl = defaultTokenTTL
	case q.GetTtlSeconds() < 0 || q.GetTtlSeconds() > int64(maxTokenTTL.Seconds()):
		return nil, fault.New(fault.Invalid, "a token cannot live %d seconds", q.GetTtlSeconds()).Why("1 to %d are possible", int64(maxTokenTTL.Seconds()))
	}
	// The answer holds a secret, so it is not remembered with the request id: a
	// repeated request makes another token, and unused ones expire.
	return update(ctx, c.Server, func(tx *store.Txn) (*droverv1.CreateTokenResponse, error) {
		model, err := c.model(tx, q.GetModel())
		if err != nil {
			return nil, err
		}
		row := identity.Token{Role: role, Model: model, By: callerOf(ctx).String()}
		if role == pki.RoleServer {
			row.Model = ""
		}
		if id := entity.MachineID(q.GetMachine()); id != "" {
			m, ok := c.cfg.Registry.Machine(tx, model, id)
			if !ok {
				return nil, fault.New(fault.NotFound, "there is no machine %s", id).Coded(fault.CodeNoSuchMachine).Try("drover status")
			}
			row.Machine, row.UID = id, m.UID
		}
		token, err := c.newToken(tx, row, ttl)
		if err != nil {
			return nil, err
		}
		c.record(ctx, tx, req)
		return &droverv1.CreateTokenResponse{Token: token.String(), Expires: int64(c.now().Add(ttl))}, nil
	})
}

func tokenRole(text string) (pki.Role, error) {
	switch role := pki.Role(text); role {
	case "":
		return pki.RoleMachine, nil
	case pki.RoleMachine, pki.RoleServer:
		return role, nil
	default:
		return "", fault.New(fault.Invalid, "cannot make a token for role %q", cutText(text, 100)).Why("the role must be \"machine\" or \"server\"")
	}
}

// Join spends a token: the machine's row is bound to the key of the request, or
// made, and the certificate is signed. Token, row and key are one transaction.
func (j *joinService) Join(ctx context.Context, req *connect.Request[droverv1.JoinRequest]) (*connect.Response[droverv1.JoinResponse], error) {
	q := req.Msg
	token, err := pki.ParseToken(q.GetToken())
	if err != nil {
		return nil, err
	}
	public, hash, err := requestKey(q.GetCsr())
	if err != nil {
		return nil, err
	}
	if len(q.GetAddress()) > 255 || len(q.GetHostname()) > 255 {
		return nil, fault.New(fault.Invalid, "the address or the host name is too long")
	}
	ca, err := j.authority()
	if err != nil {
		return nil, err
	}
	if token.Digest != pki.Digest(ca.Cert) {
		return nil, fault.New(fault.Denied, "the join token is for another cluster").
			Why("its digest is not that of this cluster's authority").Try("drover join-token")
	}
	role, err := tokenRole(q.GetRole())
	if err != nil {
		return nil, err
	}
	if role == pki.RoleServer {
		return j.joinServer(ctx, q, token, public, ca)
	}
	return update(ctx, j.Server, func(tx *store.Txn) (*droverv1.JoinResponse, error) {
		row, err := j.cfg.Identity.SpendToken(tx, j.now(), token.Hash(), q.GetHostname())
		if err != nil {
			return nil, err
		}
		if row.Role != pki.RoleMachine {
			return nil, wrongToken("server", "machine", "drover join-token")
		}
		m, err := j.joining(tx, row, q)
		if err != nil {
			return nil, err
		}
		if err := j.cfg.Registry.SetMachineKey(tx, m.Model, m.ID, hash); err != nil {
			return nil, err
		}
		return j.certify(tx, ca, m, public)
	})
}

// joining is the machine that the token stands for: the one it is bound to, or a
// new manual one.
func (j *joinService) joining(tx *store.Txn, row identity.Token, q *droverv1.JoinRequest) (entity.Machine, error) {
	if row.Machine == "" {
		return j.cfg.Registry.AddMachine(tx, j.now(), row.Model, registry.MachineSpec{
			Jobs: []entity.Job{entity.HostUnits}, Provider: "manual", Instance: cmp.Or(q.GetHostname(), "joined"), Address: q.GetAddress(),
		})
	}
	m, ok := j.cfg.Registry.Machine(tx, row.Model, row.Machine)
	if !ok || m.UID != row.UID {
		return m, fault.New(fault.Denied, "machine %s is gone", row.Machine).
			Why("it was removed after the token was made").Try("drover join-token")
	}
	if m.Life == entity.Dead {
		return m, fault.New(fault.Denied, "machine %s is dead", row.Machine).Try("drover join-token")
	}
	return m, nil
}

// Renew signs a new certificate for a machine that is Alive and proves to hold
// its recorded key; the old certificate may have expired.
func (j *joinService) Renew(ctx context.Context, req *connect.Request[droverv1.RenewRequest]) (*connect.Response[droverv1.JoinResponse], error) {
	q := req.Msg
	public, hash, err := requestKey(q.GetCsr())
	if err != nil {
		return nil, err
	}
	denied := fault.New(fault.Denied, "the certificate cannot be renewed").Try("drover join TOKEN")
	old, err := x509.ParseCertificate(q.GetCertificate())
	if err != nil {
		return nil, denied.Why("the old one cannot be read").Wrap(err)
	}
	ca, err := j.authority()
	if err != nil {
		return nil, err
	}
	id, err := pki.VerifyIgnoringTime(old, ca.Cert, pki.RoleMachine)
	if err != nil {
		return nil, denied.Why("%s", err).Wrap(err)
	}
	if !pki.CheckProof(old, q.GetCsr(), q.GetSignature()) {
		return nil, denied.Why("the request is not signed with the key of the old one")
	}
	return update(ctx, j.Server, func(tx *store.Txn) (*droverv1.JoinResponse, error) {
		if j.cfg.Identity.Revoked(tx, old.SerialNumber.Text(16)) {
			return nil, denied.Why("it was revoked")
		}
		if err := j.checkMachine(tx, id, old); err != nil {
			return nil, err
		}
		m, _ := j.cfg.Registry.Machine(tx, entity.ModelUID(id.Model), entity.MachineID(id.Machine))
		if m.Life != entity.Alive {
			return nil, denied.Why("machine %s is %s", m.ID, m.Life)
		}
		if err := j.cfg.Registry.SetMachineKey(tx, m.Model, m.ID, hash); err != nil {
			return nil, err
		}
		return j.certify(tx, ca, m, public)
	})
}

func requestKey(csr []byte) (public crypto.PublicKey, hash string, err error) {
	public, err = pki.ParseRequest(csr)
	if err != nil {
		return nil, "", fault.New(fault.Invalid, "the certificate request is not usable").Why("%s", err).Wrap(err)
	}
	hash, err = pki.KeyHash(public)
	return public, hash, err
}

func (j *joinService) certify(tx *store.Txn, ca *pki.Authority, m entity.Machine, public crypto.PublicKey) (*droverv1.JoinResponse, error) {
	cluster := pki.ClusterOf(ca.Cert)
	id := pki.MachineIdentity(cluster, string(m.Model), string(m.ID), string(m.UID))
	model, ok := j.cfg.Registry.Model(tx, m.Model)
	if !ok {
		return nil, fault.New(fault.Denied, "the model of machine %s is gone", m.ID).Try("drover join-token")
	}
	cert, err := ca.Issue(id, public, j.cfg.Now(), pki.MachineLifetime)
	if err != nil {
		return nil, err
	}
	return &droverv1.JoinResponse{
		Certificate: cert.Raw, Ca: ca.Cert.Raw, Machine: string(m.ID), MachineUid: string(m.UID), ModelUid: string(m.Model),
		Servers: j.cfg.Servers(), ClusterId: cluster, Now: int64(j.now()),
		Cell: string(registry.CellID(model, m.ID)),
	}, nil
}
