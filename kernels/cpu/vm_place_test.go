package cpu

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// stacks grows programs of exact elementwise operations and of concatenations along any axis.
type stacks struct {
	p      *ir.Program
	rng    *rand.Rand
	dtype  ir.DType
	shape  ir.Shape
	values []ir.Value // of the type and shape
	inputs []reference.Value
}

func (s *stacks) add(op ir.Op, a ir.Attrs, in ...ir.Value) ir.Value {
	out, err := s.p.Add("", op, a, in...)
	if err != nil {
		panic(err)
	}
	return out[0]
}

func (s *stacks) input(shape ir.Shape) ir.Value {
	values := make([]float64, shape.Size())
	for i := range values {
		if values[i] = float64(s.rng.IntN(200) - 100); s.dtype == ir.Bool {
			values[i] = float64(s.rng.IntN(2))
		}
		if s.dtype.IsFloat() && s.rng.IntN(4) == 0 {
			values[i] /= 1 << 20 // a small number of 16 bits
		}
		if !s.dtype.IsSigned() {
			values[i] = max(values[i], 0)
		}
	}
	v, err := reference.New(s.dtype, shape, values...)
	if err != nil {
		panic(err)
	}
	s.inputs = append(s.inputs, v)
	return s.p.AddInput(fmt.Sprint("in", len(s.inputs)), v.Type)
}

func (s *stacks) pick() ir.Value {
	if n := len(s.values); s.rng.IntN(2) == 0 {
		return s.values[n-1-s.rng.IntN(min(n, 4))]
	}
	return s.values[s.rng.IntN(len(s.values))]
}

// elementwise adds an operation whose result is exact.
func (s *stacks) elementwise() ir.Value {
	if s.dtype == ir.Bool {
		if s.rng.IntN(3) == 0 {
			return s.add(ir.Not, nil, s.pick())
		}
		return s.add([]ir.Op{ir.BitAnd, ir.BitOr, ir.BitXor}[s.rng.IntN(3)], nil, s.pick(), s.pick())
	}
	switch s.rng.IntN(5) {
	case 0:
		return s.add([]ir.Op{ir.Abs, ir.Relu}[s.rng.IntN(2)], nil, s.pick())
	case 1:
		mask := s.add(ir.Compare, ir.CompareAttrs{Direction: ir.Gt}, s.pick(), s.pick())
		return s.add(ir.Select, nil, mask, s.pick(), s.pick())
	case 2: // the gradient of a relu
		zero := s.add(ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(s.dtype, 0, s.shape...)})
		return s.add(ir.Select, nil, s.add(ir.Compare, ir.CompareAttrs{Direction: ir.Gt}, s.pick(), zero), s.pick(), zero)
	case 3:
		if s.dtype.IsSigned() {
			return s.add(ir.Neg, nil, s.pick())
		}
	}
	return s.add([]ir.Op{ir.Maximum, ir.Minimum}[s.rng.IntN(2)], nil, s.pick(), s.pick())
}

// piece slices one operand's size from a concatenation, aligned with an operand or not.
func (s *stacks) piece(v ir.Value, axis int) ir.Value {
	big := s.p.Type(v).Shape
	a := ir.SliceAttrs{Start: make([]int, len(big)), Limit: slices.Clone(big), Stride: slices.Repeat([]int{1}, len(big))}
	a.Start[axis] = s.rng.IntN(big[axis] - s.shape[axis] + 1)
	a.Limit[axis] = a.Start[axis] + s.shape[axis]
	return s.add(ir.Slice, a, v)
}

// spread returns a value of the shape, by a broadcast.
func (s *stacks) spread() ir.Value {
	var small ir.Shape
	var axes []int
	for i, n := range s.shape {
		if s.rng.IntN(2) == 0 {
			small, axes = append(small, n), append(axes, i)
		}
	}
	return s.add(ir.Broadcast, ir.BroadcastAttrs{Shape: s.shape, Axes: axes}, s.input(small))
}

// concat concatenates values, some of them twice or through views.
func (s *stacks) concat() (v ir.Value, axis int) {
	axis = s.rng.IntN(len(s.shape))
	parts := make([]ir.Value, 2+s.rng.IntN(4))
	for i := range parts {
		if parts[i] = s.pick(); s.rng.IntN(4) == 0 {
			flat := s.add(ir.Reshape, ir.ReshapeAttrs{Shape: ir.Shape{s.shape.Size()}}, parts[i])
			parts[i] = s.add(ir.Reshape, ir.ReshapeAttrs{Shape: s.shape}, flat)
		} else if s.rng.IntN(6) == 0 {
			parts[i] = s.spread()
		}
	}
	return s.add(ir.Concat, ir.AxisAttrs{Axis: axis}, parts...), axis
}

// TestConcatenationsKeepBits concatenates 16-bit numbers that arithmetic would flush or quieten with computed ones.
func TestConcatenationsKeepBits(t *testing.T) {
	for _, d := range []ir.DType{ir.BFloat16, ir.Float16} {
		for _, spread := range []bool{false, true} {
			s := &stacks{p: ir.New("bits"), rng: rand.New(rand.NewPCG(1, 1)), dtype: d, shape: ir.Shape{64, 9}}
			x, moved := s.input(s.shape), s.input(s.shape)
			if spread {
				moved = s.spread()
			}
			s.p.AddOutput("y", s.add(ir.Concat, ir.AxisAttrs{Axis: 1}, moved, s.add(ir.Abs, nil, x)))
			require.Equal(t, 1, joinedConcats(t, s.p))
			e, err := Backend{}.load(s.p, kernels.CompileOptions{Device: testDevice}, false)
			require.NoError(t, err)
			defer e.Close()
			var in []kernels.Buffer
			odd := []byte{1, 0, 0x81, 0x7f, 0x01, 0x7c} // the smallest number, signaling NaNs of both types
			for _, v := range s.inputs {
				b := newBuffer(testDevice, v.Type)
				data := b.Bytes()
				for i := range data {
					data[i] = odd[i%len(odd)]
				}
				in = append(in, b)
			}
			y := newBuffer(testDevice, s.p.Type(s.p.Outputs[0].Value))
			require.NoError(t, e.Run(context.Background(), in, []kernels.Buffer{y}))
			source := in[len(in)-1]
			for row := range s.shape[0] {
				for column := range s.shape[1] {
					at := 2 * (row*s.shape[1] + column)
					switch len(source.Type().Shape) {
					case 0:
						at = 0
					case 1:
						at = 2 * row
						if source.Type().Shape[0] == s.shape[1] {
							at = 2 * column
						}
					}
					to := 2 * (row*2*s.shape[1] + column)
					require.Equal(t, source.Bytes()[at:at+2], y.Bytes()[to:to+2], "%v: row %d, column %d", source.Type(), row, column)
				}
			}
		}
	}
}

// randomStacks returns a program with its inputs.
func randomStacks(seed uint64) (*ir.Program, []reference.Value) {
	rng := rand.New(rand.NewPCG(seed, 12))
	types := []ir.DType{ir.Float32, ir.Float32, ir.Float64, ir.BFloat16, ir.Float16, ir.Int32, ir.Int64, ir.Uint8, ir.Int8, ir.Int16, ir.Uint32, ir.Bool}
	s := &stacks{p: ir.New(fmt.Sprint("stacks ", seed)), rng: rng, dtype: types[rng.IntN(len(types))]}
	s.shape = []ir.Shape{{37, 129}, {5, 40, 33}, {700, 3, 5}, {6000, 1}, {4100}, {9, 1, 257}, {3, 2, 5, 7, 11}, {7}, {260, 16}, {2, 5000}}[rng.IntN(10)]
	s.values = []ir.Value{s.input(s.shape), s.input(s.shape), s.spread()}
	for k := range 4 + rng.IntN(16) {
		var v ir.Value
		switch rng.IntN(8) {
		case 0, 1:
			c, axis := s.concat()
			switch rng.IntN(4) {
			case 0:
				s.p.AddOutput(fmt.Sprint("stack", k), c)
			case 1: // of concatenations
				d := s.add(ir.Concat, ir.AxisAttrs{Axis: axis}, c, s.add(ir.Concat, ir.AxisAttrs{Axis: axis}, s.elementwise(), s.pick()), c)
				s.p.AddOutput(fmt.Sprint("stack", k), d)
			case 2: // after operations of its own
				if s.dtype == ir.Bool {
					c = s.add(ir.Not, nil, c)
				} else {
					c = s.add(ir.Maximum, nil, c, s.add(ir.Relu, nil, c))
				}
			}
			v = s.piece(c, axis)
		case 2: // a value that an op with a kernel of its own has in memory
			if s.dtype == ir.Bool {
				continue
			}
			flat := s.add(ir.Reshape, ir.ReshapeAttrs{Shape: ir.Shape{s.shape.Size()}}, s.pick())
			v = s.add(ir.Reshape, ir.ReshapeAttrs{Shape: s.shape}, s.add(ir.Cumulative, ir.CumulativeAttrs{Kind: ir.Max}, flat))
		case 3:
			if s.dtype == ir.Bool {
				continue
			}
			axis := rng.IntN(len(s.shape))
			s.p.AddOutput(fmt.Sprint("most", k), s.add(ir.Reduce, ir.ReduceAttrs{Kind: ir.Max, Axes: []int{axis}}, s.pick()))
			continue
		default:
			v = s.elementwise()
		}
		s.values = append(s.values, v)
	}
	c, _ := s.concat()
	s.p.AddOutput("last", c)
	s.p.AddAlias("next", s.pick(), 0)
	return s.p, s.inputs
}

// joinedConcats plans a program, checks the plan, and returns how many concatenations have joined elementwise units.
func joinedConcats(t *testing.T, p *ir.Program) (n int) {
	rt := &runtime{pool: pool.Shared(), workers: make([]worker, pool.Shared().Size())}
	c := &compiler{rt: rt, replicas: 1, device: testDevice}
	q, err := pipelineFor(1).normal.Run(p)
	require.NoError(t, err)
	g := fuse.NewGraph(q)
	g.Group()
	pl := &placement{Placement: plan.Place(g, true)}
	s := &schedule{}
	for _, u := range g.Units {
		_, err := c.lower(pl, u, s)
		require.NoError(t, err)
		for _, i := range u.Sinks {
			if q.Nodes[i].Op == ir.Concat {
				n++
			}
		}
	}
	plan.Memory(pl.Storages)
	checkPlan(t, pl)
	return n
}

// TestConcatenationsJoinUnits compares concatenations of results of elementwise units with the reference: with several
// readers, operands that occur twice or are in memory, along any axis, for every element size.
func TestConcatenationsJoinUnits(t *testing.T) {
	joined := 0
	for seed := range uint64(stackPrograms) {
		p, inputs := randomStacks(seed)
		joined += joinedConcats(t, p)
		want, err := reference.Run(p, inputs)
		require.NoError(t, err)
		for i, got := range runOnce(t, p, inputs, false) {
			if err := kernelstest.Compare(got, want[i], 0, true); err != nil {
				t.Fatalf("seed %d: output %d of %v: %v\n%v", seed, i, got.Type, err, p)
			}
		}
	}
	require.Greater(t, joined, stackPrograms)
}

const stackPrograms = 100
