package api

import (
	"context"
	"math/big"
	"regexp"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/emptypb"

	"drover/internal/pki"
	"drover/keep/identity"
	"drover/keep/store"
	"drover/noun/entity"
	"drover/noun/fault"
	"drover/noun/when"
	"drover/wire/droverv1"
)

type adminService struct{ *Server }

// AddUser records a user and signs the certificate of the key that the user
// made. Row and certificate are one transaction.
func (a *adminService) AddUser(ctx context.Context, req *connect.Request[droverv1.AddUserRequest]) (*connect.Response[droverv1.AddUserResponse], error) {
	q := req.Msg
	if err := identity.CheckUser(q.GetName(), q.GetRole()); err != nil {
		return nil, err
	}
	public, hash, err := requestKey(q.GetCsr())
	if err != nil {
		return nil, err
	}
	ca, err := a.authority()
	if err != nil {
		return nil, err
	}
	cluster := pki.ClusterOf(ca.Cert)
	return once(ctx, a.Server, req, q.GetRequestId(), func(tx *store.Txn) (*droverv1.AddUserResponse, error) {
		cert, err := ca.Issue(pki.UserIdentity(cluster, q.GetName()), public, a.cfg.Now(), pki.UserLifetime)
		if err != nil {
			return nil, err
		}
		err = a.cfg.Identity.AddUser(tx, identity.User{
			Name: q.GetName(), Role: q.GetRole(), Created: a.now(), KeyHash: hash,
			Serial: serialOf(cert.SerialNumber), Expires: when.Of(cert.NotAfter), By: callerOf(ctx).String(),
		})
		if err != nil {
			return nil, err
		}
		return &droverv1.AddUserResponse{Certificate: cert.Raw, Ca: ca.Cert.Raw, ClusterId: cluster, Servers: a.cfg.Servers()}, nil
	})
}

func serialOf(n *big.Int) string { return n.Text(16) }

// ListUsers are all users.
func (a *adminService) ListUsers(context.Context, *connect.Request[emptypb.Empty]) (*connect.Response[droverv1.ListUsersResponse], error) {
	out := &droverv1.ListUsersResponse{}
	for _, u := range a.cfg.Identity.Users(a.cfg.Store.View()) {
		out.Users = append(out.Users, &droverv1.User{Name: u.Name, Role: u.Role, Created: int64(u.Created), Serial: u.Serial, Expires: int64(u.Expires)})
	}
	return connect.NewResponse(out), nil
}

// RemoveUser deletes a user; the next call with its certificate is refused.
func (a *adminService) RemoveUser(ctx context.Context, req *connect.Request[droverv1.RemoveUserRequest]) (*connect.Response[emptypb.Empty], error) {
	return once(ctx, a.Server, req, req.Msg.GetRequestId(), func(tx *store.Txn) (*emptypb.Empty, error) {
		return &emptypb.Empty{}, a.cfg.Identity.RemoveUser(tx, a.now(), req.Msg.GetName())
	})
}

var serialText = regexp.MustCompile(`^[0-9a-f]{1,40}$`)

// maxReason bounds the words of a revocation.
const maxReason = 200

// RevokeCertificate refuses a certificate from now on: one of a serial number,
// that of a user, or that of a machine, which joins again with a token of its
// own.
func (a *adminService) RevokeCertificate(ctx context.Context, req *connect.Request[droverv1.RevokeCertificateRequest]) (*connect.Response[droverv1.RevokeCertificateResponse], error) {
	q := req.Msg
	if len(q.GetReason()) > maxReason {
		return nil, fault.New(fault.Invalid, "the reason is too long").Why("at most %d bytes are kept", maxReason)
	}
	return once(ctx, a.Server, req, q.GetRequestId(), func(tx *store.Txn) (*droverv1.RevokeCertificateResponse, error) {
		a.cfg.Identity.ForgetRevocations(tx, a.now())
		kind, name, named := strings.Cut(q.GetTarget(), ":")
		var revoked string
		var err error
		switch {
		case named && kind == "user":
			revoked, err = a.revokeUser(tx, name, q.GetReason())
		case named && kind == "machine":
			revoked, err = a.revokeMachine(tx, q.GetModel(), entity.MachineID(name))
		case serialText.MatchString(strings.ToLower(q.GetTarget())):
			serial := strings.TrimLeft(strings.ToLower(q.GetTarget()), "0")
			a.revoke(tx, serial, q.GetReason(), a.now().Add(pki.ServerLifetime)) // the longest that it may live
			revoked = "certificate " + serial
		default:
			return nil, fault.New(fault.Invalid, "%.100q names no certificate", q.GetTarget()).
				Why("it is a serial number in hex, user:NAME or machine:ID").Try("drover user list", "drover cert show")
		}
		return &droverv1.RevokeCertificateResponse{Revoked: revoked}, err
	})
}

func (a *adminService) revoke(tx *store.Txn, serial, reason string, until when.Instant) {
	a.cfg.Identity.Revoke(tx, identity.Revocation{Serial: serial, Reason: reason, Since: a.now(), Until: until})
}

func (a *adminService) revokeUser(tx *store.Txn, name, reason string) (string, error) {
	u, ok := a.cfg.Identity.User(tx, name)
	if !ok {
		return "", fault.New(fault.NotFound, "there is no user %q", name).Try("drover user list")
	}
	if u.Serial == "" {
		return "", fault.New(fault.Conflict, "the certificates of %s are not recorded", name).
			Why("they were made on the server's host").Try("drover cert show", "drover cert revoke SERIAL")
	}
	a.revoke(tx, u.Serial, reason, u.Expires)
	return "the certificate of user " + name, nil
}

// revokeMachine takes the machine's key out of its row: no certificate is that
// of the machine any more, and none can be renewed.
func (a *adminService) revokeMachine(tx *store.Txn, modelName string, id entity.MachineID) (string, error) {
	model, err := a.model(tx, modelName)
	if err != nil {
		return "", err
	}
	if _, ok := a.cfg.Registry.Machine(tx, model, id); !ok {
		return "", fault.New(fault.NotFound, "there is no machine %s", id).Try("drover status")
	}
	return "the certificates of machine " + string(id), a.cfg.Registry.SetMachineKey(tx, model, id, "revoked")
}

// The entries that ListAudit gives.
const (
	defaultAudit = 100
	maxAudit     = 1000
)

// ListAudit are the newest entries of who changed what.
func (a *adminService) ListAudit(_ context.Context, req *connect.Request[droverv1.ListAuditRequest]) (*connect.Response[droverv1.ListAuditResponse], error) {
	limit := int(req.Msg.GetLimit())
	if limit <= 0 {
		limit = defaultAudit
	}
	out := &droverv1.ListAuditResponse{}
	for _, e := range a.cfg.Identity.LastAudits(a.cfg.Store.View(), min(limit, maxAudit)) {
		out.Entries = append(out.Entries, &droverv1.AuditEntry{Number: e.Number, At: int64(e.At), Who: e.Who, Did: e.Did, What: e.What})
	}
	return connect.NewResponse(out), nil
}
