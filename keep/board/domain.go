package board

import (
	"time"

	"drover/keep/store"
	"drover/noun/when"
	"drover/noun/work"
)

// UpsertDomain makes the domain fresh for the time; 0: for ever. Invalid: a bad
// name or a negative time.
func (b *Board) UpsertDomain(tx *store.Txn, now when.Instant, d work.Domain, ttl time.Duration) error {
	if err := ValidateDomain(d); err != nil {
		return err
	}
	if ttl < 0 {
		return invalid("domain %q", d).Why("its time to live is negative")
	}
	row := work.DomainRow{Name: d}
	if ttl > 0 {
		row.Expires = now.Add(ttl)
	}
	b.domains.Put(tx, row)
	return nil
}

// PruneDomain deletes the domain's row if it has expired.
func (b *Board) PruneDomain(tx *store.Txn, now when.Instant, d work.Domain) {
	if row, ok := b.domains.Get(tx, string(d)); ok && !fresh(&row, now) {
		b.domains.Delete(tx, string(d))
	}
}

// Domain is the row of the domain, expired or not.
func (b *Board) Domain(r store.Reader, d work.Domain) (work.DomainRow, bool) {
	return b.domains.Get(r, string(d))
}

// AllDomains are the rows of the domains, expired ones too.
func (b *Board) AllDomains(r store.Reader) []work.DomainRow {
	var out []work.DomainRow
	for d := range b.domains.All(r) {
		out = append(out, d)
	}
	return out
}
