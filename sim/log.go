package sim

import "drover/keep/store"

// watchedLog calls committed after every entry that went through it, before the
// transaction's caller hears of it.
type watchedLog struct {
	*store.MemoryLog
	committed func()
}

// Append implements store.Log.
func (l *watchedLog) Append(epoch uint64, entry []byte) error {
	err := l.MemoryLog.Append(epoch, entry)
	l.committed()
	return err
}
