package cpu_test

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// elementwiseCase is an operation on operands of a type.
type elementwiseCase struct {
	name    string
	op      ir.Op
	program *ir.Program
}

// elementwiseCases lists every elementwise operation on every type that it accepts, so that neither a new operation nor
// a new type can be forgotten. If joined is set, each is between other operations of one unit.
func elementwiseCases(joined bool, length func(d ir.DType) int) (list []elementwiseCase) {
	add := func(op ir.Op, d ir.DType, attrs ir.Attrs, suffix string, in ...ir.DType) {
		g := tape{p: &ir.Program{}}
		n := length(d)
		var operands []ir.Value
		for i, t := range in {
			operands = append(operands, g.input([]string{"a", "b", "c"}[i], t, n))
		}
		join := func(v ir.Value) ir.Value { // with one more operand, by an operation that loses nothing
			if !joined {
				return v
			}
			other := g.input(fmt.Sprint("d", len(g.p.Inputs)), g.p.Type(v).DType, n)
			if w, err := g.p.Add("layer", ir.Maximum, nil, v, other); err == nil {
				return w[0]
			}
			return g.op(ir.BitAnd, nil, v, other)
		}
		operands[0] = join(operands[0])
		y, err := g.p.Add("layer", op, attrs, operands...)
		if err != nil {
			return
		}
		g.p.AddOutput("y", join(y[0]))
		list = append(list, elementwiseCase{fmt.Sprintf("%v %v%s", op, d, suffix), op, g.p})
	}
	for _, op := range ir.Ops() {
		for _, d := range ir.DTypes() {
			switch {
			case !op.IsElementwise():
			case op == ir.Convert:
				for _, to := range ir.DTypes() {
					add(op, d, ir.ConvertAttrs{DType: to}, " to "+to.String(), d)
				}
			case op == ir.Compare:
				for _, dir := range []ir.Direction{ir.Eq, ir.Ne, ir.Lt, ir.Le, ir.Gt, ir.Ge} {
					add(op, d, ir.CompareAttrs{Direction: dir}, " "+string(dir), d, d)
				}
			case op == ir.Select:
				add(op, d, nil, "", ir.Bool, d, d)
			default:
				add(op, d, nil, "", d)
				add(op, d, nil, "", d, d)
			}
		}
	}
	return list
}

// drawElement draws any kind of number of a type: special ones, small ones and, for integers, arbitrary ones.
func drawElement(r *rand.Rand, d ir.DType) float64 {
	switch {
	case d == ir.Bool:
		return float64(r.IntN(2))
	case d.IsFloat():
		special := []float64{0, math.Copysign(0, -1), 1, -1, 0.5, -2.5, math.Inf(1), math.Inf(-1), math.NaN(), 3, -7}
		if k := r.IntN(2 * len(special)); k < len(special) {
			return special[k]
		}
		return ir.RoundFloat(d, r.NormFloat64()*math.Exp(2*r.NormFloat64()))
	}
	bits := 8 * d.Size()
	least, most := 0.0, math.Ldexp(1, min(bits, 53))-1 // what a float64 has
	if d.IsSigned() {
		least, most = -math.Ldexp(1, min(bits-1, 53)), math.Ldexp(1, min(bits-1, 53))-1
	}
	switch r.IntN(5) {
	case 0:
		return []float64{least, most, 0, 1, max(least, -1)}[r.IntN(5)]
	case 1:
		return float64(r.IntN(2 * bits))
	case 2:
		return max(least, float64(-r.IntN(2*bits)))
	case 3: // which differ in the lowest byte
		return min(float64(r.IntN(256)), most)
	}
	return math.Floor(least + r.Float64()*(most-least))
}

var elementwiseSeed = flag.Uint64("elementwise", 13, "draws the numbers of TestElementwiseTypes")

// TestElementwiseTypes compares every elementwise operation on every type that it accepts with the reference: numbers
// of every kind, vectors of any length, alone and among others in a unit, with every family of kernels.
func TestElementwiseTypes(t *testing.T) {
	for _, joined := range []bool{false, true} {
		r := rand.New(rand.NewPCG(11, *elementwiseSeed))
		least := 1
		if joined {
			least = 32 // from which on units run as code
		}
		cases := elementwiseCases(joined, func(ir.DType) int { return []int{least + r.IntN(40), 60 + r.IntN(200), 1000 + r.IntN(1500)}[r.IntN(3)] })
		require.Greater(t, len(cases), 500)
		for _, c := range cases {
			inputs := c.draw(t, r, !joined)
			want, err := reference.Run(c.program, inputs)
			require.NoError(t, err, c.name)
			// Far from 0, gelu is the exponential of a square, which loses digits, and so does Go's power, which the
			// reference uses.
			vanishes := c.op == ir.Gelu || c.op == ir.GeluGrad
			units := 64.0
			if c.op == ir.Pow {
				units = 1024
			}
			for _, path := range isa.Paths() {
				got := elementwiseRun(t, path, c.program, inputs)
				if err := kernelstest.Compare(got, want[0], units, vanishes); err != nil {
					t.Errorf("%s, joined %v, %v: %v", c.name, joined, path, err)
				}
			}
		}
	}
}

// draw draws the inputs of a case. It is not defined which of two zeros is larger, so neither is the sign of zeros
// among other numbers.
func (c *elementwiseCase) draw(t *testing.T, r *rand.Rand, signedZeros bool) []reference.Value {
	inputs := make([]reference.Value, len(c.program.Inputs))
	for i, in := range c.program.Inputs {
		typ := c.program.Type(in.Value)
		numbers := make([]float64, typ.Shape.Size())
		for k := range numbers {
			numbers[k] = drawElement(r, typ.DType)
			if numbers[k] == 0 && !signedZeros {
				numbers[k] = 0
			}
			if c.op == ir.GeluGrad && math.IsInf(numbers[k], 0) {
				numbers[k] = 2 // times a slope that may be rounded to 0 or not
			}
		}
		var err error
		inputs[i], err = reference.New(typ.DType, typ.Shape, numbers...)
		require.NoError(t, err)
	}
	return inputs
}

// elementwiseRun computes the one output of a program with a family of kernels.
func elementwiseRun(t *testing.T, path isa.Features, p *ir.Program, inputs []reference.Value) reference.Value {
	defer isa.Override(path)()
	s := newSession(t, p)
	defer s.e.Close()
	for i, in := range inputs {
		copy(s.inputs[i].Bytes(), in.Bytes())
	}
	s.run(t)
	got, err := reference.FromBytes(p.Type(p.Outputs[0].Value), s.outputs[0].Bytes())
	require.NoError(t, err)
	return got
}
