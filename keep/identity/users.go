package identity

import (
	"slices"
	"strings"
	"time"

	"drover/keep/store"
	"drover/noun/fault"
	"drover/noun/when"
)

// User is a person with a role. The user that is made with the cluster has no
// KeyHash: whoever owns the server's folder may sign certificates for it. Every
// other has one certificate, with the key that it was added with.
type User struct {
	Name    string       `cbor:"1,keyasint"`
	Role    string       `cbor:"2,keyasint"`
	Created when.Instant `cbor:"3,keyasint"`
	KeyHash string       `cbor:"4,keyasint,omitempty"` // see pki.KeyHash
	Serial  string       `cbor:"5,keyasint,omitempty"` // of the certificate, hex
	Expires when.Instant `cbor:"6,keyasint,omitempty"` // of the certificate
	By      string       `cbor:"7,keyasint,omitempty"` // who added it
}

// The roles of users, each of which may do what those after it may. Admin is
// also the name of the user that is made with the cluster.
const (
	Admin    = "admin"    // identities, servers, everything
	Operator = "operator" // changes models, processes and tasks
	Viewer   = "viewer"   // reads
)

var roles = []string{Viewer, Operator, Admin}

// Allows reports whether a user of the role have may do what needs the role
// need. Words that are no role allow nothing and are allowed nothing.
func Allows(have, need string) bool {
	h, n := slices.Index(roles, have), slices.Index(roles, need)
	return h >= 0 && n >= 0 && h >= n
}

const (
	maxUserName = 64
	maxUsers    = 10_000
)

func validUserName(name string) bool {
	if name == "" || len(name) > maxUserName || strings.Trim(name, "-.@") != name {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-._@", r)
	})
}

// User is the user with the name.
func (i *Identity) User(r store.Reader, name string) (User, bool) { return i.users.Get(r, name) }

// Users are all users, by name.
func (i *Identity) Users(r store.Reader) []User { return slices.Collect(i.users.All(r)) }

// CheckUser says what is wrong with the name or the role of a new user: kind
// Invalid.
func CheckUser(name, role string) error {
	if !validUserName(name) {
		return fault.New(fault.Invalid, "%.70q cannot be the name of a user", name).
			Why("letters, digits and -._@ inside are possible, at most %d", maxUserName)
	}
	if !slices.Contains(roles, role) {
		return fault.New(fault.Invalid, "there is no role %.70q", role).Why("a user is admin, operator or viewer")
	}
	return nil
}

// AddUser records a user. A name that is taken is refused with kind Conflict.
func (i *Identity) AddUser(tx *store.Txn, u User) error {
	if err := CheckUser(u.Name, u.Role); err != nil {
		return err
	}
	if have, ok := i.users.Get(tx, u.Name); ok {
		return fault.New(fault.Conflict, "there is a user %s already", u.Name).Why("with the role %s", have.Role).
			Try("drover user remove " + u.Name)
	}
	if i.users.Len(tx) >= maxUsers {
		return fault.New(fault.ResourceExhausted, "there are %d users", maxUsers).Try("drover user list")
	}
	i.users.Put(tx, u)
	return nil
}

// RemoveUser deletes a user, whose certificate is refused from then on, also
// when the name is given again. The last admin stays.
func (i *Identity) RemoveUser(tx *store.Txn, now when.Instant, name string) error {
	u, ok := i.users.Get(tx, name)
	if !ok {
		return fault.New(fault.NotFound, "there is no user %q", name).Try("drover user list")
	}
	if u.Role == Admin && i.admins(tx) == 1 {
		return fault.New(fault.Conflict, "%s is the last admin", name).Why("nobody could add another").
			Try("drover user add NAME --role admin")
	}
	i.users.Delete(tx, name)
	if u.Serial != "" {
		i.Revoke(tx, Revocation{Serial: u.Serial, Reason: "user " + name + " was removed", Since: now, Until: u.Expires})
	}
	return nil
}

func (i *Identity) admins(r store.Reader) int {
	n := 0
	for u := range i.users.All(r) {
		if u.Role == Admin {
			n++
		}
	}
	return n
}

// Revocation refuses a certificate by its serial number (hex) until it would
// have expired.
type Revocation struct {
	Serial string       `cbor:"1,keyasint"`
	Reason string       `cbor:"2,keyasint,omitempty"`
	Since  when.Instant `cbor:"3,keyasint"`
	Until  when.Instant `cbor:"4,keyasint"`
}

// Revoke refuses the certificate with the serial number from now on.
func (i *Identity) Revoke(tx *store.Txn, r Revocation) { i.revoked.Put(tx, r) }

// Revoked reports whether the certificate with the serial number is refused.
func (i *Identity) Revoked(r store.Reader, serial string) bool { return i.revoked.Has(r, serial) }

// ForgetRevocations deletes revocations of certificates that have expired, at
// most 100.
func (i *Identity) ForgetRevocations(tx *store.Txn, now when.Instant) {
	const grace = 24 * time.Hour // clocks differ
	var old []string
	for r := range i.revoked.All(tx) {
		if r.Until.Add(grace).Before(now) && len(old) < 100 {
			old = append(old, r.Serial)
		}
	}
	for _, key := range old {
		i.revoked.Delete(tx, key)
	}
}
