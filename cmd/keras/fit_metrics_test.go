//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/cluster"
)

// scrape asks for metrics and returns the values by name and labels.
func scrape(url string) (map[string]float64, error) {
	r, err := http.Get(url)
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	out := map[string]float64{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "} ")
		if x, err := strconv.ParseFloat(value, 64); err == nil {
			out[name+"}"] = x
		}
	}
	return out, nil
}

// TestFitMetrics asks two workers for their metrics while they train, and again when one of them was lost and came
// back.
func TestFitMetrics(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes: not with -short")
	}
	dir := smallModel(t)
	r := startFaulty(t, t.Context(), dir, "watched", []string{"-n", "2", "--restarts", "1"}, []string{"--backup", filepath.Join(dir, "backup"), "--epochs", "1000000", "--metrics-addr", ":0"})
	address := regexp.MustCompile(`\[worker (\d)\] metrics at (http://127\.0\.0\.1:\d+/metrics)`)
	urls := map[string]string{}
	until := func(what string, ok func() bool) {
		t.Helper()
		for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
			require.True(t, time.Now().Before(end), "%s: %s", what, r.out.String())
		}
	}
	find := func(n int) {
		until("addresses", func() bool {
			found := address.FindAllStringSubmatch(r.out.String(), -1)
			for _, m := range found {
				urls[m[1]] = m[2]
			}
			return len(found) == n
		})
	}
	// reaches waits until a metric of a worker is at least a value.
	reaches := func(worker, name string, least float64) {
		until(fmt.Sprint(name, " of ", worker), func() bool {
			values, err := scrape(urls[worker])
			return err == nil && values[name] >= least
		})
	}
	find(2)
	for _, worker := range []string{"0", "1"} {
		label := func(name, more string) string {
			return fmt.Sprintf(`gokeras_%s{task="worker:%s"%s}`, name, worker, more)
		}
		reaches(worker, label("steps_total", ""), 20)
		values, err := scrape(urls[worker])
		require.NoError(t, err)
		require.Equal(t, 2.0, values[label("group_size", "")])
		require.Equal(t, 1.0, values[label("group_generation", "")])
		require.Zero(t, values[label("lost_workers_total", "")]+values[label("restarts_total", "")])
		for _, phase := range []string{"compute", "input"} {
			require.Positive(t, values[label("step_seconds_total", `,phase="`+phase+`"`)], phase)
		}
		require.Positive(t, values[label("sent_bytes_total", "")])
	}
	r.signal(1, syscall.SIGKILL)
	find(3)
	reaches("0", `gokeras_regroups_total{task="worker:0"}`, 1)
	reaches("0", `gokeras_lost_workers_total{task="worker:0"}`, 1)
	reaches("1", `gokeras_steps_total{task="worker:1"}`, 5)
	reaches("1", `gokeras_restarts_total{task="worker:1"}`, 1)
	r.signal(0, syscall.SIGTERM)
	require.Equal(t, statusStopped, r.end(), r.out.String())
	_, err := http.Get(urls["0"])
	require.Error(t, err, "nothing listens any more")
}

// TestFitServerMetrics asks all tasks of a job on parameter servers: workers and the coordinator count steps, and
// servers what they read and apply, while the job runs.
func TestFitServerMetrics(t *testing.T) {
	dir := smallModel(t)
	path := func(name string) string { return filepath.Join(dir, name) }
	t.Setenv(role, "keras")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := lockedText{mu: make(chan struct{}, 1)}
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"launch", "--ps", "2", "--workers", "2", "--", os.Args[0], "fit", path("model.keras"), "--x", path("both.npz"), "--y", path("both.npz"), "--batch-size", "3",
			"--epochs", "1000000", "--steps-per-epoch", "50", "--verbose", "0", "--output", path("out.keras"), "--strategy", "parameterserver", "--metrics-addr", ":0"}, &out, &out)
	}()
	address := regexp.MustCompile(`\[(worker|ps|coordinator) ?(\d?)\] metrics at (http://127\.0\.0\.1:\d+/metrics)`)
	names := map[string]string{"worker": "steps_total", "coordinator": "steps_total", "ps": "ps_gradients_total"}
	seen := map[string]bool{}
	require.Eventually(t, func() bool {
		for _, m := range address.FindAllStringSubmatch(out.String(), -1) {
			task := map[string]string{"coordinator": "chief"}[m[1]]
			if task == "" {
				task = m[1]
			}
			if m[2] == "" {
				m[2] = "0"
			}
			values, err := scrape(m[3])
			if err != nil {
				return false
			}
			label := fmt.Sprintf(`{task="%s:%s"`, task, m[2])
			enough := values["gokeras_"+names[m[1]]+label+"}"] >= 40
			switch m[1] {
			case "worker":
				enough = enough && values["gokeras_step_seconds_total"+label+`,phase="compute"}`] > 0 && values["gokeras_step_seconds_total"+label+`,phase="communication"}`] > 0
			case "ps":
				enough = enough && values["gokeras_ps_rows_read_total"+label+"}"] > 0
			}
			if enough {
				seen[task+m[2]] = true
			}
		}
		return len(seen) == 5
	}, time.Minute, 10*time.Millisecond, "%v", seen)
	cancel()
	<-ended
}

func TestFitMetricsAddress(t *testing.T) {
	for in, want := range map[string]string{":9090": ":9093", "127.0.0.1:9090": "127.0.0.1:9093", "[::1]:80": "[::1]:83", ":0": ":0"} {
		got, err := shifted(in, 3)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, bad := range []string{"9090", "localhost", ":65533", ":http", ":-1"} {
		_, err := shifted(bad, 3)
		require.ErrorContains(t, err, "expected HOST:PORT")
	}
	dir := smallModel(t)
	path := func(name string) string { return filepath.Join(dir, name) }
	status, _, stderr := execute(t, "fit", path("model.keras"), "--x", path("both.npz"), "--y", path("both.npz"), "--output", path("out.keras"), "--metrics-addr", "nonsense")
	require.Equal(t, 2, status)
	require.Contains(t, stderr, "--metrics-addr nonsense")
}

// TestPortOf: the tasks of a job on one machine have ports of their own.
func TestPortOf(t *testing.T) {
	jobs := map[string][]string{"ps": {"a:1", "a:2"}, "worker": {"a:3", "a:4", "a:5"}, "chief": {"a:6"}}
	spec, err := cluster.NewSpec(jobs)
	require.NoError(t, err)
	seen := map[int]bool{}
	for job, list := range jobs {
		for i := range list {
			port := portOf(spec, cluster.Task{Type: job, Index: i})
			require.False(t, seen[port], "%s:%d", job, i)
			require.Less(t, port, 6)
			seen[port] = true
		}
	}
	require.Equal(t, 2, portOf(spec, cluster.Task{Type: "worker", Index: 2}))
	workers, err := cluster.NewSpec(map[string][]string{"chief": {"a:1"}, "worker": {"a:2", "a:3"}})
	require.NoError(t, err)
	require.Equal(t, 1, portOf(workers, cluster.Task{Type: "worker", Index: 1}))
	require.Equal(t, 0, portOf(nil, cluster.Task{Type: "worker"}))
}
