//go:build unix

package main

import (
	"context"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestLaunchEndsServersLast: a signal reaches the coordinator and the workers first, and the servers when those have
// ended, or after half of the grace.
func TestLaunchEndsServersLast(t *testing.T) {
	const others = `trap 'sleep 1; echo ended; exit 0' INT; `
	const servers = `case $TF_CONFIG in *'"type":"ps"'*) trap 'echo told; exit 0' INT;; *) `
	const forever = `;; esac; echo ready; while :; do sleep 0.05; done`
	for name, c := range map[string]struct {
		script, grace string
		last          bool
	}{
		"in order":     {servers + others + forever, "3m", true},
		"after a time": {servers + `trap '' INT; ` + forever, "2s", false},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			out := lockedText{mu: make(chan struct{}, 1)}
			ended := make(chan int, 1)
			go func() {
				ended <- run(ctx, []string{"launch", "--ps", "2", "--workers", "2", "--grace", c.grace, "--", "sh", "-c", c.script}, &out, &out)
			}()
			for strings.Count(out.String(), "ready") < 5 {
				require.Empty(t, ended, out.String())
				time.Sleep(10 * time.Millisecond)
			}
			cancel()
			status := <-ended
			text := out.String()
			require.Equal(t, 2, strings.Count(text, "told"), text)
			if !c.last {
				require.NotZero(t, status, "who does not end is killed: %s", text)
				return
			}
			require.Zero(t, status, text)
			require.Equal(t, 3, strings.Count(text, "ended"), text)
			require.Less(t, strings.LastIndex(text, "ended"), strings.Index(text, "told"), text)
		})
	}
}

// TestLaunchDividesByWorkers: workers and an evaluator divide the processors; parameter servers and the coordinator,
// which mostly wait, take none from them.
func TestLaunchDividesByWorkers(t *testing.T) {
	t.Setenv(processorsVariable, "")
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(16))
	for _, c := range []struct {
		evaluator []string
		share     string
	}{{nil, "on 8"}, {[]string{"--evaluator"}, "on 5"}} {
		status, stdout, stderr := launch(t, t.Context(), "work", append([]string{"--ps", "2", "-n", "2"}, c.evaluator...)...)
		require.Zero(t, status, stderr)
		require.Equal(t, 5+len(c.evaluator), strings.Count(stdout, c.share), stdout)
	}
}

// TestLaunchCoordinatorEndsTheJob: a coordinator whose program fails has told the servers to end, and is not started
// again to wait for them; one that was killed, or whose servers go on, is.
func TestLaunchCoordinatorEndsTheJob(t *testing.T) {
	const script = `case $TF_CONFIG in
*'"type":"ps"'*) while [ ! -e over ]; do sleep 0.02; done;;
*'"type":"worker"'*) while [ ! -e over ]; do sleep 0.02; done;;
*) echo began >> began; `
	for name, c := range map[string]struct {
		coordinator string
		began       int
		status      int
		says        string
	}{
		"fails":         {`touch over; exit 1`, 1, 1, "coordinator: exit status 1; it has ended the job"},
		"slow servers":  {`touch "$GOKERAS_OVER"; (sleep 1.3; touch over) & exit 1`, 1, 1, "coordinator: exit status 1; it has ended the job"},
		"servers first": {`touch over; sleep 0.5; exit 1`, 1, 1, "coordinator: exit status 1; it has ended the job"},
		"killed after":  {`touch over; sleep 0.5; kill -9 $$`, 1, 1, "coordinator: signal: killed; it has ended the job"},
		"killed within": {`[ $(wc -l < began) = 2 ] || { touch "$GOKERAS_OVER"; kill -9 $$; }; [ ! -e "$GOKERAS_OVER" ] && touch over`, 2, 0, "coordinator ended: signal: killed; starting it again (1 of 3)"},
		"exits":         {`[ $(wc -l < began) = 2 ] || exit 1; touch over`, 2, 0, "coordinator ended: exit status 1; starting it again (1 of 3)"},
		"killed":        {`[ $(wc -l < began) = 2 ] || kill -9 $$; touch over`, 2, 0, "coordinator ended: signal: killed; starting it again (1 of 3)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			out := lockedText{mu: make(chan struct{}, 1)}
			status := run(t.Context(), []string{"launch", "--ps", "2", "--workers", "1", "--", "sh", "-c", script + c.coordinator + `;; esac`}, &out, &out)
			text := out.String()
			require.Equal(t, c.status, status, text)
			require.Contains(t, text, c.says)
			b, err := os.ReadFile("began")
			require.NoError(t, err)
			require.Equal(t, c.began, strings.Count(string(b), "began"), text)
		})
	}
}

// TestLaunchWorkersAfterTheEnd: once the coordinator has ended well, a worker that fails is not started again, and one
// that was started again before is told.
func TestLaunchWorkersAfterTheEnd(t *testing.T) {
	const script = `case $TF_CONFIG in
*'"type":"ps"'*) while [ ! -e over ]; do sleep 0.02; done;;
*'"type":"chief"'*) while [ ! -e again ]; do sleep 0.02; done; touch over;;
*'"index":0'*) [ $GOKERAS_RESTARTS = 0 ] && exit 1; touch again; while [ ! -e "$GOKERAS_OVER" ]; do sleep 0.02; done;;
*) while [ ! -e "$GOKERAS_OVER" ]; do sleep 0.02; done; sleep 0.1; exit 3;;
esac`
	t.Chdir(t.TempDir())
	out := lockedText{mu: make(chan struct{}, 1)}
	status := run(t.Context(), []string{"launch", "--ps", "2", "--workers", "2", "--", "sh", "-c", script}, &out, &out)
	text := out.String()
	require.Zero(t, status, text)
	require.Contains(t, text, "worker 0 ended: exit status 1; starting it again (1 of 3)")
	require.Contains(t, text, "worker 1 ended: exit status 3; the coordinator has ended the job, which needs it no more")
	require.Equal(t, 1, strings.Count(text, "starting it again"), text)
}
