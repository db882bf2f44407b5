package process

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"

	"drover/act/executor/shim"
	"drover/noun/work"
)

// watcher hears of starts (inotify: the file pid appears) and ends (pidfd: the
// shim is gone) with one epoll, so that a thousand processes cost one thread.
type watcher struct {
	epoll, inotify, bell int

	mu      sync.Mutex // guards the maps
	ends    map[int32]*tracked
	folders map[int32]*tracked
}

func newWatcher() (w *watcher, err error) {
	w = &watcher{epoll: -1, inotify: -1, bell: -1, ends: map[int32]*tracked{}, folders: map[int32]*tracked{}}
	defer func() {
		if err != nil {
			_ = w.close()
		}
	}()
	if w.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return w, fmt.Errorf("epoll: %w", err)
	}
	if w.bell, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return w, fmt.Errorf("eventfd: %w", err)
	}
	if err = w.add(w.bell); err != nil {
		return w, err
	}
	// Without inotify (its instances are few per user) starts are seen a little
	// later, by the executor's own looking again.
	if fd, e := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK); e == nil {
		w.inotify = fd
		err = w.add(fd)
	}
	return w, err
}

func (w *watcher) add(fd int) error {
	if err := unix.EpollCtl(w.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)}); err != nil {
		return fmt.Errorf("epoll add: %w", err)
	}
	return nil
}

func (w *watcher) close() error { //nolint:unparam // an io.Closer to be
	for _, fd := range []int{w.epoll, w.inotify, w.bell} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
	return nil
}

// folder watches for the file pid.
func (w *watcher) folder(t *tracked) {
	if w.inotify < 0 {
		return
	}
	wd, err := unix.InotifyAddWatch(w.inotify, t.dir, unix.IN_MOVED_TO|unix.IN_ONLYDIR)
	if err != nil {
		return
	}
	w.mu.Lock()
	w.folders[int32(wd)] = t
	w.mu.Unlock()
}

// process watches for the shim's end.
func (w *watcher) process(t *tracked) error {
	w.mu.Lock()
	w.ends[int32(t.pidfd)] = t
	w.mu.Unlock()
	return w.add(t.pidfd)
}

// forget stops watching a shim, before its pidfd is closed.
func (w *watcher) forget(t *tracked) {
	w.mu.Lock()
	delete(w.ends, int32(t.pidfd))
	w.mu.Unlock()
	_ = unix.EpollCtl(w.epoll, unix.EPOLL_CTL_DEL, t.pidfd, nil)
}

// Run tells of changes until the context ends.
func (r *Runtime) Run(ctx context.Context, changed func(work.ContainerGUID)) error {
	stop := context.AfterFunc(ctx, func() {
		one := make([]byte, 8)
		binary.NativeEndian.PutUint64(one, 1)
		_, _ = unix.Write(r.watch.bell, one)
	})
	defer stop()
	events := make([]unix.EpollEvent, 64)
	for ctx.Err() == nil {
		n, err := unix.EpollWait(r.watch.epoll, events, -1)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("process runtime: epoll: %w", err)
		}
		for i := range max(n, 0) {
			for _, t := range r.watch.woken(events[i].Fd) {
				r.alive(t) // reaps, and stops watching
				changed(t.place.GUID)
			}
		}
	}
	return ctx.Err()
}

// woken lists the processes that a descriptor speaks of.
func (w *watcher) woken(fd int32) []*tracked {
	switch int(fd) {
	case w.bell:
		_, _ = unix.Read(w.bell, make([]byte, 8))
		return nil
	case w.inotify:
		return w.started()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if t := w.ends[fd]; t != nil {
		return []*tracked{t}
	}
	return nil
}

// started reads what inotify has: the processes whose file pid appeared.
func (w *watcher) started() []*tracked {
	buf := make([]byte, 16<<10)
	n, err := unix.Read(w.inotify, buf)
	if err != nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var ts []*tracked
	for buf = buf[:n]; len(buf) >= unix.SizeofInotifyEvent; {
		wd := int32(binary.NativeEndian.Uint32(buf))
		mask := binary.NativeEndian.Uint32(buf[4:])
		size := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(buf[12:]))
		name := string(bytes.TrimRight(buf[unix.SizeofInotifyEvent:size], "\x00"))
		buf = buf[size:]
		t := w.folders[wd]
		switch {
		case mask&unix.IN_IGNORED != 0:
			delete(w.folders, wd)
		case t != nil && name == shim.PIDFile:
			ts = append(ts, t)
			_, _ = unix.InotifyRmWatch(w.inotify, uint32(wd))
		}
	}
	return ts
}
