package machineagent

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"drover/act/unitagent"
	"drover/noun/entity"
	"drover/noun/fault"
	"drover/wire/droverv1"
)

// The bounds of answering requests for logs.
const (
	mostReaders = 16
	chunkSize   = 32 << 10
	mostTail    = 16 << 20
	followEvery = 250 * time.Millisecond
	aliveEvery  = 5 * time.Second // a reader that is gone is noticed by sending
)

// runLogs answers send_log commands, a few at a time.
func (a *Agent) runLogs(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	slots := make(chan struct{}, mostReaders)
	for {
		select {
		case cmd := <-a.logs:
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				return
			}
			wg.Go(func() {
				defer func() { <-slots }()
				a.sendLog(ctx, cmd)
			})
		case <-ctx.Done():
			return
		}
	}
}

func (a *Agent) sendLog(ctx context.Context, cmd *droverv1.SendLogCommand) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	err := a.cfg.Server.SendLog(ctx, func(send func(*droverv1.SendLogRequest) error) {
		s := &sink{id: cmd.GetId(), send: send, cancel: cancel}
		// An empty first word says that the log is being looked for.
		_, _ = s.Write(nil)
		var wg sync.WaitGroup
		stop, stopped := context.WithCancel(ctx)
		if cmd.GetFollow() {
			wg.Go(func() { s.keepAlive(stop) })
		}
		if err := a.writeLog(ctx, cmd, s); err != nil && ctx.Err() == nil {
			s.fail(err)
		}
		stopped()
		wg.Wait()
	})
	if err != nil && ctx.Err() == nil && !fault.Is(err, fault.NotFound) {
		a.cfg.Log.Debug("a log was not sent", "target", cmd.GetTarget(), "err", err)
	}
}

// sink sends what is written as messages. Its methods may be called
// concurrently.
type sink struct {
	id     string
	cancel context.CancelFunc

	mu   sync.Mutex // guards send
	send func(*droverv1.SendLogRequest) error
}

// Write sends p in chunks; the first error ends the answer.
func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for rest := p; ; {
		n := min(len(rest), chunkSize)
		if err := s.send(&droverv1.SendLogRequest{Id: s.id, Data: bytes.Clone(rest[:n])}); err != nil {
			s.cancel()
			return 0, err
		}
		if rest = rest[n:]; len(rest) == 0 {
			return len(p), nil
		}
	}
}

func (s *sink) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.send(&droverv1.SendLogRequest{Id: s.id, Error: err.Error()})
}

func (s *sink) keepAlive(ctx context.Context) {
	for pause(ctx, aliveEvery) {
		if _, err := s.Write(nil); err != nil {
			return
		}
	}
}

// writeLog finds the log: of the machine's agent, of a unit, or of a container.
func (a *Agent) writeLog(ctx context.Context, cmd *droverv1.SendLogCommand, w io.Writer) error {
	target := cmd.GetTarget()
	if strings.HasPrefix(target, "machine:") {
		return tailFile(ctx, a.cfg.AgentLog, cmd, w)
	}
	if unit := entity.UnitName(target); unit.Validate() == nil {
		path := filepath.Join(a.unitDir(unit), "log", "unit.log")
		if _, err := os.Stat(filepath.Dir(path)); err == nil {
			return tailFile(ctx, path, cmd, w)
		}
	}
	if a.cfg.ContainerLog == nil {
		return fault.New(fault.NotFound, "no log of %s on machine %s", target, a.cfg.Machine)
	}
	return a.cfg.ContainerLog(ctx, target, int(cmd.GetLines()), cmd.GetFollow(), w)
}

// tailFile writes the last lines of a file, or those of the last hook, and then
// what is added to it.
func tailFile(ctx context.Context, path string, cmd *droverv1.SendLogCommand, w io.Writer) error {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) && !cmd.GetFollow() {
		return fault.New(fault.NotFound, "nothing was logged yet")
	}
	if err == nil {
		err = writeTail(f, cmd, w)
	}
	for cmd.GetFollow() && (err == nil || errors.Is(err, os.ErrNotExist)) && pause(ctx, followEvery) {
		if f != nil {
			if _, err = io.Copy(w, f); err != nil {
				break
			}
		}
		// The rest of a file that was put aside has just been copied.
		if f == nil || replaced(f, path) {
			_ = f.Close()
			f, err = os.Open(path)
		}
	}
	_ = f.Close()
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// replaced reports whether the path names another file by now.
func replaced(f *os.File, path string) bool {
	there, err := os.Stat(path)
	if err != nil {
		return false
	}
	here, err := f.Stat()
	return err != nil || !os.SameFile(here, there)
}

func writeTail(f *os.File, cmd *droverv1.SendLogCommand, w io.Writer) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	from := max(0, info.Size()-mostTail)
	data, err := io.ReadAll(io.NewSectionReader(f, from, info.Size()-from))
	if err != nil {
		return err
	}
	if from > 0 {
		if i := bytes.IndexByte(data, '\n'); i >= 0 {
			data = data[i+1:]
		}
	}
	if cmd.GetLastHook() {
		data = lastHook(data)
	}
	if _, err := w.Write(lastLines(data, int(cmd.GetLines()))); err != nil {
		return err
	}
	_, err = f.Seek(info.Size(), io.SeekStart)
	return err
}

// lastHook is what was logged since the last hook began.
func lastHook(data []byte) []byte {
	i := bytes.LastIndex(data, []byte(" "+unitagent.HookBegins+"\n"))
	if i < 0 {
		return nil
	}
	return data[bytes.LastIndexByte(data[:i], '\n')+1:]
}

// lastLines are the last n lines; all for n of 0.
func lastLines(data []byte, n int) []byte {
	if n <= 0 {
		return data
	}
	end := len(bytes.TrimSuffix(data, []byte("\n")))
	for i := 0; i < n; i++ {
		j := bytes.LastIndexByte(data[:end], '\n')
		if j < 0 {
			return data
		}
		end = j
	}
	return data[end+1:]
}
