package store

import "sync"

// Subscription collects the topics that commits touched since the last Take.
// Events carry topics only: whoever is woken reads a View.
type Subscription struct {
	store *Store
	c     chan struct{}

	mu     sync.Mutex // guards topics and hit
	topics map[Topic]struct{}
	all    bool
	hit    map[Topic]struct{}
}

// Subscribe registers for topics. With none given it hears every topic. It must
// be closed. A subscriber reads a View after subscribing, so that nothing is
// missed in between.
func (s *Store) Subscribe(topics ...Topic) *Subscription {
	sub := &Subscription{store: s, c: make(chan struct{}, 1), topics: map[Topic]struct{}{}, hit: map[Topic]struct{}{}, all: len(topics) == 0}
	for _, t := range topics {
		sub.topics[t] = struct{}{}
	}
	s.mu.Lock()
	s.subs[sub] = struct{}{}
	s.mu.Unlock()
	return sub
}

// Listen adds topics.
func (sub *Subscription) Listen(topics ...Topic) {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	for _, t := range topics {
		sub.topics[t] = struct{}{}
	}
}

// Forget removes topics.
func (sub *Subscription) Forget(topics ...Topic) {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	for _, t := range topics {
		delete(sub.topics, t)
	}
}

// C receives when there is something to Take. It is never closed.
func (sub *Subscription) C() <-chan struct{} { return sub.c }

// Take returns the topics touched since the last call, in no order.
func (sub *Subscription) Take() []Topic {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	out := make([]Topic, 0, len(sub.hit))
	for t := range sub.hit { // order-free: a set of wake-up keys
		out = append(out, t)
	}
	clear(sub.hit)
	return out
}

// Close ends the subscription.
func (sub *Subscription) Close() {
	sub.store.mu.Lock()
	delete(sub.store.subs, sub)
	sub.store.mu.Unlock()
}

func (sub *Subscription) wake(topics map[Topic]struct{}) {
	sub.mu.Lock()
	n := len(sub.hit)
	for t := range topics { // order-free: a set of wake-up keys
		if _, ok := sub.topics[t]; ok || sub.all {
			sub.hit[t] = struct{}{}
		}
	}
	woken := len(sub.hit) > n
	sub.mu.Unlock()
	if woken {
		select {
		case sub.c <- struct{}{}:
		default:
		}
	}
}
