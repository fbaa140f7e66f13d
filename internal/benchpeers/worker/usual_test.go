package main

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestUsual: layers of all kinds are drawn, the same ones for the same number, with each optimizer; and networks of the
// other kinds keep their numbers.
func TestUsual(t *testing.T) {
	found, optimizers := map[string]bool{}, map[string]bool{}
	for number := range uint64(6 * usualLayers) {
		d, err := drawUsual(number)
		require.NoError(t, err, number)
		again, err := drawUsual(number)
		require.NoError(t, err)
		assert.Equal(t, d.what, again.what)
		assert.Equal(t, d.model.CountParams(), again.model.CountParams(), number)
		optimizers[d.optimizer] = true
		for _, l := range d.model.Layers() {
			found[reflect.TypeOf(l).Elem().Name()] = true
		}
	}
	assert.Len(t, optimizers, 3)
	for _, name := range []string{"Dense", "Conv2D", "Conv2DTranspose", "DepthwiseConv2D", "SeparableConv2D", "LSTM", "GRU", "MultiHeadAttention", "LayerNormalization",
		"BatchNormalization", "Embedding"} {
		assert.True(t, found[name], "no network has a layer %s", name)
	}
	for _, key := range []string{"usual-0:train1", "usual-0:8"} {
		j, err := newJob(key)
		require.NoError(t, err, key)
		_, _, err = j.run()
		require.NoError(t, err, key)
		assert.Equal(t, map[bool]int{true: 1, false: 8}[strings.Contains(key, "train")], j.batch)
	}

	for number, params := range map[uint64]int{600: 56281, 601: 57075, 602: 396, 603: 8770, 604: 158496, 605: 320733} {
		d, err := drawSmall(number)
		require.NoError(t, err)
		assert.Equal(t, params, int(d.model.CountParams()), number)
	}
}
