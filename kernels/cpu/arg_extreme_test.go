package cpu

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/ir"
)

// TestPlacesOfExtremes searches rows and columns of every type for the first extreme, with many equal elements and,
// among floats, NaN.
func TestPlacesOfExtremes(t *testing.T) {
	placesOf[uint8](t, ir.Uint8)
	placesOf[int8](t, ir.Int8)
	placesOf[int16](t, ir.Int16)
	placesOf[int32](t, ir.Int32)
	placesOf[uint64](t, ir.Uint64)
	placesOf[float32](t, ir.Float32)
	placesOf[float64](t, ir.Float64)
	linesOfPlaces[uint8](t, ir.Bool)
	linesOfPlaces[uint8](t, ir.Uint8)
	linesOfPlaces[int8](t, ir.Int8)
	linesOfPlaces[int16](t, ir.Int16)
	linesOfPlaces[uint16](t, ir.Uint16)
	linesOfPlaces[int32](t, ir.Int32)
	linesOfPlaces[int64](t, ir.Int64)
	linesOfPlaces[float32](t, ir.Float32)
	linesOfPlaces[float64](t, ir.Float64)
}

// linesOfPlaces searches many short lines, which are transposed, and columns for their first extremes.
func linesOfPlaces[T block.Number](t *testing.T, d ir.DType) {
	r := rand.New(rand.NewPCG(4, uint64(d)))
	for range 300 {
		largest, inner := r.IntN(2) == 0, 1+r.IntN(9)
		length := 2 + r.IntN(turnedPlaces/inner-1)
		if d.Size() == 8 {
			length = 2 + r.IntN(max(turnedPlaces8/inner-1, 1))
		}
		outer, spread, line := 1+r.IntN(1200), 2, length*inner
		if d != ir.Bool {
			spread = 2 + r.IntN(100)
		}
		x := make([]T, outer*line)
		for i := range x {
			x[i] = T(r.IntN(spread))
		}
		if nan, zero := math.NaN(), math.Copysign(0, -1); d.IsFloat() {
			for range 1 + r.IntN(3) {
				x[r.IntN(len(x))] = T(zero)
			}
			for range r.IntN(3) * r.IntN(3) * len(x) / 50 {
				x[r.IntN(len(x))] = T(nan)
			}
		}
		want, got := make([]int32, outer*inner), make([]int32, outer*inner)
		for k := range want {
			for i := range length {
				from := k/inner*line + k%inner
				if best := x[from+int(want[k])*inner]; best == best && beyond(x[from+i*inner], best, largest) {
					want[k] = int32(i)
				}
			}
		}
		w := &worker{scratch: plan.AlignedBytes(placesMemory)}
		p := newPlanes(d, largest, func(x unsafe.Pointer, length, inner int) int {
			return argOfStrided(block.View[T](x, (length-1)*inner+1), inner, largest)
		})
		p.turned(w, got, unsafe.Pointer(unsafe.SliceData(x)), length, inner)
		require.Equal(t, want, got, "%v, %d lines of %d, %d between each other, largest %v", d, outer, length, inner, largest)
		rows, columns := min(2+r.IntN(70), len(x)/2), 200+r.IntN(columnBlock-199) // on both sides of the rule
		columns = min(columns, len(x)/rows)
		stride := len(x) / rows
		if got := make([]int32, columns); p.columns(w, got, unsafe.Pointer(unsafe.SliceData(x)), rows, stride) {
			require.NotEqual(t, ir.Float32, d)
			for c, at := range got {
				best := 0
				for i := range rows {
					if v := x[best*stride+c]; v == v && beyond(x[i*stride+c], v, largest) {
						best = i
					}
				}
				require.EqualValues(t, best, at, "%v, %d rows of %d, largest %v", d, rows, columns, largest)
			}
		}
	}
}

func placesOf[T block.Number](t *testing.T, d ir.DType) {
	r := rand.New(rand.NewPCG(3, uint64(d)))
	for range 200 {
		rows, columns := 1+r.IntN(60), 1+r.IntN(100)
		stride, largest := columns+r.IntN(3), r.IntN(2) == 0
		op, spread := ir.Minimum, 1+r.IntN(100)
		if largest {
			op = ir.Maximum
		}
		x := make([]T, rows*stride)
		for i := range x {
			x[i] = T(r.IntN(spread))
		}
		if least := -int64(1) << (8*d.Size() - 1); d == ir.Int32 || d == ir.Int8 { // the type's limits, among numbers below zero
			for range r.IntN(3) {
				x[r.IntN(len(x))], x[r.IntN(len(x))] = T(least), T(least+int64(r.IntN(50)))
			}
		}
		if nan := math.NaN(); d.IsFloat() && r.IntN(3) == 0 {
			for range 1 + r.IntN(max(4, len(x)/2)) { // few, or so many that some are neighbours
				x[r.IntN(len(x))] = T(nan)
			}
		}
		extreme, scratch := block.Binary(op, d), make([]T, columnBlock)
		first := func(at func(i int) T, n int) (place int) {
			for i := 1; i < n; i++ {
				if best := at(place); best == best && beyond(at(i), best, largest) {
					place = i
				}
			}
			return place
		}
		require.Equal(t, first(func(i int) T { return x[i] }, len(x)), argOfRow(x, scratch, largest, extreme), "%v of %v", op, x)
		if length := len(x); length > 0 {
			apart := 1 + r.IntN(9)
			require.Equal(t, first(func(i int) T { return x[i*apart] }, (length-1)/apart+1), argOfStrided(x, apart, largest), "%v of every %d of %v", op, apart, x)
			some := x[:1+r.IntN(length)]
			require.Equal(t, first(func(i int) T { return x[i] }, len(some)), argOfRow(some, scratch, largest, extreme), "%v of %v", op, some)
		}
		pairs := make([]int32, len(x)/2)
		argOfPairs(x[:2*len(pairs)], pairs, largest)
		for i, place := range pairs {
			require.Equal(t, first(func(k int) T { return x[2*i+k] }, 2), int(place), "%v of %v", op, x[2*i:2*i+2])
		}
		got, want := make([]int32, columns), make([]int32, columns)
		for c := range want {
			want[c] = int32(first(func(i int) T { return x[i*stride+c] }, rows))
		}
		argOfColumns(x[:(rows-1)*stride+columns], got, scratch[:columns], stride, largest, extreme)
		require.Equal(t, want, got, "%v of %d rows of %d, %v", op, rows, columns, x)
	}
}
