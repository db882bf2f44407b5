package feed

import (
	"sync"

	"drover/noun/fault"
	"drover/wire/droverv1"
)

// Hub holds the commands that wait for each machine's agent, and which stream
// carries them. It is the leader's soft state: a new leader starts with an empty
// one. All methods may be called concurrently.
type Hub struct {
	mu    sync.Mutex // guards boxes
	boxes map[string]*outbox
}

// maxWaiting bounds the commands that wait for one machine.
const maxWaiting = 4096

type outbox struct {
	line    *Line
	batches []*droverv1.WorkBatch // not acknowledged, in the order of sending
	sent    int                   // how many of them went down the present line
	once    []*droverv1.Delta     // commands that are sent once
}

// NewHub is a hub without commands.
func NewHub() *Hub { return &Hub{boxes: map[string]*outbox{}} }

// Line is the connection of one machine's agent, as the hub sees it.
type Line struct {
	hub    *Hub
	key    string
	bell   chan struct{}
	closed chan struct{}
}

func (h *Hub) box(key string) *outbox {
	b, ok := h.boxes[key]
	if !ok {
		b = &outbox{}
		h.boxes[key] = b
	}
	return b
}

// Connect makes this the machine's line; an older one is closed. Work that was
// not acknowledged goes down the new line again.
func (h *Hub) Connect(machine string) *Line {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := &Line{hub: h, key: machine, bell: make(chan struct{}, 1), closed: make(chan struct{})}
	b := h.box(machine)
	if b.line != nil {
		close(b.line.closed)
	}
	b.line, b.sent = l, 0
	l.ring()
	return l
}

// Connected reports whether the machine's agent has a line.
func (h *Hub) Connected(machine string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	b, ok := h.boxes[machine]
	return ok && b.line != nil
}

// Lines is how many machines' agents have a line.
func (h *Hub) Lines() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for _, b := range h.boxes { // order-free: a count
		if b.line != nil {
			n++
		}
	}
	return n
}

// SendWork puts a batch into the machine's outbox. It fails with kind
// Unavailable when no agent is connected or too much waits for it.
func (h *Hub) SendWork(machine string, batch *droverv1.WorkBatch) error {
	return h.send(machine, func(b *outbox) { b.batches = append(b.batches, batch) })
}

// Send puts a command into the machine's outbox that is sent once: if the
// connection breaks, whoever sent it finds out by looking again. Errors as
// SendWork.
func (h *Hub) Send(machine string, command *droverv1.Delta) error {
	return h.send(machine, func(b *outbox) { b.once = append(b.once, command) })
}

func (h *Hub) send(machine string, add func(*outbox)) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	b, ok := h.boxes[machine]
	if !ok || b.line == nil {
		return fault.New(fault.Unavailable, "the agent of machine %s is not connected", machine)
	}
	if len(b.batches)+len(b.once) >= maxWaiting {
		return fault.New(fault.Unavailable, "the agent of machine %s does not keep up", machine)
	}
	add(b)
	b.line.ring()
	return nil
}

// Acknowledge forgets the batches up to the id: the cell has acted upon them.
func (h *Hub) Acknowledge(machine string, batch uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	b, ok := h.boxes[machine]
	if !ok {
		return
	}
	for len(b.batches) > 0 && b.batches[0].Id <= batch {
		b.batches = b.batches[1:]
		b.sent = max(0, b.sent-1)
	}
}

// Disconnect ends the line. Commands that are sent once are dropped with it;
// batches wait for the agent to come back.
func (l *Line) Disconnect() {
	l.hub.mu.Lock()
	defer l.hub.mu.Unlock()
	if b := l.hub.boxes[l.key]; b.line == l {
		b.line, b.once = nil, nil
	}
}

// Current reports whether no other line took over.
func (l *Line) Current() bool {
	select {
	case <-l.closed:
		return false
	default:
		return true
	}
}

// C receives when Take may have something.
func (l *Line) C() <-chan struct{} { return l.bell }

// Closed is closed when another line took over.
func (l *Line) Closed() <-chan struct{} { return l.closed }

// Take returns the commands to send now, in the order of sending.
func (l *Line) Take() []*droverv1.Delta {
	l.hub.mu.Lock()
	defer l.hub.mu.Unlock()
	b := l.hub.boxes[l.key]
	if b.line != l {
		return nil
	}
	var out []*droverv1.Delta
	for _, batch := range b.batches[b.sent:] {
		out = append(out, &droverv1.Delta{Key: "work", Value: &droverv1.Delta_Work{Work: batch}})
	}
	b.sent = len(b.batches)
	out = append(out, b.once...)
	b.once = nil
	return out
}

func (l *Line) ring() {
	select {
	case l.bell <- struct{}{}:
	default:
	}
}
