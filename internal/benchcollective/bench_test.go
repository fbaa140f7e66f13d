package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMain lets the test binary be the workers that the test starts.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "-worker" {
		if err := work(os.Args[2]); err != nil {
			_, _ = os.Stderr.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// All contestants of this library answer, with right sums, and send what a ring needs.
func TestContestants(t *testing.T) {
	for _, n := range []int{2, 3} {
		for _, name := range []string{"tcp", "shared", "raw"} {
			c, err := launch(name, n, "")
			require.NoError(t, err)
			s, err := c.measure(48<<10, 3)
			require.NoError(t, err)
			require.Len(t, s.Micros, 3)
			least := 2 * float64(n-1) / float64(n) * (48 << 10)
			switch name {
			case "tcp":
				require.InEpsilon(t, least, s.Sent, 0.05)
			case "raw":
				require.Equal(t, least, s.Sent)
			}
			c.stop()
		}
	}
	t.Setenv("TORCH_PY", "") // no Python is named
	c, err := launch("gloo", 2, "")
	require.NoError(t, err)
	require.Nil(t, c)
	_, err = launch("tcp@/nowhere", 2, "")
	require.Error(t, err)
}

func TestFigures(t *testing.T) {
	middle, best, cpu := figures([]*sample{{Micros: []float64{3, 1, 2}, CPU: 5}, {Micros: []float64{9, 8, 10}, CPU: 7}, {Micros: []float64{4, 4, 4}, CPU: 6}})
	require.Equal(t, []float64{4, 1, 6}, []float64{middle, best, cpu})
	require.Equal(t, []string{"64 KB", "16 MB", "100 B"}, []string{human(64 << 10), human(16 << 20), human(100)})
	for _, bad := range []string{"", "x", "1", "2,", "-4"} {
		_, err := numbers(bad, 2)
		require.Error(t, err, bad)
	}
	list, err := numbers("2,4", 2)
	require.NoError(t, err)
	require.Equal(t, []int{2, 4}, list)
}

// Contestants that train answer with the time of a step; what is no contestant or model is an error.
func TestTrainings(t *testing.T) {
	for _, name := range []string{stepName("shared", "dense", 1), stepName("tcp", "mlp", 2)} {
		c, err := launch(name, 2, "")
		require.NoError(t, err)
		s, err := c.measure(4, 3)
		require.NoError(t, err)
		require.Len(t, s.Micros, 1)
		require.Positive(t, s.Micros[0])
		c.stop()
	}
	for _, bad := range []string{"shared:dense", "shared:dense:x"} {
		_, _, _, err := stepParts(bad)
		require.Error(t, err, bad)
	}
	_, _, err := stepModel("cnn", nil, 1)
	require.ErrorContains(t, err, `"cnn"`)
}
