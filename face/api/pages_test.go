package api

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/emptypb"

	"drover/internal/pki"
	"drover/keep/identity"
	"drover/noun/fault"
	"drover/wire/droverv1"
)

func (l *lab) page(pair *pki.Pair, path string) (status int, body string) {
	l.Helper()
	req, err := http.NewRequestWithContext(l.Context(), http.MethodGet, "https://"+l.addr+path, nil)
	if err != nil {
		l.Fatal(err)
	}
	resp, err := l.plain(pair).Do(req)
	if err != nil {
		l.Fatal(err)
	}
	defer resp.Body.Close()
	data, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return resp.StatusCode, string(data)
}

func TestHealthAndReadiness(t *testing.T) {
	l := newLab(t)
	for _, tc := range []struct {
		path  string
		ready bool
		want  int
	}{{"/healthz", false, 200}, {"/readyz", false, 503}, {"/readyz", true, 200}, {"/healthz", true, 200}} {
		l.server.SetReady(tc.ready)
		if got, _ := l.page(nil, tc.path); got != tc.want {
			t.Errorf("%s, ready %v: %d, want %d", tc.path, tc.ready, got, tc.want)
		}
	}
}

func TestPagesAreForThoseWhoMaySeeThem(t *testing.T) {
	l := newLab(t)
	l.addMachines(1)
	admin := l.admin()
	_, viewer := l.addUser(admin, "vera", identity.Viewer)
	_, root := l.addUser(admin, "anna", identity.Admin)
	_, machine := l.join("1")
	for _, tc := range []struct {
		name, path string
		pair       *pki.Pair
		want       int
	}{
		{"metrics without identity", "/metrics", nil, 403},
		{"metrics for a machine", "/metrics", &machine.Pair, 403},
		{"metrics for a viewer", "/metrics", viewer, 200},
		{"a profile without identity", "/debug/pprof/heap", nil, 403},
		{"a profile for a viewer", "/debug/pprof/heap", viewer, 403},
		{"a profile for a machine", "/debug/pprof/heap", &machine.Pair, 403},
		{"a profile for an admin", "/debug/pprof/heap", root, 200},
		{"a profile that never ends", "/debug/pprof/profile?seconds=100000", root, 400},
		{"the command line", "/debug/pprof/cmdline", viewer, 403},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got, body := l.page(tc.pair, tc.path); got != tc.want {
				t.Errorf("%d, want %d: %.200s", got, tc.want, body)
			}
		})
	}
	_, body := l.page(viewer, "/metrics")
	for _, want := range []string{"drover_leading 1\n", "drover_epoch 1\n", `drover_calls_total{kind="ok",method="AddUser"} 2`, "go_goroutines", "drover_revision "} {
		if !strings.Contains(body, want) {
			t.Errorf("/metrics does not tell %q", want)
		}
	}
}

func TestTheServerSaysHowItFaresAndWritesWhatIsAsked(t *testing.T) {
	l := newLab(t)
	admin := l.admin()
	st, err := admin.Admin.ServerStatus(t.Context(), connect.NewRequest(&emptypb.Empty{}))
	if err != nil {
		t.Fatal(err)
	}
	if m := st.Msg; m.Server != "s1" || !m.Leading || m.Revision == 0 || m.HeapBytes == 0 || m.LogLevel != "info" {
		t.Errorf("it says %v", m)
	}
	set := func(level string) error {
		_, err := admin.Admin.SetLogLevel(t.Context(), connect.NewRequest(&droverv1.SetLogLevelRequest{Level: level}))
		return err
	}
	if err := set("debug"); err != nil {
		t.Fatal(err)
	}
	if st, err = admin.Admin.ServerStatus(t.Context(), connect.NewRequest(&emptypb.Empty{})); err != nil || st.Msg.LogLevel != "debug" {
		t.Errorf("after debug it says %v, %v", st, err)
	}
	check(t, set("loud"), fault.Invalid, "debug, info, warn or error")
}
