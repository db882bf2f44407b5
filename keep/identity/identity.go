// Package identity keeps who may speak to the cluster: its authority with the
// sealed key, join tokens, users with their roles, revoked certificates, and who
// changed what.
//
// It issues nothing and opens no connection; whoever signs asks for the
// authority with the key file, which is never in the store.
//
// Invariants: a token is stored by its hash only and is spent at most once; the
// authority's key is stored sealed only; there is one authority.
package identity

import (
	"fmt"
	"time"

	"drover/internal/pki"
	"drover/keep/store"
	"drover/noun/entity"
	"drover/noun/fault"
	"drover/noun/when"
)

// Cluster is the one row about the cluster itself.
type Cluster struct {
	ID        string       `cbor:"1,keyasint"`
	Name      string       `cbor:"2,keyasint"`
	CA        []byte       `cbor:"3,keyasint"` // certificate, DER
	SealedKey []byte       `cbor:"4,keyasint"` // see SealKey
	Created   when.Instant `cbor:"5,keyasint"`
}

// Token is a join token, by its hash.
type Token struct {
	Hash    string           `cbor:"1,keyasint"`
	Role    pki.Role         `cbor:"2,keyasint"`
	Model   entity.ModelUID  `cbor:"3,keyasint,omitempty"`
	Machine entity.MachineID `cbor:"4,keyasint,omitempty"` // bound to; empty: a new manual machine
	UID     entity.UID       `cbor:"5,keyasint,omitempty"` // of that machine
	Expires when.Instant     `cbor:"6,keyasint"`
	Used    when.Instant     `cbor:"7,keyasint,omitempty"`
	UsedBy  string           `cbor:"8,keyasint,omitempty"`
	Created when.Instant     `cbor:"9,keyasint"`
	By      string           `cbor:"10,keyasint,omitempty"` // who made it
}

// Identity has the tables. Its methods hold no state of their own.
type Identity struct {
	cluster *store.Table[Cluster]
	tokens  *store.Table[Token]
	users   *store.Table[User]
	revoked *store.Table[Revocation]
	audits  *store.Table[Audit]
	servers *store.Table[Server]
}

const clusterKey = "cluster"

// New adds the tables to the schema.
func New(schema *store.Schema) *Identity {
	return &Identity{
		cluster: store.Add(schema, store.Def[Cluster]{Name: "cluster", Version: 1, Key: func(*Cluster) string { return clusterKey }}),
		tokens: store.Add(schema, store.Def[Token]{Name: "token", Version: 1,
			Key:    func(t *Token) string { return t.Hash },
			Topics: func(*Token) []store.Topic { return []store.Topic{"token"} }}),
		users:   store.Add(schema, store.Def[User]{Name: "user", Version: 1, Key: func(u *User) string { return u.Name }}),
		revoked: store.Add(schema, store.Def[Revocation]{Name: "revocation", Version: 1, Key: func(r *Revocation) string { return r.Serial }}),
		audits:  store.Add(schema, store.Def[Audit]{Name: "audit", Version: 1, Key: func(a *Audit) string { return auditKey(a.Number) }}),
		servers: newServers(schema),
	}
}

// Cluster is the cluster's row; ok is false before Found.
func (i *Identity) Cluster(r store.Reader) (c Cluster, ok bool) { return i.cluster.Get(r, clusterKey) }

// Found records the authority of a new cluster and its first user. A second call
// for the same cluster changes nothing; for another it is refused.
func (i *Identity) Found(tx *store.Txn, now when.Instant, c Cluster, admin string) error {
	if have, ok := i.Cluster(tx); ok {
		if have.ID == c.ID {
			return nil
		}
		return fault.New(fault.Conflict, "this data folder is of another cluster").Why("it is of %s (%s)", have.Name, have.ID)
	}
	c.Created = now
	i.cluster.Put(tx, c)
	i.users.Put(tx, User{Name: admin, Role: Admin, Created: now})
	return nil
}

// AddToken records a token that was made.
func (i *Identity) AddToken(tx *store.Txn, t Token) { i.tokens.Put(tx, t) }

// keepTokens is how long a spent or expired token is remembered, so that its
// second use is told apart from an unknown one.
const keepTokens = 7 * 24 * time.Hour

// SpendToken takes a token out of circulation and returns it. It fails with kind
// Denied for a token that is unknown, spent or expired.
func (i *Identity) SpendToken(tx *store.Txn, now when.Instant, hash, by string) (Token, error) {
	t, ok := i.tokens.Get(tx, hash)
	if !ok {
		return Token{}, refusedToken("this cluster has no such token")
	}
	if !t.Used.IsZero() {
		return Token{}, refusedToken("it was used %s ago", now.Sub(t.Used).Round(time.Second))
	}
	if !now.Before(t.Expires) {
		return Token{}, refusedToken("it expired %s ago", now.Sub(t.Expires).Round(time.Second))
	}
	t.Used, t.UsedBy = now, by
	i.tokens.Put(tx, t)
	return t, nil
}

func refusedToken(format string, args ...any) error {
	return fault.New(fault.Denied, "the join token is refused").Coded(fault.CodeTokenRefused).Why(format, args...).Try("drover join-token")
}

// SweepTokens deletes tokens and revocations that nobody needs any more, at most
// 100 of each.
func (i *Identity) SweepTokens(tx *store.Txn, now when.Instant) {
	var old []string
	for t := range i.tokens.All(tx) {
		if end := max(t.Used, t.Expires); end.Add(keepTokens).Before(now) && len(old) < 100 {
			old = append(old, t.Hash)
		}
	}
	for _, key := range old {
		i.tokens.Delete(tx, key)
	}
	i.ForgetRevocations(tx, now)
}

// Authority is the cluster's authority, with the key opened by the key file.
func (i *Identity) Authority(r store.Reader, seal SealKey) (*pki.Authority, error) {
	c, ok := i.Cluster(r)
	if !ok {
		return nil, fault.New(fault.Unavailable, "the cluster has no authority yet")
	}
	der, err := seal.Open(c.SealedKey, []byte(c.ID))
	if err != nil {
		return nil, fmt.Errorf("key of the authority: %w", err)
	}
	return pki.LoadAuthority(c.CA, der)
}
