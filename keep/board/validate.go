package board

import (
	"net/url"
	"unicode"

	"drover/noun/fault"
	"drover/noun/work"
)

// The bounds of what clients ask for.
const (
	MaxInstances  = 100_000
	MaxAnnotation = 10 << 10
	MaxOpaque     = 256 << 10
	MaxRoutes     = 64 << 10
	MaxCallback   = 2 << 10
	maxActions    = 256
	maxDepth      = 16
	maxSpecText   = 256 << 10
	maxPorts      = 64
	maxResource   = 1 << 40
)

// ValidateLRP reports what is wrong with a desired LRP; kind Invalid.
func ValidateLRP(d *work.DesiredLRP) error {
	if err := work.ValidateGUID("process guid", string(d.ProcessGUID)); err != nil {
		return err
	}
	if err := validateCommon("LRP "+string(d.ProcessGUID), d.Domain, d.Annotation, d.Opaque, &d.Spec); err != nil {
		return err
	}
	if d.Instances < 0 || d.Instances > MaxInstances {
		return invalid("LRP %s", d.ProcessGUID).Why("%d instances: it must be 0 to %d", d.Instances, MaxInstances)
	}
	size := 0
	for _, r := range d.Routes {
		size += len(r.Router) + len(r.Data)
	}
	if size > MaxRoutes {
		return invalid("LRP %s", d.ProcessGUID).Why("its routes have %d bytes, at most %d are allowed", size, MaxRoutes)
	}
	return nil
}

// ValidateTask reports what is wrong with a desired task; kind Invalid.
func ValidateTask(t *work.Task) error {
	if err := work.ValidateGUID("task guid", string(t.GUID)); err != nil {
		return err
	}
	what := "task " + string(t.GUID)
	if err := validateCallback(what, t.Callback); err != nil {
		return err
	}
	if len(t.ResultFile) > 4096 {
		return invalid("%s", what).Why("its result file's name is too long")
	}
	return validateCommon(what, t.Domain, t.Annotation, t.Opaque, &t.Spec)
}

// validateCallback reports whether a completed task can be sent to the URL.
func validateCallback(what, callback string) error {
	if callback == "" {
		return nil
	}
	if len(callback) > MaxCallback {
		return invalid("%s", what).Why("its callback has %d bytes, at most %d are allowed", len(callback), MaxCallback)
	}
	u, err := url.Parse(callback)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return invalid("%s", what).Why("its callback is not an http or https URL with a host").
			Try("drover task run GUID --callback http://HOST:PORT/PATH -- COMMAND")
	}
	return nil
}

// ValidateDomain reports whether the text may name a domain.
func ValidateDomain(d work.Domain) error {
	bad := d == "" || len(d) > work.MaxGUID
	for _, r := range d {
		bad = bad || r == unicode.ReplacementChar || !unicode.IsGraphic(r) || unicode.IsSpace(r)
	}
	if bad {
		return invalid("%q is not a valid domain", d).Why("it must be 1 to %d printable bytes without spaces", work.MaxGUID)
	}
	return nil
}

func validateCommon(what string, d work.Domain, annotation string, opaque []byte, s *work.Spec) error {
	if err := ValidateDomain(d); err != nil {
		return err
	}
	if len(annotation) > MaxAnnotation {
		return invalid("%s", what).Why("its annotation has %d bytes, at most %d are allowed", len(annotation), MaxAnnotation)
	}
	if len(opaque) > MaxOpaque {
		return invalid("%s", what).Why("it carries %d bytes, at most %d are allowed", len(opaque), MaxOpaque)
	}
	return validateSpec(what, s)
}

func validateSpec(what string, s *work.Spec) error {
	amounts := []struct {
		name  string
		value int64
	}{
		{"memory", s.MemoryMB}, {"disk", s.DiskMB}, {"max pids", s.MaxPids},
		{"cpu weight", s.CPUWeight}, {"start timeout", s.StartTimeoutMS},
	}
	for _, c := range s.Sidecars {
		amounts = append(amounts,
			struct {
				name  string
				value int64
			}{"a sidecar's memory", c.MemoryMB},
			struct {
				name  string
				value int64
			}{"a sidecar's disk", c.DiskMB})
	}
	for _, a := range amounts {
		if a.value < 0 || a.value > maxResource {
			return invalid("%s", what).Why("%s is %d: it must be 0 to %d", a.name, a.value, int64(maxResource))
		}
	}
	if len(s.Ports) > maxPorts {
		return invalid("%s", what).Why("it has %d ports, at most %d are allowed", len(s.Ports), maxPorts)
	}
	for _, p := range s.Ports {
		if p < 1 || p > 65535 {
			return invalid("%s", what).Why("port %d: it must be 1 to 65535", p)
		}
	}
	return validateActions(what, s)
}

func validateActions(what string, s *work.Spec) error {
	w := walker{}
	w.visit(&s.Action, 1)
	for _, a := range []*work.Action{s.Setup, s.Monitor} {
		if a != nil {
			w.visit(a, 1)
		}
	}
	for i := range s.Sidecars {
		w.visit(&s.Sidecars[i].Action, 1)
	}
	w.env(s.Env)
	w.env(s.MetricTags)
	w.words(append(s.PlacementTags, s.VolumeDrivers...))
	w.words([]string{s.RootFS, s.Stack, s.LogSource})
	if w.bytes > maxSpecText && w.wrong == "" {
		w.wrong = "its texts are too long"
	}
	if w.wrong != "" {
		return invalid("%s", what).Why("%s", w.wrong)
	}
	return nil
}

func invalid(format string, args ...any) *fault.Error {
	return fault.New(fault.Invalid, format, args...)
}
