package identity

import (
	"fmt"
	"slices"

	"drover/keep/store"
	"drover/noun/when"
)

// Audit says who changed what. It is written in the transaction of the change:
// one is there if and only if the other is.
type Audit struct {
	Number uint64       `cbor:"1,keyasint"`
	At     when.Instant `cbor:"2,keyasint"`
	Who    string       `cbor:"3,keyasint"` // "user ann"
	Did    string       `cbor:"4,keyasint"` // "Deploy"
	What   string       `cbor:"5,keyasint,omitempty"`
}

// KeptAudits is how many entries are kept: older ones make room.
const KeptAudits = 10_000

func auditKey(number uint64) string { return fmt.Sprintf("%020d", number) }

// Record adds an entry, numbered by the revision of the transaction: one
// transaction records one.
func (i *Identity) Record(tx *store.Txn, a Audit) {
	a.Number = uint64(tx.Next())
	i.audits.Put(tx, a)
	for i.audits.Len(tx) > KeptAudits {
		oldest, ok := first(i.audits.All(tx))
		if !ok {
			return
		}
		i.audits.Delete(tx, auditKey(oldest.Number))
	}
}

func first(rows func(func(Audit) bool)) (a Audit, ok bool) {
	for a = range rows {
		return a, true
	}
	return a, false
}

// LastAudits are the newest entries, at most limit, oldest first.
func (i *Identity) LastAudits(r store.Reader, limit int) []Audit {
	all := slices.Collect(i.audits.All(r))
	return all[max(0, len(all)-limit):]
}
