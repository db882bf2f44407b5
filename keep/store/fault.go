package store

// FaultKind is what goes wrong with an entry given to a MemoryLog.
type FaultKind uint8

// The kinds of faults. All but FaultRefused answer with Unknown.
const (
	_                FaultKind = iota // nothing
	FaultRefused                      // not appended, and said so
	FaultLost                         // not appended
	FaultKept                         // committed and applied at once
	FaultLate                         // committed, but only before the next entry, barrier or reign
	FaultDeposed                      // not appended, and leadership is lost
	FaultDeposedLate                  // leadership is lost, the entry committed before the next reign
	numFaultKinds
)

// String is the kind's name.
func (k FaultKind) String() string {
	return [...]string{"none", "refused", "lost", "kept", "late", "deposed", "deposed-late", "unknown"}[min(k, numFaultKinds)]
}

// Fault is one fault: the entry waits until Until is closed, if that is set, and
// then meets Kind.
type Fault struct {
	Kind  FaultKind
	Until <-chan struct{}
}

// Inject adds faults; each hits one of the next entries, in order. The zero Fault
// lets its entry pass.
func (l *MemoryLog) Inject(faults ...Fault) {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	l.faults = append(l.faults, faults...)
}

func (l *MemoryLog) takeFault() Fault {
	if len(l.faults) == 0 {
		return Fault{}
	}
	f := l.faults[0]
	l.faults = l.faults[1:]
	return f
}
