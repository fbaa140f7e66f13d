package quant_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/cpu/internal/quant"
)

// byteProduct is a product with a matrix of 8-bit numbers: columns of k numbers.
type byteProduct struct {
	m, n, k, block int
	x, scale       []float32
	numbers, zero  []byte
}

func (p *byteProduct) run(pool *pool.Pool) []float32 {
	b := make([]byte, quant.ByteSize(p.k, p.n, p.block))
	quant.PackBytes(pool, b, p.numbers, p.k, p.n, p.block)
	zero := make([]int8, len(p.zero))
	for i, z := range p.zero {
		zero[i] = int8(z - 128)
	}
	c := make([]float32, p.m*p.n)
	scratch := make([]byte, quant.NibbleScratch(p.m, p.k, p.block, pool.Size()))
	quant.RunNibbles(pool, &quant.NibbleArgs{M: p.m, N: p.n, K: p.k, Block: p.block, Unsigned: true, Bytes: true, A: p.x, B: b, Scale: p.scale, Zero: zero, C: c, Scratch: scratch})
	return c
}

// sums returns an element in float64 and its largest possible error: 2^-23 of the largest number for each number of the
// row, and the rounding errors of as many sums as there are blocks.
func (p *byteProduct) sums(i, j int) (sum, off float64) {
	largest, weights, size := 0.0, 0.0, 0.0
	for k, x := range p.x[i*p.k:][:p.k] {
		at := k/p.block*p.n + j
		w := (float64(p.numbers[j*p.k+k]) - float64(p.zero[at])) * float64(p.scale[at])
		sum += float64(x) * w
		size += math.Abs(float64(x) * w)
		largest, weights = max(largest, math.Abs(float64(x))), weights+math.Abs(w)
	}
	return sum, 0x1p-22*largest*weights + float64(3+(p.k+p.block-1)/p.block)*0x1p-23*size
}

// TestBytes compares products using digits with those in float64, including rows with infinities. All paths that
// support them compute the same bits.
func TestBytes(t *testing.T) {
	defer forDots(t)()
	workers := []*pool.Pool{pool.New(1), pool.New(3)}
	r := rand.New(rand.NewPCG(13, 14))
	for try := range 60 {
		p := &byteProduct{m: 1 + r.IntN(5)*r.IntN(11), n: 1 + r.IntN(200), k: 1 + r.IntN(300)}
		if p.block = 1 + r.IntN(p.k+9); r.IntN(2) == 0 {
			p.block = 1 << r.IntN(8)
		}
		blocks := (p.k + p.block - 1) / p.block
		p.x, p.scale, p.numbers, p.zero = make([]float32, p.m*p.k), make([]float32, blocks*p.n), make([]byte, p.n*p.k), make([]byte, blocks*p.n)
		for i := range p.x {
			p.x[i] = float32(r.NormFloat64()) * float32(math.Exp2(float64(r.IntN(9))))
		}
		for i := range p.numbers {
			p.numbers[i] = byte(r.IntN(256))
		}
		for i := range p.scale {
			p.scale[i], p.zero[i] = float32(r.NormFloat64()), byte(r.IntN(256))
		}
		infinite := r.IntN(3*p.m) - 2*p.m // a row, or none
		if infinite >= 0 {
			p.x[infinite*p.k+r.IntN(p.k)] = float32(math.Inf(1))
		}
		got := p.run(workers[0])
		for at := range got {
			i, j := at/p.n, at%p.n
			want, off := p.sums(i, j)
			if i == infinite {
				require.True(t, math.IsInf(float64(got[at]), 0) || math.IsNaN(float64(got[at])) && math.IsNaN(want), "try %d: row %d, column %d is %v, want %v", try, i, j, got[at], want)
				continue
			}
			require.InDelta(t, want, float64(got[at]), off, "try %d, %d x %d x %d in blocks of %d: row %d, column %d", try, p.m, p.k, p.n, p.block, i, j)
		}
		for _, path := range isa.Paths() {
			restore := isa.Override(path)
			if infinite < 0 && !quant.AsFloats(1, 64, 64, 64, true) {
				require.Equal(t, got, p.run(workers[1]), "try %d, %v", try, path)
			}
			restore()
		}
	}
	for _, w := range workers {
		w.Close()
	}
}

// TestBytesOfLongBlocks: in the longest blocks, sums of digits are as large as 32 bits can hold.
func TestBytesOfLongBlocks(t *testing.T) {
	defer forDots(t)()
	one := pool.New(1)
	defer one.Close()
	const k = 1 << 16
	require.True(t, quant.AsFloats(1, 64, k+1, k+1, true))
	for _, x := range []float32{1, -1, 0x7f7f7f, -0x7f7f7f} {
		for _, w := range [][2]byte{{255, 0}, {0, 255}, {255, 255}, {255, 1}} {
			p := &byteProduct{m: 1, n: 1, k: k, block: k, x: make([]float32, k), scale: []float32{1}, numbers: make([]byte, k), zero: w[1:]}
			for i := range k {
				p.x[i], p.numbers[i] = x, w[0]
			}
			want, off := p.sums(0, 0)
			require.InDelta(t, want, float64(p.run(one)[0]), off, "%v times %d - %d", x, w[0], w[1])
		}
	}
}

// forDots runs a test with the kernels that multiply rows of digits by bytes.
func forDots(t *testing.T) (restore func()) {
	t.Helper()
	for _, path := range isa.Paths() {
		restore := isa.Override(path)
		if !quant.AsFloats(1, 64, 64, 64, true) {
			return restore
		}
		restore()
	}
	t.Skip("no instruction of this processor adds up four products of bytes: panels of bytes are unpacked")
	return nil
}
