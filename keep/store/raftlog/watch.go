package raftlog

import (
	"slices"
	"time"

	"drover/keep/store"

	"github.com/hashicorp/raft"
)

// watch tells the machine who leads, until stop.
func (l *Log) watch() {
	for {
		select {
		case leading := <-l.lost:
			l.noticed(leading)
		case o := <-l.observed:
			if seen, ok := o.Data.(raft.LeaderObservation); ok {
				l.follow(string(seen.LeaderID), string(seen.LeaderAddr))
			}
		case <-l.stop:
			return
		}
	}
}

// noticed begins or ends a reign. The beginning waits for a barrier, and must not
// do so here: raft blocks until the next notice is taken.
func (l *Log) noticed(leading bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reign++
	if leading {
		reign, term := l.reign, l.engine.raft.CurrentTerm()
		l.running.Go(func() { l.ascend(reign, term) })
		return
	}
	address, name := l.engine.raft.LeaderWithID()
	if string(name) == l.cfg.Name {
		address, name = "", ""
	}
	l.tell(store.Leadership{Leader: string(name), Address: string(address)})
}

// ascend announces our leadership of the term once all earlier entries have been
// applied. A barrier is of the term in which raft leads when it takes it; as terms
// only grow, the same term before and after means this one.
func (l *Log) ascend(reign, term uint64) {
	for {
		if l.begin() != nil {
			return // closed, or opened anew: then raft gives notice again
		}
		err := l.node().Barrier(enqueueTimeout).Error()
		l.calls.RUnlock()
		l.mu.Lock()
		if l.reign != reign || l.engine.raft.CurrentTerm() != term {
			l.mu.Unlock()
			return
		}
		if err == nil {
			l.tell(store.Leadership{Leading: true, Epoch: term, Leader: l.cfg.Name, Address: l.cfg.Address})
		}
		l.mu.Unlock()
		if err == nil {
			l.correctAddress()
			return
		}
		select {
		case <-l.stop:
			return
		case <-time.After(l.cfg.Heartbeat):
		}
	}
}

// correctAddress tells the cluster where this server is now, if it moved while it
// was down. Only a leader can, and one that cannot now does at its next reign.
func (l *Log) correctAddress() {
	members, err := l.Servers()
	if err != nil {
		return
	}
	self := Server{l.cfg.Name, l.cfg.Address}
	if !slices.Contains(members, self) {
		if err := l.AddServer(self); err != nil {
			l.cfg.Logger.Warn("the cluster has an old address of this server", "err", err)
		}
	}
}

// follow takes note of another server's leadership.
func (l *Log) follow(name, address string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if name != l.cfg.Name && !l.lead.Leading {
		l.tell(store.Leadership{Leader: name, Address: address})
	}
}

// tell is called with mu held, so that the machine hears the changes in order.
func (l *Log) tell(lead store.Leadership) {
	l.lead = lead
	l.machine.Lead(lead)
}
