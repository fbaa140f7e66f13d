package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// TestBitCastsWithinUnits computes alternately with the bits of floats and with the floats themselves, in one unit, and
// compares with the reference. Floats stay normal numbers.
func TestBitCastsWithinUnits(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 21))
		float, whole := ir.Float32, []ir.DType{ir.Int32, ir.Uint32}[rng.IntN(2)]
		switch rng.IntN(4) {
		case 0:
			float, whole = ir.Float64, []ir.DType{ir.Int64, ir.Uint64}[rng.IntN(2)]
		case 1:
			float, whole = []ir.DType{ir.BFloat16, ir.Float16}[rng.IntN(2)], []ir.DType{ir.Int16, ir.Uint16}[rng.IntN(2)]
		}
		shape := []ir.Shape{{5000}, {33, 70}, {3, 5, 7}, {20}}[rng.IntN(4)]
		s := &stacks{p: ir.New(fmt.Sprint("bits ", seed)), rng: rng, dtype: float, shape: shape}
		normal := func(shape ir.Shape) ir.Value {
			values := make([]float64, shape.Size())
			for i := range values {
				values[i] = math.Ldexp(1+rng.Float64(), rng.IntN(24)-14)
			}
			x, err := reference.New(float, shape, values...)
			require.NoError(t, err)
			s.inputs = append(s.inputs, x)
			return s.p.AddInput(fmt.Sprint("in", len(s.inputs)), x.Type)
		}
		number := func(x float64) ir.Value {
			return s.add(ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(whole, x, shape...)})
		}
		row := shape[len(shape)-1:]
		spread := s.add(ir.Broadcast, ir.BroadcastAttrs{Shape: shape, Axes: []int{len(shape) - 1}}, normal(row))
		s.values = []ir.Value{normal(shape), normal(shape), spread}
		for k := range 3 + rng.IntN(12) {
			var v ir.Value
			switch rng.IntN(4) {
			case 0:
				v = s.add([]ir.Op{ir.Maximum, ir.Minimum}[rng.IntN(2)], nil, s.pick(), s.pick())
			case 1:
				v = s.add([]ir.Op{ir.Neg, ir.Abs}[rng.IntN(2)], nil, s.pick())
			default:
				bits := s.add(ir.BitCast, ir.ConvertAttrs{DType: whole}, s.pick())
				switch other := s.add(ir.BitCast, ir.ConvertAttrs{DType: whole}, s.pick()); rng.IntN(4) {
				case 0:
					bits = s.add([]ir.Op{ir.Add, ir.Sub}[rng.IntN(2)], nil, bits, number(1))
				case 1:
					bits = s.add(ir.Maximum, nil, bits, other)
				case 2:
					less := s.add(ir.Compare, ir.CompareAttrs{Direction: ir.Lt}, bits, other)
					bits = s.add(ir.Select, nil, less, other, s.add(ir.Add, nil, bits, number(3)))
				default:
					most := s.add(ir.Reduce, ir.ReduceAttrs{Kind: ir.Max, Axes: []int{0}}, bits)
					s.p.AddOutput(fmt.Sprint("most", k), most)
				}
				v = s.add(ir.BitCast, ir.ConvertAttrs{DType: float}, bits)
			}
			s.values = append(s.values, v)
		}
		s.p.AddOutput("last", s.values[len(s.values)-1])
		s.p.AddAlias("next", s.pick(), 1)
		joinedConcats(t, s.p)
		want, err := reference.Run(s.p, s.inputs)
		require.NoError(t, err)
		for i, got := range runOnce(t, s.p, s.inputs, false) {
			require.Equal(t, want[i].Bytes(), got.Bytes(), "seed %d, output %d of %v", seed, i, s.p)
		}
	}
}

// TestBitCastsDoNotDivideUnits shows the purpose of bit casts within units.
func TestBitCastsDoNotDivideUnits(t *testing.T) {
	p := ir.New("next")
	s := &stacks{p: p, rng: rand.New(rand.NewPCG(1, 2)), dtype: ir.Float32, shape: ir.Shape{300}}
	x := s.input(s.shape)
	bits := s.add(ir.BitCast, ir.ConvertAttrs{DType: ir.Int32}, s.add(ir.Neg, nil, x))
	y := s.add(ir.BitCast, ir.ConvertAttrs{DType: ir.Float32}, s.add(ir.Add, nil, bits, bits))
	p.AddOutput("y", s.add(ir.Abs, nil, y))
	g := fuse.NewGraph(p)
	g.Group()
	require.Len(t, g.Units, 1)
}
