package lower_test

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cuda/internal/lower"
	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
	"github.com/gokeras/gokeras/kernels/cuda/internal/ptxsim"
	"github.com/gokeras/gokeras/kernels/ir"
)

// product is x·y, where the operands may be stored transposed, optionally followed by a bias and gelu.
func product(t testing.TB, d ir.DType, m, n, k int, turnX, turnY, chain bool) *ir.Program {
	p := ir.New("product")
	add := func(op ir.Op, attrs ir.Attrs, in ...ir.Value) ir.Value {
		v, err := p.Add("layer", op, attrs, in...)
		require.NoError(t, err)
		return v[0]
	}
	x, y, a := ir.Shape{m, k}, ir.Shape{k, n}, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}
	if turnX {
		x, a.LhsContract = ir.Shape{k, m}, []int{0}
	}
	if turnY {
		y, a.RhsContract = ir.Shape{n, k}, []int{1}
	}
	v := add(ir.Dot, a, p.AddInput("x", ir.Type{DType: d, Shape: x}), p.AddInput("y", ir.Type{DType: d, Shape: y}))
	if chain {
		bias := p.AddInput("bias", ir.Type{DType: d, Shape: ir.Shape{n}})
		v = add(ir.Add, nil, v, add(ir.Broadcast, ir.BroadcastAttrs{Shape: ir.Shape{m, n}, Axes: []int{1}}, bias))
		v = add(ir.Mul, nil, v, add(ir.Erf, nil, v))
	}
	p.AddOutput("out", v)
	return p
}

// tensorPrograms are products of every layout, type and tile.
func tensorPrograms(t testing.TB) []*ir.Program {
	var all []*ir.Program
	for _, d := range []ir.DType{ir.BFloat16, ir.Float16, ir.Float32} {
		for turns := range 4 {
			for _, size := range [][3]int{{64, 64, 128}, {100, 33, 57}, {4096, 4096, 1024}, {2001, 1999, 77}, {64, 64, 4096}} {
				p := product(t, d, size[0], size[1], size[2], turns&1 != 0, turns&2 != 0, turns == 0)
				if turns > 0 { // a gradient, and that of a bias
					dot := p.Nodes[0]
					v, err := p.Add("layer", ir.Reduce, ir.ReduceAttrs{Kind: ir.Sum, Axes: dot.Attrs.(ir.DotAttrs).RhsContract}, dot.Inputs[1])
					require.NoError(t, err)
					p.AddOutput("sum", v[0])
				}
				all = append(all, p)
			}
		}
	}
	return append(all, convolutions(t)...)
}

// convolutions are those of an image network in bfloat16, with their gradients, for large and small images.
func convolutions(t testing.TB) []*ir.Program {
	var all []*ir.Program
	for _, channels := range [][2]int{{3, 64}, {64, 128}} {
		for _, batch := range []int{1, 64} {
			a := ir.ConvAttrs{Strides: []int{2, 2}, Dilation: []int{1, 1}, PadLow: []int{0, 0}, PadHigh: []int{1, 1}, Groups: 1}
			x, kernel, y := ir.Shape{batch, 56, 56, channels[0]}, ir.Shape{3, 3, channels[0], channels[1]}, ir.Shape{batch, 28, 28, channels[1]}
			for _, c := range []struct {
				op    ir.Op
				attrs ir.Attrs
				in    []ir.Shape
			}{
				{ir.Conv, a, []ir.Shape{x, kernel}},
				{ir.ConvInputGrad, ir.ConvGradAttrs{Conv: a, Shape: x}, []ir.Shape{y, kernel}},
				{ir.ConvKernelGrad, ir.ConvGradAttrs{Conv: a, Shape: kernel}, []ir.Shape{x, y}},
			} {
				p := ir.New("convolution")
				var in []ir.Value
				for _, s := range c.in {
					in = append(in, p.AddInput("in", ir.Type{DType: ir.BFloat16, Shape: s}))
				}
				v, err := p.Add("layer", c.op, c.attrs, in...)
				require.NoError(t, err)
				p.AddOutput("out", v[0])
				all = append(all, p)
			}
		}
	}
	return all
}

// Products of 16-bit floats use tensor cores if the device has them, and so do those of float32 if TF32 is allowed.
func TestTensorCores(t *testing.T) {
	for _, c := range []struct {
		d    ir.DType
		o    lower.Options
		want bool
	}{
		{ir.BFloat16, lower.Options{Capability: 80}, true},
		{ir.Float16, lower.Options{Capability: 90}, true},
		{ir.Float16, lower.Options{Capability: 75}, false},
		{ir.BFloat16, lower.Options{}, false},
		{ir.Float32, lower.Options{Capability: 90}, false},
		{ir.Float32, lower.Options{Capability: 90, TF32: true}, true},
		{ir.Float32, lower.Options{Capability: 75, TF32: true}, false},
		{ir.Float64, lower.Options{Capability: 90, TF32: true}, false},
	} {
		plan, err := lower.Program(product(t, c.d, 64, 64, 64, false, false, true), c.o)
		require.NoError(t, err)
		assert.Equal(t, c.want, strings.Contains(plan.Text, "mma.sync"), "%v %+v", c.d, c.o)
		copies := c.want || c.d == ir.Float32 && c.o.Capability >= 80 // float32 is multiplied without tensor cores
		assert.Equal(t, copies, strings.HasPrefix(plan.Text, ptx.HeaderAmpere), "%v %+v", c.d, c.o)
		assert.Equal(t, 1, plan.Launches, "bias and activation are part of the product's kernel")
	}
	for _, size := range [][3]int{{8, 64, 64}, {64, 4, 64}, {64, 64, 8}} { // too few to fill an instruction
		plan, err := lower.Program(product(t, ir.BFloat16, size[0], size[1], size[2], false, false, false), lower.Options{Capability: 90})
		require.NoError(t, err)
		assert.NotContains(t, plan.Text, "mma.sync")
	}
}

// multiplied runs the kernel of x·y, of ones and small integers, and returns the first sum.
func multiplied(t *testing.T, text string, plan *lower.Plan, m, n, k int, order ptxsim.Order) ([]float32, error) {
	module, err := ptxsim.Parse(text)
	require.NoError(t, err)
	var memory ptxsim.Memory
	x, y, out := memory.Alloc(2*m*k), memory.Alloc(2*k*n), memory.Alloc(2*m*n)
	put := func(at uint64, i int, v float32) {
		binary.LittleEndian.PutUint16(memory.At(at)[2*i:], uint16(math.Float32bits(v)>>16))
	}
	for i := range m * k {
		put(x, i, float32(i%3-1))
	}
	for i := range k * n {
		put(y, i, float32(i%5-2))
	}
	require.Len(t, plan.Steps, 1)
	s := plan.Steps[0]
	var args []uint64
	for _, a := range s.Args {
		at := []uint64{x, y}[a.Place.Index]
		if a.Place.Space == lower.Output {
			at = out
		}
		if a.Kind == lower.TensorMap {
			m := ptxsim.TensorMap{Address: at, Rank: a.Tiled.Rank, Lengths: a.Tiled.Lengths, Strides: a.Tiled.Strides, Box: a.Tiled.Box}
			words := m.Words()
			args = append(args, words[:]...)
			continue
		}
		args = append(args, at)
	}
	if err := module.Kernels[s.Kernel].Run(ptxsim.Launch{Grid: s.Grid, Block: s.Block, Shared: s.Shared, Args: args, Memory: &memory, Order: order}); err != nil {
		return nil, err
	}
	sums := make([]float32, m*n)
	for i := range sums {
		sums[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(memory.At(out)[2*i:])) << 16)
	}
	return sums, nil
}

// Each barrier of the kernel, each wait for copies and products and each fence is needed: without any one of them the
// interpreter finds threads that access what others have not finished.
func TestTensorBarriers(t *testing.T) {
	const m, n = 128, 128
	for _, turned := range []bool{false, true} {
		for _, o := range []lower.Options{{Capability: 80}, {Capability: 90, Hopper: true, Pick: func(lower.Question) int { return 0 }}, {Capability: 90, Hopper: true, Bulk: true, Stages: 2, Pick: func(lower.Question) int { return 8 }}} {
			const k = 248
			if o.Bulk && !turned {
				continue
			}
			plan, err := lower.Program(product(t, ir.BFloat16, m, n, k, turned, !turned, false), o)
			require.NoError(t, err)
			want, err := multiplied(t, plan.Text, plan, m, n, k, ptxsim.Up)
			require.NoError(t, err)
			lines := []string{"\tbar.sync 0;\n", "\tcp.async.wait_group "}
			if o.Bulk {
				require.Contains(t, plan.Text, "cp.async.bulk")
				lines = []string{"\tbar.sync ", "\tmbarrier.init", "\tmbarrier.arrive.expect_tx", "mbarrier.arrive.shared", "\tmbarrier.try_wait", "\tcp.async.bulk"}
			}
			if o.Hopper {
				require.Contains(t, plan.Text, "wgmma.mma_async")
				lines = append(lines, "\twgmma.fence", "\twgmma.commit_group", "\twgmma.wait_group", "\tfence.proxy.async")
			}
			for _, line := range lines {
				parts := strings.Split(plan.Text, line)
				require.Greater(t, len(parts), 1)
				for i := 1; i < len(parts); i++ {
					rest := parts[i]
					if !strings.HasSuffix(line, "\n") {
						_, rest, _ = strings.Cut(rest, "\n")
					}
					if line[0] != '\t' { // skipped by a guard
						rest = "mov.b32 %r1, %r1;\n" + rest
					}
					broken := strings.Join(parts[:i], line) + rest
					if i+1 < len(parts) {
						broken += line + strings.Join(parts[i+1:], line)
					}
					found := false
					for _, order := range ptxsim.Orders() {
						got, err := multiplied(t, broken, plan, m, n, k, order)
						if found = err != nil || !assert.ObjectsAreEqual(want, got); found {
							break
						}
					}
					assert.True(t, found, "%q number %d was removed and nobody noticed", strings.TrimSpace(line), i)
				}
			}
		}
	}
}
