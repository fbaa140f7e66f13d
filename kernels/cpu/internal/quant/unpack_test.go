package quant_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/gemm"
	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/cpu/internal/quant"
)

// TestShortSumsAsFloats: short sums are joined as often as short blocks are, whether they have scales or not, and so
// are multiplied as floats alike.
func TestShortSumsAsFloats(t *testing.T) {
	for _, path := range isa.Paths() {
		restore := isa.Override(path)
		for _, k := range []int{8, 16, 32, 48} {
			want := quant.AsFloats(800, 10000, k, k, false)
			require.Equal(t, want, quant.AsFloats(800, 10000, k, 0, false), "%v: sums of %d without scales", path, k)
			require.Equal(t, want, quant.AsFloats(800, 10000, k, 64, false), "%v: sums of %d in blocks of 64", path, k)
		}
		restore()
	}
}

// TestNibblePanels unpacks random rows of random panels with all instruction sets, and compares them with the values of
// the numbers.
func TestNibblePanels(t *testing.T) {
	p := pool.New(1)
	defer p.Close()
	r := rand.New(rand.NewPCG(9, 10))
	for range 300 {
		n, k := 1+r.IntN(200), 1+r.IntN(300)
		x := randomNibbles(r, 1, n, k, r.IntN(3)*(1+r.IntN(k+3)))
		b := make([]byte, quant.NibbleSize(k, n, x.block))
		quant.PackNibbles(p, b, x.packed, k, n, x.block)
		panels := &quant.NibblePanels{N: n, K: k, Block: x.block, B: b, Scale: x.scale, Zero: x.zero, Unsigned: x.unsigned}
		first := r.IntN(k)
		rows, column := 1+r.IntN(k-first), r.IntN((n+31)/32)*32
		for _, path := range isa.Paths() {
			restore := isa.Override(path)
			memory := make([]float32, 32*(rows+gemm.PanelSlack)+1)
			memory[len(memory)-1] = 77
			got := panels.Panel(memory[:len(memory)-1], first, rows, column)
			for i := range rows {
				for j := range min(32, n-column) {
					require.Equal(t, x.number(first+i, column+j), got[32*i+j], "%d by %d in blocks of %d, %v: row %d of %d from %d, column %d + %d", k, n, x.block, path, i, rows, first, column, j)
				}
			}
			require.Equal(t, float32(77), memory[len(memory)-1])
			restore()
		}
	}
}

// number returns the value of a number.
func (p *nibbleProduct) number(k, j int) float32 {
	w := float32(int8(p.packed[k*((p.n+1)/2)+j/2]>>(j%2*4)<<4) >> 4)
	if p.block > 0 {
		at := k/p.block*p.n + j
		w = (w - float32(p.zeroPoint(at))) * p.scale[at]
	}
	return w
}

// TestProductsOfNibblePanels compares products of random rows with those of the same values in float32, which gemm
// packs itself: the bits are the same.
func TestProductsOfNibblePanels(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for try := range 60 {
		workers := pool.New(1 + try%3)
		m, n, k := 1+r.IntN(300), 1+r.IntN(200), 1+r.IntN(1200)
		switch try % 4 {
		case 0: // rows that compete for cache sets
			k = 512 * (1 + r.IntN(3))
		case 1: // short sums of many rows, for which all panels are made in advance
			m, k = 64+r.IntN(300), 1+r.IntN(64)
		}
		x := randomNibbles(r, m, n, k, r.IntN(3)*(1+r.IntN(k+3)))
		b := make([]byte, quant.NibbleSize(k, n, x.block))
		quant.PackNibbles(workers, b, x.packed, k, n, x.block)
		whole := make([]float32, gemm.PackedSize[float32](n, k))
		floats := make([]float32, k*n)
		for i := range floats {
			floats[i] = x.number(i/n, i%n)
		}
		gemm.PackB(workers, whole, floats, k, n, n, false)
		paths := isa.Paths()
		restore := isa.Override(paths[try%len(paths)])
		product := func(a *gemm.Args[float32]) []float32 {
			a.M, a.N, a.K, a.A, a.C = m, n, k, x.x, make([]float32, m*n)
			gemm.Run(workers, a, make([]float32, gemm.ScratchSize(a, workers.Size())))
			return a.C
		}
		got := product(&gemm.Args[float32]{Panels: &quant.NibblePanels{N: n, K: k, Block: x.block, B: b, Scale: x.scale, Zero: x.zero, Unsigned: x.unsigned}})
		if want := product(&gemm.Args[float32]{B: whole, Packed: true}); m > 1 {
			require.Equal(t, want, got, "%d x %d x %d in blocks of %d", m, k, n, x.block)
		} else {
			require.InDeltaSlice(t, want, got, 1e-2)
		}
		restore()
		workers.Close()
	}
}
