package cpu_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu"
	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/ir"
)

// randomElementwise returns a program of random operations, mostly cheap ones, on floats of type d and on masks. It has
// outputs in the middle, conversions, sums, and repeated operands.
func randomElementwise(r *rand.Rand, d ir.DType) *ir.Program {
	g := tape{p: &ir.Program{}}
	rows, columns := 1+r.IntN(40), 1+r.IntN(90)
	if r.IntN(4) == 0 {
		rows, columns = 1+r.IntN(3), 1+r.IntN(12)
	}
	var floats, masks []ir.Value
	for _, name := range []string{"x", "y", "z"} {
		floats = append(floats, g.input(name, d, rows, columns))
	}
	floats = append(floats, g.like(floats[0], 0.5), g.op(ir.Broadcast, ir.BroadcastAttrs{Shape: ir.Shape{rows, columns}, Axes: []int{1}}, g.input("row", d, columns)),
		g.op(ir.Broadcast, ir.BroadcastAttrs{Shape: ir.Shape{rows, columns}}, g.input("number", d)))
	pick := func() ir.Value { // late ones more often
		if r.IntN(2) == 0 {
			return floats[len(floats)-1]
		}
		return floats[r.IntN(len(floats))]
	}
	unary := []ir.Op{ir.Neg, ir.Abs, ir.Relu, ir.Sqrt, ir.Floor, ir.Ceil, ir.Round, ir.Sign, ir.Tanh}
	binary := []ir.Op{ir.Add, ir.Sub, ir.Mul, ir.Div, ir.Maximum, ir.Minimum}
	functions := []ir.Op{ir.Rsqrt, ir.Exp, ir.Log, ir.Tanh, ir.Sigmoid, ir.Erf, ir.Expm1, ir.Log1p, ir.Asin, ir.Acos, ir.Atan, ir.Sinh, ir.Cosh,
		ir.Asinh, ir.Acosh, ir.Atanh, ir.ErfInv, ir.Erfc, ir.Exp2, ir.Sin}
	twoOperands := []ir.Op{ir.Pow, ir.Atan2, ir.Rem}
	directions := []ir.Direction{ir.Eq, ir.Ne, ir.Lt, ir.Le, ir.Gt, ir.Ge}
	for range 3 + r.IntN(30) {
		if r.IntN(6) == 0 {
			floats, masks = integerSteps(r, &g, floats, masks, pick)
		}
		switch k := r.IntN(16); {
		case k == 15: // operations that code alone has
			floats, masks = wholeSteps(r, &g, floats, masks, pick)
		case k == 14: // any type, and back
			other := g.op(ir.Convert, ir.ConvertAttrs{DType: allTypes[r.IntN(len(allTypes))]}, pick())
			again := g.op(ir.Convert, ir.ConvertAttrs{DType: allTypes[r.IntN(len(allTypes))]}, other)
			if r.IntN(3) == 0 {
				g.p.AddOutput("converted", again)
			}
			floats = append(floats, g.op(ir.Convert, ir.ConvertAttrs{DType: d}, again))
		case k == 13: // another type, and back; the result in between may be stored
			other := g.op(ir.Convert, ir.ConvertAttrs{DType: chainTypes[r.IntN(len(chainTypes))]}, pick())
			if r.IntN(2) == 0 {
				other = g.op(ir.Add, nil, other, g.like(other, 0.75))
			}
			if r.IntN(3) == 0 {
				g.p.AddOutput("converted", other)
			}
			floats = append(floats, g.op(ir.Convert, ir.ConvertAttrs{DType: d}, other))
		case k == 12: // the gradient of an extreme for both operands
			x, y, dy, zero := pick(), pick(), pick(), g.like(floats[0], 0)
			tie := g.op(ir.Select, nil, g.op(ir.Compare, ir.CompareAttrs{Direction: ir.Eq}, x, y), g.op(ir.Mul, nil, dy, g.like(floats[0], 0.5)), zero)
			d := []ir.Direction{ir.Lt, ir.Gt}[r.IntN(2)]
			floats = append(floats, g.op(ir.Select, nil, g.op(ir.Compare, ir.CompareAttrs{Direction: d}, x, y), dy, tie))
			if r.IntN(2) == 0 {
				floats = append(floats, g.op(ir.Select, nil, g.op(ir.Compare, ir.CompareAttrs{Direction: d}, y, x), dy, tie))
			}
			if r.IntN(4) == 0 {
				floats = append(floats, tie)
			}
		case k < 5:
			from := binary
			if r.IntN(8) == 0 {
				from = twoOperands
			}
			floats = append(floats, g.op(from[r.IntN(len(from))], nil, pick(), pick()))
		case k < 7:
			from := unary
			if r.IntN(2) == 0 {
				from = functions
			}
			floats = append(floats, g.op(from[r.IntN(len(from))], nil, pick()))
		case k < 9 || len(masks) == 0:
			masks = append(masks, g.op(ir.Compare, ir.CompareAttrs{Direction: directions[r.IntN(len(directions))]}, pick(), pick()))
		case k < 11:
			m := masks[len(masks)-1]
			if r.IntN(3) == 0 {
				m = masks[r.IntN(len(masks))]
			}
			floats = append(floats, g.op(ir.Select, nil, m, pick(), pick()))
		default:
			floats = append(floats, g.op(ir.Convert, ir.ConvertAttrs{DType: d}, masks[r.IntN(len(masks))]))
		}
		if r.IntN(8) == 0 {
			g.p.AddOutput("float", floats[len(floats)-1])
		}
		if len(masks) > 0 && r.IntN(3) == 0 {
			masks = append(masks, logical(r, &g, masks))
		}
		if len(masks) > 0 && r.IntN(12) == 0 {
			g.p.AddOutput("mask", masks[r.IntN(len(masks))])
		}
	}
	last := floats[len(floats)-1]
	if r.IntN(2) == 0 {
		g.p.AddOutput("sum", g.op(ir.Reduce, ir.ReduceAttrs{Kind: ir.Sum, Axes: []int{1}}, last))
	}
	g.p.AddOutput("last", last)
	return g.p
}

// logical combines masks, usually including the last one.
func logical(r *rand.Rand, g *tape, masks []ir.Value) ir.Value {
	m, other := masks[len(masks)-1], masks[r.IntN(len(masks))]
	if r.IntN(4) == 0 {
		return g.op(ir.Not, nil, m)
	}
	if r.IntN(2) == 0 {
		m, other = other, m
	}
	return g.op([]ir.Op{ir.BitAnd, ir.BitOr, ir.BitXor}[r.IntN(3)], nil, m, other)
}

// chainTypes are the types whose operations chains can compute.
var chainTypes = []ir.DType{ir.Float32, ir.BFloat16, ir.Float16}

// integerSteps adds operations on integers that end in a float or a mask.
func integerSteps(r *rand.Rand, g *tape, floats, masks []ir.Value, pick func() ir.Value) (moreFloats, moreMasks []ir.Value) {
	ints := []ir.Value{g.op(ir.Convert, ir.ConvertAttrs{DType: ir.Int32}, pick()), g.op(ir.Convert, ir.ConvertAttrs{DType: ir.Int32}, pick())}
	if len(masks) > 0 {
		ints = append(ints, g.op(ir.Convert, ir.ConvertAttrs{DType: ir.Int32}, masks[r.IntN(len(masks))]))
	}
	any := func() ir.Value { return ints[r.IntN(len(ints))] }
	binary := []ir.Op{ir.Add, ir.Sub, ir.Mul, ir.Maximum, ir.Minimum, ir.BitAnd, ir.BitOr, ir.BitXor, ir.ShiftLeft, ir.Div, ir.Rem}
	for range 1 + r.IntN(5) {
		switch v := ints[len(ints)-1]; r.IntN(4) {
		case 0:
			ints = append(ints, g.op([]ir.Op{ir.Neg, ir.Abs}[r.IntN(2)], nil, v))
		case 1:
			direction := []ir.Direction{ir.Eq, ir.Ne, ir.Lt, ir.Le, ir.Gt, ir.Ge}[r.IntN(6)]
			masks = append(masks, g.op(ir.Compare, ir.CompareAttrs{Direction: direction}, v, any()))
			ints = append(ints, g.op(ir.Select, nil, masks[len(masks)-1], any(), v))
		default:
			ints = append(ints, g.op(binary[r.IntN(len(binary))], nil, any(), v))
		}
	}
	d := g.p.Type(floats[0]).DType
	return append(floats, g.op(ir.Convert, ir.ConvertAttrs{DType: d}, ints[len(ints)-1])), masks
}

var allTypes = []ir.DType{ir.Bool, ir.Int8, ir.Int16, ir.Int32, ir.Int64, ir.Uint8, ir.Uint16, ir.Uint32, ir.Uint64, ir.Float16, ir.BFloat16, ir.Float32,
	ir.Float64}

// wholeSteps adds operations on integers of all types, and on bools, that end in a float or a mask.
func wholeSteps(r *rand.Rand, g *tape, floats, masks []ir.Value, pick func() ir.Value) (moreFloats, moreMasks []ir.Value) {
	t := ir.ConvertAttrs{DType: []ir.DType{ir.Int64, ir.Uint32, ir.Uint64, ir.Int32, ir.Int8, ir.Uint8, ir.Int16, ir.Uint16}[r.IntN(8)]}
	x, y := g.op(ir.Convert, t, pick()), g.op(ir.Convert, t, pick())
	direction := func() ir.CompareAttrs {
		return ir.CompareAttrs{Direction: []ir.Direction{ir.Eq, ir.Ne, ir.Lt, ir.Le, ir.Gt, ir.Ge}[r.IntN(6)]}
	}
	binary := []ir.Op{ir.Add, ir.Sub, ir.Mul, ir.Maximum, ir.Minimum, ir.BitAnd, ir.BitOr, ir.BitXor, ir.Div, ir.Rem, ir.ShiftLeft, ir.ShiftRight}
	unary := []ir.Op{ir.Relu, ir.Sign, ir.Not}
	for range 1 + r.IntN(4) {
		x, y = g.op(binary[r.IntN(len(binary))], nil, x, y), x
		if t.DType.IsSigned() && r.IntN(3) == 0 {
			x = g.op([]ir.Op{ir.Neg, ir.Abs}[r.IntN(2)], nil, x)
		}
		if r.IntN(3) == 0 {
			x = g.op(unary[r.IntN(len(unary))], nil, x)
		}
	}
	m := g.op(ir.Compare, direction(), x, y)
	x = g.op(ir.Select, nil, m, y, x)
	if len(masks) > 0 {
		m = g.op(ir.Select, nil, masks[r.IntN(len(masks))], m, g.op(ir.Compare, direction(), masks[len(masks)-1], m))
	}
	return append(floats, g.op(ir.Convert, ir.ConvertAttrs{DType: g.p.Type(floats[0]).DType}, x)), append(masks, m)
}

// unsigned returns the elements with the signs of all NaN cleared, because an operation may pass on either of two NaN.
func unsigned(d ir.DType, data []byte) []byte {
	if !d.IsFloat() {
		return data
	}
	same := slices.Clone(data)
	for at := 0; at < len(same); at += d.Size() {
		if x := same[at : at+d.Size()]; math.IsNaN(ir.Element(x, d, 0)) {
			x[len(x)-1] &^= 0x80
		}
	}
	return same
}

func firstDifference(want, got []byte) string {
	i := 0
	for i < min(len(want), len(got)) && want[i] == got[i] {
		i++
	}
	i &^= 7
	return fmt.Sprintf("from byte %d of %d: % x, want % x", i, len(want), got[i:min(i+8, len(got))], want[i:min(i+8, len(want))])
}

// TestChainsKeepTheBits: random programs give the same bits in compiled code, in chains and one by one.
func TestChainsKeepTheBits(t *testing.T) {
	outputs := func(p *ir.Program) (all [][]byte) {
		s := newSession(t, p)
		r := rand.New(rand.NewPCG(8, 8))
		for i, in := range p.Inputs {
			typ, data := p.Type(in.Value), s.inputs[i].Bytes()
			for j := range typ.Shape.Size() {
				copy(data[typ.DType.Size()*j:], ir.AppendElement(nil, typ.DType, float64(r.IntN(9)-4)/2)) // which are often equal, or 0
			}
		}
		s.run(t)
		for i, o := range s.outputs {
			all = append(all, unsigned(p.Type(p.Outputs[i].Value).DType, o.Bytes()))
		}
		return all
	}
	paths := isa.Paths()
	for seed := range uint64(1200) {
		restore := isa.Override(paths[seed/4%uint64(len(paths))])
		p := randomElementwise(rand.New(rand.NewPCG(seed, 3)), []ir.DType{ir.Float32, ir.BFloat16, ir.Float16, ir.Float64}[seed%4])
		with := outputs(p)
		same := func() {
			for i, want := range outputs(p) {
				require.True(t, bytes.Equal(want, with[i]), "program %d, output %d %s:\n%v", seed, i, firstDifference(want, with[i]), p)
			}
		}
		cpu.WithoutCode(same)
		cpu.WithoutChains(same)
		restore()
	}
}
