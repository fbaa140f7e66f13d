package micro

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
)

// pairAt is the pair of two numbers, either of which may be missing.
func pairAt(low, high *uint16) uint32 {
	var pair uint32
	if low != nil {
		pair = uint32(*low)
	}
	if high != nil {
		pair |= uint32(*high) << 16
	}
	return pair
}

// TestPairsOfOperands: operands of any layout are rearranged completely for matrix registers, with zeros where a step
// has more pairs than there are, and nothing around them changes.
func TestPairsOfOperands(t *testing.T) {
	if !isa.MatrixRegisters() {
		t.Skip("needs matrix registers (AMX), or an emulator of them (make amx)")
	}
	const canary = 0x7fc07fc1
	r := rand.New(rand.NewPCG(5, 88))
	for range 400 {
		rows, numbers := 1+r.IntN(70), 1+r.IntN(100)
		from := numbers + r.IntN(5)
		src := make([]uint16, (rows-1)*from+numbers)
		for i := range src {
			src[i] = uint16(r.Uint32())
		}
		at := func(row, k int) *uint16 {
			if row >= rows || k >= numbers {
				return nil
			}
			return &src[row*from+k]
		}
		memory := make([]float32, 1<<14)
		words := pairsWords(memory)
		for i := range words {
			words[i] = canary
		}
		check := func(what string, n int, want func(i int) uint32) {
			for i := range words {
				expected := uint32(canary)
				if i < n {
					expected = want(i)
				}
				if words[i] != expected {
					require.Equal(t, expected, words[i], "%s, word %d of %d: %d rows of %d numbers, %d apart", what, i, n, rows, numbers, from)
				}
				words[i] = canary
			}
		}

		TurnPairs(memory, src, numbers, rows, from)
		parts := (rows + 31) / 32
		check("TurnPairs", parts*16*numbers, func(i int) uint32 {
			part, column, pair := i/(16*numbers), i/16%numbers, i%16
			return pairAt(at(32*part+2*pair, column), at(32*part+2*pair+1, column))
		})

		pairs := (numbers + 1) / 2
		if r.IntN(2) == 0 {
			pairs = (pairs + 15) / 16 * 16
		}
		to := pairs + r.IntN(3)
		CopyPairs(memory, src, rows, numbers, pairs, to, from)
		check("CopyPairs", (rows-1)*to+pairs, func(i int) uint32 {
			if i%to >= pairs {
				return canary
			}
			return pairAt(at(i/to, 2*(i%to)), at(i/to, 2*(i%to)+1))
		})

		rows = min(rows, PanelWidth[float32]())
		TurnRows(memory, src, rows, numbers, from)
		check("TurnRows", (numbers+1)/2*32, func(i int) uint32 {
			if i%32 >= (rows+15)/16*16 {
				return canary
			}
			return pairAt(at(i%32, i/32*2), at(i%32, i/32*2+1))
		})
	}
}

// TestPairsOfManyOperands covers operands that take several calls.
func TestPairsOfManyOperands(t *testing.T) {
	if !isa.MatrixRegisters() {
		t.Skip("needs matrix registers (AMX), or an emulator of them (make amx)")
	}
	const rows, numbers = 700, 301
	src := make([]uint16, rows*numbers)
	for i := range src {
		src[i] = uint16(i * 40503)
	}
	dst := make([]float32, rows*(numbers+16))
	words := pairsWords(dst)
	TurnPairs(dst, src, numbers, rows, numbers)
	for i := range rows / 2 * numbers {
		pair, column := i/numbers, i%numbers
		require.Equal(t, pairAt(&src[2*pair*numbers+column], &src[(2*pair+1)*numbers+column]), words[pair/16*16*numbers+column*16+pair%16])
	}
	CopyPairs(dst, src, rows, numbers-1, numbers/2, numbers/2, numbers)
	for i := range rows * (numbers / 2) {
		row, pair := i/(numbers/2), i%(numbers/2)
		require.Equal(t, pairAt(&src[row*numbers+2*pair], &src[row*numbers+2*pair+1]), words[i])
	}
	const long = 10001
	TurnRows(dst, src, 4, long, long)
	for i := range long / 2 {
		require.Equal(t, pairAt(&src[2*i], &src[2*i+1]), words[32*i])
	}
}

// pairsWords views pairs as their bits.
func pairsWords(x []float32) []uint32 {
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}
