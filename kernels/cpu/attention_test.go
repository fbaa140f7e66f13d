package cpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/gemm"
	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// attentionCase is a shape of attention, with two examples and two heads.
type attentionCase struct {
	queries, keys, depth, width int
	causal                      bool
	mask                        ir.Shape
	scale                       float64
}

// TestAttentionInBlocks has heads of several blocks of queries, which the shapes of the conformance suite do not have.
// It compares with the decomposition.
func TestAttentionInBlocks(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	for _, c := range []attentionCase{
		{100, 700, 5, 3, false, nil, 0.3},
		{150, 700, 8, 33, true, nil, 0.3},
		{300, 290, 16, 16, true, ir.Shape{2, 1, 300, 290}, 0.3},
		{270, 400, 3, 1, false, ir.Shape{1, 2, 1, 400}, 0.3},
		{40, 5000, 2, 2, false, ir.Shape{2, 1, 1, 5000}, 0.3},
		{128, 128, 256, 128, false, nil, 0.3}, // rows of the operands are powers of two apart, so products copy them
		{130, 120, 256, 256, true, nil, 0.3},
		{128, 128, 32, 32, true, nil, 0.3}, // products small enough to be computed at once
		{50, 40, 24, 64, false, ir.Shape{2, 1, 50, 40}, 0.3},
		{90, 80, 16, 16, true, ir.Shape{2, 1, 90, 80}, -0.3},
		{20, 50, 16, 16, true, nil, 0}, // keys that no query sees
		{33, 40, 300, 8, false, nil, 0.1},
		{47, 200, 256, 20, true, ir.Shape{2, 1, 47, 200}, 0.1}, // rows of the heads that compete for places in the cache
		{79, 210, 12, 256, false, nil, 0.3},
	} {
		checkAttention(t, r, c, 0.3, 1)
	}
}

// TestAttentionDrawn draws shapes and masks, for every instruction set: incomplete panels and blocks of keys, masks of
// all forms, rows that see nothing.
func TestAttentionDrawn(t *testing.T) {
	r := rand.New(rand.NewPCG(45, 46))
	for _, level := range isa.Paths() {
		restore := isa.Override(level)
		for range 12 {
			one := func(n int) int { return 1 + (n-1)*r.IntN(2) }
			c := attentionCase{queries: 1 + r.IntN(80), keys: 1 + r.IntN(250), depth: 1 + r.IntN(40), width: 1 + r.IntN(40), causal: r.IntN(2) == 0, scale: 0.2}
			if r.IntN(3) > 0 {
				c.mask = ir.Shape{one(2), one(2), one(c.queries), one(c.keys)}
			}
			checkAttention(t, r, c, 0.9*r.Float64(), 1)
		}
		restore()
	}
}

// TestAttentionOfLargeScores: with scores of 1e9 and more, differences from a rounded maximum would not be exact. The
// largest score must take everything, as in the decomposition, in whichever form attention is computed.
func TestAttentionOfLargeScores(t *testing.T) {
	r := rand.New(rand.NewPCG(47, 48))
	for _, level := range isa.Paths() {
		restore := isa.Override(level)
		for _, large := range []float64{1e10, 1e15, 1e30} {
			for range 6 {
				c := attentionCase{queries: 1 + r.IntN(60), keys: 1 + r.IntN(250), depth: 1 + r.IntN(20), width: 1 + r.IntN(30), causal: r.IntN(2) == 0, scale: 0.1 + r.Float64()}
				if r.IntN(2) == 0 {
					c.mask = ir.Shape{2, 2, c.queries, c.keys}
				}
				checkAttention(t, r, c, 0.9*r.Float64(), large)
			}
		}
		restore()
	}
}

// checkAttention compares the result and the gradients with those of the decomposition. chance is the probability that
// a key is seen. A quarter of the keys are multiplied by large.
func checkAttention(t *testing.T, r *rand.Rand, c attentionCase, chance, large float64) {
	t.Helper()
	p := ir.New("attention")
	var inputs []reference.Value
	input := func(d ir.DType, shape ...int) ir.Value {
		values := make([]float64, ir.Shape(shape).Size())
		for i := range values {
			values[i] = r.NormFloat64()
			if d == ir.Bool {
				values[i] = 0
				if r.Float64() < chance {
					values[i] = 1
				}
			}
		}
		v, err := reference.New(d, shape, values...)
		require.NoError(t, err)
		inputs = append(inputs, v)
		return p.AddInput("", v.Type)
	}
	const batch, heads = 2, 2
	operands := []ir.Value{input(ir.Float32, batch, c.queries, heads, c.depth), input(ir.Float32, batch, c.keys, heads, c.depth), input(ir.Float32, batch, c.keys, heads, c.width)}
	for i, k := 0, inputs[1].F; large != 1 && i < len(k); i += c.depth {
		if r.IntN(4) == 0 {
			for j := range c.depth {
				k[i+j] = float64(float32(k[i+j] * large))
			}
		}
	}
	var mask []ir.Value
	if c.mask != nil {
		mask = []ir.Value{input(ir.Bool, c.mask...)}
	}
	a := ir.AttentionAttrs{Scale: c.scale, Causal: c.causal, Masked: c.mask != nil}
	out, err := p.Add("", ir.Attention, a, append(operands[:3:3], mask...)...)
	require.NoError(t, err)
	dy := input(ir.Float32, batch, c.queries, heads, c.width)
	grad, err := p.Add("", ir.AttentionGrad, a, append(append(operands[:3:3], out[0], out[1], dy), mask...)...)
	require.NoError(t, err)
	for _, v := range append(out, grad...) {
		p.AddOutput("", v)
	}
	parts, err := ir.Expand(p, nil)
	require.NoError(t, err)
	got, want := runOnce(t, p, inputs, false), runOnce(t, parts, inputs, false)
	for i := range got {
		if large != 1 && (i == 2 || i == 3) { // a rounding error, if not 0, times such a number
			for _, v := range got[i].F {
				require.False(t, math.IsNaN(v), "%+v: output %d", c, i)
			}
			continue
		}
		require.NoError(t, kernelstest.Compare(got[i], want[i], 64, true), "%+v: output %d", c, i)
	}
}

// TestAttentionScratch: the gradients of keys and values are added to those of earlier blocks, which may need more
// memory than the first block.
func TestAttentionScratch(t *testing.T) {
	testAttentionScratch[float32](t)
	testAttentionScratch[float64](t)
}

func testAttentionScratch[T block.Float](t *testing.T) {
	r := rand.New(rand.NewPCG(35, 36))
	for range 500 {
		h := &heads{queries: 1 + r.IntN(4000), keys: 16 << r.IntN(6), heads: 1 + r.IntN(3), depth: 1 + r.IntN(130), width: 1 + r.IntN(130)}
		h.rows = min(max(scoreBlock/h.keys, 16), h.queries)
		size := productScratch[T](h)
		for first := 0; first < h.queries; first += h.rows {
			p := productsOf[T](h, min(h.rows, h.queries-first), h.keys)
			for _, p := range [...]*product[T]{&p.dv, &p.dk} {
				p.accumulate = first+h.rows < h.queries
				a := p.args()
				require.GreaterOrEqual(t, size, gemm.ScratchSize(&a, 1), "%+v", a)
			}
		}
	}
}
