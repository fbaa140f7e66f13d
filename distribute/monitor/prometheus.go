package monitor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/gokeras/gokeras/internal/ports"
)

// ContentType is that of the text format for metrics, version 0.0.4.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// AppendText appends the metrics in Prometheus's text format.
func (m *Monitor) AppendText(b []byte) ([]byte, error) {
	m.mu.Lock()
	steps, total, last, source := m.steps, m.total, m.last, m.source
	m.mu.Unlock()
	var t Traffic
	if source != nil {
		t = source.Traffic()
	} else {
		t.Size = 1
	}
	w := bytes.NewBuffer(b)
	task := escape(m.options.Task)
	family := func(name, kind, help string, samples ...any) { // pairs of phase, "" for none, and value
		fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
		for i := 0; i < len(samples); i += 2 {
			labels := fmt.Sprintf(`task="%s"`, task)
			if phase := samples[i].(string); phase != "" {
				labels += fmt.Sprintf(`,phase="%s"`, phase)
			}
			fmt.Fprintf(w, "%s{%s} %v\n", name, labels, samples[i+1])
		}
	}
	phases := func(p Phases) []any {
		return []any{"input", p.Input.Seconds(), "compute", p.Compute.Seconds(), "communication", p.Communication.Seconds(), "waiting", p.Waiting.Seconds()}
	}
	family("gokeras_steps_total", "counter", "Training steps done.", "", steps)
	family("gokeras_step_seconds_total", "counter", "Seconds of all training steps, by phase.", phases(total)...)
	family("gokeras_last_step_seconds", "gauge", "Seconds of the last training step, by phase.", phases(last)...)
	family("gokeras_sent_bytes_total", "counter", "Bytes written to sockets between workers.", "", t.Sent)
	family("gokeras_received_bytes_total", "counter", "Bytes read from sockets between workers.", "", t.Received)
	family("gokeras_group_generation", "gauge", "Number of the group of workers; it grows whenever a group forms.", "", t.Generation)
	family("gokeras_group_size", "gauge", "Workers in the group.", "", t.Size)
	family("gokeras_lost_workers_total", "counter", "Workers that groups of this worker lost.", "", t.Lost)
	family("gokeras_regroups_total", "counter", "Groups that formed after the first.", "", max(t.Groups-1, 0))
	family("gokeras_restarts_total", "counter", "How often this worker was started again.", "", m.options.Restarts)
	return w.Bytes(), nil
}

var escaped = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// escape escapes a label's value.
func escape(text string) string { return escaped.Replace(text) }

// ServeHTTP answers GET and HEAD with the metrics, at every path.
func (m *Monitor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "only GET", http.StatusMethodNotAllowed)
		return
	}
	text, err := m.AppendText(nil)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", ContentType)
	_, _ = w.Write(text) // whoever asked may be gone
}

// Server serves metrics until it is closed.
type Server struct {
	server   *http.Server
	listener net.Listener
	done     chan error
}

// Serve starts to serve metrics at address, HOST:PORT. Without a host it listens on the loopback interface; "" means
// any free port there, see [Server.Address].
func (m *Monitor) Serve(address string) (*Server, error) { return Serve(address, m) }

// Serve is [Monitor.Serve] for other metrics, such as those of a parameter server.
func Serve(address string, metrics http.Handler) (*Server, error) {
	if address == "" {
		address = ":0"
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("monitor: received the address %q, expected HOST:PORT or :PORT: %w", address, err)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	l, err := ports.Listen(context.Background(), net.JoinHostPort(host, port), time.Second) // a predecessor may be about to end
	if err != nil {
		return nil, fmt.Errorf("monitor: cannot listen on %s: %w", address, err)
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", metrics)
	s := &Server{listener: l, done: make(chan error, 1), server: &http.Server{
		Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
	}}
	go func() { s.done <- s.server.Serve(patient{l}) }()
	return s, nil
}

// Address is where the server listens, HOST:PORT. Metrics are at http://HOST:PORT/metrics.
func (s *Server) Address() string { return s.listener.Addr().String() }

// Close stops the server, closes its connections, and waits until both have ended.
func (s *Server) Close() error {
	err := s.server.Close()
	if served := <-s.done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	s.done <- http.ErrServerClosed // for another Close
	return err
}
