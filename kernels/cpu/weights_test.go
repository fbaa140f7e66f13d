package cpu

import (
	"context"
	"math/rand/v2"
	"strconv"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu/internal/tile"
	"github.com/gokeras/gokeras/kernels/ir"
)

var here = kernels.Device{Kind: Kind}

// float32s makes numbers for a buffer.
func float32s(n int) []byte {
	r := rand.New(rand.NewPCG(uint64(n), 3))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&x[0])), 4*n)
}

// predictor multiplies x, with the given rows, by w, an input of 75 x 70 that no output replaces, or by its transpose.
type predictor struct {
	t    *testing.T
	e    *loaded
	x, y *buffer
}

func newPredictor(t *testing.T, rows int, transposed bool) *predictor {
	p := ir.New("")
	k, n, contract := 75, 70, 0
	if transposed {
		k, n, contract = 70, 75, 1
	}
	x := p.AddInput("x", ir.Type{DType: ir.Float32, Shape: ir.Shape{rows, k}})
	w := p.AddInput("w", ir.Type{DType: ir.Float32, Shape: ir.Shape{75, 70}})
	y, err := p.Add("", ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{contract}}, x, w)
	require.NoError(t, err)
	p.AddOutput("y", y[0])
	e, err := Backend{}.load(p, kernels.CompileOptions{Device: here}, false)
	require.NoError(t, err)
	f := &predictor{t, e, newBuffer(here, p.Type(x)), newBuffer(here, ir.Type{DType: ir.Float32, Shape: ir.Shape{rows, n}})}
	require.NoError(t, f.x.Write(float32s(rows*k)))
	return f
}

func (f *predictor) run(w *buffer) []byte {
	require.NoError(f.t, f.e.Run(context.Background(), []kernels.Buffer{f.x, w}, []kernels.Buffer{f.y}))
	out := make([]byte, len(f.y.data))
	require.NoError(f.t, f.y.Read(out))
	return out
}

// check compares three runs with one on a fresh buffer, which cannot have panels.
func (f *predictor) check(w *buffer, kept bool) {
	f.t.Helper()
	fresh := newBuffer(here, w.typ)
	require.NoError(f.t, fresh.Write(w.data))
	want := f.run(fresh)
	require.Zero(f.t, fresh.panels.holds.Load(), "the first product reads the weights as they are")
	for i := range 3 {
		require.Equal(f.t, want, f.run(w), "run %d", i)
	}
	require.Equal(f.t, kept, w.panels.holds.Load() == w.version.Load() && !w.exposed.Load(), "kept in panels")
}

// TestKeptWeights: a matrix that programs only read is kept in the layout of the kernels, which gives the same bits,
// until it changes, whoever changes it.
func TestKeptWeights(t *testing.T) {
	typ := ir.Type{DType: ir.Float32, Shape: ir.Shape{75, 70}}
	for _, rows := range []int{1, 5, 40, 300} {
		t.Run(strconv.Itoa(rows), func(t *testing.T) {
			f, w := newPredictor(t, rows, false), newBuffer(here, typ)
			f.check(w, true) // zeros
			require.NoError(t, w.Write(float32s(75*70)))
			f.check(w, true)

			// a program that replaces it
			update := ir.New("")
			old := update.AddInput("w", typ)
			twice, err := update.Add("", ir.Add, nil, old, old)
			require.NoError(t, err)
			update.AddAlias("w", twice[0], 0)
			e, err := kernels.Load(Backend{}, update, here)
			require.NoError(t, err)
			require.NoError(t, e.Run(context.Background(), []kernels.Buffer{w}, []kernels.Buffer{nil}))
			f.check(w, true)

			// a program that writes it as an output
			other := newBuffer(here, typ)
			require.NoError(t, e.Run(context.Background(), []kernels.Buffer{other}, []kernels.Buffer{w}))
			f.check(w, true)

			require.NoError(t, other.Write(float32s(75*70)))
			f.check(other, true)
			require.NoError(t, w.Exchange(other))
			f.check(w, true)
			f.check(other, true)

			// memory that others have
			require.NoError(t, w.Borrow(float32s(75*70)))
			f.run(w)
			w.data[5]++
			want := f.run(w)
			require.NoError(t, other.Write(w.data))
			require.Equal(t, f.run(other), want)
			require.NoError(t, w.Borrow(nil))
			f.check(w, true)
			memory := w.Bytes()
			clear(memory[:1000])
			f.check(w, false)
			clear(memory[1000:])
			f.check(w, false)

			require.NotEmpty(t, other.panels.memory)
			other.Free()
			require.Empty(t, other.panels.memory)
		})
	}
}

// TestKeptWeightsHaveOneForm: two programs that read a matrix in two ways do not get two copies of it. Programs for
// other batches do share one.
func TestKeptWeightsHaveOneForm(t *testing.T) {
	w := newBuffer(here, ir.Type{DType: ir.Float32, Shape: ir.Shape{75, 70}})
	require.NoError(t, w.Write(float32s(75*70)))
	newPredictor(t, 1, false).check(w, true)
	memory := &w.panels.memory[0]
	newPredictor(t, 300, false).check(w, true)
	newPredictor(t, 40, true).check(w, true)
	require.Same(t, memory, &w.panels.memory[0])
}

// TestChangingWeightsAreNotKept: weights that change before each product are read as stored.
func TestChangingWeightsAreNotKept(t *testing.T) {
	w := newBuffer(here, ir.Type{DType: ir.Float32, Shape: ir.Shape{75, 70}})
	f := newPredictor(t, 8, false)
	for range 4 {
		require.NoError(t, w.Write(float32s(75*70)))
		f.run(w)
	}
	require.Empty(t, w.panels.memory)
}

// TestKeptWeightsAllocateNothing: products that use kept weights allocate nothing.
func TestKeptWeightsAllocateNothing(t *testing.T) {
	w := newBuffer(here, ir.Type{DType: ir.Float32, Shape: ir.Shape{75, 70}})
	f := newPredictor(t, 1, false)
	f.check(w, true)
	in, out := []kernels.Buffer{f.x, w}, []kernels.Buffer{f.y}
	require.Zero(t, allocations(100, func() { _ = f.e.Run(context.Background(), in, out) }))
}

// TestKeptKernels: the kernel of a convolution is kept like a matrix, whatever follows the convolution.
func TestKeptKernels(t *testing.T) {
	for _, c := range []struct {
		channels, size int // of the result, of the kernel
		pooled, kept   bool
	}{{30, 3, false, true}, {30, 3, true, true}, {70, 1, false, true}, {70, 1, true, true}, {64, 3, true, false}, {70, 3, false, false}} { // the last two by Winograd's products
		p := ir.New("")
		x := p.AddInput("x", ir.Type{DType: ir.Float32, Shape: ir.Shape{1, 14, 14, 64}})
		w := p.AddInput("w", ir.Type{DType: ir.Float32, Shape: ir.Shape{c.size, c.size, 64, c.channels}})
		y, err := p.Add("", ir.Conv, ir.ConvAttrs{Strides: []int{1, 1}, Dilation: []int{1, 1}, PadLow: []int{0, 0}, PadHigh: []int{0, 0}, Groups: 1}, x, w)
		require.NoError(t, err)
		if c.pooled {
			y, err = p.Add("", ir.MaxPool, ir.PoolAttrs{Window: []int{2, 2}, Strides: []int{2, 2}, PadLow: []int{0, 0}, PadHigh: []int{0, 0}}, y[0])
			require.NoError(t, err)
		}
		p.AddOutput("y", y[0])
		e, err := Backend{}.load(p, kernels.CompileOptions{Device: here}, false)
		require.NoError(t, err)
		f := &predictor{t, e, newBuffer(here, p.Type(x)), newBuffer(here, p.Type(y[0]))}
		require.NoError(t, f.x.Write(float32s(14*14*64)))
		weights := newBuffer(here, p.Type(w))
		require.NoError(t, weights.Write(float32s(c.size*c.size*64*c.channels)))
		f.check(weights, c.kept)
		require.NoError(t, weights.Write(float32s(c.size * c.size * 64 * c.channels)[:len(weights.data)]))
		f.check(weights, c.kept)
		in, out := []kernels.Buffer{f.x, weights}, []kernels.Buffer{f.y}
		require.Zero(t, allocations(100, func() { _ = e.Run(context.Background(), in, out) }))
	}
}

// TestKeptLayout: only tiles of the layout that panels were packed for read them, and another layout does not overwrite
// them.
func TestKeptLayout(t *testing.T) {
	typ := ir.Type{DType: ir.Float32, Shape: ir.Shape{75, 70}}
	f, w := newPredictor(t, 5, false), newBuffer(here, typ)
	require.NoError(t, w.Write(float32s(75*70)))
	f.check(w, true)
	want := f.run(w)

	// The panels of a tile for other operands: their numbers lie elsewhere.
	k := &w.panels
	require.Equal(t, tile.Float32x32, k.layout)
	k.layout = tile.Float64x16
	for i := range k.memory {
		k.memory[i] = 0xff
	}
	require.Equal(t, want, f.run(w), "panels of another layout were read")
	require.NoError(t, w.Write(float32s(75*70)))
	for range 3 {
		require.Equal(t, want, f.run(w), "panels of another layout were read after a change")
	}
	require.Equal(t, byte(0xff), k.memory[0], "panels of another layout were overwritten")
}

// TestFewColumnsOfBytesAreKept: 8-bit products read nothing but panels, which are kept even for a few columns. Packing
// them in each run took up to nine times as long as the product in float32.
func TestFewColumnsOfBytesAreKept(t *testing.T) {
	for _, c := range []struct {
		k, n, size int
		kept       bool
	}{
		{2048, 2, 1, true}, {64, 1, 1, true}, {128, 10, 1, true}, {100, 16, 1, true}, {1 << 20, 2, 1, false}, {0, 2, 1, false},
		{2048, 2, 4, false}, {2048, 2, 2, false}, {64, 16, 2, true}, {64, 16, 4, false}, {256, 16, 4, true},
	} {
		assert.Equal(t, c.kept, (&form{k: c.k, n: c.n, size: c.size}).worthKeeping(), "%+v", c)
	}
}
