package main

import (
	"cmp"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestQuantized: networks of each kind predict in each mode that they have, the same ones for the same number, and
// LoRA, or everything in float32, trains.
func TestQuantized(t *testing.T) {
	defer func(before string) { policy = before }(policy)
	predicted := map[string]int{}
	for number := range uint64(quantizedNetworks) {
		what := ""
		run := func(mode string) bool {
			for _, key := range []string{"1", "train2"} {
				policy = mode
				j, err := quantizedJob(number, key)
				if mode != "" && errors.Is(err, errNoMode) {
					return false
				}
				require.NoError(t, err, "%d %s %s", number, mode, key)
				_, _, err = j.run()
				require.NoError(t, err, "%d %s %s", number, mode, key)
				assert.Equal(t, mode, policy)
				if what == "" {
					what = j.what
				}
				assert.Equal(t, what, j.what)
				predicted[mode]++
			}
			return true
		}
		run("")
		modes := slices.Clone(quantizedModes) // all of them would take minutes: the first that it has of those with the fewest networks
		slices.SortStableFunc(modes, func(a, b string) int { return cmp.Compare(predicted[a], predicted[b]) })
		for len(modes) > 0 && !run(modes[0]) {
			modes = modes[1:]
		}
	}
	assert.Equal(t, 2*quantizedNetworks, predicted[""])
	for _, mode := range quantizedModes {
		assert.Positive(t, predicted[mode], mode)
	}
}
