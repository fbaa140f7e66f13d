package estimator

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBetter(t *testing.T) {
	loss := func(v float64) map[string]float64 { return map[string]float64{"loss": v} }
	require.True(t, smallerLoss(loss(2), loss(1)))
	require.False(t, smallerLoss(loss(1), loss(1)))
	require.False(t, smallerLoss(loss(1), loss(math.NaN())))
	require.True(t, smallerLoss(loss(math.NaN()), loss(3)))
	best, err := parseBest(strings.NewReader(`{"mae": 1}`)) // the loss was not finite
	require.NoError(t, err)
	require.True(t, smallerLoss(best, loss(3)))
	require.Equal(t, loss(1), finite(map[string]float64{"loss": 1, "a": math.NaN(), "b": math.Inf(1)}))
}

func FuzzBest(f *testing.F) {
	for _, text := range []string{`{"loss": 0.5, "mae": 1}`, `null`, `[1]`, `{"loss": "NaN"}`, `{"loss": 1e999}`, "", `{"loss"`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		best, err := parseBest(strings.NewReader(text))
		if (best == nil) != (err != nil) {
			t.Fatalf("%v, %v", best, err)
		}
		if _, ok := best["loss"]; err == nil && !ok {
			t.Fatal("no loss")
		}
	})
}
