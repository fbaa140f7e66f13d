package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDocument(t *testing.T) {
	s := results{file: t.TempDir() + "/rows"}
	require.NoError(t, s.add(row{Name: "exp", Size: "L2", Ours: 2e-6, Peers: map[string]float64{"torch": 3e-6, "jax": 4e-6}}))
	require.NoError(t, s.add(row{Name: "exp", Size: "L2", Gradients: true, Ours: 1e-5, Peers: map[string]float64{"torch": 3e-5, "jax": 4e-6}}))
	require.NoError(t, s.add(row{Name: "abs", Size: "L3", Ours: 1e-5}))
	again, err := readResults(s.file)
	require.NoError(t, err)
	assert.Equal(t, s.list, again.list)
	assert.True(t, again.has("exp", "L2", true))
	assert.False(t, again.has("exp", "L3", true))
	text := again.text()
	assert.Contains(t, text, "| `exp` | L2 | 1.50 | **0.40** | 2 | 10 |\n")
	assert.Contains(t, text, "| `abs` | L3 |  |  | 10 |  |\n")
	assert.Contains(t, text, "`exp` L2 gradient 0.40 of JAX.")
	assert.Contains(t, text, "| L2 | gradient | 1 | 1 | 1 | 0.40 | 0.40 |\n")
	assert.NotContains(t, text, "other configurations")
	require.NoError(t, s.add(row{Name: "layers.Dense rows {units:1}", Size: "L3", Ours: 2e-6, Peers: map[string]float64{"jax": 1e-6}}))
	_, others, ok := strings.Cut(s.text(), "## Layers in other configurations")
	require.True(t, ok)
	assert.Contains(t, others, "| L3 | forward | 1 | 1 | 0 | 0.50 | 0.50 |\n")
	assert.Contains(t, others, "| `layers.Dense rows {units:1}` | L3 | **0.50** |  | 2 |  |\n")
	assert.Less(t, len(text), 4000)
}
