package monitor_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/monitor"
)

// script is a clock and a group that do as the test says.
type script struct {
	now     time.Time
	traffic monitor.Traffic
}

func (s *script) Traffic() monitor.Traffic { return s.traffic }

// pass lets time go by, of which some is spent in collectives.
func (s *script) pass(total, collectives, waiting int) {
	s.now = s.now.Add(time.Duration(total) * time.Millisecond)
	s.traffic.Time += time.Duration(collectives) * time.Millisecond
	s.traffic.Waiting += time.Duration(waiting) * time.Millisecond
}

func scripted(task string) (*script, *monitor.Monitor) {
	s := &script{now: time.Unix(1000, 0)}
	m := monitor.New(monitor.Options{Task: task, Restarts: 2, Now: func() time.Time { return s.now }})
	s.pass(500, 400, 300) // before the monitor watches
	m.Watch(s)
	return s, m
}

func TestPhases(t *testing.T) {
	s, m := scripted("worker:1")
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	m.End(1) // there was no Begin
	m.Start()
	s.pass(10, 0, 0)
	m.Begin()
	s.pass(100, 40, 30)
	m.End(1)
	count, total := m.Steps()
	require.Equal(t, int64(1), count)
	require.Equal(t, monitor.Phases{Input: ms(10), Compute: ms(60), Communication: ms(10), Waiting: ms(30)}, total)
	s.pass(20, 8, 5) // between steps, as to agree whether to stop
	m.Begin()
	s.pass(200, 0, 0)
	m.End(4)
	count, total = m.Steps()
	require.Equal(t, int64(5), count)
	require.Equal(t, monitor.Phases{Input: ms(22), Compute: ms(260), Communication: ms(13), Waiting: ms(35)}, total)
	require.Equal(t, ms(330), total.Total())
	s.pass(1000, 0, 0) // an evaluation
	m.Start()
	m.Begin()
	s.pass(1, 5, 5) // clocks that disagree give no negative time
	m.End(1)
	_, total = m.Steps()
	require.Equal(t, ms(22+260), total.Input+total.Compute)
}

// parse reads Prometheus's text format strictly: for each family HELP, TYPE and samples, with no name twice.
func parse(t *testing.T, text string) map[string]float64 {
	t.Helper()
	sample := regexp.MustCompile(`^([a-z_]+)\{((?:[a-z]+="(?:[^"\\]|\\.)*",?)*)\} (\S+)$`)
	kinds, values, current := map[string]string{}, map[string]float64{}, ""
	require.True(t, strings.HasSuffix(text, "\n"))
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		line := lines.Text()
		words := strings.SplitN(line, " ", 4)
		switch {
		case strings.HasPrefix(line, "# HELP "):
			require.Len(t, words, 4)
			current = words[2]
			require.NotContains(t, kinds, current)
			kinds[current] = ""
		case strings.HasPrefix(line, "# TYPE "):
			require.Equal(t, current, words[2])
			require.Contains(t, []string{"counter", "gauge"}, words[3])
			require.Equal(t, words[3] == "counter", strings.HasSuffix(current, "_total"), line)
			kinds[current] = words[3]
		default:
			match := sample.FindStringSubmatch(line)
			require.NotNil(t, match, line)
			require.Equal(t, current, match[1])
			require.NotEmpty(t, kinds[current])
			v, err := strconv.ParseFloat(match[3], 64)
			require.NoError(t, err)
			key := match[1] + "{" + match[2] + "}"
			require.NotContains(t, values, key)
			values[key] = v
		}
	}
	return values
}

func get(t *testing.T, url string) (int, string, string) {
	t.Helper()
	r, err := http.Get(url)
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Body.Close()) }()
	text, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	return r.StatusCode, r.Header.Get("Content-Type"), string(text)
}

func TestPrometheus(t *testing.T) {
	s, m := scripted("worker:1")
	m.Start()
	s.pass(10, 0, 0)
	m.Begin()
	s.pass(90, 40, 30)
	m.End(2)
	s.traffic.Generation, s.traffic.Size, s.traffic.Sent, s.traffic.Received, s.traffic.Lost, s.traffic.Groups = 7, 3, 1234, 99, 2, 4
	server, err := m.Serve("")
	require.NoError(t, err)
	status, kind, text := get(t, "http://"+server.Address()+"/metrics")
	require.Equal(t, []any{200, monitor.ContentType}, []any{status, kind})
	want := map[string]float64{}
	add := func(name, labels string, v float64) { want[name+`{task="worker:1"`+labels+"}"] = v }
	add("gokeras_steps_total", "", 2)
	for phase, seconds := range map[string]float64{"input": 0.01, "compute": 0.05, "communication": 0.01, "waiting": 0.03} {
		add("gokeras_step_seconds_total", fmt.Sprintf(",phase=%q", phase), seconds)
		add("gokeras_last_step_seconds", fmt.Sprintf(",phase=%q", phase), seconds/2)
	}
	add("gokeras_sent_bytes_total", "", 1234)
	add("gokeras_received_bytes_total", "", 99)
	add("gokeras_group_generation", "", 7)
	add("gokeras_group_size", "", 3)
	add("gokeras_lost_workers_total", "", 2)
	add("gokeras_regroups_total", "", 3)
	add("gokeras_restarts_total", "", 2)
	require.Equal(t, want, parse(t, text))

	status, _, _ = get(t, "http://"+server.Address()+"/other")
	require.Equal(t, 404, status)
	host, _, err := net.SplitHostPort(server.Address())
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1", host)
	_, err = m.Serve(server.Address())
	require.ErrorContains(t, err, "cannot listen on "+server.Address())
	require.NoError(t, server.Close())
	require.NoError(t, server.Close())
	_, err = http.Get("http://" + server.Address() + "/metrics")
	require.Error(t, err)
	for _, bad := range []string{"localhost", "1.2.3.4:x:y", "127.0.0.1:99999"} {
		_, err = m.Serve(bad)
		require.ErrorContains(t, err, bad)
	}
}

// Names cannot break the format, and a worker alone is a group of one.
func TestNames(t *testing.T) {
	m := monitor.New(monitor.Options{Task: "a\"b\\c\nd"})
	r := httptest.NewRecorder()
	m.ServeHTTP(r, httptest.NewRequest(http.MethodGet, "/", nil))
	require.Equal(t, 1.0, parse(t, r.Body.String())[`gokeras_group_size{task="a\"b\\c\nd"}`])
	r = httptest.NewRecorder()
	m.ServeHTTP(r, httptest.NewRequest(http.MethodPost, "/", nil))
	require.Equal(t, http.StatusMethodNotAllowed, r.Code)
}

func ExampleMonitor() {
	m := monitor.New(monitor.Options{Task: "worker:0"}) // Watch a group of workers to have its traffic too
	m.Start()
	for range 3 {
		// ... read a batch ...
		m.Begin()
		// ... train on it ...
		m.End(1)
	}
	text, _ := m.AppendText(nil)
	fmt.Println(strings.Contains(string(text), `gokeras_steps_total{task="worker:0"} 3`))
	// Output: true
}
