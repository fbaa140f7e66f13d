package quant_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/cpu/internal/quant"
)

// nibbleProduct is a random product with a matrix of four-bit numbers.
type nibbleProduct struct {
	m, n, k, block int
	x, scale       []float32
	packed         []byte // two columns per byte
	zero           []int8
	unsigned       bool // the numbers are 8 larger, and zero points 128
}

func randomNibbles(r *rand.Rand, m, n, k, block int) *nibbleProduct {
	p := &nibbleProduct{m: m, n: n, k: k, block: block, x: make([]float32, m*k), packed: make([]byte, k*((n+1)/2))}
	for i := range p.x {
		p.x[i] = float32(r.NormFloat64()) * float32(math.Exp2(float64(r.IntN(9))))
		if r.IntN(9) == 0 {
			p.x[i] = 0
		}
	}
	for i := range p.packed {
		p.packed[i] = byte(r.IntN(256))
	}
	if block > 0 {
		size := (k + block - 1) / block * n
		p.scale, p.zero = make([]float32, size), make([]int8, size)
		zeros := [...]int{16, 16, 128, 256}[r.IntN(4)] // for the last ones, differences do not fit into bytes
		p.unsigned = r.IntN(2) == 0
		for i := range p.scale {
			p.scale[i], p.zero[i] = float32(r.NormFloat64()), int8(r.IntN(zeros)-zeros/2)
			if p.unsigned && block%2 == 0 && zeros == 16 { // these do again
				p.zero[i] -= 120
			}
		}
	}
	return p
}

func (p *nibbleProduct) run(pool *pool.Pool) []float32 {
	b := make([]byte, quant.NibbleSize(p.k, p.n, p.block)+1)
	quant.PackNibbles(pool, b, p.packed, p.k, p.n, p.block)
	c := make([]float32, p.m*p.n)
	for i := range c {
		c[i] = float32(math.NaN())
	}
	scratch := make([]byte, quant.NibbleScratch(p.m, p.k, p.block, pool.Size())+1)
	quant.RunNibbles(pool, &quant.NibbleArgs{M: p.m, N: p.n, K: p.k, Block: p.block, Unsigned: p.unsigned, A: p.x, B: b, Scale: p.scale, Zero: p.zero, C: c, Scratch: scratch})
	return c
}

// zeroPoint is what is subtracted from signed numbers.
func (p *nibbleProduct) zeroPoint(at int) float64 {
	if p.unsigned {
		return float64(p.zero[at]) + 120
	}
	return float64(p.zero[at])
}

// sums returns an element in float64, and the sum of the absolute values of its terms.
func (p *nibbleProduct) sums(i, j int) (sum, size float64) {
	for k := range p.k {
		w := float64(int8(p.packed[k*((p.n+1)/2)+j/2]>>(j%2*4)<<4) >> 4)
		if p.block > 0 {
			at := k/p.block*p.n + j
			w = (w - p.zeroPoint(at)) * float64(p.scale[at])
		}
		sum += float64(p.x[i*p.k+k]) * w
		size += math.Abs(float64(p.x[i*p.k+k]) * w)
	}
	return sum, size
}

// TestNibbles compares products with those in float64, and the bits of all instruction sets and numbers of workers.
func TestNibbles(t *testing.T) {
	one, two := pool.New(1), pool.New(3)
	defer one.Close()
	defer two.Close()
	r := rand.New(rand.NewPCG(5, 6))
	shapes := [][4]int{{1, 1, 1, 0}, {1, 64, 4, 0}, {2, 65, 7, 3}, {3, 63, 130, 64}, {1, 200, 33, 32}, {5, 130, 300, 128}, {4, 31, 9, 1}, {7, 66, 257, 0}, {2, 3, 40, 100}, {3, 5, 0, 4},
		{33, 70, 300, 200}, {70, 40, 200, 32}}
	for range 60 {
		k := 1 + r.IntN(300)
		shapes = append(shapes, [4]int{1 + r.IntN(5)*r.IntN(8), 1 + r.IntN(200), k, r.IntN(2) * (1 + r.IntN(k+3))})
	}
	for _, s := range shapes {
		p := randomNibbles(r, s[0], s[1], s[2], s[3])
		var first []float32
		for _, path := range isa.Paths() {
			restore := isa.Override(path)
			for _, workers := range []*pool.Pool{one, two} {
				got := p.run(workers)
				if first == nil {
					first = got
				}
				require.Equal(t, first, got, "%v with %v", s, path)
			}
			restore()
		}
		for at, got := range first {
			i, j := at/p.n, at%p.n
			want, _ := p.sums(i, j)
			largest, weights, most := 0.0, 0.0, 143.0 // the error of each x is a fraction of the largest
			if p.unsigned {
				most = 255
			}
			for k := range p.k {
				largest = max(largest, math.Abs(float64(p.x[i*p.k+k])))
			}
			for at := j; at < len(p.scale); at += p.n {
				weights += math.Abs(float64(p.scale[at])) * most * float64(p.block)
			}
			if p.block == 0 {
				weights = 8 * float64(p.k)
			}
			require.InDelta(t, want, float64(got), 0x1p-22*largest*weights, "%v: row %d, column %d", s, i, j)
		}
	}
}

// TestNibblesAddTo: with a bias and an initial C, all paths have the same bits. So do the first rows alone.
func TestNibblesAddTo(t *testing.T) {
	one := pool.New(1)
	defer one.Close()
	r := rand.New(rand.NewPCG(5, 9))
	for _, block := range []int{0, 32} {
		p := randomNibbles(r, 8, 70, 130, block)
		bias, start := make([]float32, p.n), make([]float32, p.m*p.n)
		for i := range bias {
			bias[i] = float32(r.NormFloat64())
		}
		for i := range start {
			start[i] = float32(r.NormFloat64())
		}
		b := make([]byte, quant.NibbleSize(p.k, p.n, p.block)+1)
		quant.PackNibbles(one, b, p.packed, p.k, p.n, p.block)
		run := func(rows int) []float32 {
			c := slices.Clone(start[:rows*p.n])
			scratch := make([]byte, quant.NibbleScratch(rows, p.k, p.block, one.Size())+1)
			quant.RunNibbles(one, &quant.NibbleArgs{M: rows, N: p.n, K: p.k, Block: p.block, Unsigned: p.unsigned, A: p.x[:rows*p.k], B: b, Scale: p.scale, Zero: p.zero, C: c, Scratch: scratch, Bias: bias, Accumulate: true, ReLU: true})
			return c
		}
		var first []float32
		for _, path := range isa.Paths() {
			restore := isa.Override(path)
			whole, part := run(p.m), run(4)
			restore()
			if first == nil {
				first = whole
			}
			require.Equal(t, first, whole, "blocks of %d, %v", block, path)
			require.Equal(t, first[:len(part)], part, "four rows, blocks of %d, %v", block, path)
		}
	}
}

// TestNibblesAreExact: products of integers that digits can represent are exact, up to the largest number of each
// length.
func TestNibblesAreExact(t *testing.T) {
	p := pool.New(1)
	defer p.Close()
	const many = 80 // more rows than sums of 16 bits can hold, if digits and weights are the largest
	for _, x := range []float32{1, -1, 0x7f7f7f, 0x7f7f80, 0x7fffff, -0x7fffff, 0x800000, -0x7e8080, 3e38, -3e38, 0x1p-126, 0x1p-100} {
		for _, w := range []int{-8, -1, 1, 7} {
			for _, k := range []int{1, many} {
				product := &nibbleProduct{m: 1, n: 2, k: k, x: slices.Repeat([]float32{x}, k), packed: bytes.Repeat([]byte{byte(w&15)<<4 | byte(w&15)}, k)}
				want := x * float32(w*k)
				for _, got := range product.run(p) {
					if math.IsInf(float64(want), 0) {
						require.Greater(t, math.Abs(float64(got)), 2e38)
						continue
					}
					require.InEpsilon(t, want, got, 0x1p-21, "%d times %v times %d", k, x, w)
				}
			}
		}
	}
}

// TestNibblesOfInfinity: a number that is not finite affects its own row only.
func TestNibblesOfInfinity(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	for _, path := range isa.Paths() {
		restore := isa.Override(path)
		for i, bad := range []float64{math.Inf(1), math.Inf(-1), math.NaN(), math.Inf(1), math.NaN()} {
			p := randomNibbles(rand.New(rand.NewPCG(7, uint64(i))), 3+i*3, 70, 50, 20)
			p.x[50+33] = float32(bad)
			for at, got := range p.run(workers) {
				want, size := p.sums(at/70, at%70)
				if math.IsInf(want, 0) || math.IsNaN(want) {
					require.Equal(t, fmt.Sprint(want), fmt.Sprint(got), "%v: %d", path, at)
				} else {
					require.InDelta(t, want, float64(got), 1e-4*size)
				}
			}
		}
		restore()
	}
}

func BenchmarkNibbles(b *testing.B) {
	p := pool.New(1)
	defer p.Close()
	for _, m := range []int{1, 64} {
		b.Run(fmt.Sprint(m), func(b *testing.B) {
			const n, k, block = 4096, 4096, 128
			x := randomNibbles(rand.New(rand.NewPCG(1, 2)), m, n, k, block)
			packed := make([]byte, quant.NibbleSize(k, n, block))
			quant.PackNibbles(p, packed, x.packed, k, n, block)
			c, s := make([]float32, m*n), make([]byte, quant.NibbleScratch(m, k, block, 1))
			b.SetBytes(k * n / 2)
			for b.Loop() {
				quant.RunNibbles(p, &quant.NibbleArgs{M: m, N: n, K: k, Block: block, A: x.x, B: packed, Scale: x.scale, Zero: x.zero, C: c, Scratch: s})
			}
		})
	}
}
