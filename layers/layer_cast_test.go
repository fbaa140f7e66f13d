package layers_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// TestInputsAreCastBeforeTheLayer: the casts of a layer's inputs are not part of the layer, so that a mean over them,
// which is accumulated in float32, does not seem to round them on purpose.
func TestInputsAreCastBeforeTheLayer(t *testing.T) {
	r := distribute.NewReplica("test", 1, 2, 2)
	x := r.Graph().Input("x", ir.Float32, 2, 3, 3, 4)
	layers.InvokeAll(&layers.GlobalAveragePooling2D{Name: "pool", DType: "mixed_bfloat16"}, r.Inference(), x)
	var scopes []string
	p := r.Graph().Program()
	for _, n := range p.Nodes {
		if n.Op == ir.Convert {
			scopes = append(scopes, n.Scope)
		}
	}
	require.Equal(t, []string{"", "pool", "pool"}, scopes, "the cast, and the mean's of its operand and its result")
}
