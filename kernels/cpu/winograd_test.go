package cpu

import (
	"context"
	"math"
	goruntime "runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// tiled is a program of one convolution with relu, which only predicts, or also replaces a variable.
type tiled struct {
	t *testing.T
	e *loaded
	p *ir.Program
	x *buffer
}

func newTiled(t *testing.T, batch int, pool, trains, plain bool) *tiled {
	p := ir.New("")
	input := func(shape ...int) ir.Value {
		return p.AddInput("", ir.Type{DType: ir.Float32, Shape: shape})
	}
	add := func(op ir.Op, attrs ir.Attrs, in ...ir.Value) ir.Value {
		out, err := p.Add("", op, attrs, in...)
		require.NoError(t, err)
		return out[0]
	}
	x, kernel, counter := input(batch, 9, 11, 32), input(3, 3, 32, 48), input()
	one := []int{1, 1}
	y := add(ir.Relu, nil, add(ir.Conv, ir.ConvAttrs{Strides: one, Dilation: one, PadLow: one, PadHigh: one, Groups: 1}, x, kernel))
	if pool {
		y = add(ir.MaxPool, ir.PoolAttrs{Window: []int{2, 2}, Strides: []int{2, 2}, PadLow: []int{0, 0}, PadHigh: []int{0, 0}}, y)
	}
	p.AddOutput("y", y)
	if trains {
		p.AddAlias("counter", add(ir.Neg, nil, counter), 2)
	}
	e, err := Backend{}.load(p, kernels.CompileOptions{Device: here}, plain)
	require.NoError(t, err)
	f := &tiled{t, e, p, newBuffer(here, p.Type(x))}
	require.NoError(t, f.x.Write(float32s(2 * 9 * 11 * 32)[:f.p.Type(x).Bytes()]))
	return f
}

func (f *tiled) run(kernel *buffer) []float32 {
	y := newBuffer(here, f.p.Type(f.p.Outputs[0].Value))
	outputs := []kernels.Buffer{y, nil}[:len(f.p.Outputs)]
	require.NoError(f.t, f.e.Run(context.Background(), []kernels.Buffer{f.x, kernel, newBuffer(here, ir.Type{DType: ir.Float32})}, outputs))
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(y.data))), len(y.data)/4)
}

func kernelBuffer(t *testing.T, scale float32) *buffer {
	b := newBuffer(here, ir.Type{DType: ir.Float32, Shape: ir.Shape{3, 3, 32, 48}})
	values := float32s(3 * 3 * 32 * 48)
	for i := range len(values) / 4 {
		*(*float32)(unsafe.Pointer(&values[4*i])) *= scale
	}
	require.NoError(t, b.Write(values))
	return b
}

// TestWinogradPredicts: programs that only predict compute 3x3 convolutions by Winograd's algorithm, within 1e-5 of
// others. The results are the same whether the transformed kernel is kept or not, and for every batch, and follow
// changes of the kernel. With so few images, transforming a kernel that training changes does not pay.
func TestWinogradPredicts(t *testing.T) {
	for _, pool := range []bool{false, true} {
		f, plain, trains := newTiled(t, 2, pool, false, false), newTiled(t, 2, pool, false, true), newTiled(t, 2, pool, true, false)
		kernel := kernelBuffer(t, 1)
		want := plain.run(kernel)
		assert.Equal(t, want, trains.run(kernel), "a program that trains")
		assert.Zero(t, kernel.tiles.holds.Load())
		y := f.run(kernel)
		assert.Equal(t, kernel.version.Load(), kernel.tiles.holds.Load(), "the transformed kernel is kept")
		near(t, want, y)
		require.NotEqual(t, want, y, "Winograd's products round differently; is it they that ran?")
		assert.Equal(t, y, f.run(kernel))
		assert.Equal(t, y[:len(y)/2], newTiled(t, 1, pool, false, false).run(kernel), "an image alone")

		require.NoError(t, kernel.Write(kernelBuffer(t, 2).data))
		near(t, plain.run(kernel), f.run(kernel))
		kernel.Bytes()[0]++ // others may change it from now on
		known := f.run(kernel)
		near(t, plain.run(kernel), known)
		fresh := kernelBuffer(t, 2)
		fresh.data[0]++
		assert.Equal(t, known, f.run(fresh))
		require.NoError(t, fresh.Borrow(kernelBuffer(t, 1).data))
		assert.Equal(t, y, f.run(fresh), "memory of the caller's")

		defer goruntime.GOMAXPROCS(goruntime.GOMAXPROCS(1))
		assert.Equal(t, y, newTiled(t, 2, pool, false, false).run(kernelBuffer(t, 1)), "one processor")
	}
}

// near requires numbers within 1e-5 of the largest.
func near(t *testing.T, want, got []float32) {
	t.Helper()
	largest := 0.0
	for _, v := range want {
		largest = max(largest, math.Abs(float64(v)))
	}
	for i := range want {
		require.InDelta(t, want[i], got[i], 1e-5*largest, "element %d", i)
	}
}

// TestPredictedConvolutions: programs that only predict also turn zeros around images into padding, and strided
// pointwise convolutions into products. The results agree with the unfused program within 1e-5, and are the same for an
// image alone.
func TestPredictedConvolutions(t *testing.T) {
	for _, c := range []struct{ kernel, stride, pad, in, out, groups int }{
		{1, 2, 0, 40, 48, 1}, {1, 3, 0, 3, 5, 1}, {1, 2, 1, 16, 32, 1}, {3, 2, 1, 8, 40, 1}, {3, 2, 1, 32, 32, 32}, {3, 1, 1, 32, 48, 1}, {7, 2, 3, 3, 64, 1}, {5, 1, 2, 8, 32, 1},
	} {
		build := func(batch int, plain bool) (*loaded, []kernels.Buffer) {
			p := ir.New("")
			x := p.AddInput("x", ir.Type{DType: ir.Float32, Shape: ir.Shape{batch, 12, 15, c.in}})
			kernel := p.AddInput("kernel", ir.Type{DType: ir.Float32, Shape: ir.Shape{c.kernel, c.kernel, c.in / c.groups, c.out}})
			add := func(op ir.Op, attrs ir.Attrs, in ...ir.Value) ir.Value {
				out, err := p.Add("", op, attrs, in...)
				require.NoError(t, err)
				return out[0]
			}
			zero := add(ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(ir.Float32, 0)})
			around := []int{0, c.pad, c.pad, 0}
			y := add(ir.Conv, ir.ConvAttrs{Strides: []int{c.stride, c.stride}, Dilation: []int{1, 1}, PadLow: []int{0, 0}, PadHigh: []int{0, 0}, Groups: c.groups},
				add(ir.Pad, ir.PadAttrs{Low: around, High: around, Interior: []int{0, 0, 0, 0}}, x, zero), kernel)
			p.AddOutput("y", y)
			e, err := Backend{}.load(p, kernels.CompileOptions{Device: here}, plain)
			require.NoError(t, err)
			buffers := []kernels.Buffer{newBuffer(here, p.Type(x)), newBuffer(here, p.Type(kernel)), newBuffer(here, p.Type(y))}
			require.NoError(t, buffers[0].Write(float32s(2 * 12 * 15 * c.in)[:p.Type(x).Bytes()]))
			require.NoError(t, buffers[1].Write(float32s(p.Type(kernel).Shape.Size())))
			return e, buffers
		}
		run := func(batch int, plain bool) (y []float32) {
			e, buffers := build(batch, plain)
			for range 3 { // meanwhile, the kernel is kept in panels
				require.NoError(t, e.Run(context.Background(), buffers[:2], buffers[2:]))
				data := buffers[2].(*buffer).data
				again := unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(data))), len(data)/4)
				require.True(t, y == nil || assert.ObjectsAreEqual(y, again))
				y = append([]float32{}, again...)
			}
			return y
		}
		y := run(2, false)
		near(t, run(2, true), y)
		assert.Equal(t, y[:len(y)/2], run(1, false), "%+v", c)
	}
}
