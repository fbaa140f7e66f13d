package cpu

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
	"github.com/gokeras/gokeras/kernels/cpu/internal/guard"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// loadSizes are elements of one to eight bytes.
var loadSizes = []ir.DType{ir.Uint8, ir.Uint16, ir.Uint32, ir.Uint64}

// TestLoads reads random patterns, starting anywhere: repeated elements and pieces between other axes, rows with gaps,
// and elements that are apart. It compares them with reading one element after another.
func TestLoads(t *testing.T) {
	r := rand.New(rand.NewPCG(28, 71))
	repeats, pieces := 0, 0
	for range 3000 {
		d := loadSizes[r.IntN(len(loadSizes))]
		size, a := d.Size(), fuse.Access{}
		stride := 1
		for range 1 + r.IntN(4) { // from the innermost axis on
			n := 2 + r.IntN(9)
			if r.IntN(4) == 0 {
				n = 2 + r.IntN(70)
			}
			s := 0
			if r.IntN(2) == 0 {
				s = stride
				stride *= n
			}
			if r.IntN(4) == 0 {
				stride += 1 + r.IntN(2)
			}
			a.Dims, a.Strides = append([]int{n}, a.Dims...), append([]int{s}, a.Strides...)
		}
		elements, last := 1, 0
		for i, n := range a.Dims {
			elements *= n
			last += (n - 1) * a.Strides[i]
		}
		if elements > 20000 || last == 0 {
			continue
		}
		data := make([]uint8, (last+1)*size)
		for i := range data {
			data[i] = uint8(r.Uint32())
		}
		data = guard.Copy(t, data, r.IntN(2) == 0)
		b := &vmBuilder{}
		b.prog.block = 64
		l, _ := b.loadOf(plan.Operand{Mem: &plan.Storage{Ptr: unsafe.Pointer(&data[0])}, Typ: ir.Type{DType: d}}, &a, 0)
		if l.repeats != nil && l.strides[len(l.strides)-1] == 0 {
			repeats++
		} else if l.repeats != nil {
			pieces++
		}
		first := r.IntN(elements)
		n := 1 + r.IntN(elements-first)
		got := guard.Copy(t, make([]uint8, n*size), r.IntN(2) == 0)
		l.fill(unsafe.Pointer(&got[0]), first, n)
		for i := range n {
			require.Equal(t, data[l.offset(first+i):][:size], got[i*size:][:size], "element %d from %d of %d, %v %v of %s", i, first, n, a.Dims, a.Strides, d)
		}
	}
	if vec.NewRepeats(1, 2) != nil { // vectors of this processor repeat
		require.NotZero(t, repeats)
		require.NotZero(t, pieces)
	}
}
