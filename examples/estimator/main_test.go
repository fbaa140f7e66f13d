package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The regressor learns, and prints the same under every strategy: the numbers of TensorFlow's Estimator.
func TestRun(t *testing.T) {
	for _, name := range []string{"default", "one", "mirrored", "central"} {
		var b bytes.Buffer
		require.NoError(t, run(context.Background(), &b, name, ""))
		_, results, found := strings.Cut(b.String(), "\n")
		require.True(t, found)
		require.Equal(t, strings.Join([]string{
			"average_loss     0.000000", "global_step      10.000000", "label/mean       1.000000", "loss             0.000000",
			"prediction/mean  1.000000", "prediction       1.000000", "",
		}, "\n"), results, name)
	}
	require.ErrorContains(t, run(context.Background(), &bytes.Buffer{}, "none", ""), "there is no strategy \"none\"")
}
