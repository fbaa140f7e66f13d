package cpu

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// lookupProgram computes indices from an input, looks elements up, computes with those, and looks others up with the
// results. It uses all modes, and tables that are inputs, results, or read element by element by the unit itself.
func lookupProgram(seed uint64) (*ir.Program, []reference.Value) {
	rng := rand.New(rand.NewPCG(seed, 14))
	s := &stacks{p: ir.New(fmt.Sprint("lookups ", seed)), rng: rng, dtype: ir.Int32}
	s.shape = []ir.Shape{{37, 129}, {5000}, {3, 40, 33}, {64}, {1}, {9000}}[rng.IntN(6)]
	n := s.shape.Size()
	fixed := func(x float64) ir.Value {
		return s.add(ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(ir.Int32, x, s.shape...)})
	}
	within := func(v ir.Value, n int) ir.Value {
		return s.add(ir.Minimum, nil, s.add(ir.Maximum, nil, v, fixed(0)), fixed(float64(n-1)))
	}
	s.values = []ir.Value{s.input(s.shape), s.input(s.shape)}
	var value ir.DType
	for k := range 2 + rng.IntN(6) {
		value = []ir.DType{ir.Float32, ir.Float64, ir.Int32, ir.Int64, ir.Float16, ir.BFloat16, ir.Uint16, ir.Int8}[rng.IntN(8)]
		if rng.IntN(3) == 0 {
			value = ir.Int32
		}
		length := 1 + rng.IntN(300)
		s.dtype = value
		table := s.input(ir.Shape{length})
		s.dtype = ir.Int32
		switch rng.IntN(4) {
		case 0: // a result
			table = s.add(ir.Abs, nil, table)
		case 1: // of the unit's own values
			if value == ir.Int32 {
				length = n
				table = s.add(ir.Reshape, ir.ReshapeAttrs{Shape: ir.Shape{n}}, s.pick())
			}
		}
		at, mode := s.elementwise(), []ir.IndexMode{ir.IndexError, ir.IndexClip, ir.IndexDrop}[rng.IntN(3)]
		if mode == ir.IndexError {
			at = within(at, length)
		}
		y := s.add(ir.Gather, ir.GatherAttrs{Mode: mode}, table, at)
		if value != ir.Int32 {
			s.p.AddOutput(fmt.Sprint("looked up", k), s.add(ir.Neg, nil, y))
			continue
		}
		s.values = append(s.values, y)
		if rng.IntN(2) == 0 {
			s.values = append(s.values, s.elementwise())
		}
	}
	s.p.AddOutput("last", s.add(ir.Maximum, nil, s.pick(), s.pick()))
	s.p.AddAlias("next", s.pick(), 0)
	return s.p, s.inputs
}

// TestLookupsJoinUnits compares gathers inside elementwise units with the reference.
func TestLookupsJoinUnits(t *testing.T) {
	const count = 120
	joined, paths := 0, isa.Paths()
	for seed := range uint64(count) {
		p, inputs := lookupProgram(seed)
		joined += plannedUnits(t, p, func(u *fuse.Unit) bool { return len(u.Tables) > 0 })
		want, err := reference.Run(p, inputs)
		require.NoError(t, err)
		restore := isa.Override(paths[int(seed)%len(paths)])
		results := runOnce(t, p, inputs, false)
		restore()
		for i, got := range results {
			if err := kernelstest.Compare(got, want[i], 0, true); err != nil {
				t.Fatalf("seed %d: output %d of %v: %v\n%v", seed, i, got.Type, err, p)
			}
		}
	}
	require.Greater(t, joined, count)
}

// TestLookupsFail: an invalid index, in any block, ends the run with its number, and the variable that the unit
// replaces keeps its value. The next run is not affected. Tables have elements of each size, and blocks are lines if
// the indices of a row share a number.
func TestLookupsFail(t *testing.T) {
	for _, path := range isa.Paths() {
		for _, d := range []ir.DType{ir.Int8, ir.BFloat16, ir.Int32, ir.Float64} {
			for _, lines := range []bool{false, true} {
				t.Run(fmt.Sprint(path, " ", d, " ", lines), func(t *testing.T) {
					defer isa.Override(path)()
					testLookupFails(t, d, lines)
				})
			}
		}
	}
}

// failingLookup returns a program that replaces its first input.
func failingLookup(t *testing.T, shape ir.Shape, d ir.DType, lines bool) *ir.Program {
	p := ir.New("fails")
	add := func(op ir.Op, a ir.Attrs, in ...ir.Value) ir.Value {
		out, err := p.Add("layer", op, a, in...)
		require.NoError(t, err)
		return out[0]
	}
	x := p.AddInput("x", ir.Type{DType: ir.Int32, Shape: shape})
	table := p.AddInput("table", ir.Type{DType: d, Shape: ir.Shape{7}})
	at := add(ir.Neg, nil, x)
	if lines {
		rows := p.AddInput("rows", ir.Type{DType: ir.Int32, Shape: ir.Shape{shape[0]}})
		at = add(ir.Add, nil, at, add(ir.Broadcast, ir.BroadcastAttrs{Shape: shape, Axes: []int{0}}, rows))
	}
	y := add(ir.Gather, ir.GatherAttrs{}, table, at)
	if d != ir.Int32 {
		y = add(ir.Convert, ir.ConvertAttrs{DType: ir.Int32}, y)
	}
	p.AddAlias("next", add(ir.Sub, nil, x, y), 0)
	return p
}

func testLookupFails(t *testing.T, d ir.DType, lines bool) {
	shape := ir.Shape{100, 200}
	n := shape.Size()
	p := failingLookup(t, shape, d, lines)
	e, err := Backend{}.load(p, kernels.CompileOptions{Device: testDevice}, false)
	require.NoError(t, err)
	defer e.Close()
	var in []kernels.Buffer
	for _, input := range p.Inputs {
		in = append(in, newBuffer(testDevice, p.Type(input.Value)))
	}
	variable := in[0]
	elements, err := reference.New(d, ir.Shape{7}, 1, 2, 3, 4, 5, 6, 7)
	require.NoError(t, err)
	require.NoError(t, in[1].Write(elements.Bytes()))
	for _, wrong := range [][]int{{0}, {19999}, {777, 12345}, nil} {
		data := make([]float64, n)
		for i := range data {
			data[i] = float64(-(i % 7))
		}
		for _, i := range wrong {
			data[i] = float64(-7 - i)
		}
		v, err := reference.New(ir.Int32, shape, data...)
		require.NoError(t, err)
		require.NoError(t, variable.Write(v.Bytes()))
		err = e.Run(context.Background(), in, []kernels.Buffer{variable})
		if wrong == nil {
			require.NoError(t, err)
			continue
		}
		var index *IndexError
		require.ErrorAs(t, err, &index)
		require.Equal(t, IndexError{Scope: "layer", Op: "gather", Index: fmt.Sprint(7 + wrong[0]), Position: wrong[0], Length: 7}, *index)
		require.Equal(t, v.Bytes(), variable.Bytes())
	}
}
