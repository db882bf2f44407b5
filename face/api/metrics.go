package api

import (
	"context"
	"net/http"
	"path"

	"connectrpc.com/connect"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"drover/noun/fault"
)

// metrics are what /metrics tells. Labels come from the authorization table and
// from kinds of errors only, so that no caller can make more of them.
type metrics struct {
	registry *prometheus.Registry
	calls    *prometheus.CounterVec   // by method and kind of error
	seconds  *prometheus.HistogramVec // of unary calls, by method
	streams  prometheus.Gauge
}

func newMetrics(s *Server) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "drover_calls_total", Help: "Calls answered, by method and kind of error (ok: none).",
		}, []string{"method", "kind"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "drover_call_seconds", Help: "Time to answer calls that are no streams.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"method"}),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{Name: "drover_streams", Help: "Streams under way."}),
	}
	m.registry.MustRegister(m.calls, m.seconds, m.streams, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for name, g := range map[string]struct {
		help string
		read func() float64
	}{ // order-free: each is registered under its own name
		"drover_leading":             {"1 on the server that leads.", func() float64 { return truth(s.cfg.Store.Leadership().Leading) }},
		"drover_ready":               {"1 when the server does its work.", func() float64 { return truth(s.working()) }},
		"drover_epoch":               {"Epoch of the reign; 0 on servers that follow.", func() float64 { return float64(s.cfg.Store.Leadership().Epoch) }},
		"drover_revision":            {"Revision of the state on this server.", func() float64 { return float64(s.cfg.Store.View().Revision()) }},
		"drover_agents":              {"Agents connected to this server.", func() float64 { return float64(s.hub.Lines()) }},
		"drover_certificate_expires": {"When this server's certificate expires, in seconds since 1970.", s.certificateExpires},
	} {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: g.help}, g.read))
	}
	return m
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func (s *Server) certificateExpires() float64 {
	if s.cfg.Expires.IsZero() {
		return 0
	}
	return float64(s.cfg.Expires.Unix())
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// count notes how a call ended.
func (m *metrics) count(procedure string, err error) {
	kind := "ok"
	if err != nil {
		kind = connect.CodeOf(err).String()
	}
	if _, known := grants[procedure]; !known {
		procedure = "unknown"
	}
	m.calls.WithLabelValues(path.Base(procedure), kind).Inc()
}

// measured is an interceptor that counts calls.
type measured struct{ s *Server }

func (i *measured) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		begun := i.s.cfg.Now()
		resp, err := next(ctx, req)
		i.s.metrics.count(req.Spec().Procedure, err)
		i.s.metrics.seconds.WithLabelValues(path.Base(req.Spec().Procedure)).Observe(i.s.cfg.Now().Sub(begun).Seconds())
		return resp, err
	}
}

func (i *measured) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

func (i *measured) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		i.s.metrics.streams.Inc()
		defer i.s.metrics.streams.Dec()
		err := next(ctx, conn)
		if ctx.Err() != nil {
			err = nil // the caller ended it
		}
		i.s.metrics.count(conn.Spec().Procedure, err)
		return err
	}
}

// refusedPage is an answer to a request that is no call.
func refusedPage(w http.ResponseWriter, err error) {
	status := http.StatusForbidden
	if !fault.Is(err, fault.Denied) {
		status = http.StatusServiceUnavailable
	}
	http.Error(w, err.Error(), status)
}
