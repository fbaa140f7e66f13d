package cpu_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu"
	"github.com/gokeras/gokeras/kernels/ir"
)

// halfConvolution is a convolution of bfloat16 of square images.
type halfConvolution struct{ batch, size, channels, filters, kernel, stride, dilation, pad int }

func (c halfConvolution) out() int {
	return (c.size+2*c.pad-(c.kernel-1)*c.dilation-1)/c.stride + 1
}

// each calls f with every pixel of the result, every pixel of the input that it reads, and the tap.
func (c halfConvolution) each(f func(to, from, tap int)) {
	out := c.out()
	for to := range c.batch * out * out {
		image, row, column := to/(out*out), to/out%out*c.stride-c.pad, to%out*c.stride-c.pad
		for tap := range c.kernel * c.kernel {
			line, at := row+tap/c.kernel*c.dilation, column+tap%c.kernel*c.dilation
			if min(line, at) >= 0 && max(line, at) < c.size {
				f(to, (image*c.size+line)*c.size+at, tap)
			}
		}
	}
}

// session returns the convolution, or a gradient of it, in a type.
func (c halfConvolution) session(t testing.TB, op ir.Op, d ir.DType) *session {
	two := func(n int) []int { return []int{n, n} }
	conv := ir.ConvAttrs{Strides: two(c.stride), Dilation: two(c.dilation), PadLow: two(c.pad), PadHigh: two(c.pad), Groups: 1}
	shapes := [3]ir.Shape{{c.batch, c.size, c.size, c.channels}, {c.kernel, c.kernel, c.channels, c.filters}, {c.batch, c.out(), c.out(), c.filters}}
	var attrs ir.Attrs = conv
	first, second := 0, 1
	switch op {
	case ir.ConvInputGrad:
		attrs, first = ir.ConvGradAttrs{Conv: conv, Shape: shapes[0]}, 2
	case ir.ConvKernelGrad:
		attrs, second = ir.ConvGradAttrs{Conv: conv, Shape: shapes[1]}, 2
	}
	g := tape{p: &ir.Program{}}
	g.p.AddOutput("", g.op(op, attrs, g.input("a", d, shapes[first]...), g.input("b", d, shapes[second]...)))
	return newSession(t, g.p)
}

// run runs the convolution, or a gradient of it, in bfloat16 on whole numbers, and returns these and the bytes of the
// result.
func (c halfConvolution) run(t *testing.T, op ir.Op) (a, b []float32, result []byte) {
	s := c.session(t, op, ir.BFloat16)
	r := rand.New(rand.NewPCG(5, 6))
	numbers := make([][]float32, 2)
	for i := range numbers {
		data := s.inputs[i].Bytes()
		numbers[i] = make([]float32, len(data)/2)
		for j := range numbers[i] {
			numbers[i][j] = float32(r.IntN(5) - 2)
			copy(data[2*j:], ir.AppendElement(nil, ir.BFloat16, float64(numbers[i][j])))
		}
	}
	s.run(t)
	return numbers[0], numbers[1], s.outputs[0].Bytes()
}

// rounded returns numbers in bfloat16.
func rounded(x []float32) []byte {
	var b []byte
	for _, v := range x {
		b = ir.AppendElement(b, ir.BFloat16, float64(v))
	}
	return b
}

// TestHalfKernelGradientOfManyImages compares the kernel gradient with its definition, for more images (or rows) than
// are computed at once, with fewer images and an odd number at the end. Whole numbers make the sums exact in every
// order.
func TestHalfKernelGradientOfManyImages(t *testing.T) {
	for _, c := range []halfConvolution{
		{11, 64, 8, 32, 3, 1, 1, 1}, // rows of pixels
		{37, 24, 8, 16, 3, 2, 1, 1}, // images
		{64, 24, 16, 32, 1, 2, 1, 0},
		{63, 32, 16, 32, 3, 2, 1, 1}, // bands of rows
		{33, 9, 24, 48, 3, 1, 2, 2},
		{9, 30, 3, 16, 7, 2, 1, 3},
		{5, 16, 4, 16, 4, 4, 1, 0},
		{1, 28, 32, 32, 3, 1, 1, 1},
		{1, 15, 16, 48, 5, 2, 1, 2},
	} {
		x, dy, got := c.run(t, ir.ConvKernelGrad)
		want := make([]float32, c.kernel*c.kernel*c.channels*c.filters)
		c.each(func(to, from, tap int) {
			gradients := dy[to*c.filters:][:c.filters]
			for channel, v := range x[from*c.channels:][:c.channels] {
				sums := want[(tap*c.channels+channel)*c.filters:][:c.filters]
				for i, gradient := range gradients {
					sums[i] += v * gradient
				}
			}
		})
		require.True(t, bytes.Equal(rounded(want), got), "%+v", c)
	}
}

// TestHalfKernelGradientOfOneImage: the kernel gradient of a single image is that of the same numbers in float32,
// rounded once. The gradients of the second half of the pixels cancel those of the first, which reveals another order.
func TestHalfKernelGradientOfOneImage(t *testing.T) {
	if !cpu.MultipliesPairs() {
		t.Skip("needs products of pairs (AVX512-BF16) and no matrix registers, for which a single image fills pairs")
	}
	for _, c := range []halfConvolution{{1, 14, 32, 32, 3, 1, 1, 1}, {1, 15, 16, 48, 5, 2, 1, 2}} {
		r := rand.New(rand.NewPCG(5, 6))
		half, wide := c.session(t, ir.ConvKernelGrad, ir.BFloat16), c.session(t, ir.ConvKernelGrad, ir.Float32)
		for i, in := range half.inputs {
			gradients := make([]float64, len(in.Bytes())/2)
			for at := range gradients {
				gradients[at] = r.NormFloat64()
				if first := at - len(gradients)/2/c.filters*c.filters; first >= 0 {
					gradients[at] = -gradients[first]
				}
				number := ir.AppendElement(nil, ir.BFloat16, gradients[at])
				if i == 0 {
					number = ir.AppendElement(nil, ir.BFloat16, 1+float64(r.IntN(2))/128)
				}
				copy(in.Bytes()[2*at:], number)
				copy(wide.inputs[i].Bytes()[4*at:], append([]byte{0, 0}, number...))
			}
		}
		half.run(t)
		wide.run(t)
		var want []float32
		for sums := wide.outputs[0].Bytes(); len(sums) > 0; sums = sums[4:] {
			want = append(want, math.Float32frombits(binary.LittleEndian.Uint32(sums)))
		}
		require.Equal(t, rounded(want), half.outputs[0].Bytes(), "%+v", c)
	}
}

// TestHalfConvolutionsOfManyImages compares convolutions and their input gradients with the definition, on whole
// numbers, for more images (or rows) than are computed at once.
func TestHalfConvolutionsOfManyImages(t *testing.T) {
	for _, c := range []halfConvolution{
		{75, 8, 32, 64, 3, 1, 1, 1},  // the same pixel of several images
		{39, 16, 16, 48, 3, 2, 1, 1}, // with strides
		{3, 21, 16, 512, 1, 1, 1, 0}, // rows of images
		{5, 13, 256, 48, 1, 1, 1, 0},
		{33, 14, 16, 32, 1, 2, 1, 0},
	} {
		x, kernel, got := c.run(t, ir.Conv)
		want := make([]float32, c.batch*c.out()*c.out()*c.filters)
		c.each(func(to, from, tap int) {
			sums := want[to*c.filters:][:c.filters]
			for channel, v := range x[from*c.channels:][:c.channels] {
				for i, weight := range kernel[(tap*c.channels+channel)*c.filters:][:c.filters] {
					sums[i] += v * weight
				}
			}
		})
		require.True(t, bytes.Equal(rounded(want), got), "%+v", c)

		dy, kernel, got := c.run(t, ir.ConvInputGrad)
		want = make([]float32, c.batch*c.size*c.size*c.channels)
		c.each(func(to, from, tap int) {
			gradients := dy[to*c.filters:][:c.filters]
			for channel := range c.channels {
				sum := float32(0)
				for i, weight := range kernel[(tap*c.channels+channel)*c.filters:][:c.filters] {
					sum += gradients[i] * weight
				}
				want[from*c.channels+channel] += sum
			}
		})
		require.True(t, bytes.Equal(rounded(want), got), "input gradient of %+v", c)
	}
}

// BenchmarkHalfConvolutions times convolutions of usual sizes and their gradients in float32 and bfloat16, including
// all conversions and rearrangements.
func BenchmarkHalfConvolutions(b *testing.B) {
	for _, c := range []halfConvolution{
		{64, 32, 16, 16, 3, 1, 1, 1}, {64, 32, 16, 32, 3, 2, 1, 1}, {64, 16, 32, 32, 3, 1, 1, 1}, {64, 16, 32, 64, 3, 2, 1, 1}, {64, 8, 64, 64, 3, 1, 1, 1}, {64, 32, 16, 32, 1, 2, 1, 0},
		{32, 15, 32, 32, 3, 1, 1, 1}, {32, 7, 64, 64, 3, 1, 1, 1}, // whose images do not lie a multiple of pages apart
		{8, 56, 64, 64, 3, 1, 1, 1}, {8, 56, 64, 256, 1, 1, 1, 0}, {8, 14, 256, 1024, 1, 1, 1, 0}, {32, 7, 512, 512, 3, 1, 1, 1}, {8, 112, 3, 64, 7, 2, 1, 3}, {64, 32, 3, 64, 4, 4, 1, 0},
	} {
		for _, op := range []ir.Op{ir.Conv, ir.ConvInputGrad, ir.ConvKernelGrad} {
			for _, d := range []ir.DType{ir.Float32, ir.BFloat16} {
				b.Run(fmt.Sprintf("%dx%dx%d,%d,%dx%d,s%d/%v/%v", c.batch, c.size, c.channels, c.filters, c.kernel, c.kernel, c.stride, op, d), func(b *testing.B) {
					s := c.session(b, op, d)
					for b.Loop() {
						s.run(b)
					}
					flops := 2 * c.batch * c.out() * c.out() * c.filters * c.kernel * c.kernel * c.channels
					b.ReportMetric(float64(flops)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
				})
			}
		}
	}
}
