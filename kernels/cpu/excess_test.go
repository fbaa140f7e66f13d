package cpu

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// twoProducts is tanh(x·w)·w on numbers that are first converted to type d.
func twoProducts(t *testing.T, d ir.DType, rows, units int) *ir.Program {
	p := passProgram{t, ir.New("products")}
	to := func(name string, rows int) ir.Value {
		v := p.p.AddInput(name, ir.Type{DType: ir.Float32, Shape: ir.Shape{rows, units}})
		return p.add(ir.Convert, ir.ConvertAttrs{DType: d}, v)
	}
	x, w, product := to("x", rows), to("w", units), ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}
	p.p.AddOutput("y", p.add(ir.Dot, product, p.add(ir.Tanh, nil, p.add(ir.Dot, product, x, w)), w))
	return p.p
}

// TestExcessPrecision: in every family, the result is that of float32, rounded once, unless the processor multiplies
// pairs of bfloat16 and the program gains by that.
func TestExcessPrecision(t *testing.T) {
	var in []reference.Value
	for _, data := range [][]byte{float32s(9 * 70), float32s(70 * 70)} {
		v, err := reference.FromBytes(ir.Type{DType: ir.Float32, Shape: ir.Shape{len(data) / 280, 70}}, data)
		require.NoError(t, err)
		in = append(in, v)
	}
	for _, path := range isa.Paths() {
		t.Run(path.String(), func(t *testing.T) {
			defer isa.Override(path)()
			want := runOnce(t, twoProducts(t, ir.Float32, 9, 70), in, false)[0]
			for _, d := range []ir.DType{ir.BFloat16, ir.Float16} {
				p := twoProducts(t, d, 9, 70)
				got := runOnce(t, p, in, false)[0]
				if !widens(p)(d) {
					require.True(t, d == ir.BFloat16 && micro.Pairs())
					continue
				}
				rounded, err := reference.New(d, want.Type.Shape, want.F...)
				require.NoError(t, err)
				require.Equal(t, rounded.F, got.F, "%v", d)
			}
		})
	}
}

// TestExcessPrecisionWithoutProducts: in every family, a program without products also computes in float32, and rounds
// only its results.
func TestExcessPrecisionWithoutProducts(t *testing.T) {
	for _, path := range isa.Paths() {
		defer isa.Override(path)()
		for _, d := range []ir.DType{ir.BFloat16, ir.Float16} {
			p := passProgram{t, ir.New("moved")}
			x := p.p.AddInput("x", ir.Type{DType: ir.Float32, Shape: ir.Shape{30, 70}})
			half := p.add(ir.Convert, ir.ConvertAttrs{DType: d}, x)
			p.p.AddOutput("y", p.add(ir.Tanh, nil, p.add(ir.Reverse, ir.AxesAttrs{Axes: []int{1}}, half)))
			q, err := pipelineFor(1).improve(p.p, false, true)
			require.NoError(t, err)
			for _, n := range q.Nodes {
				require.Equal(t, n.Op == ir.Convert, q.Type(n.Outputs[0]).DType == d, "%v, %v\n%v", path, d, q)
			}
		}
	}
}

// TestExcessPrecisionIsForSmallPrograms: programs that take much memory stay in 16 bits. So do weights that are
// multiplied by a single row and do not fit into a cache.
func TestExcessPrecisionIsForSmallPrograms(t *testing.T) {
	for _, c := range []struct{ rows, units, narrow int }{{9, 70, 0}, {1 << 18, 100, 2}, {2, 70, 0}, {1, 700, 2}, {2, 700, 0}, {300, 700, 0}} {
		q, err := pipelineFor(1).improve(twoProducts(t, ir.Float16, c.rows, c.units), false, true)
		require.NoError(t, err)
		narrow := 0
		for _, n := range q.Nodes {
			if n.Op == ir.Dot && q.Type(n.Inputs[1]).DType == ir.Float16 {
				narrow++
			}
		}
		require.Equal(t, c.narrow, narrow, "%+v\n%v", c, q)
	}
}

// TestWeightsThatCachesDoNotHoldTogether: where the processor multiplies pairs of bfloat16, predictions of a few rows
// keep their weights in 16 bits if all of them together do not fit into a cache in float32. Elsewhere only weights that
// are too large by themselves are kept so.
func TestWeightsThatCachesDoNotHoldTogether(t *testing.T) {
	for _, path := range isa.Paths() {
		t.Run(path.String(), func(t *testing.T) {
			defer isa.Override(path)()
			for units, narrow := range map[int]int{300: 0, 400: 2} {
				q, err := pipelineFor(1).improve(twoProducts(t, ir.BFloat16, 2, units), false, true)
				require.NoError(t, err)
				halves := 0
				for _, n := range q.Nodes {
					if n.Op == ir.Dot && q.Type(n.Inputs[1]).DType == ir.BFloat16 {
						halves++
					}
				}
				if !micro.Pairs() {
					narrow = 0
				}
				require.Equal(t, narrow, halves, "%d units\n%v", units, q)
			}
		})
	}
}

// TestFunctionsOfHalvesStay: a function whose operands all have 16 bits computes its products in 16 bits, as written;
// with an operand of another type, as the networks of a policy have, it computes in float32.
func TestFunctionsOfHalvesStay(t *testing.T) {
	for _, d := range []ir.DType{ir.BFloat16, ir.Float16} {
		for _, model := range []bool{false, true} {
			p := passProgram{t, ir.New("function")}
			x, w := p.p.AddInput("x", ir.Type{DType: d, Shape: ir.Shape{9, 70}}), p.p.AddInput("w", ir.Type{DType: d, Shape: ir.Shape{70, 70}})
			if model {
				p.p.AddOutput("next", p.add(ir.Neg, nil, p.p.AddInput("step", ir.Type{DType: ir.Int32})))
			}
			p.p.AddOutput("y", p.add(ir.Tanh, nil, p.add(ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}, x, w)))
			q, err := pipelineFor(1).improve(p.p, false, true)
			require.NoError(t, err)
			for _, n := range q.Nodes {
				if n.Op == ir.Dot {
					require.Equal(t, !model || !widens(p.p)(d), q.Type(n.Outputs[0]).DType == d, "%v\n%v", model, q)
				}
			}
		}
	}
}

// TestComputedNumbersOf16Bits: a prediction that rounds what it computes from float32, as a normalization does whose
// variables have 16 bits, and converts it back, does not round it. A function that converts 16 bits alone does.
func TestComputedNumbersOf16Bits(t *testing.T) {
	for _, d := range []ir.DType{ir.BFloat16, ir.Float16} {
		for _, of := range []ir.DType{ir.Float32, d} {
			p := passProgram{t, ir.New("normalized")}
			to := func(d ir.DType, v ir.Value) ir.Value { return p.add(ir.Convert, ir.ConvertAttrs{DType: d}, v) }
			x, gamma := p.p.AddInput("x", ir.Type{DType: of, Shape: ir.Shape{9, 70}}), p.p.AddInput("gamma", ir.Type{DType: d, Shape: ir.Shape{9, 70}})
			if of == d {
				x = to(ir.Float32, x)
			}
			y := to(d, p.add(ir.Mul, nil, p.add(ir.Exp, nil, x), to(ir.Float32, gamma)))
			p.p.AddOutput("y", to(ir.Float32, y))
			p.p.Nodes[len(p.p.Nodes)-1].Scope = "" // of no layer
			q, err := pipelineFor(1).improve(p.p, false, true)
			require.NoError(t, err)
			rounds := slices.ContainsFunc(q.Nodes, func(n ir.Node) bool { return q.Type(n.Outputs[0]).DType == d })
			require.Equal(t, of == d, rounds, "%v", q)
		}
	}
}
