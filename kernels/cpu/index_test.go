package cpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// TestPositions looks up indices at and beyond both ends, of every type and in every mode.
func TestPositions(t *testing.T) {
	const length = 5
	for _, d := range []ir.DType{ir.Int8, ir.Int16, ir.Int32, ir.Int64, ir.Uint8, ir.Uint16, ir.Uint32, ir.Uint64} {
		values := []float64{0, 4, 2, length, 100}
		drop, clip := []int64{0, 4, 2, dropped, dropped}, []int64{0, 4, 2, 4, 4}
		if d.IsSigned() {
			values = append(values, -1, -100)
			drop, clip = append(drop, dropped, dropped), append(clip, 0, 0)
		}
		if d == ir.Uint64 {
			values = append(values, math.Ldexp(1, 63))
			drop, clip = append(drop, dropped), append(clip, 4)
		}
		v, err := reference.New(d, ir.Shape{len(values)}, values...)
		require.NoError(t, err)
		memory := v.Bytes()
		o := &plan.Operand{Mem: &plan.Storage{Ptr: plan.PointerTo(memory), Bytes: len(memory)}, N: len(values), Typ: v.Type}
		at := make([]int64, len(values))
		assert.Equal(t, -1, finderOf(d)(o, at, length, ir.IndexDrop), "%v", d)
		assert.Equal(t, drop, at, "%v", d)
		assert.Equal(t, -1, finderOf(d)(o, at, length, ir.IndexClip), "%v", d)
		assert.Equal(t, clip, at, "%v", d)
		assert.Equal(t, 3, finderOf(d)(o, at, length, ir.IndexError), "%v", d)
		assert.Equal(t, []int64{0, 4, 2}, at[:3], "%v", d)
		assert.Equal(t, -1, finderOf(d)(o, at, 0, ir.IndexClip), "%v", d)
		assert.Equal(t, int64(dropped), at[0], "%v", d)
	}
}

// TestGatherEach takes few and many elements of random lines, from any element on.
func TestGatherEach(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 3))
	for range 300 {
		outer, length, count := 1+r.IntN(700), 1+r.IntN(9), 1+r.IntN(20)
		x, at := make([]uint32, outer*length), make([]int64, count)
		for i := range x {
			x[i] = r.Uint32()
		}
		all := r.IntN(2) == 0
		for i := range at {
			if at[i] = int64(r.IntN(length+1) - 1); all { // -1 is dropped
				at[i] = max(at[i], 0)
			}
		}
		got, want := make([]uint32, outer*count), make([]uint32, outer*count)
		lo := r.IntN(len(got))
		hi := lo + r.IntN(len(got)-lo+1)
		for k := lo; k < hi; k++ {
			if p := at[k%count]; p != dropped {
				want[k] = x[k/count*length+int(p)]
			}
		}
		gatherEach(got, x, at, lo, hi, length, all)
		require.Equal(t, want, got, "%d lines of %d, %v, from %d to %d", outer, length, at, lo, hi)
	}
}

// TestGatherSingleElements takes elements of lines, some of which are left out, for elements of all sizes.
func TestGatherSingleElements(t *testing.T) {
	for _, d := range []ir.DType{ir.Int8, ir.Float16, ir.Float32, ir.Float64} {
		g := graphBuilder{t, ir.New("gather")}
		x := g.p.AddInput("x", ir.Type{DType: d, Shape: ir.Shape{3, 4}})
		i := g.p.AddInput("i", ir.Type{DType: ir.Int32, Shape: ir.Shape{5}})
		g.p.AddOutput("", g.one(ir.Gather, ir.GatherAttrs{Axis: 1, Mode: ir.IndexDrop}, x, i))
		a, err := reference.New(d, ir.Shape{3, 4}, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)
		require.NoError(t, err)
		b, err := reference.New(ir.Int32, ir.Shape{5}, 3, 0, -1, 4, 2)
		require.NoError(t, err)
		got := runWith(t, g.p, []reference.Value{a, b}, 1)[0]
		want, err := reference.New(d, ir.Shape{3, 5}, 4, 1, 0, 0, 3, 8, 5, 0, 0, 7, 12, 9, 0, 0, 11)
		require.NoError(t, err)
		assert.Equal(t, want.Bytes(), got, "%v", d)
	}
}
