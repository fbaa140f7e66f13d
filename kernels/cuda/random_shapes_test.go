//go:build linux

package cuda

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakedriver"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// drawn is a program of a random shape.
type drawn struct {
	*ir.Program
	t      testing.TB
	random *rand.Rand
	inputs []reference.Value
	units  float64 // of the precision that results may be off
}

// draw makes a random program, or a kernel of random lengths up to a bound, type and layout.
func draw(t testing.TB, seed uint64, most int) *drawn {
	d := &drawn{ir.New(fmt.Sprintf("drawn %d", seed)), t, rand.New(rand.NewPCG(seed, 7)), nil, 1 << 10}
	switch seed % 7 {
	case 0:
		d.Program, d.inputs = kernelstest.RandomProgram(seed)
		d.units = 1 << 13
	case 1:
		d.dot(most)
	case 2:
		d.conv(most)
	case 3:
		d.reduction(most)
	case 4:
		d.rows(most)
	case 5:
		d.pool(most)
	default:
		d.normalization(most)
	}
	return d
}

// length is from 1 to most, often one beside a power of two.
func (d *drawn) length(most int) int {
	n := 1 + d.random.IntN(most)
	if d.random.IntN(2) == 0 {
		n = 1<<d.random.IntN(9) + d.random.IntN(3) - 1
	}
	return max(1, min(n, most))
}

func (d *drawn) float() ir.DType {
	return []ir.DType{ir.Float32, ir.BFloat16, ir.Float16, ir.Float32, ir.Float64}[d.random.IntN(5)]
}

func (d *drawn) input(dtype ir.DType, shape ...int) ir.Value {
	elements := make([]float64, ir.Shape(shape).Size())
	for i := range elements {
		elements[i] = d.random.NormFloat64() / 4
	}
	v, err := reference.New(dtype, shape, elements...)
	require.NoError(d.t, err)
	d.inputs = append(d.inputs, v)
	return d.AddInput("x", v.Type)
}

func (d *drawn) op(op ir.Op, attrs ir.Attrs, in ...ir.Value) []ir.Value {
	out, err := d.Add("layer", op, attrs, in...)
	require.NoError(d.t, err, "%v", d.Program)
	return out
}

func (d *drawn) outputs(values ...ir.Value) {
	for _, v := range values {
		if d.Type(v).DType.Size() == 2 {
			d.units = 64
		}
		d.AddOutput("y", v)
	}
}

func (d *drawn) dot(most int) {
	dtype, m, n, k, b := d.float(), d.length(most), d.length(most), d.length(most), 1+d.random.IntN(3)
	x, y, a := []int{b, m, k}, []int{b, k, n}, ir.DotAttrs{LhsBatch: []int{0}, RhsBatch: []int{0}, LhsContract: []int{2}, RhsContract: []int{1}}
	if d.random.IntN(2) == 0 {
		x, a.LhsContract = []int{b, k, m}, []int{1}
	}
	if d.random.IntN(2) == 0 {
		y, a.RhsContract = []int{b, n, k}, []int{2}
	}
	v := d.op(ir.Dot, a, d.input(dtype, x...), d.input(dtype, y...))[0]
	if d.random.IntN(2) == 0 {
		v = d.op(ir.Relu, nil, v)[0]
	}
	d.outputs(v)
}

func (d *drawn) conv(most int) {
	dtype, in, out := d.float(), d.length(min(most, 40)), d.length(min(most, 70))
	kernel, stride, pad := 1+d.random.IntN(3), 1+d.random.IntN(2), d.random.IntN(2)
	side := kernel + d.random.IntN(12)
	a := ir.ConvAttrs{Strides: []int{stride, stride}, Dilation: []int{1, 1}, PadLow: []int{pad, pad}, PadHigh: []int{pad, pad}, Groups: 1}
	x, w := d.input(dtype, 1+d.random.IntN(3), side, side+1, in), d.input(dtype, kernel, kernel, in, out)
	y := d.op(ir.Conv, a, x, w)[0]
	dy := d.input(dtype, d.Type(y).Shape...)
	dx := d.op(ir.ConvInputGrad, ir.ConvGradAttrs{Conv: a, Shape: d.Type(x).Shape}, dy, w)
	dw := d.op(ir.ConvKernelGrad, ir.ConvGradAttrs{Conv: a, Shape: d.Type(w).Shape}, x, dy)
	d.outputs(y, dx[0], dw[0])
}

func (d *drawn) reduction(most int) {
	shape := []int{d.length(most), d.length(most), d.length(most / 8)}
	var axes []int
	for a := range shape {
		if d.random.IntN(2) == 0 {
			axes = append(axes, a)
		}
	}
	x := d.input(d.float(), shape...)
	sum := d.op(ir.Reduce, ir.ReduceAttrs{Kind: ir.Sum, Axes: axes}, x)
	squares := d.op(ir.Reduce, ir.ReduceAttrs{Kind: ir.Sum, Axes: axes}, d.op(ir.Mul, nil, x, x)[0])
	largest := d.op(ir.Reduce, ir.ReduceAttrs{Kind: ir.Max, Axes: axes}, x)
	d.outputs(sum[0], squares[0], largest[0])
	d.units = 1 << 12
}

func (d *drawn) rows(most int) {
	dtype, rows, length := d.float(), d.length(most), d.length(8*most)
	x, dy := d.input(dtype, rows, length), d.input(dtype, rows, length)
	gamma, beta := d.input(dtype, length), d.input(dtype, length)
	soft := d.op(ir.Softmax, nil, x)
	norm := d.op(ir.LayerNorm, ir.NormAttrs{Epsilon: 1e-3}, x, gamma, beta)
	d.outputs(soft[0], d.op(ir.SoftmaxGrad, nil, soft[0], dy)[0], norm[0])
}

// pool draws windows that overlap or leave gaps, hold padding, and are larger than what is read without a loop.
func (d *drawn) pool(most int) {
	dtype, rank := d.float(), 1+d.random.IntN(3)
	var a ir.PoolAttrs
	shape := []int{1 + d.random.IntN(2)}
	for range rank {
		window := 1 + d.random.IntN(7-2*rank)
		low, high := d.random.IntN(window), d.random.IntN(window)
		a.Window, a.Strides = append(a.Window, window), append(a.Strides, 1+d.random.IntN(4))
		a.PadLow, a.PadHigh = append(a.PadLow, low), append(a.PadHigh, high)
		shape = append(shape, max(window-low-high, 1)+d.random.IntN(12/rank))
	}
	shape = append(shape, d.length(min(most, 40)))
	x := d.op(ir.Neg, nil, d.input(dtype, shape...))[0]
	if d.random.IntN(2) == 0 { // several cells are the maximum
		x = d.op(ir.Relu, nil, x)[0]
	}
	largest, mean := d.op(ir.MaxPool, a, x)[0], d.op(ir.AvgPool, a, x)[0]
	dy := d.input(dtype, d.Type(mean).Shape...)
	dx := d.op(ir.MaxPoolGrad, a, x, largest, dy)[0]
	d.outputs(d.op(ir.Relu, nil, largest)[0], mean, dx, d.op(ir.AvgPoolGrad, ir.PoolGradAttrs{Pool: a, Shape: shape}, dy)[0])
}

// normalization draws normalizations of batches, of groups of channels, and of rows by their root mean square, with
// their gradients. The mean may be far from 0.
func (d *drawn) normalization(most int) {
	dtype := d.float()
	groups, members := 1+d.random.IntN(4), d.length(most/4)
	batch, side := d.length(most), 1+d.random.IntN(6)
	channels := groups * members
	shape := []int{batch, side, channels}
	x, dy := d.input(dtype, shape...), d.input(dtype, shape...)
	if dtype.Size() > 2 && d.random.IntN(2) == 0 {
		far := d.op(ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(dtype, 8, shape...)})[0]
		x = d.op(ir.Add, nil, x, far)[0]
	}
	gamma, beta := d.input(dtype, channels), d.input(dtype, channels)
	batchNorm, groupNorm := ir.NormAttrs{Epsilon: 1e-3}, ir.GroupNormAttrs{Groups: groups, Epsilon: 1e-3}
	y := d.op(ir.BatchNorm, batchNorm, x, gamma, beta)
	g := d.op(ir.GroupNorm, groupNorm, x, gamma, beta)
	d.outputs(d.op(ir.Relu, nil, y[0])[0], y[1], y[2], g[0], g[1])
	if batch*side > 1 {
		d.outputs(d.op(ir.BatchNormGrad, batchNorm, x, gamma, y[1], y[2], dy)...)
	}
	if members*side > 1 {
		d.outputs(d.op(ir.GroupNormGrad, groupNorm, x, gamma, g[1], g[2], dy)...)
	}
	d.units = max(d.units, 1<<13)
}

// check runs the program twice: it comes to the results of the reference, and to the same bits.
func (d *drawn) check(b kernels.Backend, device kernels.Device) {
	t := d.t
	want, err := reference.Run(d.Program, d.inputs)
	require.NoError(t, err)
	e, err := kernels.Load(b, d.Program, device)
	require.NoError(t, err, "%v", d.Program)
	defer e.Close()
	buffer := func(typ ir.Type) kernels.Buffer {
		x, err := b.NewBuffer(device, typ)
		require.NoError(t, err)
		return x
	}
	var before [][]byte
	for round := range 2 {
		var in, out []kernels.Buffer
		for _, v := range d.inputs {
			in = append(in, buffer(v.Type))
			require.NoError(t, in[len(in)-1].Write(v.Bytes()))
		}
		for _, v := range want {
			out = append(out, buffer(v.Type))
		}
		require.NoError(t, e.Run(t.Context(), in, out), "%v", d.Program)
		for i, v := range want {
			data := make([]byte, len(v.Bytes()))
			require.NoError(t, out[i].Read(data))
			if round > 0 {
				require.Equal(t, before[i], data, "output %d has other bits in the second run\n%v", i, d.Program)
				continue
			}
			before = append(before, data)
			got, err := reference.FromBytes(v.Type, data)
			require.NoError(t, err)
			require.NoError(t, kernelstest.Compare(got, v, d.units, true), "output %d\n%v", i, d.Program)
		}
		for _, x := range append(in, out...) {
			x.Free()
		}
	}
}

// Kernels of random shapes come to the results of the reference.
func TestRandomShapes(t *testing.T) {
	f := fakedriver.New(fakedriver.Options{})
	b := on(t, f)
	n := uint64(100)
	if brief() {
		n = 20
	}
	for seed := range n {
		draw(t, seed, 40).check(b, kernels.Device{Kind: Kind})
	}
}

// The same on a GPU, with larger shapes, for two minutes, or for the seconds that GOKERAS_GPU_SECONDS says.
func TestHardwareRandom(t *testing.T) {
	b, device := hardware(t)
	seconds := 120
	if text := os.Getenv("GOKERAS_GPU_SECONDS"); text != "" {
		var err error
		seconds, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	end := time.Now().Add(time.Duration(seconds) * time.Second)
	n := uint64(0)
	for ; time.Now().Before(end); n++ {
		draw(t, n, 40+int(n%7)*40).check(b, device)
	}
	t.Logf("%d programs", n)
}
