package cpu

import (
	"context"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// newDerivedPredictor multiplies rows by the difference of two variables, the smaller of which has one row.
func newDerivedPredictor(t *testing.T, rows int, variables ...int) *predictor {
	p := ir.New("")
	x := p.AddInput("x", ir.Type{DType: ir.Float32, Shape: ir.Shape{rows, 75}})
	shift := p.AddInput("shift", ir.Type{DType: ir.Float32, Shape: ir.Shape{70}})
	w := p.AddInput("w", ir.Type{DType: ir.Float32, Shape: ir.Shape{75, 70}})
	add := func(op ir.Op, attrs ir.Attrs, in ...ir.Value) ir.Value {
		out, err := p.Add("", op, attrs, in...)
		require.NoError(t, err)
		return out[0]
	}
	from := add(ir.Sub, nil, w, add(ir.Broadcast, ir.BroadcastAttrs{Shape: ir.Shape{75, 70}, Axes: []int{1}}, shift))
	p.AddOutput("y", add(ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}, x, from))
	e, err := Backend{}.load(p, kernels.CompileOptions{Device: here, Variables: variables}, false)
	require.NoError(t, err)
	f := &predictor{t, e, newBuffer(here, p.Type(x)), newBuffer(here, ir.Type{DType: ir.Float32, Shape: ir.Shape{rows, 70}})}
	require.NoError(t, f.x.Write(float32s(rows*75)))
	return f
}

func (f *predictor) runDerived(shift, w kernels.Buffer) []byte {
	f.t.Helper()
	require.NoError(f.t, f.e.Run(context.Background(), []kernels.Buffer{f.x, shift, w}, []kernels.Buffer{f.y}))
	return append([]byte(nil), f.y.data...)
}

// TestDerivedValues: what depends only on variables is computed when one of them has changed, whoever changed it, and
// stays with the largest. Buffers that may change unnoticed are read in each run.
func TestDerivedValues(t *testing.T) {
	for _, rows := range []int{1, 6, 200} {
		t.Run(strconv.Itoa(rows), func(t *testing.T) {
			f, plain := newDerivedPredictor(t, rows, 1, 2), newDerivedPredictor(t, rows)
			shift, w, other := newBuffer(here, ir.Type{DType: ir.Float32, Shape: ir.Shape{70}}), newBuffer(here, ir.Type{DType: ir.Float32, Shape: ir.Shape{75, 70}}), newBuffer(here, ir.Type{DType: ir.Float32, Shape: ir.Shape{75, 70}})
			check := func(w *buffer) {
				t.Helper()
				want := plain.runDerived(shift, w)
				for range 3 {
					require.Equal(t, want, f.runDerived(shift, w))
				}
				require.Len(t, w.derived.list, 1)
				require.Equal(t, []uint64{shift.version.Load(), w.version.Load()}, w.derived.list[0].versions)
				kept := w.derived.list[0].in
				before := kept.version.Load()
				require.Equal(t, want, f.runDerived(shift, w))
				require.Equal(t, before, kept.version.Load(), "computed again")
				require.Equal(t, before, kept.panels.holds.Load(), "kept in panels")
			}
			check(w)
			require.NoError(t, w.Write(float32s(75*70)))
			check(w)
			require.NoError(t, shift.Write(float32s(70)))
			check(w)
			require.NoError(t, other.Write(float32s(75 * 70)[:4*75*70]))
			other.data[5] ^= 1
			check(other)
			require.NoError(t, w.Exchange(other))
			check(w)
			check(other)
			in, out := []kernels.Buffer{f.x, shift, w}, []kernels.Buffer{f.y}
			require.Zero(t, allocations(20, func() { _ = f.e.Run(context.Background(), in, out) }))

			memory := shift.Bytes() // from now on it may change unseen
			before := f.runDerived(shift, w)
			clear(memory)
			require.NotEqual(t, before, f.runDerived(shift, w))
			require.Equal(t, plain.runDerived(shift, w), f.runDerived(shift, w))
			w.Free()
			require.Empty(t, w.derived.list)
		})
	}
}

// TestDerivedValuesAreShared: programs for several batches that run at the same time share one value.
func TestDerivedValuesAreShared(t *testing.T) {
	shift, w := newBuffer(here, ir.Type{DType: ir.Float32, Shape: ir.Shape{70}}), newBuffer(here, ir.Type{DType: ir.Float32, Shape: ir.Shape{75, 70}})
	require.NoError(t, w.Write(float32s(75*70)))
	require.NoError(t, shift.Write(float32s(70)))
	var together sync.WaitGroup
	for _, rows := range []int{1, 7, 40, 41} {
		f, want := newDerivedPredictor(t, rows, 1, 2), newDerivedPredictor(t, rows).runDerived(shift, w)
		together.Go(func() {
			for range 50 {
				if string(want) != string(f.runDerived(shift, w)) {
					t.Error("another result")
				}
			}
		})
	}
	together.Wait()
	require.Len(t, w.derived.list, 1)
}

// TestDerivedValuesAreFound: a program for another batch finds the value and compiles nothing to compute it, until a
// variable changes.
func TestDerivedValuesAreFound(t *testing.T) {
	shift, w := newBuffer(here, ir.Type{DType: ir.Float32, Shape: ir.Shape{70}}), newBuffer(here, ir.Type{DType: ir.Float32, Shape: ir.Shape{75, 70}})
	require.NoError(t, w.Write(float32s(75*70)))
	first, other := newDerivedPredictor(t, 3, 1, 2), newDerivedPredictor(t, 5, 1, 2)
	require.Nil(t, first.e.derived[0].made)
	first.runDerived(shift, w)
	require.NotNil(t, first.e.derived[0].made)
	require.Nil(t, first.e.derived[0].made.first, "its session is used")
	other.runDerived(shift, w)
	require.Nil(t, other.e.derived[0].made)
	require.NoError(t, shift.Write(float32s(70)))
	require.Equal(t, newDerivedPredictor(t, 5).runDerived(shift, w), other.runDerived(shift, w))
	require.NotNil(t, other.e.derived[0].made)
}

// TestDerivedInputCount: derived values do not count as inputs for the program's caller.
func TestDerivedInputCount(t *testing.T) {
	f := newDerivedPredictor(t, 2, 1, 2)
	err := f.e.Run(context.Background(), []kernels.Buffer{f.x}, []kernels.Buffer{f.y})
	require.ErrorContains(t, err, "the program takes 3 inputs and 1 outputs, received 1 and 1")
}

// TestDerivedInTraining: a program that trains derives from the variables that it does not replace.
func TestDerivedInTraining(t *testing.T) {
	build := func(variables ...int) (*loaded, []kernels.Buffer) {
		p := ir.New("")
		square := ir.Type{DType: ir.Float32, Shape: ir.Shape{64, 64}}
		frozen, w := p.AddInput("frozen", square), p.AddInput("w", square)
		add := func(op ir.Op, attrs ir.Attrs, in ...ir.Value) ir.Value {
			out, err := p.Add("", op, attrs, in...)
			require.NoError(t, err)
			return out[0]
		}
		product := ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}
		p.AddAlias("w", add(ir.Dot, product, add(ir.Tanh, nil, w), add(ir.Tanh, nil, frozen)), 1)
		e, err := Backend{}.load(p, kernels.CompileOptions{Device: here, Variables: variables}, false)
		require.NoError(t, err)
		buffers := []kernels.Buffer{newBuffer(here, square), newBuffer(here, square)}
		for _, b := range buffers {
			require.NoError(t, b.(*buffer).Write(float32s(64*64)))
		}
		return e, buffers
	}
	e, buffers := build(0, 1)
	plain, same := build()
	for range 3 {
		require.NoError(t, e.Run(context.Background(), buffers, []kernels.Buffer{nil}))
		require.NoError(t, plain.Run(context.Background(), same, []kernels.Buffer{nil}))
		require.Equal(t, same[1].(*buffer).data, buffers[1].(*buffer).data)
	}
	require.Len(t, buffers[0].(*buffer).derived.list, 1)
	require.Empty(t, buffers[1].(*buffer).derived.list)
}
