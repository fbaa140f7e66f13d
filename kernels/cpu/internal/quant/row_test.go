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

// TestByteRows compares products of one row by bytes, which become floats in registers, with those in float64: blocks
// of all lengths, a bias, a sum that is added to, a relu, and any number of workers.
func TestByteRows(t *testing.T) {
	workers := []*pool.Pool{pool.New(1), pool.New(3)}
	defer workers[0].Close()
	defer workers[1].Close()
	r := rand.New(rand.NewPCG(27, 8))
	found := false
	for _, path := range isa.Paths() {
		restore := isa.Override(path)
		for range 80 {
			p := &byteProduct{m: 1, n: 1 + r.IntN(200), k: 1 + r.IntN(300)}
			if !quant.ByRow(p.m, p.k, true) {
				continue
			}
			found = true
			if p.block = 1 + r.IntN(p.k+9); r.IntN(2) == 0 {
				p.block = 1 << r.IntN(8)
			}
			blocks := (p.k + p.block - 1) / p.block
			p.x, p.scale, p.numbers, p.zero = make([]float32, p.k), make([]float32, blocks*p.n), make([]byte, p.n*p.k), make([]byte, blocks*p.n)
			for i := range p.x {
				p.x[i] = float32(r.NormFloat64())
			}
			for i := range p.numbers {
				p.numbers[i] = byte(r.IntN(256))
			}
			for i := range p.scale {
				p.scale[i], p.zero[i] = float32(r.NormFloat64()), byte(r.IntN(256))
			}
			bias, before := make([]float32, p.n), make([]float32, p.n)
			for i := range bias {
				bias[i], before[i] = float32(r.NormFloat64()), float32(r.NormFloat64())
			}
			packed := make([]byte, quant.ByteSize(p.k, p.n, p.block))
			quant.PackBytes(workers[0], packed, p.numbers, p.k, p.n, p.block)
			zero := make([]int8, len(p.zero))
			for i, z := range p.zero {
				zero[i] = int8(z - 128)
			}
			adds, relu := r.IntN(2) == 0, r.IntN(2) == 0
			var results [2][]float32
			for w, pool := range workers {
				c := append([]float32{}, before...)
				a := &quant.NibbleArgs{M: 1, N: p.n, K: p.k, Block: p.block, Unsigned: true, Bytes: true, A: p.x, B: packed, Scale: p.scale, Zero: zero, C: c, Scratch: make([]byte, quant.RowScratch(p.k, p.block)), Bias: bias, Accumulate: adds, ReLU: relu}
				quant.RunRow(pool, a)
				results[w] = c
			}
			require.Equal(t, results[0], results[1], "%v: %d x %d in blocks of %d", path, p.k, p.n, p.block)
			for j, got := range results[0] {
				want, off := p.sums(0, j)
				if want += float64(bias[j]); adds {
					want += float64(before[j])
				}
				if relu {
					want = max(want, 0)
				}
				require.InDelta(t, want, float64(got), 4*off+float64(p.k)*1e-6+math.Abs(want)*1e-6, "%v: %d x %d in blocks of %d: column %d", path, p.k, p.n, p.block, j)
			}
		}
		restore()
	}
	if !isa.Executable().Has(isa.Vectors256) {
		require.False(t, found)
		t.Skip("this processor has no AVX2, with which alone a row is multiplied by bytes this way")
	}
	require.True(t, found, "with AVX2 a row is multiplied by bytes this way")
}
