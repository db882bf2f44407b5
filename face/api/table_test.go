package api

import (
	"bytes"
	"crypto/tls"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"drover/internal/pki"
	"drover/noun/fault"
	"drover/wire/droverv1"
)

// procedures are all methods of all services, by their path.
func procedures() map[string]protoreflect.MethodDescriptor {
	out := map[string]protoreflect.MethodDescriptor{}
	for _, file := range []protoreflect.FileDescriptor{
		droverv1.File_drover_v1_agent_proto, droverv1.File_drover_v1_model_proto, droverv1.File_drover_v1_server_proto,
		droverv1.File_drover_v1_work_proto, droverv1.File_drover_v1_admin_proto, droverv1.File_drover_v1_fault_proto,
	} {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				m := service.Methods().Get(j)
				out["/"+string(service.FullName())+"/"+string(m.Name())] = m
			}
		}
	}
	return out
}

func TestEveryMethodHasARowAndEveryRowAMethod(t *testing.T) {
	methods := procedures()
	for path, m := range methods {
		g, ok := grants[path]
		if !ok {
			t.Errorf("%s has no row in the authorization table", path)
			continue
		}
		if g.open != (m.Parent().Name() == "JoinService") || g.open == (len(g.roles) > 0) {
			t.Errorf("%s: open %v, roles %v: only JoinService answers without an identity", path, g.open, g.roles)
		}
		if agent := m.Parent().Name() == "AgentService"; agent != (g.own != anything) || agent != slices.Equal(g.roles, machines) {
			t.Errorf("%s: roles %v, own %v: machines call AgentService, for themselves, and nobody else does", path, g.roles, g.own)
		}
		fields := m.Input().Fields()
		if named := fields.ByName("unit") != nil; m.Parent().Name() == "AgentService" && named != (g.own == ownUnit) {
			t.Errorf("%s: its request names a unit: %v, own %v", path, named, g.own)
		}
	}
	for path := range grants {
		if methods[path] == nil {
			t.Errorf("the row %s has no method", path)
		}
	}
}

// call posts an empty request of the method and returns the answer's fault.
func call(t *testing.T, hc *http.Client, addr, path string, m protoreflect.MethodDescriptor) *fault.Error {
	t.Helper()
	kind, body := "application/json", []byte("{}")
	if m.IsStreamingClient() || m.IsStreamingServer() {
		kind, body = "application/connect+json", []byte{0, 0, 0, 0, 2, '{', '}'}
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+addr+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", kind)
	resp, err := hc.Do(req)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	defer resp.Body.Close()
	data, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
	if !bytes.Contains(data, []byte(`"denied"`)) {
		return nil
	}
	return fault.New(fault.Denied, "%s", data)
}

func (l *lab) plain(pair *pki.Pair) *http.Client {
	var cert *tls.Certificate
	if pair != nil {
		c := pair.TLS()
		cert = &c
	}
	tr := &http.Transport{TLSClientConfig: pki.ClientTLS(cert, l.founding.Pair.CA, l.clock.Now, "h2", "http/1.1"), ForceAttemptHTTP2: true}
	l.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// Invariants X1 and X2.
func TestEverybodyCallsOnlyWhatTheTableGrants(t *testing.T) {
	l := newLab(t)
	l.addMachines(1)
	admin, err := l.founding.AdminPair(l.clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	_, machine := l.join("1")
	methods := procedures()
	for _, who := range []struct {
		name string
		pair *pki.Pair
		role pki.Role
	}{{"nobody", nil, ""}, {"a person", admin, pki.RoleUser}, {"a machine", &machine.Pair, pki.RoleMachine}, {"a server", l.founding.Pair, pki.RoleServer}} {
		hc := l.plain(who.pair)
		for _, path := range slices.Sorted(maps.Keys(methods)) {
			g := grants[path]
			granted := g.open || slices.Contains(g.roles, who.role)
			if granted {
				continue // handlers answer, or refuse for reasons of their own
			}
			if f := call(t, hc, l.addr, path, methods[path]); f == nil {
				t.Errorf("%s may call %s", who.name, path)
			}
		}
	}
	if f := call(t, l.plain(admin), l.addr, "/drover.v1.ServerService/Info", methods["/drover.v1.ServerService/Info"]); f != nil {
		t.Errorf("a person may not call Info: %v", f)
	}
}

func TestAMethodWithoutARowIsRefusedToEverybody(t *testing.T) {
	path := "/drover.v1.ModelService/Status"
	saved := grants[path]
	l := newLab(t)
	delete(grants, path)
	defer func() { grants[path] = saved }()
	admin, err := l.founding.AdminPair(l.clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	if f := call(t, l.plain(admin), l.addr, path, procedures()[path]); f == nil {
		t.Error("a method without a row answers")
	} else if !strings.Contains(f.Error(), "may not call") {
		t.Errorf("it says %v", f)
	}
}
