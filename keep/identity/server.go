package identity

import (
	"regexp"
	"strconv"

	"drover/keep/store"
	"drover/noun/fault"
	"drover/noun/when"
)

// Server is a server that was given a certificate: the only one with which it is
// let in. That it votes stands in the log's configuration, not here.
type Server struct {
	Name    string       `cbor:"1,keyasint"`
	Address string       `cbor:"2,keyasint,omitempty"` // host:port, as last told
	Serial  string       `cbor:"3,keyasint"`           // of its certificate, hex
	Until   when.Instant `cbor:"4,keyasint"`           // end of that certificate
	Joined  when.Instant `cbor:"5,keyasint"`
}

// ServersTopic wakes whoever follows the servers.
const ServersTopic store.Topic = "servers"

func newServers(schema *store.Schema) *store.Table[Server] {
	return store.Add(schema, store.Def[Server]{
		Name: "server", Version: 1, Key: func(s *Server) string { return s.Name },
		Topics: func(*Server) []store.Topic { return []store.Topic{ServersTopic} },
	})
}

// Server is the server with the name.
func (i *Identity) Server(r store.Reader, name string) (Server, bool) { return i.servers.Get(r, name) }

// Servers are all servers, by name.
func (i *Identity) Servers(r store.Reader) []Server {
	var all []Server
	for s := range i.servers.All(r) {
		all = append(all, s)
	}
	return all
}

var serverName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$`)

// CheckServerName refuses what cannot name a server.
func CheckServerName(name string) error {
	if !serverName.MatchString(name) {
		return fault.New(fault.Invalid, "%q cannot be the name of a server", name).
			Why("a name has 1 to 32 small letters, digits and hyphens, and begins and ends without a hyphen")
	}
	return nil
}

// FreeServerName is the next of s1, s2, … that nobody has.
func (i *Identity) FreeServerName(r store.Reader) string {
	for n := 1; ; n++ {
		if name := "s" + strconv.Itoa(n); !i.servers.Has(r, name) {
			return name
		}
	}
}

// PutServer records a server. The certificate that it had before is refused from
// now on. The same record again changes nothing.
func (i *Identity) PutServer(tx *store.Txn, now when.Instant, s Server) {
	old, ok := i.Server(tx, s.Name)
	if ok && old == s {
		return
	}
	if ok && old.Serial != s.Serial {
		i.revokeServer(tx, now, old, "another server took the name "+s.Name)
	}
	i.servers.Put(tx, s)
}

// RemoveServer forgets a server and refuses its certificate; it reports whether
// there was one.
func (i *Identity) RemoveServer(tx *store.Txn, now when.Instant, name string) bool {
	old, ok := i.Server(tx, name)
	if ok {
		i.revokeServer(tx, now, old, "the server was removed")
		i.servers.Delete(tx, name)
	}
	return ok
}

func (i *Identity) revokeServer(tx *store.Txn, now when.Instant, s Server, why string) {
	i.Revoke(tx, Revocation{Serial: s.Serial, Reason: why, Since: now, Until: s.Until})
}
