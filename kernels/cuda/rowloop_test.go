//go:build linux

package cuda

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cuda/internal/fakedriver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/lower"
	"github.com/gokeras/gokeras/kernels/cuda/internal/ptxsim"
	"github.com/gokeras/gokeras/kernels/ir"
)

// recurrent is a loop of a random cell, or of its gradient with the sums that belong to it.
func recurrent(t *testing.T, rng *rand.Rand, d ir.DType, batch, units int) *ir.Program {
	body, p := ir.New("step"), ir.New("loop")
	add := func(p *ir.Program, op ir.Op, attrs ir.Attrs, in ...ir.Value) []ir.Value {
		v, err := p.Add("layer", op, attrs, in...)
		require.NoError(t, err)
		return v
	}
	typ := func(shape ...int) ir.Type { return ir.Type{DType: d, Shape: shape} }
	gates := []int{4, 3, 1}[rng.IntN(3)]
	wide := gates * units
	steps, gradient := 2+rng.IntN(4), rng.IntN(2) == 0
	var carry, xs []ir.Type
	if gradient {
		carry = []ir.Type{typ(batch, units), typ(batch, units), typ(units, wide), typ(batch, wide)}
		xs = []ir.Type{typ(batch, wide), typ(batch, units), typ(batch, wide)}
	} else {
		carry, xs = []ir.Type{typ(batch, units), typ(batch, units)}, []ir.Type{typ(batch, wide)}
	}
	var in, outer []ir.Value
	for _, c := range carry {
		in, outer = append(in, body.AddInput("", c)), append(outer, p.AddInput("", c))
	}
	for _, x := range xs {
		in, outer = append(in, body.AddInput("", x)), append(outer, p.AddInput("", ir.Type{DType: d, Shape: append(ir.Shape{steps}, x.Shape...)}))
	}
	kernel := typ(units, wide)
	in, outer = append(in, body.AddInput("", kernel)), append(outer, p.AddInput("", kernel))
	var out []ir.Value
	op := func(op ir.Op, attrs ir.Attrs, v ...ir.Value) ir.Value { return add(body, op, attrs, v...)[0] }
	if gradient {
		dh, dc, sum, bias, g, h, z, w := in[0], in[1], in[2], in[3], in[4], in[5], in[6], in[7]
		dz := op(ir.Mul, nil, g, op(ir.Concat, ir.AxisAttrs{Axis: 1}, repeated(dh, gates)...))
		dz = op(ir.Add, nil, dz, z)
		back := op(ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{1}}, dz, w)
		next := op(ir.Add, nil, op(ir.Tanh, nil, back), dc)
		grown := op(ir.Add, nil, op(ir.Dot, ir.DotAttrs{LhsContract: []int{0}, RhsContract: []int{0}}, h, dz), sum)
		out = []ir.Value{next, op(ir.Mul, nil, dc, h), grown, op(ir.Add, nil, bias, dz), dz}
	} else {
		h, c, x, w := in[0], in[1], in[2], in[3]
		z := op(ir.Add, nil, x, op(ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}, h, w))
		gate := func(i int) ir.Value {
			i = min(i, gates-1)
			return op(ir.Slice, ir.SliceAttrs{Start: []int{0, i * units}, Limit: []int{batch, (i + 1) * units}, Stride: []int{1, 1}}, z)
		}
		next := op(ir.Add, nil, op(ir.Mul, nil, op(ir.Sigmoid, nil, gate(0)), c), op(ir.Tanh, nil, gate(1)))
		y := op(ir.Mul, nil, op(ir.Sigmoid, nil, gate(2)), op(ir.Tanh, nil, next))
		out = []ir.Value{y, next, z, y, h, c, next}
	}
	for _, v := range out {
		body.AddOutput("", v)
	}
	a := ir.ScanAttrs{Body: body, Length: steps, Carry: len(carry), Xs: len(xs), Reverse: rng.IntN(2) == 0}
	for _, v := range add(p, ir.Scan, a, outer...) {
		p.AddOutput("out", v)
	}
	return p
}

func repeated(v ir.Value, n int) (all []ir.Value) {
	for range n {
		all = append(all, v)
	}
	return all
}

// Loops of recurrent cells and of their gradients are one kernel, which computes what the reference does; nothing in it
// races, in any order of threads.
func TestRowLoops(t *testing.T) {
	rounds := 40
	if brief() {
		rounds = 8
	}
	for i := range rounds {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(uint64(i), 29))
			d := []ir.DType{ir.Float32, ir.Float32, ir.BFloat16, ir.Float16}[rng.IntN(4)]
			batch := 1 + rng.IntN(4)
			if rng.IntN(3) == 0 {
				batch = 129 + rng.IntN(10) // several rows for a block
			}
			units := []int{1, 3, 8, 16, 33, 64}[rng.IntN(6)]
			if batch < 5 && rng.IntN(4) == 0 {
				units = 130
			}
			p := recurrent(t, rng, d, batch, units)
			plan, err := lower.Program(p, lower.Options{Capability: 90})
			require.NoError(t, err)
			for _, s := range plan.Steps {
				assert.NotEqual(t, lower.Loop, s.Kind, "the loop is one kernel")
			}
			b := on(t, fakedriver.New(fakedriver.Options{Order: ptxsim.Orders()[i%3], Races: batch < 5}))
			agrees(t, b, p, rng, map[bool]float64{true: 64, false: 16}[d == ir.Float32])
		})
	}
}

// A loop whose matrices are large goes on step by step, but without the sums over examples.
func TestLargeRecurrentLoops(t *testing.T) {
	for i := range 3 {
		rng := rand.New(rand.NewPCG(uint64(i), 31))
		p := recurrent(t, rng, ir.Float32, 2, 370)
		plan, err := lower.Program(p, lower.Options{Capability: 90})
		require.NoError(t, err)
		var loops, products int
		for _, s := range plan.Steps {
			if s.Kind == lower.Loop {
				loops++
				for _, inside := range s.Body {
					if inside.Op == ir.Dot {
						products++
					}
				}
			}
		}
		assert.Equal(t, 1, loops)
		assert.LessOrEqual(t, products, 2, "the product with the matrix, and maybe its parts added up")
		agrees(t, on(t, fakedriver.New(fakedriver.Options{})), p, rng, 512)
	}
}
