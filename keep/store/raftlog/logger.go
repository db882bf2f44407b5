package raftlog

import (
	"context"
	"io"
	"log"
	"log/slog"

	"github.com/hashicorp/go-hclog"
)

// logger gives raft's log to slog. Raft is talkative: its Info is our Debug.
type logger struct {
	to   *slog.Logger
	name string
	with []any
}

func newLogger(to *slog.Logger) hclog.Logger { return &logger{to: to, name: "raft"} }

var levels = map[hclog.Level]slog.Level{
	hclog.Trace: slog.LevelDebug,
	hclog.Debug: slog.LevelDebug,
	hclog.Info:  slog.LevelDebug,
	hclog.Warn:  slog.LevelInfo,
	hclog.Error: slog.LevelWarn,
}

// Log implements hclog.Logger, as do the methods below.
func (l *logger) Log(level hclog.Level, msg string, args ...any) {
	l.to.Log(context.Background(), levels[level], l.name+": "+msg, args...)
}

func (l *logger) Trace(msg string, args ...any) { l.Log(hclog.Trace, msg, args...) }
func (l *logger) Debug(msg string, args ...any) { l.Log(hclog.Debug, msg, args...) }
func (l *logger) Info(msg string, args ...any)  { l.Log(hclog.Info, msg, args...) }
func (l *logger) Warn(msg string, args ...any)  { l.Log(hclog.Warn, msg, args...) }
func (l *logger) Error(msg string, args ...any) { l.Log(hclog.Error, msg, args...) }

func (l *logger) enabled(level hclog.Level) bool {
	return l.to.Enabled(context.Background(), levels[level])
}

func (l *logger) IsTrace() bool { return false }
func (l *logger) IsDebug() bool { return l.enabled(hclog.Debug) }
func (l *logger) IsInfo() bool  { return l.enabled(hclog.Info) }
func (l *logger) IsWarn() bool  { return l.enabled(hclog.Warn) }
func (l *logger) IsError() bool { return l.enabled(hclog.Error) }

func (l *logger) ImpliedArgs() []any { return l.with }
func (l *logger) Name() string       { return l.name }

func (l *logger) With(args ...any) hclog.Logger {
	return &logger{to: l.to.With(args...), name: l.name, with: append(l.with[:len(l.with):len(l.with)], args...)}
}

func (l *logger) Named(name string) hclog.Logger {
	return &logger{to: l.to, name: l.name + "." + name, with: l.with}
}

func (l *logger) ResetNamed(name string) hclog.Logger {
	return &logger{to: l.to, name: name, with: l.with}
}

func (l *logger) SetLevel(hclog.Level)  {}
func (l *logger) GetLevel() hclog.Level { return hclog.Debug }

func (l *logger) StandardLogger(*hclog.StandardLoggerOptions) *log.Logger {
	return slog.NewLogLogger(l.to.Handler(), slog.LevelInfo)
}

func (l *logger) StandardWriter(*hclog.StandardLoggerOptions) io.Writer {
	return l.StandardLogger(nil).Writer()
}
