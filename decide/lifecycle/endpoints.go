package lifecycle

import (
	"fmt"
	"strings"

	"drover/noun/entity"
	"drover/noun/fault"
)

// Spec is one side of integrate: "app" or "app:endpoint".
type Spec struct {
	App      entity.AppName
	Endpoint string // empty: any
}

// ParseSpec reads "app" or "app:endpoint".
func ParseSpec(text string) (Spec, error) {
	app, endpoint, given := strings.Cut(text, ":")
	s := Spec{App: entity.AppName(app), Endpoint: endpoint}
	if s.App.Validate() != nil || given && endpoint == "" || len(endpoint) > entity.MaxNameLength {
		return Spec{}, fault.New(fault.Invalid, "%q does not name an endpoint", clip(text)).
			Why("write APPLICATION or APPLICATION:ENDPOINT")
	}
	return s, nil
}

func clip(s string) string { return s[:min(len(s), 100)] }

func (s Spec) String() string {
	if s.Endpoint == "" {
		return string(s.App)
	}
	return string(s.App) + ":" + s.Endpoint
}

// InferEndpoints finds the one pair of endpoints that the specs can mean, in
// canonical order. Spec: 000 "Relations"; SEMANTICS 22, 44.
func InferEndpoints(a, b Spec, appA, appB entity.Application) ([]entity.Endpoint, error) {
	if a.App == b.App {
		return nil, fault.New(fault.Invalid, "cannot integrate %q with itself", string(a.App)).
			Why("its peer relations exist as long as it does")
	}
	for _, side := range []struct {
		spec Spec
		app  entity.Application
	}{{a, appA}, {b, appB}} {
		if _, ok := side.app.Endpoint(side.spec.Endpoint); side.spec.Endpoint != "" && !ok {
			return nil, fault.New(fault.NotFound, "application %q has no endpoint %q", string(side.spec.App), side.spec.Endpoint).Coded(fault.CodeNoEndpoints).
				Why("it has %s", list(side.app.Endpoints))
		}
	}
	pairs := explicitFirst(candidates(a, b, appA, appB))
	switch len(pairs) {
	case 1:
		return pairs[0], nil
	case 0:
		return nil, mismatch(a, b, appA, appB)
	}
	return nil, ambiguous(a, b, pairs)
}

func candidates(a, b Spec, appA, appB entity.Application) [][]entity.Endpoint {
	var pairs [][]entity.Endpoint
	for _, ea := range appA.Endpoints {
		for _, eb := range appB.Endpoints {
			if (a.Endpoint == "" || a.Endpoint == ea.Name) && (b.Endpoint == "" || b.Endpoint == eb.Name) && matches(ea, eb, appA, appB) {
				pairs = append(pairs, entity.SortEndpoints([]entity.Endpoint{ea, eb}))
			}
		}
	}
	return pairs
}

// matches: a requirer and a provider of one interface; a container-scoped
// relation needs a subordinate on one side.
func matches(ea, eb entity.Endpoint, appA, appB entity.Application) bool {
	if ea.Role == entity.Peer || ea.Role.Counterpart() != eb.Role || ea.Interface != eb.Interface {
		return false
	}
	container := ea.Scope == entity.ScopeContainer || eb.Scope == entity.ScopeContainer
	return !container || appA.Subordinate || appB.Subordinate
}

// explicitFirst leaves out implicit endpoints while declared ones fit.
func explicitFirst(pairs [][]entity.Endpoint) [][]entity.Endpoint {
	var explicit [][]entity.Endpoint
	for _, p := range pairs {
		if !p[0].Implicit && !p[1].Implicit {
			explicit = append(explicit, p)
		}
	}
	if len(explicit) > 0 {
		return explicit
	}
	return pairs
}

const mostNamed = 10

func ambiguous(a, b Spec, pairs [][]entity.Endpoint) error {
	var names, next []string
	for _, p := range pairs[:min(len(pairs), mostNamed)] {
		names = append(names, fmt.Sprintf("%q", entity.CanonicalName(p)))
		next = append(next, "drover integrate "+entity.CanonicalName(p))
	}
	return fault.New(fault.Invalid, "%q and %q can be integrated in %d ways", a.String(), b.String(), len(pairs)).Coded(fault.CodeManyEndpoints).
		Why("candidates are %s", strings.Join(names, ", ")).
		Try(next[:min(len(next), 3)]...)
}

// mismatch says what each side offers, and which pairs of the two applications
// would match whatever endpoint was named.
func mismatch(a, b Spec, appA, appB entity.Application) error {
	e := fault.New(fault.Invalid, "%q and %q have no endpoints that match", a.String(), b.String()).Coded(fault.CodeNoEndpoints)
	would := explicitFirst(candidates(Spec{App: a.App}, Spec{App: b.App}, appA, appB))
	if len(would) > 0 {
		var next []string
		for _, p := range would[:min(len(would), 3)] {
			next = append(next, "drover integrate "+entity.CanonicalName(p))
		}
		return e.Why("these would match: %q", entity.CanonicalName(would[0])).Try(next...)
	}
	return e.Why("%s has %s; %s has %s", a.App, list(appA.Endpoints), b.App, list(appB.Endpoints)).
		Try("drover status")
}

func list(endpoints []entity.Endpoint) string {
	var out []string
	for _, e := range endpoints {
		if !e.Implicit {
			scope := ""
			if e.Scope == entity.ScopeContainer {
				scope = ", container scope"
			}
			out = append(out, fmt.Sprintf("%s (%s of %s%s)", e, e.Role, e.Interface, scope))
		}
	}
	if len(out) == 0 {
		return "no endpoints but juju-info"
	}
	if len(out) > mostNamed {
		out = append(out[:mostNamed], "…")
	}
	return strings.Join(out, ", ")
}

// MayIntegrate refuses a relation that exists, applications that are not Alive,
// and an endpoint at its limit. existing is the relation of that canonical name,
// if any. Spec: 000 "juju integrate", "Relations".
func MayIntegrate(w World, endpoints []entity.Endpoint, existing *entity.Relation) error {
	name := entity.CanonicalName(endpoints)
	refused := fault.New(fault.Conflict, "cannot integrate %s", name).Coded(fault.CodeLifeForbids)
	if err := modelAlive(w, refused); err != nil {
		return err
	}
	// "New relations can only be added between Alive applications."
	for _, e := range endpoints {
		if app, ok := w.Application(e.App); !ok {
			return NoApplication(e.App)
		} else if app.Life != entity.Alive {
			return refused.Why("application %q is %s", string(e.App), app.Life).Try("drover why " + string(e.App))
		}
	}
	// "a relation cannot be created while an identical relation exists in state"
	if existing != nil && existing.Life == entity.Alive {
		return refused.Why("this relation exists").Try("drover status")
	} else if existing != nil {
		return refused.Why("the relation of this name is still %s", existing.Life).Try("drover why " + name)
	}
	return withinLimits(w, endpoints, refused)
}

func withinLimits(w References, endpoints []entity.Endpoint, refused *fault.Error) error {
	for _, e := range endpoints {
		if e.Limit == 0 {
			continue
		}
		used := 0
		for _, rel := range w.RelationsOf(e.App) {
			if own, _ := rel.Endpoint(e.App); own.Name == e.Name {
				used++
			}
		}
		if used >= e.Limit {
			return refused.Why("endpoint %s takes %d relation(s), and has them", e, e.Limit)
		}
	}
	return nil
}
