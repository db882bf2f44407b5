package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"drover/internal/charmdir"
	"drover/noun/fault"
	"drover/wire/convert"
	"drover/wire/droverv1"
	"drover/wire/droverv1/droverv1connect"

	"connectrpc.com/connect"
	"github.com/rogpeppe/go-internal/testscript"
	"google.golang.org/protobuf/types/known/emptypb"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"drover": func() { os.Exit(playDrover()) }})
}

// playDrover is the command line over a fake server, if FAKE names one.
func playDrover() int {
	a := New(Programs{
		Version: "v0.0.0-test",
		Demo: fstest.MapFS{
			"bundle.yaml":         {Data: []byte("applications:\n  hello:\n    charm: ./hello\n")},
			"hello/metadata.yaml": {Data: []byte("name: hello\nsummary: says hello\n")},
			"hello/hooks/install": {Data: []byte("#!/bin/sh\n")},
		},
	})
	if fake := os.Getenv("FAKE"); fake != "" {
		a.Dial = func(string) (*services, error) { return fakeServices(fake), nil }
	}
	return a.Run(context.Background(), os.Args[1:])
}

func fakeServices(url string) *services {
	explain := connect.WithInterceptors(connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
			resp, err := next(ctx, req)
			if f, ok := convert.FromConnect(err); err != nil && ok {
				return nil, f
			}
			return resp, err
		}
	}))
	return &services{
		Model:  droverv1connect.NewModelServiceClient(http.DefaultClient, url, explain),
		Work:   droverv1connect.NewWorkServiceClient(http.DefaultClient, url, explain),
		Server: droverv1connect.NewServerServiceClient(http.DefaultClient, url, explain),
		Close:  func() {},
	}
}

// fake is a cluster with one application, one LRP and one task. It takes every
// change, and its log says which calls changed something.
type fake struct {
	droverv1connect.UnimplementedModelServiceHandler
	droverv1connect.UnimplementedWorkServiceHandler
	droverv1connect.UnimplementedServerServiceHandler
	log io.Writer
}

func (f *fake) note(what string) { _, _ = io.WriteString(f.log, what+"\n") }

func (f *fake) Status(_ context.Context, req *connect.Request[droverv1.StatusRequest]) (*connect.Response[droverv1.StatusResponse], error) {
	if req.Msg.Model == "nowhere" {
		return nil, convert.ConnectError(fault.New(fault.NotFound, "there is no model %q", "nowhere"))
	}
	const now, minute = int64(1_000_000_000_000_000), int64(60_000_000_000)
	return connect.NewResponse(&droverv1.StatusResponse{
		Schema: "drover.status/v1", Cluster: "test", Leader: "s1", Epoch: 3, Revision: 42, Model: "default", Now: now, Problems: 1,
		Applications: []*droverv1.Application{{Name: "blog", Life: "alive", Charm: "wordpress", Units: 2, ActiveUnits: 1, Status: &droverv1.StatusValue{Value: "error"}}},
		Units: []*droverv1.Unit{
			{Name: "blog/10", Application: "blog", Machine: "2", Life: "dying", Workload: &droverv1.StatusValue{Value: "error", Since: now - 4*minute},
				Agent:   &droverv1.StatusValue{Value: "failed"},
				Failure: &droverv1.HookFailure{Hook: "db-relation-departed", Exit: 3, Reason: "exit status 3", LastOutput: "ERROR 2002: no server\n"}},
			{Name: "blog/2", Application: "blog", Machine: "1", Life: "alive", Leader: true, Address: "127.1.0.2", Ports: []*droverv1.Port{{From: 80, To: 80, Protocol: "tcp"}},
				Workload: &droverv1.StatusValue{Value: "active", Since: now - 180*minute}, Agent: &droverv1.StatusValue{Value: "idle"}},
			{Name: "agent/0", Application: "agent", Principal: "blog/2", Life: "alive", Workload: &droverv1.StatusValue{Value: "active"}, Agent: &droverv1.StatusValue{Value: "idle"}},
		},
		Lrps: []*droverv1.LRPStatus{{ProcessGuid: "web", Instances: 3, Indexes: []*droverv1.LRPIndexStatus{
			{Index: 0, State: "RUNNING", Cell: "c0", Since: now - minute}, {Index: 1, State: "RUNNING", Cell: "c1", Since: now - minute},
			{Index: 2, State: "UNCLAIMED", Since: now - minute, Note: "insufficient memory", Impediments: []*droverv1.Impediment{{Blocks: "placement", Kind: "insufficient", Detail: "insufficient memory on 2 of 2 cells"}}},
		}}},
		Tasks: []*droverv1.TaskStatus{{Guid: "hello", State: "COMPLETED", Cell: "c0", Since: now - minute}},
	}), nil
}

func (f *fake) Names(_ context.Context, req *connect.Request[droverv1.NamesRequest]) (*connect.Response[droverv1.NamesResponse], error) {
	names := map[string][]string{"application": {"blog"}, "unit": {"blog/2", "blog/10"}, "lrp": {"web"}, "task": {"hello"}}
	return connect.NewResponse(&droverv1.NamesResponse{Names: names[req.Msg.Kind]}), nil
}

func (f *fake) Integrate(_ context.Context, req *connect.Request[droverv1.IntegrateRequest]) (*connect.Response[droverv1.Relation], error) {
	if req.Msg.A != "blog" {
		return nil, convert.ConnectError(fault.New(fault.NotFound, "there is no application %q", req.Msg.A).Try("drover status"))
	}
	f.note("integrate " + req.Msg.A + " " + req.Msg.B)
	return connect.NewResponse(&droverv1.Relation{Endpoints: []*droverv1.Endpoint{{Application: "blog", Name: "db"}, {Application: "mysql", Name: "server"}}}), nil
}

func (f *fake) RemoveApplication(_ context.Context, req *connect.Request[droverv1.RemoveRequest]) (*connect.Response[droverv1.RemoveResponse], error) {
	if !req.Msg.DryRun {
		f.note("remove " + req.Msg.Name)
	}
	return connect.NewResponse(&droverv1.RemoveResponse{Changed: true, Plan: []string{"application blog becomes dying", "2 units"}}), nil
}

func (f *fake) UploadCharm(_ context.Context, s *connect.ClientStream[droverv1.UploadCharmRequest]) (*connect.Response[droverv1.CharmInfo], error) {
	var b bytes.Buffer
	for s.Receive() {
		b.Write(s.Msg().Chunk)
	}
	ch, err := charmdir.Read(b.Bytes())
	if err != nil {
		return nil, convert.ConnectError(err)
	}
	f.note("upload " + ch.Meta.Name)
	return connect.NewResponse(&droverv1.CharmInfo{Sha: string(ch.SHA), Name: ch.Meta.Name}), nil
}

func (f *fake) Deploy(_ context.Context, req *connect.Request[droverv1.DeployRequest]) (*connect.Response[droverv1.DeployResponse], error) {
	name := req.Msg.Application
	if name == "" {
		name = "hello"
	}
	f.note("deploy " + name + " " + req.Msg.Config["title"])
	return connect.NewResponse(&droverv1.DeployResponse{Application: name, Units: []string{name + "/0"}}), nil
}

func (f *fake) DesireLRP(_ context.Context, req *connect.Request[droverv1.DesireLRPRequest]) (*connect.Response[droverv1.DesiredLRP], error) {
	f.note("desire " + req.Msg.Lrp.ProcessGuid + " " + req.Msg.Lrp.Spec.GetAction().GetRun().GetPath())
	return connect.NewResponse(req.Msg.Lrp), nil
}

func (f *fake) Why(context.Context, *connect.Request[droverv1.WhyRequest]) (*connect.Response[droverv1.WhyResponse], error) {
	return connect.NewResponse(&droverv1.WhyResponse{
		Summary: "mysql (application) is dying since 4m12s and cannot be removed yet.",
		Impediments: []*droverv1.Impediment{{Detail: "unit mysql/0 still exists", Children: []*droverv1.Impediment{
			{Detail: "hook db-relation-departed failed (exit 3)\nlast output: ERROR", NextSteps: []string{"drover resolve mysql/0"}},
		}}},
	}), nil
}

func (f *fake) Watch(ctx context.Context, _ *connect.Request[droverv1.WatchRequest], s *connect.ServerStream[droverv1.Event]) error {
	if err := s.Send(&droverv1.Event{Revision: 7, Kind: "unit_changed", Key: "blog/2", Summary: "blog/2 is active", Json: []byte(`{"Name":"blog/2"}`), Last: true}); err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

func (f *fake) Info(context.Context, *connect.Request[emptypb.Empty]) (*connect.Response[droverv1.ServerInfo], error) {
	return connect.NewResponse(&droverv1.ServerInfo{Version: "v0.0.0-server"}), nil
}

func startFake(t testscript.T, log io.Writer) *httptest.Server {
	f := &fake{log: log}
	mux := http.NewServeMux()
	mux.Handle(droverv1connect.NewModelServiceHandler(f))
	mux.Handle(droverv1connect.NewWorkServiceHandler(f))
	mux.Handle(droverv1connect.NewServerServiceHandler(f))
	return httptest.NewServer(mux)
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata", RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			log, err := os.Create(env.WorkDir + "/calls")
			if err != nil {
				return err
			}
			srv := startFake(env.T(), log)
			env.Defer(func() { srv.CloseClientConnections(); srv.Close(); _ = log.Close() })
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			env.Defer(func() { _ = ln.Close() })
			env.Vars = append(env.Vars, "FAKE="+srv.URL, "HOME="+env.WorkDir, "TAKEN="+ln.Addr().String(),
				"DROVER_DATA="+env.WorkDir+"/data", "DROVER_CONFIG="+env.WorkDir+"/conf")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
	})
}

// exits N COMMAND…: the command must end with the exit code N.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ProcessState.String()
		got = strings.TrimPrefix(got, "exit status ")
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != args[0] {
		ts.Fatalf("%s ended with %s, want %s", strings.Join(args[1:], " "), got, args[0])
	}
}

func TestEveryReadCommandHasTheSameFormats(t *testing.T) {
	root := New(Programs{}).root()
	for _, path := range [][]string{{"status"}, {"why"}, {"config"}, {"cells"}, {"events"}, {"version"}, {"explain"}, {"lrp", "list"}, {"lrp", "show"}, {"task", "list"}} {
		cmd, _, err := root.Find(path)
		if err != nil {
			t.Fatal(err)
		}
		f := cmd.Flags().Lookup("format")
		if f == nil {
			t.Fatalf("%s has no formats", strings.Join(path, " "))
		}
		has := strings.Split(f.Annotations[formatsKey][0], ",")
		for _, want := range []string{"table", "json", "yaml", "name"} {
			if !slices.Contains(has, want) {
				t.Errorf("%s has not the format %s", strings.Join(path, " "), want)
			}
		}
	}
}
