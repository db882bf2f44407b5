package convert

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"drover/noun/entity"
	"drover/noun/fault"
	"drover/noun/work"
	"drover/wire/droverv1"
)

func action(depth int) *rapid.Generator[work.Action] {
	text := rapid.StringMatching(`[a-z/ ]{0,8}`)
	run := rapid.Custom(func(t *rapid.T) work.Action {
		return work.Action{Run: &work.RunAction{Path: text.Draw(t, "path"), Dir: text.Draw(t, "dir"), User: text.Draw(t, "user"),
			Env: []work.EnvVar{{Name: "A", Value: text.Draw(t, "env")}}}}
	})
	if depth == 0 {
		return run
	}
	return rapid.Custom(func(t *rapid.T) work.Action {
		inner := func() work.Action { return action(depth-1).Draw(t, "inner") }
		two := func() *work.ListAction { return &work.ListAction{Actions: []work.Action{inner(), inner()}} }
		switch rapid.IntRange(0, 10).Draw(t, "kind") {
		case 0:
			return work.Action{Download: &work.DownloadAction{From: "a", To: "b", CacheKey: "c", Checksum: "d"}}
		case 1:
			return work.Action{Upload: &work.UploadAction{From: "a", To: "b"}}
		case 2:
			return work.Action{Serial: two()}
		case 3:
			return work.Action{Parallel: two()}
		case 4:
			return work.Action{Codependent: two()}
		case 5:
			a := inner()
			return work.Action{Try: &a}
		case 6:
			return work.Action{Timeout: &work.TimeoutAction{Action: inner(), MS: 7}}
		case 7:
			return work.Action{EmitProgress: &work.ProgressAction{Action: inner(), Start: "s", Success: "u", Failure: "f"}}
		case 8:
			return work.Action{TCPCheck: &work.TCPCheckAction{Port: 80}}
		case 9:
			return work.Action{HTTPCheck: &work.HTTPCheckAction{Port: 80, Path: "/"}}
		default:
			return run.Draw(t, "run")
		}
	})
}

func spec(t *rapid.T) work.Spec {
	a := action(2)
	setup := a.Draw(t, "setup")
	return work.Spec{
		RootFS: "process:", Stack: "linux", MemoryMB: 1, DiskMB: 2, MaxPids: 3, CPUWeight: 4, Action: a.Draw(t, "action"),
		Env: []work.EnvVar{{Name: "x", Value: "y"}}, PlacementTags: []string{"t"}, VolumeDrivers: []string{"v"}, LogSource: "l",
		MetricTags: []work.EnvVar{{Name: "m", Value: "n"}}, StartTimeoutMS: 5, Setup: &setup, Monitor: &setup, Ports: []int{80, 81},
		Sidecars: []work.Sidecar{{Action: a.Draw(t, "side"), MemoryMB: 6, DiskMB: 7}},
	}
}

// travel sends the message through its encoding.
func travel[M proto.Message](t *rapid.T, m M) M {
	data, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	back := m.ProtoReflect().New().Interface()
	if err := proto.Unmarshal(data, back); err != nil {
		t.Fatal(err)
	}
	return back.(M)
}

func TestNounsSurviveTheWire(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := work.DesiredLRP{ProcessGUID: "web", Incarnation: "i", Domain: "d", Instances: 3, Spec: spec(t),
			Routes: []work.Route{{Router: "r", Data: []byte("x")}}, Annotation: "a", ModTag: work.ModTag{Epoch: "e", Index: 9}, Created: 5}
		if diff := cmp.Diff(d, DesiredFromWire(travel(t, DesiredToWire(d)))); diff != "" {
			t.Errorf("desired LRP (-sent +got):\n%s", diff)
		}
		a := work.ActualLRP{LRPKey: work.LRPKey{ProcessGUID: "web", Index: 2}, Evacuating: rapid.Bool().Draw(t, "e"), Domain: "d",
			State:       work.LRPState(rapid.IntRange(1, 4).Draw(t, "state")),
			Holder:      work.Holder{Instance: work.InstanceGUID(rapid.SampledFrom([]string{"", "i"}).Draw(t, "i"))},
			Incarnation: "n", CrashCount: 2, CrashReason: "boom", Since: 7, PlacementError: "full",
			Net: work.NetInfo{Address: "127.0.0.1", InstanceAddress: "10.0.0.1", Ports: []work.PortMapping{{Container: 80, Host: 6000}}}, ModTag: work.ModTag{Epoch: "e", Index: 1},
			Expires: 8, Routable: true, Stopping: true}
		if diff := cmp.Diff(a, ActualFromWire(travel(t, ActualToWire(a, 4)))); diff != "" {
			t.Errorf("actual LRP (-sent +got):\n%s", diff)
		}
		k := work.Task{GUID: "t", Incarnation: "i", Domain: "d", State: work.TaskState(rapid.IntRange(1, 4).Draw(t, "task state")), Cell: "c0",
			Spec: spec(t), ResultFile: "/r", Failed: true, FailureReason: "no", Result: "42", Callback: "http://x", Annotation: "a",
			Created: 1, Updated: 2, FirstCompleted: 3, PlacementError: "p"}
		if diff := cmp.Diff(k, TaskFromWire(travel(t, TaskToWire(k, 4)))); diff != "" {
			t.Errorf("task (-sent +got):\n%s", diff)
		}
		f := &entity.HookFailure{Hook: "start", Exit: -1, Reason: "killed", Tries: 2, Since: 3, NextRetry: 4, LastOutput: "o", RelationID: 7, Remote: "a/0"}
		if diff := cmp.Diff(f, FailureFromWire(travel(t, FailureToWire(f)))); diff != "" {
			t.Errorf("hook failure (-sent +got):\n%s", diff)
		}
	})
}

func TestActionsDoNotNestWithoutBound(t *testing.T) {
	deep := &droverv1.Action{Kind: &droverv1.Action_Run{Run: &droverv1.RunAction{Path: "x"}}}
	for range 1000 {
		deep = &droverv1.Action{Kind: &droverv1.Action_Try{Try: deep}}
	}
	a, depth := ActionFromWire(deep), 0
	for a.Try != nil {
		a = *a.Try
		depth++
	}
	if depth != MaxActionDepth || a.Run != nil {
		t.Errorf("%d levels came through, want %d and nothing below", depth, MaxActionDepth)
	}
}

func TestFaultsSurviveTheWire(t *testing.T) {
	for kind := fault.Internal; kind.String() != "unknown"; kind++ {
		if codes[kind] == 0 {
			t.Errorf("kind %v has no code on the wire", kind)
		}
		sent := fault.New(kind, "cannot add a unit").Why("the application is dying").Try("drover why mysql").Coded("DRV-E0142")
		ce := ConnectError(fmt.Errorf("handler: %w", sent))
		got, ok := FromConnect(fmt.Errorf("call: %w", ce))
		if !ok || got.Kind != kind || got.Code != sent.Code || got.What != sent.What || got.Because != sent.Because || !cmp.Equal(got.Next, sent.Next) {
			t.Errorf("kind %v came back as %+v (ok %v)", kind, got, ok)
		}
	}
}

func TestUnexpectedErrorsSayNothingOutside(t *testing.T) {
	ce := ConnectError(errors.New("open /secret/path: permission denied"))
	f, ok := FromConnect(ce)
	if !ok || f.Kind != fault.Internal || ce.Code() != connect.CodeInternal {
		t.Errorf("got %v (%v)", f, ce.Code())
	}
	for _, text := range []string{ce.Error(), f.Error()} {
		if strings.Contains(text, "secret") {
			t.Errorf("the error says %q", text)
		}
	}
	if _, ok := FromConnect(connect.NewError(connect.CodeUnavailable, errors.New("x"))); ok {
		t.Error("an error without a Fault is taken for one with")
	}
}
