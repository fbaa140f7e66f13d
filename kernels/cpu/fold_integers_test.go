package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
)

// integerAt is the integer at a place, in 64 bits.
func integerAt(p unsafe.Pointer, d ir.DType) uint64 {
	switch d {
	case ir.Int8:
		return uint64(*(*int8)(p))
	case ir.Bool, ir.Uint8:
		return uint64(*(*uint8)(p))
	case ir.Int16:
		return uint64(*(*int16)(p))
	case ir.Uint16:
		return uint64(*(*uint16)(p))
	case ir.Int32:
		return uint64(*(*int32)(p))
	case ir.Uint32:
		return uint64(*(*uint32)(p))
	}
	return *(*uint64)(p)
}

// combinedInteger combines the integers that lie stride bytes apart, one by one.
func combinedInteger(kind ir.Kind, d ir.DType, x unsafe.Pointer, n, stride int) uint64 {
	y := integerAt(x, d)
	for i := 1; i < n; i++ {
		v := integerAt(unsafe.Add(x, i*stride), d)
		less := v < y
		if d.IsSigned() {
			less = int64(v) < int64(y)
		}
		switch {
		case kind == ir.Sum:
			y += v
		case kind == ir.Prod:
			y *= v
		case less == (kind == ir.Min || kind == ir.And):
			y = v
		}
	}
	return y & (^uint64(0) >> (64 - 8*d.Size()))
}

// TestIntegerFolds combines items of every short length and of some long ones, at any place in memory, with the
// smallest and largest integers among them, and checks that nothing is written beyond the results.
func TestIntegerFolds(t *testing.T) {
	r := rand.New(rand.NewPCG(27, 11))
	for _, d := range []ir.DType{ir.Bool, ir.Int8, ir.Uint8, ir.Int16, ir.Uint16, ir.Int32, ir.Uint32, ir.Int64, ir.Uint64} {
		kinds := []ir.Kind{ir.Sum, ir.Prod, ir.Max, ir.Min}
		if d == ir.Bool {
			kinds = []ir.Kind{ir.Or, ir.And}
		}
		for _, kind := range kinds {
			f, size := newIntegerFold(kind, d), d.Size()
			for length := 1; length < 9000; length += 1 + length/70*(1+r.IntN(length)) {
				inner, n := []int{1, 1, 2, 3, 5, 16, 33, 600}[r.IntN(8)], 1+r.IntN(9)
				if length > 70 && inner > 5 {
					inner = 1
				}
				x, off := make([]byte, n*length*inner*size+8), r.IntN(8)*size%8
				for i := range x {
					x[i] = byte(r.Uint32()) | 1
					if d == ir.Bool {
						x[i] = byte(1 - r.IntN(length+1)/length)
						if kind == ir.Or {
							x[i] = 1 - x[i]
						}
					}
				}
				if i := r.IntN(n*length*inner) * size; d != ir.Bool {
					clear(x[off+i:][:size])
					x[off+i+size-1] = 0x80
				}
				out := make([]byte, n*inner*size+8)
				f.items(unsafe.Pointer(&out[0]), unsafe.Pointer(&x[off]), n, length, inner)
				for i := range n * inner {
					at := unsafe.Pointer(&x[off+(i/inner*length*inner+i%inner)*size])
					want, got := combinedInteger(kind, d, at, length, inner*size), integerAt(unsafe.Pointer(&out[i*size]), d)
					require.Equal(t, want, got&(^uint64(0)>>(64-8*size)), fmt.Sprint(kind, d, " item ", i, " of ", n, " times ", length, " rows of ", inner))
				}
				require.Equal(t, make([]byte, 8), out[n*inner*size:])
			}
			var empty [2]uint64
			f.items(nil, nil, 2, 7, 0)
			f.items(unsafe.Pointer(&empty), nil, 1, 0, 1)
			one := [1]uint64{0x8181818181818181}
			if d == ir.Bool {
				one[0] = 1
			}
			f.combine(unsafe.Pointer(&empty), unsafe.Pointer(&empty), unsafe.Pointer(&one), nil, 1)
			require.Equal(t, integerAt(unsafe.Pointer(&one), d), integerAt(unsafe.Pointer(&empty), d), fmt.Sprint(kind, d))
		}
	}
}
