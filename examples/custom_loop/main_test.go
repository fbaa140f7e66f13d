package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The loop learns, and prints the same under every strategy.
func TestRun(t *testing.T) {
	var want string
	for _, name := range []string{"default", "one", "mirrored", "central"} {
		var b bytes.Buffer
		require.NoError(t, run(context.Background(), &b, name))
		_, steps, found := strings.Cut(b.String(), "\n")
		require.True(t, found)
		if want == "" {
			want = steps
			require.Equal(t, 5, strings.Count(want, "step "))
		}
		require.Equal(t, want, steps, name)
	}
	require.ErrorContains(t, run(context.Background(), &bytes.Buffer{}, "none"), "there is no strategy \"none\"")
}
