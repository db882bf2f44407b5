package pki

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"sync"
	"time"
)

// handshakeTime bounds a peer's handshake, maxHandshakes how many may be under
// way: more peers wait in the kernel's queue.
const (
	handshakeTime = 10 * time.Second
	maxHandshakes = 256
)

// Port shares one listener: connections that negotiate ProtoRaft go to Raft, all
// others to Web. Both get connections whose handshake is done.
type Port struct {
	ln   net.Listener
	cfg  *tls.Config
	web  *branch
	raft *branch
}

// NewPort takes the listener over. Nothing is accepted before Run.
func NewPort(ln net.Listener, cfg *tls.Config) *Port {
	done := make(chan struct{})
	p := &Port{ln: ln, cfg: cfg}
	p.web = &branch{addr: ln.Addr(), conns: make(chan net.Conn), portDone: done, closed: make(chan struct{})}
	p.raft = &branch{addr: ln.Addr(), conns: make(chan net.Conn), portDone: done, closed: make(chan struct{})}
	return p
}

// Web accepts the connections of people and agents.
func (p *Port) Web() net.Listener { return p.web }

// Raft accepts the connections of servers, and dials them.
func (p *Port) Raft(cert tls.Certificate, ca *x509.Certificate, now func() time.Time) *RaftLayer {
	return &RaftLayer{branch: p.raft, cfg: ClientTLS(&cert, ca, now, ProtoRaft)}
}

// RaftLayer is the part of a Port that servers talk to each other over.
type RaftLayer struct {
	*branch
	cfg *tls.Config
}

// Dial connects to another server, which is verified.
func (l *RaftLayer) Dial(address string, timeout time.Duration) (net.Conn, error) {
	d := &tls.Dialer{NetDialer: &net.Dialer{Timeout: timeout}, Config: l.cfg}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return d.DialContext(ctx, "tcp", address)
}

// Run accepts until the context ends or the listener fails. It closes the
// listener and waits for the handshakes under way.
func (p *Port) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(p.web.portDone)
	defer context.AfterFunc(ctx, func() { _ = p.ln.Close() })() // Accept reports it
	slots := make(chan struct{}, maxHandshakes)
	for {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		conn, err := p.ln.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			var timeout net.Error
			if errors.As(err, &timeout) && timeout.Timeout() {
				<-slots
				continue
			}
			return err
		}
		wg.Go(func() {
			defer func() { <-slots }()
			p.hand(ctx, conn)
		})
	}
}

// hand does the handshake and gives the connection to its branch.
func (p *Port) hand(ctx context.Context, raw net.Conn) {
	conn := tls.Server(raw, p.cfg)
	hctx, cancel := context.WithTimeout(ctx, handshakeTime)
	err := conn.HandshakeContext(hctx)
	cancel()
	if err != nil {
		_ = raw.Close() // the peer hears an alert
		return
	}
	to := p.web
	if conn.ConnectionState().NegotiatedProtocol == ProtoRaft {
		to = p.raft
	}
	select {
	case to.conns <- conn:
	case <-to.closed:
		_ = raw.Close() // nobody serves this any more
	case <-ctx.Done():
		_ = raw.Close() // nor this
	}
}

// branch is a listener that is fed.
type branch struct {
	addr     net.Addr
	conns    chan net.Conn
	portDone chan struct{}
	once     sync.Once
	closed   chan struct{}
}

// Accept is the next connection.
func (b *branch) Accept() (net.Conn, error) {
	select {
	case c := <-b.conns:
		return c, nil
	case <-b.portDone:
		return nil, net.ErrClosed
	case <-b.closed:
		return nil, net.ErrClosed
	}
}

// Close ends this branch only.
func (b *branch) Close() error {
	b.once.Do(func() { close(b.closed) })
	return nil
}

// Addr is the port's address.
func (b *branch) Addr() net.Addr { return b.addr }
