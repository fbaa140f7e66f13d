package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// updatePrograms grows programs whose updates read anything: inputs, constants, views, values with other readers, and
// each other's results.
type updatePrograms struct {
	passProgram
	r      *rand.Rand
	shape  ir.Shape
	half   ir.DType
	inputs []reference.Value
	wide   []ir.Value // of float32 and the shape
	halves []ir.Value // of 16 bits and the shape
}

func (u *updatePrograms) input(d ir.DType, shape ...int) ir.Value {
	values := make([]float64, ir.Shape(shape).Size())
	for i := range values {
		values[i] = float64(u.r.IntN(5) - 2)
	}
	v, err := reference.New(d, shape, values...)
	require.NoError(u.t, err)
	u.inputs = append(u.inputs, v)
	return u.p.AddInput("", v.Type)
}

// narrow is a value of 16 bits and the shape.
func (u *updatePrograms) narrow() (v ir.Value) {
	rows, columns := u.shape[0], u.shape[1]
	defer func() { u.halves = append(u.halves, v) }()
	switch u.r.IntN(10) {
	case 0:
		return u.input(u.half, u.shape...)
	case 8: // an input that an output replaces
		v = u.input(u.half, u.shape...)
		u.p.AddAlias("", u.add(ir.Neg, nil, v), len(u.inputs)-1)
		return v
	case 9:
		if len(u.halves) > 0 {
			return u.halves[u.r.IntN(len(u.halves))]
		}
	case 1:
		return u.add(ir.Slice, ir.SliceAttrs{Start: []int{3, 0}, Limit: []int{3 + rows, columns}, Stride: []int{1, 1}}, u.input(u.half, rows+5, columns))
	case 2:
		return u.add(ir.Broadcast, ir.BroadcastAttrs{Shape: u.shape, Axes: []int{1}}, u.input(u.half, columns))
	case 3:
		return u.add(ir.Reshape, ir.ReshapeAttrs{Shape: u.shape}, u.input(u.half, columns, rows))
	case 4:
		return u.add(ir.Transpose, ir.TransposeAttrs{Perm: []int{1, 0}}, u.input(u.half, columns, rows))
	case 5:
		return u.add(ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(u.half, 2, u.shape...)})
	case 6:
		return u.add(ir.Neg, nil, u.input(u.half, u.shape...))
	}
	return u.add(ir.Dot, ir.DotAttrs{LhsContract: []int{0}, RhsContract: []int{0}}, u.input(u.half, 5, rows), u.input(u.half, 5, columns))
}

// gradient is a value of float32 and the shape.
func (u *updatePrograms) gradient() (v ir.Value) {
	rows, columns := u.shape[0], u.shape[1]
	switch u.r.IntN(8) {
	case 0:
		return u.wide[u.r.IntN(len(u.wide))]
	case 1:
		v = u.input(ir.Float32, u.shape...)
	case 2:
		v = u.add(ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(ir.Float32, 1, u.shape...)})
	case 3:
		v = u.add(ir.Broadcast, ir.BroadcastAttrs{Shape: u.shape, Axes: []int{0}}, u.input(ir.Float32, rows))
	case 4:
		v = u.add(ir.Dot, ir.DotAttrs{LhsContract: []int{0}, RhsContract: []int{0}}, u.input(ir.Float32, 5, rows), u.input(ir.Float32, 5, columns))
	default:
		v = u.add(ir.Convert, ir.ConvertAttrs{DType: ir.Float32}, u.narrow())
	}
	if u.r.IntN(2) == 0 {
		u.wide = append(u.wide, v)
	}
	if u.r.IntN(6) == 0 {
		u.p.AddOutput("", v)
	}
	return v
}

func randomUpdates(t *testing.T, seed uint64) (*ir.Program, []reference.Value) {
	r := rand.New(rand.NewPCG(seed, 31))
	u := &updatePrograms{passProgram: passProgram{t, ir.New(fmt.Sprint("updates ", seed))}, r: r, half: []ir.DType{ir.BFloat16, ir.Float16}[r.IntN(2)]}
	u.shape = []ir.Shape{{200, 48}, {48, 200}, {4, 30}, {300, 200}}[r.IntN(4)]
	rates, steps := map[ir.DType]ir.Value{}, map[ir.DType]ir.Value{}
	for _, d := range []ir.DType{ir.Float32, u.half} {
		rates[d], steps[d] = u.input(d), u.input(d)
		u.inputs[len(u.inputs)-2].F[0], u.inputs[len(u.inputs)-1].F[0] = 0.5, 3
	}
	rule := []string{"sgd", "sgd", "momentum"}[r.IntN(3)]
	a := ir.OptimizerAttrs{Rule: rule, Values: map[string][]float64{"momentum": {0.5}}[rule]}
	for range 1 + r.IntN(4) {
		at := []int{len(u.inputs)}
		d := []ir.DType{ir.Float32, ir.Float32, u.half}[r.IntN(3)]
		w := u.input(d, u.shape...)
		var gradient ir.Value
		switch {
		case d == ir.Float32:
			u.wide = append(u.wide, w)
			gradient = u.gradient()
		case r.IntN(2) == 0 && len(u.wide) > 0:
			gradient = u.add(ir.Convert, ir.ConvertAttrs{DType: d}, u.gradient())
		default:
			gradient = u.narrow()
		}
		operands := []ir.Value{w, gradient, rates[d], steps[d]}
		if rule == "momentum" {
			at = append(at, len(u.inputs))
			operands = append(operands, u.input(d, u.shape...))
		}
		out, err := u.p.Add("", ir.OptimizerUpdate, a, operands...)
		require.NoError(t, err)
		if d == ir.Float32 {
			u.wide = append(u.wide, out[0])
		} else {
			u.halves = append(u.halves, out[0])
		}
		for j, v := range out {
			u.p.AddAlias("", v, at[j])
		}
	}
	return u.p, u.inputs
}

// runInPlace runs a program whose outputs share the memory of the inputs that they replace.
func runInPlace(t *testing.T, p *ir.Program, inputs []reference.Value) (results []reference.Value) {
	e, err := Backend{}.load(p, kernels.CompileOptions{Device: testDevice}, false)
	require.NoError(t, err)
	defer e.Close()
	var in, out, from []kernels.Buffer
	for _, v := range inputs {
		in = append(in, newBuffer(testDevice, v.Type))
		require.NoError(t, in[len(in)-1].Write(v.Bytes()))
	}
	for _, o := range p.Outputs {
		if o.Alias >= 0 {
			out, from = append(out, nil), append(from, in[o.Alias])
			continue
		}
		out = append(out, newBuffer(testDevice, p.Type(o.Value)))
		from = append(from, out[len(out)-1])
	}
	require.NoError(t, e.Run(t.Context(), in, out))
	for _, b := range from {
		v, err := reference.FromBytes(b.Type(), b.Bytes())
		require.NoError(t, err)
		results = append(results, v)
	}
	return results
}

// TestUpdatesOfWhateverThereIs: updates that are joined with what computes their gradients, or with each other, give
// the same bits as alone, both in other memory and in place.
func TestUpdatesOfWhateverThereIs(t *testing.T) {
	for seed := range uint64(updateSeeds) {
		p, inputs := randomUpdates(t, seed)
		want := runOnce(t, p, inputs, true)
		for _, got := range [][]reference.Value{runOnce(t, p, inputs, false), runInPlace(t, p, inputs)} {
			for i := range want {
				require.NoError(t, kernelstest.Compare(got[i], want[i], 0, true), "%d: output %d\n%v", seed, i, p)
			}
		}
	}
}

const updateSeeds = 120
