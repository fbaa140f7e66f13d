package amx

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
)

// needed skips a test unless the processor, or an emulator, has matrix registers (internal/test-amx.sh).
func needed(t *testing.T) {
	if !isa.MatrixRegisters() {
		t.Skip("this processor has no AMX; internal/test-amx.sh runs the test in an emulator")
	}
}

// operands are random words of small integers, whose sums are exact in every order.
type operands struct {
	Product
	a, b []uint32
	c    []int32 // bits of float32
}

// numbers returns the values of a word.
func numbers(word uint32) [2]int32 {
	return [2]int32{int32(asFloat(word << 16)), int32(asFloat(word &^ 0xffff))}
}

func asFloat(bits uint32) float32 { return *(*float32)(unsafe.Pointer(&bits)) }

func asBits(x float32) int32 { return *(*int32)(unsafe.Pointer(&x)) }

func randomOperands(r *rand.Rand) *operands {
	size := func() int {
		if r.IntN(3) == 0 {
			return 1 + r.IntN(90)
		}
		return 1 + r.IntN(20)
	}
	return operandsOf(r, size(), size(), size())
}

// operandsOf draws operands with the given numbers of rows, columns and words per segment.
func operandsOf(r *rand.Rand, rows, cols, k int) *operands {
	o := &operands{Product: Product{Rows: rows, Cols: cols, K: k, Segments: 1 + r.IntN(3)*r.IntN(2), Outer: 1 + r.IntN(2)*r.IntN(2),
		Lines: r.IntN(4), Accumulate: r.IntN(2) == 0}}
	gap := func() int { return r.IntN(3) * r.IntN(5) }
	o.ARow = o.K + gap()
	o.ASegment = o.Rows*o.ARow + gap()
	o.AOuter = o.Segments*o.ASegment + gap()
	o.ALine = o.Outer*o.AOuter + gap()
	o.BK = o.Cols + gap()
	o.BSegment = o.K*o.BK + gap()
	o.BOuter = o.Segments*o.BSegment + gap()
	if r.IntN(2) == 0 {
		o.BLine = o.Outer*o.BOuter + gap()
	}
	o.CRow = o.Cols + gap()
	o.CLine = o.Rows*o.CRow + gap()
	lines := max(o.Lines, 1)
	word := func() uint32 {
		number := func() uint32 { return uint32(asBits(float32(r.IntN(17)-8))) >> 16 }
		return number() | number()<<16
	}
	fill := func(n int) []uint32 {
		x := make([]uint32, n)
		for i := range x {
			x[i] = word()
		}
		return x
	}
	o.a, o.b, o.c = fill(lines*o.ALine), fill(lines*max(o.Outer*o.BOuter, o.BLine)), make([]int32, lines*o.CLine)
	for i := range o.c {
		o.c[i] = asBits(float32(r.IntN(100) - 50))
	}
	o.A, o.B, o.C = unsafe.Pointer(&o.a[0]), unsafe.Pointer(&o.b[0]), unsafe.Pointer(&o.c[0])
	return o
}

// want computes the product as its definition says.
func (o *operands) want() []int32 {
	c := append([]int32{}, o.c...)
	for line := range max(o.Lines, 1) {
		for row := range o.Rows {
			for col := range o.Cols {
				sum := int32(0)
				at := line*o.CLine + row*o.CRow + col
				if o.Accumulate {
					sum = int32(asFloat(uint32(c[at])))
				}
				for k := range o.Outer * o.Segments * o.K {
					outer, segment, k := k/(o.Segments*o.K), k/o.K%o.Segments, k%o.K
					x := numbers(o.a[line*o.ALine+outer*o.AOuter+segment*o.ASegment+row*o.ARow+k])
					y := numbers(o.b[line*o.BLine+outer*o.BOuter+segment*o.BSegment+k*o.BK+col])
					for i := range x {
						sum += x[i] * y[i]
					}
				}
				c[at] = asBits(float32(sum))
			}
		}
	}
	return c
}

// TestProducts draws products of all kinds: sizes that are not whole tiles, segments, lines, gaps between rows. What
// lies between the rows of C stays as it was.
func TestProducts(t *testing.T) {
	needed(t)
	r := rand.New(rand.NewPCG(7, 8))
	for try := range 80 {
		o := randomOperands(r)
		want := o.want()
		Multiply(&o.Product)
		for i, v := range o.c { // 0 and -0 are considered equal
			if v == -1<<31 {
				o.c[i] = 0
			}
		}
		require.Equal(t, want, o.c, fmt.Sprintf("product %d: %+v", try, o.Product))
	}
}

// TestRounded: complete sums, with a bias and a relu, are rounded to bfloat16; nothing else is written. Every second
// product has several blocks of two by two tiles, which are rounded while the next one is multiplied.
func TestRounded(t *testing.T) {
	needed(t)
	r := rand.New(rand.NewPCG(9, 10))
	for try := range 120 {
		o := randomOperands(r)
		if try%2 == 1 {
			o = operandsOf(r, 33+r.IntN(128), 17+r.IntN(50), 1+r.IntN(1+r.IntN(100)))
		}
		lines := max(o.Lines, 1)
		want := o.want()
		halves := make([]uint16, lines*(o.Rows*(o.Cols+3)+5))
		for i := range halves {
			halves[i] = 77
		}
		bias := make([]float32, lines*(o.Cols+2))
		for i := range bias {
			bias[i] = float32(r.IntN(9) - 4)
		}
		o.HalfRow, o.HalfLine, o.Half = o.Cols+3, o.Rows*(o.Cols+3)+5, unsafe.Pointer(&halves[0])
		if o.ReLU = r.IntN(2) == 0; r.IntN(2) == 0 {
			o.Bias, o.BiasLine = unsafe.Pointer(&bias[0]), o.Cols+2
		}
		expected := append([]uint16{}, halves...)
		for line := range lines {
			for row := range o.Rows {
				for col := range o.Cols {
					v := asFloat(uint32(want[line*o.CLine+row*o.CRow+col]))
					if o.Bias != nil {
						v = rounded(v) + bias[line*o.BiasLine+col]
					}
					if o.ReLU {
						v = max(v, 0)
					}
					expected[line*o.HalfLine+row*o.HalfRow+col] = uint16(uint32(asBits(rounded(v))) >> 16)
				}
			}
		}
		Multiply(&o.Product)
		for i, v := range halves { // 0 and -0 are considered equal
			if v == 1<<15 {
				halves[i] = 0
			}
		}
		require.Equal(t, expected, halves, fmt.Sprintf("product %d: %+v", try, o.Product))
	}
}

// rounded rounds to bfloat16.
func rounded(x float32) float32 {
	bits := uint32(asBits(x))
	return asFloat((bits + 0x7fff + bits>>16&1) &^ 0xffff)
}

// TestProductsWhileInterrupted computes in two goroutines that the garbage collector and the scheduler interrupt.
func TestProductsWhileInterrupted(t *testing.T) {
	needed(t)
	done, stopped := make(chan bool), make(chan bool)
	go func() {
		defer close(stopped)
		for {
			select {
			case <-done:
				return
			default:
				runtime.GC()
				time.Sleep(100 * time.Microsecond)
			}
		}
	}()
	results := make(chan error, 2)
	for seed := range uint64(2) {
		go func() {
			r := rand.New(rand.NewPCG(seed, 3))
			for range 20 {
				o := randomOperands(r)
				want := o.want()
				Multiply(&o.Product)
				for i := range want {
					if want[i] != o.c[i] && want[i]<<1|o.c[i]<<1 != 0 { // 0 and -0 are considered equal
						results <- fmt.Errorf("%+v: %d, want %d", o.Product, o.c[i], want[i])
						return
					}
				}
				runtime.Gosched()
			}
			results <- nil
		}()
	}
	for range 2 {
		require.NoError(t, <-results)
	}
	close(done)
	<-stopped
}
