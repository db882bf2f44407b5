package hooktool

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"drover/act/hooktool/client"
)

// The limits of the socket.
const (
	mostCalls = 64
	frameTime = 30 * time.Second // to send or receive a frame
)

// Listen makes the socket, which must lie in a folder of mode 0700. A file left
// there by an agent that was killed is replaced.
func Listen(path string) (*net.UnixListener, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
}

// Serve answers the hook's tools until the context ends or the listener is
// closed, then waits for the calls under way.
func Serve(ctx context.Context, l *net.UnixListener, c *Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	slots := make(chan struct{}, mostCalls)
	for {
		conn, err := l.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			serve(ctx, conn, c)
		})
	}
}

// serve answers one call. A peer of another user is not answered at all.
func serve(ctx context.Context, conn *net.UnixConn, c *Context) {
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if !sameUser(conn) {
		return
	}
	_ = conn.SetReadDeadline(time.Now().Add(frameTime))
	var req client.Request
	if err := client.Read(conn, &req); err != nil {
		return
	}
	resp := c.Call(ctx, &req)
	_ = conn.SetWriteDeadline(time.Now().Add(frameTime))
	_ = client.Write(conn, resp)
}

// sameUser asks the kernel who is at the other end.
func sameUser(conn *net.UnixConn) bool {
	raw, err := conn.SyscallConn()
	if err != nil {
		return false
	}
	same := false
	err = raw.Control(func(fd uintptr) {
		cred, err := syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
		same = err == nil && (int(cred.Uid) == os.Getuid() || cred.Uid == 0)
	})
	return err == nil && same
}
