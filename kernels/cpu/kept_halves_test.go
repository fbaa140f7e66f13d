package cpu

import (
	"bytes"
	"context"
	"math"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// newHalfPredictor is newPredictor for operands that are first converted to 16 bits.
func newHalfPredictor(t *testing.T, rows int, d ir.DType) *predictor {
	p := ir.New("")
	x := p.AddInput("x", ir.Type{DType: ir.Float32, Shape: ir.Shape{rows, 75}})
	w := p.AddInput("w", ir.Type{DType: ir.Float32, Shape: ir.Shape{75, 70}})
	narrow := func(v ir.Value) ir.Value {
		n, err := p.Add("", ir.Convert, ir.ConvertAttrs{DType: d}, v)
		require.NoError(t, err)
		return n[0]
	}
	y, err := p.Add("", ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}, narrow(x), narrow(w))
	require.NoError(t, err)
	p.AddOutput("y", y[0])
	e, err := Backend{}.load(p, kernels.CompileOptions{Device: here}, false)
	require.NoError(t, err)
	f := &predictor{t, e, newBuffer(here, p.Type(x)), newBuffer(here, ir.Type{DType: d, Shape: ir.Shape{rows, 70}})}
	require.NoError(t, f.x.Write(float32s(rows*75)))
	return f
}

// TestKeptHalves: the 16-bit version of weights is kept until they change, whoever changes them, and in panels after
// the second product.
func TestKeptHalves(t *testing.T) {
	defer WithoutExcess()()
	typ := ir.Type{DType: ir.Float32, Shape: ir.Shape{75, 70}}
	for i, d := range []ir.DType{ir.BFloat16, ir.Float16} {
		for _, rows := range []int{1, 5, 300} {
			t.Run(d.String()+" "+strconv.Itoa(rows), func(t *testing.T) {
				f, w, other := newHalfPredictor(t, rows, d), newBuffer(here, typ), newBuffer(here, typ)
				check := func(b *buffer) {
					t.Helper()
					fresh := newBuffer(here, b.typ)
					require.NoError(t, fresh.Write(b.data))
					want := f.run(fresh)
					for run := range 3 {
						require.Equal(t, want, f.run(b), "run %d", run)
					}
					kept := &b.halves.each[i]
					require.Equal(t, b.version.Load(), kept.holds)
					require.Equal(t, kept.in.version.Load(), kept.in.panels.holds.Load(), "kept in panels")
				}
				require.NoError(t, w.Write(make([]byte, 4*75*70)))
				check(w)
				require.NoError(t, w.Write(float32s(75*70)))
				check(w)
				update := ir.New("")
				old := update.AddInput("w", typ)
				twice, err := update.Add("", ir.Add, nil, old, old)
				require.NoError(t, err)
				update.AddAlias("w", twice[0], 0)
				e, err := kernels.Load(Backend{}, update, here)
				require.NoError(t, err)
				require.NoError(t, e.Run(context.Background(), []kernels.Buffer{w}, []kernels.Buffer{nil}))
				check(w)
				require.NoError(t, other.Write(float32s(75*70)))
				check(other)
				require.NoError(t, w.Exchange(other))
				check(w)
				check(other)
				in, out := []kernels.Buffer{f.x, w}, []kernels.Buffer{f.y}
				require.Zero(t, allocations(20, func() { _ = f.e.Run(context.Background(), in, out) }))

				memory := w.Bytes() // from now on it may change unseen
				before := f.run(w)
				clear(memory)
				require.NotEqual(t, before, f.run(w))
				require.Equal(t, make([]byte, len(before)), f.run(w))
				require.NoError(t, other.Borrow(float32s(75*70)))
				want := f.run(other)
				other.data[3] ^= 0x40 // of an exponent
				require.NotEqual(t, want, f.run(other))
				other.Free()
				require.Nil(t, other.halves.each[i].in)
			})
		}
	}
}

// TestKeptWide: where weights have 16 bits, predictions of small models convert them to float32 once, until they
// change, multiply panels of that, and give the bits of float32, rounded once.
func TestKeptWide(t *testing.T) {
	for _, d := range []ir.DType{ir.BFloat16, ir.Float16} {
		p, wide := ir.New(""), ir.New("")
		for _, p := range []*ir.Program{p, wide} {
			x, w := p.AddInput("x", ir.Type{DType: ir.Float32, Shape: ir.Shape{5, 75}}), p.AddInput("w", ir.Type{DType: d, Shape: ir.Shape{75, 70}})
			from, to := x, w
			at, of := ir.ConvertAttrs{DType: d}, &from
			if p == wide {
				at, of = ir.ConvertAttrs{DType: ir.Float32}, &to
			}
			v, err := p.Add("", ir.Convert, at, *of)
			require.NoError(t, err)
			*of = v[0]
			y, err := p.Add("", ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}, from, to)
			require.NoError(t, err)
			if p == wide {
				if y, err = p.Add("", ir.Convert, ir.ConvertAttrs{DType: d}, y[0]); err != nil {
					t.Fatal(err)
				}
			}
			p.AddOutput("y", y[0])
		}
		defer func(before float64) { leastGain = before }(leastGain)
		leastGain = math.Inf(1)
		var results [2][]byte
		for i, p := range []*ir.Program{p, wide} {
			e, err := kernels.Load(Backend{}, p, here)
			require.NoError(t, err)
			x, w := newBuffer(here, p.Type(p.Inputs[0].Value)), newBuffer(here, p.Type(p.Inputs[1].Value))
			y := newBuffer(here, p.Type(p.Outputs[0].Value))
			require.NoError(t, x.Write(float32s(5*75)))
			for _, bits := range []int{0x3c00, 0x3800} {
				require.NoError(t, w.Write(bytes.Repeat([]byte{byte(bits), byte(bits >> 8)}, 75*70)))
				for range 3 {
					require.NoError(t, e.Run(t.Context(), []kernels.Buffer{x, w}, []kernels.Buffer{y}))
				}
				kept := &w.halves.each[2]
				require.Equal(t, w.version.Load(), kept.holds)
				require.Equal(t, kept.in.version.Load(), kept.in.panels.holds.Load(), "kept in panels")
				results[i] = append(results[i], y.data...)
			}
			in, out := []kernels.Buffer{x, w}, []kernels.Buffer{y}
			require.Zero(t, allocations(20, func() { _ = e.Run(t.Context(), in, out) }))
		}
		require.Equal(t, results[1], results[0])
	}
}

// TestTrainedWeightsAreNotKept: a program that replaces its weights converts them in each run, in its own memory.
func TestTrainedWeightsAreNotKept(t *testing.T) {
	defer WithoutExcess()()
	p := ir.New("")
	w := p.AddInput("w", ir.Type{DType: ir.Float32, Shape: ir.Shape{64, 64}})
	narrow, err := p.Add("", ir.Convert, ir.ConvertAttrs{DType: ir.BFloat16}, w)
	require.NoError(t, err)
	y, err := p.Add("", ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}, narrow[0], narrow[0])
	require.NoError(t, err)
	wide, err := p.Add("", ir.Convert, ir.ConvertAttrs{DType: ir.Float32}, y[0])
	require.NoError(t, err)
	p.AddAlias("w", wide[0], 0)
	e, err := kernels.Load(Backend{}, p, here)
	require.NoError(t, err)
	b := newBuffer(here, p.Type(w))
	require.NoError(t, e.Run(context.Background(), []kernels.Buffer{b}, []kernels.Buffer{nil}))
	require.Nil(t, b.halves.each[0].in)
}

// TestKeptHalvesAreShared: programs for several batches that run at the same time share one conversion.
func TestKeptHalvesAreShared(t *testing.T) {
	defer WithoutExcess()()
	w := newBuffer(here, ir.Type{DType: ir.Float32, Shape: ir.Shape{75, 70}})
	require.NoError(t, w.Write(float32s(75*70)))
	var all []*predictor
	var want [][]byte
	for _, rows := range []int{1, 7, 40} {
		f := newHalfPredictor(t, rows, ir.BFloat16)
		fresh := newBuffer(here, w.typ)
		require.NoError(t, fresh.Write(w.data))
		all, want = append(all, f), append(want, f.run(fresh))
	}
	var done sync.WaitGroup
	for i, f := range all {
		done.Add(1)
		go func() {
			defer done.Done()
			for range 20 {
				if got := f.run(w); string(got) != string(want[i]) {
					t.Errorf("batch %d: other bits", f.x.typ.Shape[0])
				}
			}
		}()
	}
	done.Wait()
	require.NotNil(t, w.halves.each[0].in)
}
