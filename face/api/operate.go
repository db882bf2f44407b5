package api

import (
	"context"
	"log/slog"
	"runtime"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/emptypb"

	"drover/noun/fault"
	"drover/noun/when"
	"drover/wire/droverv1"
)

// ServerStatus says how the answering server fares.
func (a *adminService) ServerStatus(context.Context, *connect.Request[emptypb.Empty]) (*connect.Response[droverv1.ServerStatusResponse], error) {
	view, l := a.cfg.Store.View(), a.cfg.Store.Leadership()
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	out := &droverv1.ServerStatusResponse{
		Server: a.cfg.Name, Address: a.cfg.Address, Leader: l.Leader, LeaderAddress: l.Address, Leading: l.Leading, Ready: a.working(),
		Epoch: l.Epoch, Revision: uint64(view.Revision()), Version: a.cfg.Version, Storage: a.cfg.Storage, LogLevel: a.level(),
		Started: int64(when.Of(a.begun)), Now: int64(a.now()), Agents: int32(a.hub.Lines()),
		HeapBytes: mem.HeapAlloc, Goroutines: int32(runtime.NumGoroutine()),
	}
	if !a.cfg.Expires.IsZero() {
		out.CertificateExpires = int64(when.Of(a.cfg.Expires))
	}
	for range view.Quarantined() {
		out.Quarantined++
	}
	return connect.NewResponse(out), nil
}

func (s *Server) level() string {
	if s.cfg.Level == nil {
		return ""
	}
	return levelWords[s.cfg.Level.Level()]
}

var levels = map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}

var levelWords = map[slog.Level]string{slog.LevelDebug: "debug", slog.LevelInfo: "info", slog.LevelWarn: "warn", slog.LevelError: "error"}

// SetLogLevel changes what the answering server writes into its log, until it
// restarts.
func (a *adminService) SetLogLevel(ctx context.Context, req *connect.Request[droverv1.SetLogLevelRequest]) (*connect.Response[droverv1.SetLogLevelResponse], error) {
	level, ok := levels[req.Msg.GetLevel()]
	if !ok {
		return nil, fault.New(fault.Invalid, "there is no log level %.20q", req.Msg.GetLevel()).Why("it is debug, info, warn or error")
	}
	if a.cfg.Level == nil {
		return nil, fault.New(fault.Conflict, "the log level of this server cannot be changed")
	}
	was := a.level()
	a.cfg.Log.Warn("the log level changes", "from", was, "to", req.Msg.GetLevel(), "by", callerOf(ctx).String())
	a.cfg.Level.Set(level)
	return connect.NewResponse(&droverv1.SetLogLevelResponse{Was: was}), nil
}
