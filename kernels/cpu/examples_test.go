package cpu

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/ir"
)

// TestBlocksOfExamples draws networks that predict, and compares their results in blocks of examples with those for
// whole batches. The bits are the same, also after weights have changed.
func TestBlocksOfExamples(t *testing.T) {
	looped := 0
	for seed := range uint64(24) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			paths := isa.Paths()
			defer isa.Override(paths[int(seed)%len(paths)])()
			f := newFolded(t, seed, []int{2, 3, 4, 6, 8}[seed%5])
			f.fill()
			whole := f.load(false)
			defer ForceBlocks(1 << (7 + seed%8))()
			blocks := f.load(false)
			if slices.ContainsFunc(blocks.schedule.steps, func(s step) bool { return s.name == ir.Scan.String() }) {
				looped++
			}
			for range 3 { // kernels are kept from the second time on
				assert.Equal(t, f.run(whole), f.run(blocks))
			}
			y := []kernels.Buffer{newBuffer(here, f.p.Type(f.p.Outputs[0].Value))}
			assert.Zero(t, testing.AllocsPerRun(10, func() { _ = blocks.Run(context.Background(), f.buffers, y) }))
			for i := range f.buffers[1:] {
				f.change(i + 1)
			}
			assert.Equal(t, f.run(whole), f.run(blocks))
		})
	}
	assert.Greater(t, looped, 12, "networks with a loop over blocks")
}

// TestBlocksEndBehindElementwise: elementwise operations on a large product run in the loop over blocks of examples
// with it, although a number for each row is repeated in between.
func TestBlocksEndBehindElementwise(t *testing.T) {
	defer ForceBlocks(1 << 12)()
	p := passProgram{t, ir.New("p")}
	input := func(shape ...int) ir.Value {
		return p.p.AddInput("", ir.Type{DType: ir.Float32, Shape: shape})
	}
	y := p.add(ir.Abs, nil, p.add(ir.Dot, ir.DotAttrs{LhsContract: []int{2}, RhsContract: []int{0}}, input(8, 16, 12), input(12, 300)))
	largest := p.add(ir.Reduce, ir.ReduceAttrs{Kind: ir.Max, Axes: []int{2}}, y)
	y = p.add(ir.Sqrt, nil, p.add(ir.Div, nil, y, p.add(ir.Broadcast, ir.BroadcastAttrs{Shape: []int{8, 16, 300}, Axes: []int{0, 1}}, largest)))
	p.p.AddOutput("y", y)
	e, err := Backend{}.load(p.p, kernels.CompileOptions{Device: testDevice}, false)
	require.NoError(t, err)
	defer e.Close()
	var names []string
	for _, s := range e.schedule.steps {
		names = append(names, s.name)
	}
	require.Equal(t, ir.Scan.String(), names[len(names)-1], "%v", names)
}

// TestPackedProductOfVector: a packed product of one vector compiles if it follows nodes that run in blocks of
// examples.
func TestPackedProductOfVector(t *testing.T) {
	p := passProgram{t, ir.New("p")}
	input := func(d ir.DType, shape ...int) ir.Value { return p.p.AddInput("", ir.Type{DType: d, Shape: shape}) }
	normalized, err := p.p.Add("", ir.LayerNorm, ir.NormAttrs{Epsilon: 1e-3}, input(ir.Float32, 4, 8, 4), input(ir.Float32, 4), input(ir.Float32, 4))
	require.NoError(t, err)
	vector := p.add(ir.Reduce, ir.ReduceAttrs{Kind: ir.Sum, Axes: []int{1, 2}}, normalized[0])
	p.p.AddOutput("y", p.add(ir.PackedDot, ir.PackedDotAttrs{Columns: 4}, vector, input(ir.Int8, 4, 2)))
	e, err := Backend{}.load(p.p, kernels.CompileOptions{Device: testDevice}, false)
	require.NoError(t, err)
	e.Close()
}
