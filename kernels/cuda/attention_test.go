//go:build linux

package cuda

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakedriver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/ptxsim"
	"github.com/gokeras/gokeras/kernels/ir"
)

// randomAttention has heads of any size that the kernel takes, numbers of queries and keys that fill its tiles or do
// not, and maybe a mask of some shape, in which some queries see no key.
func randomAttention(t *testing.T, rng *rand.Rand, d ir.DType, gradient bool) *ir.Program {
	p := ir.New("attention")
	b, heads := 1+rng.IntN(2), 1+rng.IntN(3)
	size, wide := 8*(1+rng.IntN(16)), 8*(1+rng.IntN(16))
	queries, keys := 1+rng.IntN(150), 1+rng.IntN(150)
	if rng.IntN(3) == 0 {
		queries, keys = 64, 64
	}
	in := func(name string, shape ...int) ir.Value { return p.AddInput(name, ir.Type{DType: d, Shape: shape}) }
	a := ir.AttentionAttrs{Scale: 0.3, Causal: rng.IntN(2) == 0, Masked: rng.IntN(2) == 0}
	operands := []ir.Value{in("q", b, queries, heads, size), in("k", b, keys, heads, size), in("v", b, keys, heads, wide)}
	if a.Masked {
		shape := ir.Shape{b, heads, queries, keys}
		for i := range shape {
			if rng.IntN(2) == 0 {
				shape[i] = 1
			}
		}
		x := p.AddInput("mask", ir.Type{DType: ir.Float32, Shape: shape})
		zero, err := p.Add("layer", ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(ir.Float32, 0)})
		require.NoError(t, err)
		zeros, err := p.Add("layer", ir.Broadcast, ir.BroadcastAttrs{Shape: shape}, zero[0])
		require.NoError(t, err)
		mask, err := p.Add("layer", ir.Compare, ir.CompareAttrs{Direction: ir.Gt}, x, zeros[0])
		require.NoError(t, err)
		operands = append(operands, mask[0])
	}
	out, err := p.Add("layer", ir.Attention, a, operands...)
	require.NoError(t, err)
	if gradient {
		operands = slices.Concat(operands[:3], out, []ir.Value{in("dy", b, queries, heads, wide)}, operands[3:])
		out, err = p.Add("layer", ir.AttentionGrad, a, operands...)
		require.NoError(t, err)
	}
	for _, v := range out {
		p.AddOutput("out", v)
	}
	return p
}

// Attention of 16-bit floats is one kernel, which agrees with the reference.
func TestFlashAttention(t *testing.T) {
	inHalves(t, 20, 4, func(t *testing.T, rng *rand.Rand, d ir.DType) *ir.Program { return randomAttention(t, rng, d, false) })
}

// So is that of float32, strictly or with TF32, on every order of threads; and its gradients.
func TestFlashAttentionOfFloats(t *testing.T) {
	orders := ptxsim.Orders()
	for i := range 24 {
		if brief() && i%8 > 3 {
			continue
		}
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			units := 16.0
			if i%4 >= 2 {
				kernels.AllowTF32(true)
				defer kernels.AllowTF32(false)
				units = 8192 // of float32, which TF32 has 13 bits less than
			}
			rng := rand.New(rand.NewPCG(uint64(i), 43))
			agrees(t, on(t, fakedriver.New(fakedriver.Options{Order: orders[i%3]})), randomAttention(t, rng, ir.Float32, i%2 > 0), rng, units)
		})
	}
}

// Its gradients are made of the scores again, by queries and by keys.
func TestFlashAttentionGradient(t *testing.T) {
	inHalves(t, 21, 5, func(t *testing.T, rng *rand.Rand, d ir.DType) *ir.Program { return randomAttention(t, rng, d, true) })
}
