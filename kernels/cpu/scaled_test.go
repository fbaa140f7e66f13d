package cpu

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// folded is a random network of convolutions and products in any order, with what programs that predict fold: scales
// and sums by channel before and after biases, residual sums, relu, maxima, and a mean over pixels at the end.
type folded struct {
	t       *testing.T
	r       *rand.Rand
	p       *ir.Program
	x       ir.Value // of the network
	blocks  []ir.Value
	buffers []kernels.Buffer

	transposed bool // it has a transposed convolution
}

// newFolded draws a network for the given number of examples. It depends on the seed alone.
func newFolded(t *testing.T, seed uint64, batch int) *folded {
	f := &folded{t: t, r: rand.New(rand.NewPCG(seed, 16)), p: ir.New("")}
	spatial := 1 + f.r.IntN(3)
	shape := []int{batch}
	for range spatial {
		shape = append(shape, 5+f.r.IntN(7))
	}
	f.x = f.input(append(shape, f.channels())...)
	y := f.x
	for range 1 + f.r.IntN(5) {
		y = f.block(y)
		f.blocks = append(f.blocks, y)
	}
	if f.r.IntN(2) == 0 {
		y = f.mean(y)
	}
	f.p.AddOutput("y", y)
	return f
}

func (f *folded) input(shape ...int) ir.Value {
	return f.p.AddInput("", ir.Type{DType: ir.Float32, Shape: shape})
}

func (f *folded) add(op ir.Op, attrs ir.Attrs, in ...ir.Value) ir.Value {
	out, err := f.p.Add("", op, attrs, in...)
	require.NoError(f.t, err)
	return out[0]
}

func (f *folded) channels() int { return []int{3, 16, 20, 32, 48, 64, 96}[f.r.IntN(7)] }

func (f *folded) shape(v ir.Value) ir.Shape { return f.p.Type(v).Shape }

// product draws a convolution, possibly depthwise, grouped or transposed, or a product with a matrix.
func (f *folded) product(x ir.Value) ir.Value {
	s := f.shape(x)
	n, in := len(s)-2, s[len(s)-1]
	kind, keeps := f.r.IntN(6), f.r.IntN(3) == 0 // the shape, for residual sums
	out := f.channels()
	if keeps {
		out = in
	}
	if kind == 0 {
		return f.add(ir.Dot, ir.DotAttrs{LhsContract: []int{n + 1}, RhsContract: []int{0}}, x, f.input(in, out))
	}
	if kind == 5 {
		f.transposed = true
		return f.transpose(x, out, keeps)
	}
	a := ir.ConvAttrs{Groups: 1}
	var kernel []int
	one := keeps || f.r.IntN(2) == 0
	for i := range n {
		k, stride := 1+f.r.IntN(3), 1+f.r.IntN(4)/3
		if one {
			k = 1
		} else if f.r.IntN(2) == 0 {
			k = 3
		}
		pad := k / 2
		if s[i+1] < 5 || keeps {
			stride = 1
		}
		kernel = append(kernel, k)
		a.Strides, a.Dilation = append(a.Strides, stride), append(a.Dilation, 1)
		a.PadLow, a.PadHigh = append(a.PadLow, pad), append(a.PadHigh, pad)
	}
	switch {
	case kind == 1: // depthwise, as layers have its kernel
		a.Groups = in
		times := 1 + f.r.IntN(2)
		k := f.input(append(append([]int{}, kernel...), in, times)...)
		return f.add(ir.Conv, a, x, f.add(ir.Reshape, ir.ReshapeAttrs{Shape: append(append(ir.Shape{}, kernel...), 1, in*times)}, k))
	case kind == 2 && in%4 == 0:
		a.Groups = 4
		return f.add(ir.Conv, a, x, f.input(append(kernel, in/4, 4*(1+f.r.IntN(8)))...))
	}
	return f.add(ir.Conv, a, x, f.input(append(kernel, in, out)...))
}

// transpose draws a transposed convolution, which is the gradient of the input of one. Its result has the shape of x,
// times the strides.
func (f *folded) transpose(x ir.Value, out int, keeps bool) ir.Value {
	shape := f.shape(x).Clone()
	n := len(shape) - 2
	a := ir.ConvAttrs{Groups: 1}
	var kernel []int
	for i := range n {
		k, stride := 1+f.r.IntN(4), 1+f.r.IntN(2)
		if keeps || shape[i+1] > 12 {
			stride = 1
		}
		shape[i+1] *= stride
		padding := max(k-stride, 0)
		kernel = append(kernel, k)
		a.Strides, a.Dilation = append(a.Strides, stride), append(a.Dilation, 1)
		a.PadLow, a.PadHigh = append(a.PadLow, padding/2), append(a.PadHigh, padding-padding/2)
	}
	kernel = append(kernel, out, shape[n+1])
	shape[n+1] = out
	return f.add(ir.ConvInputGrad, ir.ConvGradAttrs{Conv: a, Shape: shape}, x, f.input(kernel...))
}

// perChannel broadcasts a new vector, or what is computed from one, or a number.
func (f *folded) perChannel(like ir.Value) ir.Value {
	s := f.shape(like)
	c := s[len(s)-1]
	last := []int{len(s) - 1}
	switch f.r.IntN(4) {
	case 0:
		return f.add(ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(ir.Float32, 0.5+f.r.Float64(), s...)})
	case 1:
		v := f.add(ir.Add, nil, f.add(ir.Exp, nil, f.input(c)), f.input(c))
		wide := append(ir.Shape{}, s...)
		for i := range wide[:len(wide)-1] {
			wide[i] = 1
		}
		axes := make([]int, len(s))
		for i := range axes {
			axes[i] = i
		}
		return f.add(ir.Broadcast, ir.BroadcastAttrs{Shape: s, Axes: axes}, f.add(ir.Reshape, ir.ReshapeAttrs{Shape: wide}, v))
	}
	return f.add(ir.Broadcast, ir.BroadcastAttrs{Shape: s, Axes: last}, f.input(c))
}

func (f *folded) block(x ir.Value) ir.Value {
	y := f.product(x)
	for range f.r.IntN(5) {
		w := f.perChannel(y)
		switch f.r.IntN(6) {
		case 0, 1:
			y = f.add(ir.Mul, nil, y, w)
		case 2:
			y = f.add(ir.Mul, nil, w, y)
		case 3:
			y = f.add(ir.Sub, nil, y, w)
		case 4:
			y = f.add(ir.Add, nil, w, y)
		case 5:
			y = f.add(ir.Sub, nil, w, y)
		}
	}
	for i := len(f.blocks) - 1; i >= 0 && f.r.IntN(2) == 0; i-- {
		if f.shape(f.blocks[i]).Equal(f.shape(y)) {
			y = f.add(ir.Add, nil, y, f.blocks[i])
			break
		}
	}
	if f.shape(x).Equal(f.shape(y)) && f.r.IntN(2) == 0 {
		y = f.add(ir.Add, nil, x, y)
	}
	switch f.r.IntN(4) {
	case 0, 1:
		y = f.add(ir.Relu, nil, y)
	case 2:
		y = f.add(ir.Tanh, nil, y)
	}
	if s := f.shape(y); len(s) == 4 && min(s[1], s[2]) >= 4 && f.r.IntN(4) == 0 {
		two, none := []int{2, 2}, []int{0, 0}
		y = f.add(ir.MaxPool, ir.PoolAttrs{Window: two, Strides: two, PadLow: none, PadHigh: none}, y)
	}
	return y
}

// mean takes the mean over some axes of the image.
func (f *folded) mean(x ir.Value) ir.Value {
	var axes []int
	count := 1
	for i, n := range f.shape(x)[1 : len(f.shape(x))-1] {
		if i == 0 || f.r.IntN(3) > 0 {
			axes, count = append(axes, i+1), count*n
		}
	}
	y := f.add(ir.Reduce, ir.ReduceAttrs{Kind: ir.Sum, Axes: axes}, x)
	return f.add(ir.Mul, nil, y, f.add(ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(ir.Float32, 1/float64(count), f.shape(y)...)}))
}

// fill makes the buffers. The numbers keep results near one, and the first examples are the same in any batch.
func (f *folded) fill() {
	for i, in := range f.p.Inputs {
		t := f.p.Type(in.Value)
		b := newBuffer(here, t)
		r := rand.New(rand.NewPCG(uint64(i), 9))
		spread := float32(1)
		if s := t.Shape; i > 0 && len(s) > 1 {
			spread = 1 / float32(max(s.Size()/max(s[len(s)-1], 1), 1))
		}
		for j := range len(b.data) / 4 {
			*(*float32)(unsafe.Pointer(&b.data[4*j])) = (2*r.Float32() - 0.8) * spread * 2
		}
		f.buffers = append(f.buffers, b)
	}
}

// change multiplies an input by a number.
func (f *folded) change(i int) {
	b := f.buffers[i].(*buffer)
	require.NoError(f.t, b.Fill(func(memory []byte) error {
		for j := range len(memory) / 4 {
			*(*float32)(unsafe.Pointer(&memory[4*j])) *= 1.25
		}
		return nil
	}))
}

func (f *folded) load(plain bool) *loaded {
	e, err := Backend{}.load(f.p, kernels.CompileOptions{Device: here}, plain)
	require.NoError(f.t, err, "%v", f.p)
	return e
}

func (f *folded) run(e *loaded) []float32 {
	y := newBuffer(here, f.p.Type(f.p.Outputs[0].Value))
	require.NoError(f.t, e.Run(context.Background(), f.buffers, []kernels.Buffer{y}))
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(y.data))), len(y.data)/4)
}

// TestFoldedNetworks: predictions of random networks agree with those of the unfolded programs within 1e-5, whether
// weights are kept or not. They follow every change of a weight, and are the same for an example alone.
func TestFoldedNetworks(t *testing.T) {
	scaled, beside := 0, 0
	for seed := range uint64(300) {
		f := newFolded(t, seed, 2)
		f.fill()
		fast, plain := f.load(false), f.load(true)
		for range 3 {
			y := f.run(fast)
			require.Equal(t, y, f.run(fast), "seed %d", seed)
			near(t, f.run(plain), y)
			f.change(f.r.IntN(len(f.buffers)))
		}
		y := f.run(fast)
		for _, b := range f.buffers {
			if b.(*buffer).scaled.current.Load() != nil {
				scaled++
				if f.transposed {
					beside++
				}
			}
			_ = b.Bytes() // from now on everybody may change it
		}
		require.Equal(t, y, f.run(fast), "seed %d: memory that others know", seed)
	}
	assert.Greater(t, scaled, 40, "kernels are kept, scaled")
	assert.Greater(t, beside, 20, "beside transposed convolutions, too")
}

// TestFoldedExamplesAlone: a prediction does not depend on the number of examples. (With one pixel it is a product of
// one row, whose sums have another order.)
func TestFoldedExamplesAlone(t *testing.T) {
	for seed := range uint64(60) {
		f, one := newFolded(t, seed, 2), newFolded(t, seed, 1)
		f.fill()
		one.fill()
		y := f.run(f.load(false))
		near(t, y[:len(y)/2], one.run(one.load(false)))
	}
}

// TestOuterProductOfScaled: a product that sums over no axis of a matrix whose columns are scaled.
func TestOuterProductOfScaled(t *testing.T) {
	f := &folded{t: t, p: ir.New("")}
	x, w, scale := f.input(3), f.input(4, 5), f.input(5)
	y := f.add(ir.Dot, ir.DotAttrs{}, x, f.add(ir.Mul, nil, w, f.add(ir.Broadcast, ir.BroadcastAttrs{Shape: f.shape(w), Axes: []int{1}}, scale)))
	f.p.AddOutput("y", y)
	f.fill()
	near(t, f.run(f.load(true)), f.run(f.load(false)))
}

// TestMomentsOfScaled: the moments that a convolution gathers are those of its result by the scaled kernel.
func TestMomentsOfScaled(t *testing.T) {
	f := &folded{t: t, p: ir.New("")}
	x, w, scale := f.input(2, 9, 9, 3), f.input(3, 3, 3, 16), f.input(16)
	a := ir.ConvAttrs{Strides: []int{1, 1}, Dilation: []int{1, 1}, PadLow: []int{1, 1}, PadHigh: []int{1, 1}, Groups: 1}
	y := f.add(ir.Conv, a, x, f.add(ir.Mul, nil, w, f.add(ir.Broadcast, ir.BroadcastAttrs{Shape: f.shape(w), Axes: []int{3}}, scale)))
	f.p.AddOutput("y", f.add(ir.BatchNorm, ir.NormAttrs{Epsilon: 0.1}, y, f.input(16), f.input(16)))
	f.fill()
	near(t, f.run(f.load(true)), f.run(f.load(false)))
}

// TestNothingScaled: convolutions and products without filters, rows or inputs, with scaled kernels.
func TestNothingScaled(t *testing.T) {
	a := ir.ConvAttrs{Strides: []int{1, 1}, Dilation: []int{1, 1}, PadLow: []int{1, 1}, PadHigh: []int{1, 1}, Groups: 1}
	pool := ir.PoolAttrs{Window: []int{2, 2}, Strides: []int{2, 2}, PadLow: []int{0, 0}, PadHigh: []int{0, 0}}
	for _, c := range []struct{ batch, channels, filters int }{{2, 3, 0}, {0, 3, 4}, {0, 3, 0}, {2, 0, 4}, {2, 0, 0}} {
		for _, kind := range []string{"convolution", "maxima", "product"} {
			f := &folded{t: t, p: ir.New("")}
			x, w := f.input(c.batch, 6, 6, c.channels), f.input(3, 3, c.channels, c.filters)
			if kind == "product" {
				x, w = f.input(c.batch, c.channels), f.input(c.channels, c.filters)
			}
			scale, last := f.input(c.filters), len(f.shape(w))-1
			w = f.add(ir.Mul, nil, w, f.add(ir.Broadcast, ir.BroadcastAttrs{Shape: f.shape(w), Axes: []int{last}}, scale))
			var y ir.Value
			if kind == "product" {
				y = f.add(ir.Relu, nil, f.add(ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}, x, w))
			} else if y = f.add(ir.Relu, nil, f.add(ir.Conv, a, x, w)); kind == "maxima" {
				y = f.add(ir.MaxPool, pool, y)
			}
			f.p.AddOutput("y", y)
			f.fill()
			near(t, f.run(f.load(true)), f.run(f.load(false)))
		}
	}
}

// TestScaledTwice: two programs that scale one kernel differently at the same time do not affect each other.
func TestScaledTwice(t *testing.T) {
	program := func() *folded {
		f := &folded{t: t, p: ir.New("")}
		x, kernel, scale := f.input(1, 9, 9, 32), f.input(1, 1, 32, 160), f.input(160)
		one, none := []int{1, 1}, []int{0, 0}
		y := f.add(ir.Conv, ir.ConvAttrs{Strides: one, Dilation: one, PadLow: none, PadHigh: none, Groups: 1}, x, kernel)
		f.p.AddOutput("y", f.add(ir.Mul, nil, y, f.add(ir.Broadcast, ir.BroadcastAttrs{Shape: f.shape(y), Axes: []int{3}}, scale)))
		f.fill()
		return f
	}
	a, b := program(), program()
	b.buffers[1] = a.buffers[1]
	b.change(2)
	kept := func() bool { return a.buffers[1].(*buffer).scaled.current.Load() != nil }
	want := [2][]float32{a.run(a.load(true)), b.run(b.load(true))}
	require.NotEqual(t, want[0], want[1])
	var all sync.WaitGroup
	for i, f := range []*folded{a, b} {
		e := f.load(false)
		all.Go(func() {
			for range 200 {
				near(t, want[i], f.run(e))
			}
		})
	}
	all.Wait()
	e := a.load(false)
	for range 3 {
		near(t, want[0], a.run(e))
	}
	assert.True(t, kept())
	a.buffers[1].Free()
	assert.False(t, kept())
}
