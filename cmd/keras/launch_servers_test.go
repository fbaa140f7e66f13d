//go:build unix

package main

import (
	"context"
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
