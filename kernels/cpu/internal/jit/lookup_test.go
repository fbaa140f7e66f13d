package jit_test

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/jit"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// lookups has the memory of code that adds up elements of several tables, and the expected results.
type lookups struct {
	pointers  [192]unsafe.Pointer
	positions [][]int32
	tables    [][]byte
	results   [][]byte
	failure   jit.Failure
	steps     []jit.Step
}

// newLookups returns count lookups of n elements, in tables whose elements have the given size. After the results is
// room for 16 elements that must not change.
func newLookups(r *rand.Rand, count, size, n int) *lookups {
	l := &lookups{}
	for k := range count {
		length := 1 + r.IntN(300)
		at, table, result := make([]int32, n), make([]byte, size*length), make([]byte, size*(n+16))
		for i := range at {
			at[i] = int32(r.IntN(length))
		}
		for i := range table {
			table[i] = byte(r.IntN(256))
		}
		p := 3*k + 1
		l.pointers[p], l.pointers[p+1], l.pointers[p+2] = unsafe.Pointer(&at[0]), unsafe.Pointer(&table[0]), unsafe.Pointer(&result[0])
		l.positions, l.tables, l.results = append(l.positions, at), append(l.tables, table), append(l.results, result)
		l.steps = append(l.steps, jit.Step{Op: jit.Lookup, Dst: uint8(p + 2), In: [3]uint8{uint8(p), uint8(p + 1)}, Stored: true,
			Lookup: &jit.Table{Size: size, Last: uint32(length - 1), Number: int32(k + 1)}})
	}
	l.pointers[0] = unsafe.Pointer(&l.failure)
	return l
}

// clip gives all lookups positions beyond the ends, which are clamped.
func (l *lookups) clip(r *rand.Rand) {
	for k, at := range l.positions {
		l.steps[k].Lookup.Clips = true
		for i := range at {
			if r.IntN(3) == 0 {
				at[i] = int32(r.Uint32())
			}
		}
	}
}

// TestLookup reads elements of each size at random positions, from more tables than there are registers for pointers.
func TestLookup(t *testing.T) {
	onEach(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(71, 5))
		for range 150 {
			size, n := 1<<r.IntN(3), 1+r.IntN(100)
			l := newLookups(r, 1+r.IntN(12), size, n)
			if r.IntN(2) == 0 {
				l.clip(r)
			}
			code := jit.Compile(l.steps, 4, func(uint8) bool { return false })
			require.NotNil(t, code)
			code.Run(unsafe.Pointer(&l.pointers), n)
			require.Zero(t, l.failure)
			for k, at := range l.positions {
				want := make([]byte, 0, len(l.results[k]))
				for _, i := range at {
					i = min(max(i, 0), int32(len(l.tables[k])/size-1))
					want = append(want, l.tables[k][int(i)*size:][:size]...)
				}
				require.Equal(t, append(want, make([]byte, 16*size)...), l.results[k], "%d elements of %d bytes, lookup %d", n, size, k)
			}
		}
	})
}

// TestLookupFails: code stops at the vector of the first position that is not allowed, and reports the position.
func TestLookupFails(t *testing.T) {
	onEach(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(72, 5))
		for range 200 {
			size, n := 1<<r.IntN(3), 1+r.IntN(100)
			l := newLookups(r, 1+r.IntN(4), size, n)
			k, i := r.IntN(len(l.positions)), r.IntN(n)
			length := int32(len(l.tables[k]) / size)
			wrong := []int32{length, -1, -1 << 31, 1<<31 - 1}[r.IntN(4)]
			l.positions[k][i] = wrong
			code := jit.Compile(l.steps, 4, func(uint8) bool { return false })
			require.NotNil(t, code)
			code.Run(unsafe.Pointer(&l.pointers), n)
			f := &l.failure
			require.Equal(t, k+1, f.Number)
			require.LessOrEqual(t, f.Done, i)
			require.Less(t, i, f.Done+len(f.At))
			for j, at := range f.At {
				switch {
				case f.Done+j == i:
					require.Equal(t, wrong, at)
				default:
					require.True(t, at >= 0 && at < length, "%d elements: %v", n, f)
				}
			}
		}
	})
}

// TestLookupAmongOthers looks up at positions that steps of the same code compute, and computes with the results; there
// are more values than registers.
func TestLookupAmongOthers(t *testing.T) {
	onEach(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(73, 5))
		const count, n, length = 40, 77, 100
		const values, zeros, tables = 10, 60, 110 // the first pointers
		var pointers [192]unsafe.Pointer
		var steps []jit.Step
		room := func(p, n int) []int32 {
			x := make([]int32, n)
			pointers[p] = unsafe.Pointer(&x[0])
			return x
		}
		positions, sum, want := room(0, n), room(1, n), make([]int32, n)
		for i := range positions {
			positions[i] = r.Int32N(length)
		}
		at := uint8(0)
		for k := range count {
			table := room(tables+k, length)
			for i := range table {
				table[i] = r.Int32N(1000)
			}
			room(values+k, n)
			room(zeros+k, n)
			y, zero := uint8(values+k), uint8(zeros+k)
			steps = append(steps, jit.Step{Op: jit.Lookup, Dst: y, In: [3]uint8{at, uint8(tables + k)},
				Lookup: &jit.Table{Size: 4, Last: length - 1, Number: 1}}, jit.Step{Op: vec.ChainXor, Dst: zero, In: [3]uint8{y, y}})
			for i := range want {
				if k == 0 {
					want[i] = table[positions[i]]
				} else {
					want[i] += table[0]
				}
			}
			at = zero
		}
		for k := range count { // the values are needed once more, long after they were computed
			steps = append(steps, jit.Step{Op: vec.ChainAddInt, Dst: 1, In: [3]uint8{1, uint8(values + k)}, Stored: true})
		}
		code := jit.Compile(steps, 4, func(uint8) bool { return false })
		require.NotNil(t, code)
		code.Run(unsafe.Pointer(&pointers), n)
		require.Equal(t, want, sum)
	})
}
