package convert

import (
	"drover/noun/work"
	"drover/wire/droverv1"
)

// MaxActionDepth bounds how deep actions nest; what is deeper comes out empty
// and fails validation.
const MaxActionDepth = 16

// ActionToWire is the action as a message.
func ActionToWire(a work.Action) *droverv1.Action {
	switch {
	case a.Run != nil:
		r := a.Run
		return &droverv1.Action{Kind: &droverv1.Action_Run{Run: &droverv1.RunAction{
			Path: r.Path, Args: r.Args, Dir: r.Dir, Env: EnvToWire(r.Env), User: r.User}}}
	case a.Download != nil:
		d := a.Download
		return &droverv1.Action{Kind: &droverv1.Action_Download{Download: &droverv1.DownloadAction{
			From: d.From, To: d.To, CacheKey: d.CacheKey, Checksum: d.Checksum}}}
	case a.Upload != nil:
		return &droverv1.Action{Kind: &droverv1.Action_Upload{Upload: &droverv1.UploadAction{From: a.Upload.From, To: a.Upload.To}}}
	case a.Serial != nil:
		return &droverv1.Action{Kind: &droverv1.Action_Serial{Serial: listToWire(a.Serial)}}
	case a.Parallel != nil:
		return &droverv1.Action{Kind: &droverv1.Action_Parallel{Parallel: listToWire(a.Parallel)}}
	case a.Codependent != nil:
		return &droverv1.Action{Kind: &droverv1.Action_Codependent{Codependent: listToWire(a.Codependent)}}
	case a.Try != nil:
		return &droverv1.Action{Kind: &droverv1.Action_Try{Try: ActionToWire(*a.Try)}}
	case a.Timeout != nil:
		return &droverv1.Action{Kind: &droverv1.Action_Timeout{Timeout: &droverv1.TimeoutAction{
			Action: ActionToWire(a.Timeout.Action), Ms: a.Timeout.MS}}}
	case a.EmitProgress != nil:
		p := a.EmitProgress
		return &droverv1.Action{Kind: &droverv1.Action_EmitProgress{EmitProgress: &droverv1.ProgressAction{
			Action: ActionToWire(p.Action), Start: p.Start, Success: p.Success, Failure: p.Failure}}}
	case a.TCPCheck != nil:
		return &droverv1.Action{Kind: &droverv1.Action_TcpCheck{TcpCheck: &droverv1.TCPCheckAction{Port: int32(a.TCPCheck.Port)}}}
	case a.HTTPCheck != nil:
		return &droverv1.Action{Kind: &droverv1.Action_HttpCheck{HttpCheck: &droverv1.HTTPCheckAction{
			Port: int32(a.HTTPCheck.Port), Path: a.HTTPCheck.Path}}}
	default:
		return &droverv1.Action{}
	}
}

func listToWire(l *work.ListAction) *droverv1.ListAction {
	out := &droverv1.ListAction{}
	for _, a := range l.Actions {
		out.Actions = append(out.Actions, ActionToWire(a))
	}
	return out
}

// ActionFromWire is the inverse of ActionToWire.
func ActionFromWire(m *droverv1.Action) work.Action { return actionFromWire(m, MaxActionDepth) }

func actionFromWire(m *droverv1.Action, depth int) work.Action {
	if depth == 0 {
		return work.Action{}
	}
	nested := func(m *droverv1.Action) work.Action { return actionFromWire(m, depth-1) }
	list := func(l *droverv1.ListAction) *work.ListAction {
		out := &work.ListAction{}
		for _, a := range l.GetActions() {
			out.Actions = append(out.Actions, nested(a))
		}
		return out
	}
	switch k := m.GetKind().(type) {
	case *droverv1.Action_Run:
		r := k.Run
		return work.Action{Run: &work.RunAction{Path: r.GetPath(), Args: r.GetArgs(), Dir: r.GetDir(), Env: EnvFromWire(r.GetEnv()), User: r.GetUser()}}
	case *droverv1.Action_Download:
		d := k.Download
		return work.Action{Download: &work.DownloadAction{From: d.GetFrom(), To: d.GetTo(), CacheKey: d.GetCacheKey(), Checksum: d.GetChecksum()}}
	case *droverv1.Action_Upload:
		return work.Action{Upload: &work.UploadAction{From: k.Upload.GetFrom(), To: k.Upload.GetTo()}}
	case *droverv1.Action_Serial:
		return work.Action{Serial: list(k.Serial)}
	case *droverv1.Action_Parallel:
		return work.Action{Parallel: list(k.Parallel)}
	case *droverv1.Action_Codependent:
		return work.Action{Codependent: list(k.Codependent)}
	case *droverv1.Action_Try:
		inner := nested(k.Try)
		return work.Action{Try: &inner}
	case *droverv1.Action_Timeout:
		return work.Action{Timeout: &work.TimeoutAction{Action: nested(k.Timeout.GetAction()), MS: k.Timeout.GetMs()}}
	case *droverv1.Action_EmitProgress:
		p := k.EmitProgress
		return work.Action{EmitProgress: &work.ProgressAction{Action: nested(p.GetAction()), Start: p.GetStart(), Success: p.GetSuccess(), Failure: p.GetFailure()}}
	case *droverv1.Action_TcpCheck:
		return work.Action{TCPCheck: &work.TCPCheckAction{Port: int(k.TcpCheck.GetPort())}}
	case *droverv1.Action_HttpCheck:
		return work.Action{HTTPCheck: &work.HTTPCheckAction{Port: int(k.HttpCheck.GetPort()), Path: k.HttpCheck.GetPath()}}
	default:
		return work.Action{}
	}
}

func optionalToWire(a *work.Action) *droverv1.Action {
	if a == nil {
		return nil
	}
	return ActionToWire(*a)
}

func optionalFromWire(m *droverv1.Action) *work.Action {
	if m == nil {
		return nil
	}
	a := ActionFromWire(m)
	return &a
}
