package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// halfAttentionCase is an attention of bfloat16 with its operands.
type halfAttentionCase struct {
	batch, heads, queries, keys, depth, width int
	causal                                    bool
	mask                                      ir.Shape // or nil
	scale                                     float64
	inputs                                    []reference.Value // q, k, v, dy and mask
}

func zerosOf(t ir.Type) reference.Value {
	return reference.Value{Type: t, F: make([]float64, t.Shape.Size())}
}

func (c *halfAttentionCase) draw(r *rand.Rand) {
	half := func(shape ...int) reference.Value {
		v := zerosOf(ir.Type{DType: ir.BFloat16, Shape: shape})
		for i := range v.F {
			v.F[i] = ir.RoundFloat(ir.BFloat16, r.NormFloat64())
		}
		return v
	}
	c.inputs = []reference.Value{half(c.batch, c.queries, c.heads, c.depth), half(c.batch, c.keys, c.heads, c.depth),
		half(c.batch, c.keys, c.heads, c.width), half(c.batch, c.queries, c.heads, c.width)}
	if c.mask == nil {
		return
	}
	mask := reference.Value{Type: ir.Type{DType: ir.Bool, Shape: c.mask}, I: make([]int64, c.mask.Size())}
	for i := range mask.I {
		mask.I[i] = int64(r.IntN(4) / 2)
	}
	c.inputs = append(c.inputs, mask)
}

// program returns the attention and its gradient: y, the logarithms, dq, dk and dv.
func (c *halfAttentionCase) program(t testing.TB) *ir.Program {
	p := ir.New("attention")
	var in []ir.Value
	for _, v := range c.inputs {
		in = append(in, p.AddInput("", v.Type))
	}
	a := ir.AttentionAttrs{Scale: c.scale, Causal: c.causal, Masked: c.mask != nil}
	out, err := p.Add("", ir.Attention, a, append(in[:3:3], in[4:]...)...)
	require.NoError(t, err)
	grad, err := p.Add("", ir.AttentionGrad, a, append([]ir.Value{in[0], in[1], in[2], out[0], out[1], in[3]}, in[4:]...)...)
	require.NoError(t, err)
	for _, v := range append(out, grad...) {
		p.AddOutput("", v)
	}
	return p
}

func (c *halfAttentionCase) sees(b, h, q, k int) bool {
	if c.causal && k > q {
		return false
	}
	if c.mask == nil {
		return true
	}
	at := 0
	for i, x := range [...]int{b, h, q, k} {
		at = at*c.mask[i] + x%c.mask[i]
	}
	return c.inputs[4].I[at] != 0
}

// row is a step of a head of an operand.
func row(v reference.Value, b, step, h int) []float64 {
	s := v.Type.Shape
	return v.F[((b*s[1]+step)*s[2]+h)*s[3]:][:s[3]]
}

func inner(x, y []float64) (sum, size float64) {
	for i := range x {
		sum, size = sum+x[i]*y[i], size+math.Abs(x[i]*y[i])
	}
	return sum, size
}

// check compares with the formulas in float64. Each number may differ by what rounding explains: of itself, and of the
// probabilities or gradients of scores that it is a sum of. The gradient starts from the rounded logarithms.
func (c *halfAttentionCase) check(t *testing.T, got []reference.Value) {
	t.Helper()
	const half, single = 1.0 / 256, 2e-5 // of bfloat16 once, rounded up; of sums in float32
	want, most := make([]reference.Value, len(got)), make([]reference.Value, len(got))
	for i := range got {
		want[i], most[i] = zerosOf(ir.Type{DType: ir.Float64, Shape: got[i].Type.Shape}), zerosOf(ir.Type{DType: ir.Float64, Shape: got[i].Type.Shape})
	}
	add := func(i, b, step, h int, by, off float64, x []float64) {
		w, m := row(want[i], b, step, h), row(most[i], b, step, h)
		for j, v := range x {
			w[j] += by * v
			m[j] += off * math.Abs(v)
		}
	}
	q, k, v, dy := c.inputs[0], c.inputs[1], c.inputs[2], c.inputs[3]
	scores, sizes, upstream, scale := make([]float64, c.keys), make([]float64, c.keys), make([]float64, c.keys), math.Abs(c.scale)
	for at := range c.batch * c.heads * c.queries {
		b, h, i := at/(c.heads*c.queries), at/c.queries%c.heads, at%c.queries
		sum := 0.0
		for j := range c.keys {
			scores[j], sizes[j] = inner(row(q, b, i, h), row(k, b, j, h))
			scores[j], sizes[j] = scores[j]*c.scale, 1+sizes[j]*scale
			if c.sees(b, h, i, j) {
				sum += math.Exp(scores[j])
			}
		}
		total, rounded := math.Log(sum), got[1].F[at]
		want[1].F[at], most[1].F[at] = total, 1e-4
		if sum == 0 {
			continue
		}
		mean, meanSize, whole := 0.0, 0.0, 0.0
		for j := range c.keys {
			if !c.sees(b, h, i, j) {
				continue
			}
			p := math.Exp(scores[j] - total)
			add(0, b, i, h, p, p*(half+single*sizes[j]), row(v, b, j, h))
			p = math.Exp(scores[j] - rounded)
			d, size := inner(row(dy, b, i, h), row(v, b, j, h))
			upstream[j], mean, meanSize, whole = d, mean+p*d, meanSize+p*size, whole+p
			add(4, b, j, h, p, p*(half+single*sizes[j]), row(dy, b, i, h))
		}
		for j := range c.keys {
			if c.sees(b, h, i, j) {
				p := math.Exp(scores[j] - rounded)
				ds := c.scale * p * (upstream[j] - mean/whole)
				off := half*math.Abs(ds) + single*sizes[j]*scale*p*(math.Abs(upstream[j])+meanSize/whole+1)
				add(2, b, i, h, ds, off, row(k, b, j, h))
				add(3, b, j, h, ds, off, row(q, b, i, h))
			}
		}
	}
	for i, name := range [...]string{"y", "logarithms", "dq", "dk", "dv"} {
		for j, g := range got[i].F {
			w := want[i].F[j]
			if !(math.Abs(g-w) <= most[i].F[j]+half*math.Abs(w)+1e-30) && g != w {
				require.Fail(t, "wrong number", "%s, number %d of %v: %g, expected %g, at most %g off; %+v", name, j, got[i].Type, g, w, most[i].F[j]+half*math.Abs(w), *c)
			}
		}
	}
}

// TestAttentionInPairs compares bfloat16 attention and its gradients with the formulas in float64: several blocks of
// queries, incomplete panels, odd numbers of queries and keys, masks of all forms, and rows and keys that see nothing
// or are not seen.
func TestAttentionInPairs(t *testing.T) {
	defer func(before float64) { leastGain = before }(leastGain)
	leastGain = math.Inf(-1) // in pairs even where float32 is estimated to be faster
	r := rand.New(rand.NewPCG(71, 72))
	cases := []halfAttentionCase{
		{1, 2, 128, 128, 32, 32, true, nil, 0.2, nil},
		{2, 1, 67, 33, 16, 40, false, nil, 0.2, nil},
		{1, 1, 20, 53, 8, 10, true, nil, -0.3, nil}, // keys that no query sees
		{1, 1, 16, 70, 64, 64, false, nil, 0.1, nil},
		{1, 1, 342, 3, 6, 2, false, nil, 0.5, nil},
		{1, 1, 1, 70, 64, 64, false, nil, 0.1, nil}, // too few queries, and too few scores: not in pairs
		{1, 1, 31, 31, 6, 2, true, nil, 0.5, nil},
		{1, 1, 70, 2100, 8, 8, false, nil, 0.3, nil},
		{1, 1, 400, 390, 8, 8, true, nil, 0.2, nil}, // several groups of blocks, which end within panels
		{1, 1, 200, 600, 8, 8, true, nil, 0.2, nil},
	}
	for range 10 {
		one := func(n int) int { return 1 + (n-1)*r.IntN(2) }
		c := halfAttentionCase{1 + r.IntN(2), 1 + r.IntN(3), 16 + r.IntN(80), 64 + r.IntN(150), 2 + 2*r.IntN(40), 2 + 2*r.IntN(40), r.IntN(2) == 0, nil, r.Float64() / 2, nil}
		if r.IntN(3) > 0 {
			c.mask = ir.Shape{one(c.batch), one(c.heads), one(c.queries), one(c.keys)}
		}
		cases = append(cases, c)
	}
	for _, c := range cases {
		c.draw(r)
		for _, level := range isa.Paths() {
			restore := isa.Override(level)
			if micro.Pairs() {
				got := runOnce(t, c.program(t), c.inputs, false)
				c.check(t, got)
			}
			restore()
		}
	}
}

// BenchmarkAttentionInPairs times attention in bfloat16 and in float32, with gradients.
func BenchmarkAttentionInPairs(b *testing.B) {
	for _, s := range [][6]int{{16, 4, 128, 128, 32, 1}, {32, 3, 64, 64, 64, 0}, {4, 8, 512, 512, 64, 1}, {1, 8, 2048, 2048, 64, 1}, {8, 4, 17, 17, 16, 0}, {32, 2, 10, 10, 8, 0}, {8, 8, 1, 256, 64, 0}} {
		c := halfAttentionCase{batch: s[0], heads: s[1], queries: s[2], keys: s[3], depth: s[4], width: s[4], causal: s[5] == 1, scale: 0.2}
		c.draw(rand.New(rand.NewPCG(1, 2)))
		for _, d := range []ir.DType{ir.Float32, ir.BFloat16} {
			for _, gradient := range []bool{false, true} {
				b.Run(fmt.Sprintf("%dx%dx%dx%dx%d %v gradient=%v", s[0], s[1], s[2], s[3], s[4], d, gradient), func(b *testing.B) { c.bench(b, d, gradient) })
			}
		}
	}
}

func (c *halfAttentionCase) bench(b *testing.B, d ir.DType, gradient bool) {
	p := ir.New("attention")
	var in []ir.Value
	for _, v := range c.inputs[:4] {
		in = append(in, p.AddInput("", ir.Type{DType: d, Shape: v.Type.Shape}))
	}
	a := ir.AttentionAttrs{Scale: c.scale, Causal: c.causal}
	var out []ir.Value
	var err error
	if gradient {
		total := p.AddInput("", ir.Type{DType: d, Shape: ir.Shape{c.batch, c.heads, c.queries}})
		out, err = p.Add("", ir.AttentionGrad, a, in[0], in[1], in[2], in[3], total, in[3])
	} else {
		out, err = p.Add("", ir.Attention, a, in[:3]...)
	}
	require.NoError(b, err)
	for _, v := range out {
		p.AddOutput("", v)
	}
	e, err := Backend{}.load(p, kernels.CompileOptions{Device: testDevice}, false)
	require.NoError(b, err)
	defer e.Close()
	var ins, outs []kernels.Buffer
	for i, v := range p.Inputs {
		buf := newBuffer(testDevice, p.Type(v.Value))
		if i < len(c.inputs) {
			x := reference.Value{Type: p.Type(v.Value), F: c.inputs[i].F}
			require.NoError(b, buf.Write(x.Bytes()))
		}
		ins = append(ins, buf)
	}
	for _, v := range p.Outputs {
		outs = append(outs, newBuffer(testDevice, p.Type(v.Value)))
	}
	for b.Loop() {
		require.NoError(b, e.Run(b.Context(), ins, outs))
	}
}
