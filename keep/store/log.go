package store

import (
	"context"
	"io"
)

// Format is the version of the log's entries and of snapshots. A data folder of
// a higher one is refused.
const Format = 1

// Log orders entries, keeps them and delivers them to the machines of all
// servers. It knows nothing of what they hold. Its errors are those of
// errors.go: NotLeader and NotApplied promise that the entry is not and will not
// be applied, Unknown promises nothing. All methods may be called concurrently.
type Log interface {
	// Start delivers what is kept to the machine and goes on delivering until
	// Close. It is called once, before every other method.
	Start(Machine) error
	// Append proposes an entry as leader of the epoch and returns when this
	// server's machine has applied it, with the machine's answer.
	Append(epoch uint64, entry []byte) error
	// Barrier returns when every entry that Append took before has met its fate,
	// if this server still leads in the epoch.
	Barrier(epoch uint64) error
	// Verify returns nil only if this server led in the epoch at some moment
	// after the call began, so that its state then held all that was committed.
	Verify(ctx context.Context, epoch uint64) error
	// Close stops delivering, after calls under way have ended or with Unknown for
	// them. Later calls get ErrClosed.
	Close() error
}

// Machine is what a Log drives. The log calls Apply, Snapshot and Restore one at
// a time, and Lead in the order of the changes.
type Machine interface {
	// Apply applies an entry that was committed in an epoch. The answer is the
	// same on all servers: an entry that does not continue the state is refused.
	Apply(epoch uint64, entry []byte) error
	// Snapshot is the state as applied so far, immutable: it may be written while
	// Apply goes on.
	Snapshot() io.WriterTo
	// Restore replaces the state with that of a snapshot.
	Restore(io.Reader) error
	// Lead tells who leads. That this server leads is told only after all that
	// was committed in earlier epochs has been applied here.
	Lead(Leadership)
	// Versions are the encoding versions of the rows of each table.
	Versions() map[string]uint8
}

// Leadership says who leads, as far as this server knows.
type Leadership struct {
	Leading bool   // this server leads and may write
	Epoch   uint64 // of the reign, if this server leads
	Leader  string // name of the server that leads; empty if not known
	Address string // where it is reached
}
