package raftlog

import "time"

// fail is told of a write to the disk that failed.
func (l *Log) fail(err error) {
	select {
	case l.failed <- err:
	default: // known already
	}
}

// retryEvery is how long a failed disk is left alone.
const retryEvery = 250 * time.Millisecond

// mend opens the engine anew whenever the disk failed, until stop. Meanwhile no
// call is taken and nobody is told that we lead; the machine keeps its state, so
// it can be read.
func (l *Log) mend() {
	for {
		select {
		case <-l.stop:
			return
		case err := <-l.failed:
			l.cfg.Logger.Error("the log failed and is opened anew", "dir", l.cfg.Dir, "err", err)
			l.halt(err)
			if !l.reopen(err) {
				return
			}
			l.cfg.Logger.Info("the log works again", "dir", l.cfg.Dir)
		}
	}
}

// halt ends the engine.
func (l *Log) halt(err error) {
	l.mu.Lock()
	l.broken = failedDisk(l.cfg.Dir, err)
	l.mu.Unlock()
	l.calls.Lock() // calls under way end as leadership is lost
	defer l.calls.Unlock()
	if err := l.engine.close(); err != nil {
		l.cfg.Logger.Warn("the failed log did not close well", "err", err)
	}
	l.noticed(false)
}

// reopen tries until an engine is open; it returns false when stopped.
func (l *Log) reopen(err error) bool {
	full := isFull(err)
	for {
		select {
		case <-l.stop:
			return false
		case <-time.After(retryEvery):
		}
		if full && l.room(0) != nil {
			continue
		}
		select {
		case <-l.failed: // of the engine that is closed
		default:
		}
		err := l.openEngine()
		if err == nil {
			return true
		}
		full = isFull(err)
		l.cfg.Logger.Warn("the log cannot be opened yet", "dir", l.cfg.Dir, "err", err)
	}
}
