package layertest

import (
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
)

// checkEmptyBatch: a replica may get no examples.
func (c Case) checkEmptyBatch(t reporter) {
	if c.FixedBatch {
		return
	}
	full := c.float32Inputs()
	l := c.New()
	require.NoError(t, build(l, full, c.Masks, ""))
	cut := func(arrays []opstest.Array) []opstest.Array {
		out := make([]opstest.Array, len(arrays))
		for i, a := range arrays {
			shape := append([]int{}, a.Shape...)
			shape[0] = 0
			out[i] = opstest.Array{Shape: shape, DType: a.DType, F: []float64{}}
		}
		return out
	}
	inputs, masks := cut(full), cut(c.Masks)
	for _, training := range []bool{false, true} {
		tr, err := call(l, inputs, masks, options{training: training, masked: c.Masks != nil})
		require.NoError(t, err)
		assert.Equal(t, 0, tr.outputs[0].Dim(0))
		objective := ops.Zeros(tr.replica, ir.Float32)
		for _, y := range tr.outputs {
			if y.DType().IsFloat() {
				objective = ops.Add(objective, ops.Sum(ops.Cast(y, ir.Float32)))
			}
		}
		for i, g := range ops.Grad(objective, tr.weights...) {
			if g != nil {
				tr.result(g)
			}
			tr.result(tr.replica.Read(tr.variables[i]))
		}
		tr.result(objective)
		out, err := tr.run(inputs, masks, values(tr.variables))
		require.NoError(t, err)
		for _, a := range out {
			assert.True(t, finite(a), "training %v: an empty batch must leave gradients and weights finite, got %v", training, a.F)
		}
	}
}

// checkMask: the mask passes through or ends.
func (c Case) checkMask(t reporter) {
	if c.Masks == nil {
		return
	}
	inputs := c.float32Inputs()
	for _, training := range []bool{false, true} {
		tr, err := call(c.New(), inputs, c.Masks, options{training: training, masked: true})
		require.NoError(t, err)
		mask := tr.outputs[0].Mask()
		assert.Equal(t, c.PassesMask, mask != nil, "whether the result has a mask")
		if mask != nil {
			assert.Equal(t, ir.Bool, mask.DType())
		}
	}
}
