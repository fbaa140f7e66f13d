package jit_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/jit"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

func needsCode(t *testing.T) {
	if !jit.Usable() {
		t.Skipf("needs a processor with AVX2 under Linux that may execute memory; this one has %v", isa.Active())
	}
}

func needsFunctions(t *testing.T) {
	if !jit.Usable() || !jit.Has(jit.Exp) {
		t.Skipf("needs an AVX-512 processor under Linux that may execute memory; this one has %v", isa.Active())
	}
}

// onEach runs a test for every set of kernels that has code.
func onEach(t *testing.T, f func(t *testing.T)) {
	needsCode(t)
	for _, path := range isa.Paths() {
		if path.Has(isa.Vectors256) {
			t.Run(path.String(), func(t *testing.T) {
				defer isa.Override(path)()
				f(t)
			})
		}
	}
}

// block is the memory that the pointers point to.
type block struct {
	pointers [192]unsafe.Pointer
	floats   [192][]float32
	bytes    [192][]uint8
}

// newBlock allocates floats for the pointers; the elements from n on must not change.
func newBlock(r *rand.Rand, n int) *block {
	b := &block{}
	for p := range b.pointers {
		b.floats[p] = make([]float32, n+16)
		for i := range b.floats[p] {
			b.floats[p][i] = float32(r.IntN(9)-4) / 2
		}
		b.pointers[p] = unsafe.Pointer(&b.floats[p][0])
	}
	return b
}

// masksFrom replaces the operands from pointer first on by bytes.
func (b *block) masksFrom(r *rand.Rand, first, n int) {
	for p := first; p < len(b.pointers); p++ {
		b.bytes[p] = make([]uint8, n+16)
		for i := range b.bytes[p] {
			b.bytes[p][i] = uint8(r.IntN(2))
		}
		b.pointers[p] = unsafe.Pointer(&b.bytes[p][0])
	}
}

// steps returns random steps on more values than there are registers: floats in the pointers below 96, masks above; the
// first 24 are numbers.
func steps(r *rand.Rand) (list []jit.Step) {
	float, mask := func() uint8 { return uint8(r.IntN(96)) }, func() uint8 { return uint8(96 + r.IntN(30)) }
	result := func() uint8 { return uint8(24 + r.IntN(72)) }
	for range 120 {
		s := jit.Step{Dst: result(), In: [3]uint8{float(), float(), float()}, Stored: true}
		switch r.IntN(6) {
		case 0:
			s.Op, s.Dst = vec.ChainLess, mask()
		case 1:
			s.Op, s.In[0] = vec.ChainChoose, mask()
		case 2:
			s.Op, s.Dst, s.In = vec.ChainXorBytes, mask(), [3]uint8{mask(), mask()}
		case 3:
			s.Op = vec.ChainMax
		case 4:
			s.Op = vec.ChainShare
		default:
			s.Op = vec.ChainSub
		}
		list = append(list, s)
	}
	for i := range list { // what a later step overwrites need not be stored
		for _, later := range list[i+1:] {
			list[i].Stored = list[i].Stored && (later.Dst != list[i].Dst || r.IntN(2) == 0)
		}
	}
	return list
}

// run computes the steps one element after the other.
func (b *block) run(list []jit.Step, n int, number func(uint8) bool) {
	for i := range n {
		x := func(p uint8) float32 {
			if number(p) {
				return b.floats[p][0]
			}
			return b.floats[p][i]
		}
		for _, s := range list {
			y, m := &b.floats[s.Dst], &b.bytes[s.Dst]
			switch s.Op {
			case vec.ChainLess:
				(*m)[i] = 0
				if x(s.In[0]) < x(s.In[1]) {
					(*m)[i] = 1
				}
			case vec.ChainXorBytes:
				(*m)[i] = b.bytes[s.In[0]][i] ^ b.bytes[s.In[1]][i]
			case vec.ChainChoose:
				v := x(s.In[2])
				if b.bytes[s.In[0]][i] != 0 {
					v = x(s.In[1])
				}
				(*y)[i] = v
			case vec.ChainMax:
				(*y)[i] = max(x(s.In[0]), x(s.In[1]))
			case vec.ChainShare:
				v := float32(0)
				switch p, q := x(s.In[1]), x(s.In[2]); {
				case p > q:
					v = x(s.In[0])
				case p == q:
					v = x(s.In[0]) / 2
				}
				(*y)[i] = v
			default:
				(*y)[i] = x(s.In[0]) - x(s.In[1])
			}
		}
	}
}

// TestManyValues covers steps with more values, masks, numbers and pointers than there are registers, on whole vectors
// and on a remainder. Nothing beyond them changes.
func TestManyValues(t *testing.T) { onEach(t, manyValues) }

func manyValues(t *testing.T) {
	number := func(p uint8) bool { return p < 24 }
	for seed := range uint64(60) {
		for _, n := range []int{1, 15, 16, 37, 64} {
			r := rand.New(rand.NewPCG(seed, 1))
			list := steps(r)
			got, want := newBlock(rand.New(rand.NewPCG(seed, 2)), n), newBlock(rand.New(rand.NewPCG(seed, 2)), n)
			got.masksFrom(rand.New(rand.NewPCG(seed, 3)), 96, n)
			want.masksFrom(rand.New(rand.NewPCG(seed, 3)), 96, n)
			code := jit.Compile(list, 4, number)
			require.NotNil(t, code)
			code.Run(unsafe.Pointer(&got.pointers), n)
			want.run(list, n, number)
			for p, i := range lastResults(list) {
				if !list[i].Stored {
					continue
				}
				for j, v := range want.floats[p] {
					require.True(t, p >= 96 || sameFloat(v, got.floats[p][j]), "seed %d, n %d: pointer %d element %d is %v, want %v", seed, n, p, j, got.floats[p][j], v)
				}
				if p >= 96 {
					require.Equal(t, want.bytes[p], got.bytes[p], "seed %d, n %d: mask %d", seed, n, p)
				}
			}
		}
	}
}

// TestLines: code that goes from line to line computes what separate calls for each line compute, and leaves the
// pointers at the last line.
func TestLines(t *testing.T) { onEach(t, lines) }

func lines(t *testing.T) {
	const mul, sub, stored, moved = 4, 5, 6, 7
	list := []jit.Step{{Op: vec.ChainSub, Dst: sub, In: [3]uint8{0, 1}}, {Op: vec.ChainMul, Dst: mul, In: [3]uint8{sub, 2}},
		{Op: vec.ChainAdd, Dst: stored, In: [3]uint8{mul, 3}, Stored: true}, {Op: vec.ChainNeg, Dst: moved, In: [3]uint8{stored}, Stored: true}}
	code := jit.Compile(list, 4, func(p uint8) bool { return p == 1 || p == 2 }) // one number per line, and one per two lines
	require.NotNil(t, code)
	r := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{1, 7, 16, 33, 64} {
		for _, count := range []int{1, 2, 9} {
			b := newBlock(r, n*count)
			steps := [192]int{0: 4 * n, 1: 4, 3: 4 * n, stored: 4 * n, moved: 4 * n}
			first := b.pointers
			code.RunLines(unsafe.Pointer(&b.pointers), n, count, unsafe.Pointer(&steps))
			for i := range n * count {
				want := (b.floats[0][i]-b.floats[1][i/n])*b.floats[2][0] + b.floats[3][i]
				require.Equal(t, []float32{want, -want}, []float32{b.floats[stored][i], b.floats[moved][i]}, "%d lines of %d: element %d", count, n, i)
			}
			for p, step := range steps {
				require.Equal(t, unsafe.Add(first[p], step*(count-1)), b.pointers[p])
			}
		}
	}
}

func sameFloat(x, y float32) bool { return x == y || math.IsNaN(float64(x)) && math.IsNaN(float64(y)) }

// lastResults returns the last step that writes each pointer.
func lastResults(list []jit.Step) map[uint8]int {
	last := map[uint8]int{}
	for i, s := range list {
		last[s.Dst] = i
	}
	return last
}

// TestAllocations: code runs without allocations.
func TestAllocations(t *testing.T) {
	needsCode(t)
	b := newBlock(rand.New(rand.NewPCG(1, 2)), 64)
	code := jit.Compile([]jit.Step{{Op: vec.ChainAdd, Dst: 2, In: [3]uint8{0, 1}, Stored: true}}, 4, func(uint8) bool { return false })
	require.Zero(t, testing.AllocsPerRun(10, func() { code.Run(unsafe.Pointer(&b.pointers), 64) }))
}

func ExampleCompile() {
	x, y := []float32{1, 2, 3}, make([]float32, 3)
	pointers := [...]unsafe.Pointer{unsafe.Pointer(&x[0]), unsafe.Pointer(&y[0])}
	code := jit.Compile([]jit.Step{
		{Op: vec.ChainMul, Dst: 2, In: [3]uint8{0, 0}},
		{Op: vec.ChainAdd, Dst: 1, In: [3]uint8{2, 0}, Stored: true},
	}, 4, func(uint8) bool { return false })
	if code == nil { // another processor or system
		y = []float32{2, 6, 12}
	} else {
		code.Run(unsafe.Pointer(&pointers), len(x))
	}
	fmt.Println(y)
	// Output: [2 6 12]
}

// TestRoom: code that saves little is no longer made once half of the possible pieces exist.
func TestRoom(t *testing.T) {
	needsCode(t)
	var all []*jit.Code
	for jit.Roomy() {
		i := len(all)
		code := jit.Compile([]jit.Step{{Op: vec.ChainNeg, Dst: uint8(i), In: [3]uint8{uint8(i >> 8)}, Stored: true}}, 4, func(uint8) bool { return false })
		require.NotNil(t, code)
		all = append(all, code)
		require.Less(t, len(all), 10_000)
	}
	require.Greater(t, len(all), 1000)
	require.NotNil(t, jit.Compile([]jit.Step{{Op: vec.ChainNeg, Dst: 1, Stored: true}}, 4, func(uint8) bool { return false }))
	runtime.KeepAlive(all)
}
