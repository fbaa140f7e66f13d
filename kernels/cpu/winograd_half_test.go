package cpu

import (
	"bytes"
	"context"
	"math"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	workers "github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// halfTiled is a shape of images, and whether their convolution with 48 filters of 3x3 uses Winograd's algorithm, in
// general and where pairs of bfloat16 are multiplied.
type halfTiled struct {
	rows, columns, channels int
	tiled, beatsPairs       bool
}

// newHalfTiled is a convolution of 16-bit numbers, converted from float32, with relu and, if pool is set, 2x2 maxima.
func newHalfTiled(t *testing.T, d ir.DType, batch int, c halfTiled, pool, plain bool) (run func(kernel *buffer) []float32, allocates func(kernel *buffer) float64) {
	p := passProgram{t, ir.New("")}
	input := func(shape ...int) (whole, half ir.Value) {
		whole = p.p.AddInput("", ir.Type{DType: ir.Float32, Shape: shape})
		return whole, p.add(ir.Convert, ir.ConvertAttrs{DType: d}, whole)
	}
	whole, x := input(batch, c.rows, c.columns, c.channels)
	_, kernel := input(3, 3, c.channels, 48)
	one, two, none := []int{1, 1}, []int{2, 2}, []int{0, 0}
	y := p.add(ir.Relu, nil, p.add(ir.Conv, ir.ConvAttrs{Strides: one, Dilation: one, PadLow: one, PadHigh: one, Groups: 1}, x, kernel))
	if pool {
		y = p.add(ir.MaxPool, ir.PoolAttrs{Window: two, Strides: two, PadLow: none, PadHigh: none}, y)
	}
	p.p.AddOutput("y", y)
	e, err := Backend{}.load(p.p, kernels.CompileOptions{Device: here}, plain)
	require.NoError(t, err)
	from, to := newBuffer(here, p.p.Type(whole)), newBuffer(here, p.p.Type(y))
	require.NoError(t, from.Write(bytes.Repeat(float32s(c.rows*c.columns*c.channels), batch)))
	in, out := []kernels.Buffer{from, nil}, []kernels.Buffer{to}
	once := func(kernel *buffer) {
		in[1] = kernel
		if err := e.Run(context.Background(), in, out); err != nil {
			t.Error(err)
		}
	}
	return func(kernel *buffer) []float32 {
			once(kernel)
			wide := make([]float32, len(to.data)/2)
			halfOf[d].Widen(wide, unsafe.Slice((*uint16)(unsafe.Pointer(unsafe.SliceData(to.data))), len(wide)))
			return wide
		}, func(kernel *buffer) float64 {
			return float64(allocations(20, func() { once(kernel) }))
		}
}

// TestHalfConvolutionsPredict: programs that only predict keep the kernels of 16-bit convolutions like those of
// float32, and use Winograd's algorithm where float32 does. A result may be off by its rounding, and by 1e-5 of the
// largest result. Where pairs of bfloat16 are multiplied, kernels are kept in pairs, except where Winograd's algorithm
// is faster.
func TestHalfConvolutionsPredict(t *testing.T) {
	defer WithoutExcess()()
	batch := 8*workers.Shared().Size() + 1 // some images for each
	for i, d := range []ir.DType{ir.BFloat16, ir.Float16} {
		unit := [...]float64{1. / 128, 1. / 1024}[i] // of the last place, at most: sums on both sides of a tie round differently
		for _, c := range []halfTiled{{9, 11, 16, false, false}, {9, 11, 32, true, false}, {20, 23, 32, true, true}} {
			for _, pool := range []bool{false, true} {
				pairs := d == ir.BFloat16 && micro.Pairs() && !pool
				tiled := c.tiled && (!pairs || c.beatsPairs && !isa.Active().Has(isa.AMXBF16))
				run, allocates := newHalfTiled(t, d, batch, c, pool, false)
				plain, _ := newHalfTiled(t, d, batch, c, pool, true)
				alone, _ := newHalfTiled(t, d, 1, c, pool, false)
				kernel := newBuffer(here, ir.Type{DType: ir.Float32, Shape: ir.Shape{3, 3, c.channels, 48}})
				for scale := range 2 {
					values := float32s(3 * 3 * c.channels * 48)
					floats := unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(values))), len(values)/4)
					vec.Scale(floats, floats, float32(1+scale))
					require.NoError(t, kernel.Write(values))
					want := plain(kernel)
					var got []float32
					for range 3 {
						got = run(kernel)
					}
					largest := 0.0
					for _, v := range want {
						largest = max(largest, math.Abs(float64(v)))
					}
					for j := range want {
						require.InDelta(t, want[j], got[j], math.Abs(float64(want[j]))*unit+1e-5*largest, "%v, %+v, pool %v: element %d", d, c, pool, j)
					}
					require.Equal(t, got[:len(got)/batch], alone(kernel), "an image alone")
					half := kernel.halves.each[i].in
					if tiled {
						require.Equal(t, half.version.Load(), half.tiles.holds.Load(), "the transformed kernel is kept")
					} else {
						require.Equal(t, half.version.Load(), half.panels.holds.Load(), "the kernel is kept in panels")
					}
				}
				require.Zero(t, allocates(kernel), "%v, %+v, pool %v", d, c, pool)
			}
		}
	}
}

// TestWinogradOfKeptKernels: a prediction whose kernel has 16 bits, and that computes in float32, gives the bits of the
// prediction whose kernel has the same numbers in float32, by Winograd's algorithm, and keeps the transformed kernel
// with the converted one.
func TestWinogradOfKeptKernels(t *testing.T) {
	const size, channels = 3 * 3 * 32 * 48, 32
	for _, d := range []ir.DType{ir.BFloat16, ir.Float16} {
		defer func(before float64) { leastGain = before }(leastGain)
		leastGain = math.Inf(1)
		numbers := elementsOf[float32](float32s(size))
		rounded := make([]uint16, size)
		halfOf[d].Narrow(rounded, numbers)
		halfOf[d].Widen(numbers, rounded)
		var results [2][]byte
		for i, of := range []ir.DType{ir.Float32, d} {
			p := passProgram{t, ir.New("")}
			x := p.p.AddInput("x", ir.Type{DType: ir.Float32, Shape: ir.Shape{2, 28, 28, channels}})
			kernel := p.p.AddInput("kernel", ir.Type{DType: of, Shape: ir.Shape{3, 3, channels, 48}})
			wide, one := kernel, []int{1, 1}
			if of == d {
				wide = p.add(ir.Convert, ir.ConvertAttrs{DType: ir.Float32}, kernel)
			}
			p.p.AddOutput("y", p.add(ir.Conv, ir.ConvAttrs{Strides: one, Dilation: one, PadLow: one, PadHigh: one, Groups: 1}, x, wide))
			e, err := kernels.Load(Backend{}, p.p, here)
			require.NoError(t, err)
			from, w, y := newBuffer(here, p.p.Type(x)), newBuffer(here, p.p.Type(kernel)), newBuffer(here, p.p.Type(p.p.Outputs[0].Value))
			require.NoError(t, from.Write(float32s(2*28*28*channels)))
			if of == d {
				require.NoError(t, w.Write(unsafe.Slice((*byte)(unsafe.Pointer(&rounded[0])), 2*size)))
			} else {
				require.NoError(t, w.Write(unsafe.Slice((*byte)(unsafe.Pointer(&numbers[0])), 4*size)))
			}
			for range 2 {
				require.NoError(t, e.Run(t.Context(), []kernels.Buffer{from, w}, []kernels.Buffer{y}))
			}
			results[i] = bytes.Clone(y.data)
			keeps := w
			if of == d {
				keeps = w.halves.each[2].in
			}
			require.Equal(t, keeps.version.Load(), keeps.tiles.holds.Load(), "%v: the transformed kernel is kept", of)
		}
		require.Equal(t, results[0], results[1])
	}
}
