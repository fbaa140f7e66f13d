package gemm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

func random[T Float](rng *rand.Rand, n int) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = T(rng.NormFloat64())
	}
	return x
}

func epsilon[T Float]() float64 {
	if T(1)+T(0x1p-30) == 1 {
		return 0x1p-23
	}
	return 0x1p-52
}

// naive returns the expected value of an element in float64 and the sum of the absolute values of its terms.
func naive[T Float](a *Args[T], c []T, e0, e1, m, n int) (sum, size float64) {
	g := a.complete()
	at := func(x []T, ld int, trans bool, i, j int) float64 {
		if trans {
			i, j = j, i
		}
		return float64(x[i*ld+j])
	}
	for k := range a.K {
		p := at(a.A[e0*a.StrideA[0]+e1*a.StrideA[1]:], g.LDA, a.TransA, m, k) *
			at(a.B[e0*a.StrideB[0]+e1*a.StrideB[1]:], g.LDB, a.TransB, k, n)
		sum += p
		size += math.Abs(p)
	}
	if a.Bias != nil {
		sum += float64(a.Bias[n])
		size += math.Abs(float64(a.Bias[n]))
	}
	if a.Accumulate {
		sum += float64(c[n])
		size += math.Abs(float64(c[n]))
	}
	if a.ReLU {
		sum = max(sum, 0)
	}
	return sum, size
}

// check runs a and compares every element of C and every number between its rows.
func check[T Float](t *testing.T, p *pool.Pool, a *Args[T]) {
	t.Helper()
	before := append([]T(nil), a.C...)
	scratch := make([]T, ScratchSize(a, p.Size()))
	for i := range scratch {
		scratch[i] = T(math.NaN())
	}
	packed := *a
	if a.Packed {
		packed.B = make([]T, PackedSize[T](a.N, a.K))
		PackB(p, packed.B, a.B, a.K, a.N, a.LDB, a.TransB)
	}
	Run(p, &packed, scratch)
	checkProduct(t, p, &packed, before)
	g := a.normal()
	touched := make([]bool, len(a.C))
	for e0 := range g.Batch[0] {
		for e1 := range g.Batch[1] {
			for m := range a.M {
				row := e0*a.StrideC[0] + e1*a.StrideC[1] + m*g.LDC
				for n := range a.N {
					touched[row+n] = true
					sum, size := naive(a, before[row:], e0, e1, m, n)
					bound := epsilon[T]() * float64(a.K+3) * size
					if diff := math.Abs(float64(a.C[row+n]) - sum); !(diff <= bound) {
						a.A, a.B, a.C, a.Bias = nil, nil, nil, nil
						t.Fatalf("C[%d,%d][%d,%d] is off by %v, allowed %v: %+v", e0, e1, m, n, diff, bound, *a)
					}
				}
			}
		}
	}
	for i, ok := range touched {
		if !ok && before[i] != a.C[i] {
			t.Fatalf("element %d outside C changed", i)
		}
	}
}

// checkProduct compares a prepared product, twice, with the c that Run computed.
func checkProduct[T Float](t *testing.T, p *pool.Pool, a *Args[T], c []T) {
	t.Helper()
	product := Prepare(a, p.Size())
	require.Equal(t, ScratchSize(a, p.Size()), product.ScratchSize())
	for range 2 {
		again, scratch := slices.Clone(c), slices.Repeat([]T{T(math.NaN())}, product.ScratchSize())
		product.Run(p, a.A, a.B, again, a.Bias, scratch)
		if !slices.Equal(a.C, again) {
			t.Fatalf("a prepared product of M %d, N %d, K %d differs", a.M, a.N, a.K)
		}
	}
}

// fill makes operands of exactly the needed length, with gaps between the rows if pad > 0.
func fill[T Float](rng *rand.Rand, a *Args[T], pad int, bias bool) {
	sizeA, sizeB := a.M*(a.K+pad), a.K*(a.N+pad)
	a.LDA, a.LDB, a.LDC = a.K+pad, a.N+pad, a.N+pad
	if a.TransA {
		a.LDA, sizeA = a.M+pad, a.K*(a.M+pad)
	}
	if a.TransB {
		a.LDB, sizeB = a.K+pad, a.N*(a.K+pad)
	}
	a.A, a.B, a.C = random[T](rng, max(sizeA-pad, 0)), random[T](rng, max(sizeB-pad, 0)), random[T](rng, max(a.M*a.LDC-pad, 0))
	if bias {
		a.Bias = random[T](rng, a.N)
	}
}

func TestAgainstNaive(t *testing.T) {
	p := pool.New(3)
	defer p.Close()
	for _, path := range isa.Paths() {
		t.Run(path.String()+"/float32", func(t *testing.T) { defer isa.Override(path)(); testNaive[float32](t, p) })
		t.Run(path.String()+"/float64", func(t *testing.T) { defer isa.Override(path)(); testNaive[float64](t, p) })
	}
}

func testNaive[T Float](t *testing.T, p *pool.Pool) {
	rng := rand.New(rand.NewPCG(1, 2))
	sizes := []int{0, 1, 2, 3, 7, 15, 16, 17, 31, 32, 33, 47, 65, 100}
	for _, m := range sizes {
		for _, n := range sizes {
			for _, k := range []int{0, 1, 2, 5, 16, 33} {
				flags := rng.IntN(64)
				a := &Args[T]{M: m, N: n, K: k, TransA: flags&1 != 0, TransB: flags&2 != 0, Packed: flags&4 != 0,
					Accumulate: flags&8 != 0, ReLU: flags&16 != 0}
				fill(rng, a, rng.IntN(3), flags&32 != 0)
				check(t, p, a)
			}
		}
	}
}

// TestLarge covers every way to divide a product: several blocks of K, rows and columns, packed and not.
func TestLarge(t *testing.T) {
	p := pool.New(2)
	defer p.Close()
	rng := rand.New(rand.NewPCG(3, 4))
	for _, s := range [][3]int{{300, 70, 300}, {64, 600, 513}, {500, 33, 64}, {257, 530, 20}, {1, 300, 700}, {700, 1, 30}} {
		for flags := range 8 {
			a := &Args[float32]{M: s[0], N: s[1], K: s[2], TransA: flags&1 != 0, TransB: flags&2 != 0, Packed: flags&4 != 0, ReLU: true}
			fill(rng, a, 1, true)
			check(t, p, a)
		}
	}
}

// TestConflictingStrides covers the copies of A.
func TestConflictingStrides(t *testing.T) {
	p := pool.New(2)
	defer p.Close()
	rng := rand.New(rand.NewPCG(11, 12))
	for flags := range 8 {
		a := &Args[float32]{M: 250, N: 130, K: 300, TransA: flags&1 != 0, TransB: flags&2 != 0, Accumulate: flags&4 != 0}
		fill(rng, a, 0, true)
		a.LDA = 512
		a.A = random[float32](rng, 512*300)
		plan := newPlan(a, 2)
		require.True(t, plan.packA)
		check(t, p, a)
	}
}

func TestBatch(t *testing.T) {
	p := pool.New(3)
	defer p.Close()
	rng := rand.New(rand.NewPCG(5, 6))
	// Attention on [batch 2, time 9, heads 3, depth 5]: scores = Q·Kᵀ, then context = scores·V, both read in place.
	const batch, time, heads, depth = 2, 9, 3, 5
	q, k := random[float32](rng, batch*time*heads*depth), random[float32](rng, batch*time*heads*depth)
	scores := &Args[float32]{M: time, N: time, K: depth, A: q, LDA: heads * depth, B: k, LDB: heads * depth, TransB: true,
		C: random[float32](rng, batch*heads*time*time), Batch: [2]int{batch, heads},
		StrideA: [2]int{time * heads * depth, depth}, StrideB: [2]int{time * heads * depth, depth}, StrideC: [2]int{heads * time * time, time * time}}
	check(t, p, scores)
	context := &Args[float32]{M: time, N: depth, K: time, A: scores.C, B: k, LDB: heads * depth, C: random[float32](rng, batch*time*heads*depth),
		LDC: heads * depth, Batch: [2]int{batch, heads}, StrideA: scores.StrideC, StrideB: scores.StrideB, StrideC: scores.StrideA}
	check(t, p, context)
	for flags := range 16 { // larger, shared operands, every orientation
		a := &Args[float64]{M: 40, N: 37, K: 30, TransA: flags&1 != 0, TransB: flags&2 != 0, Packed: flags&4 != 0, Batch: [2]int{0, 5}}
		fill(rng, a, 0, true)
		if flags&8 != 0 {
			a.A, a.StrideA = random[float64](rng, 5*40*30), [2]int{0, 40 * 30}
			if !a.Packed {
				a.B, a.StrideB = random[float64](rng, 5*37*30), [2]int{0, 37 * 30}
			}
		}
		a.C, a.StrideC = random[float64](rng, 5*40*37), [2]int{0, 40 * 37}
		check(t, p, a)
	}
}

func TestSameBitsForAnyWorkersAndAnyPacking(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	a := &Args[float32]{M: 301, N: 150, K: 700}
	fill(rng, a, 0, true)
	var want []float32
	for workers := 1; workers <= 5; workers++ {
		for _, packed := range []bool{false, true} {
			p := pool.New(workers)
			b := *a
			b.C, b.Packed = make([]float32, len(a.C)), packed
			if packed {
				b.B = make([]float32, PackedSize[float32](a.N, a.K))
				PackB(p, b.B, a.B, a.K, a.N, 0, false)
			}
			Run(p, &b, make([]float32, ScratchSize(&b, p.Size())))
			p.Close()
			if want == nil {
				want = b.C
			}
			require.Equal(t, want, b.C, "%d workers, packed %t", workers, packed)
		}
	}
	// The first rows alone give the same bits as within the whole.
	b := *a
	b.M, b.C = 17, make([]float32, 17*150)
	Run(nil, &b, make([]float32, ScratchSize(&b, 1)))
	require.Equal(t, want[:len(b.C)], b.C)
}

func TestMistakesPanic(t *testing.T) {
	for text, spoil := range map[string]func(*Args[float32]){
		"A has 11 elements": func(a *Args[float32]) { a.A = a.A[:11] },
		"B has 19 elements": func(a *Args[float32]) { a.B = a.B[:19] },
		"C has 14 elements": func(a *Args[float32]) { a.C = a.C[:14] },
		"bias has 4":        func(a *Args[float32]) { a.Bias = a.Bias[:4] },
		"negative stride":   func(a *Args[float32]) { a.StrideA[0] = -1 },
		"rows of C overlap": func(a *Args[float32]) { a.LDC = 4 },
		"scratch has 0":     func(a *Args[float32]) { a.TransB = true },
		"packed B has 20":   func(a *Args[float32]) { a.Packed = true },
	} {
		a := &Args[float32]{M: 3, N: 5, K: 4}
		fill(rand.New(rand.NewPCG(1, 1)), a, 0, true)
		a.LDA, a.LDB = 0, 0
		spoil(a)
		func() {
			defer func() { assert.Contains(t, fmt.Sprint(recover()), text) }()
			Run(nil, a, nil)
		}()
		func() {
			defer func() { assert.Contains(t, fmt.Sprint(recover()), text) }()
			Prepare(a, 1).Run(nil, a.A, a.B, a.C, a.Bias, nil)
		}()
	}
}

// A prepared product rejects another pool, and another kind of call.
func TestProductRefuses(t *testing.T) {
	two := pool.New(2)
	defer two.Close()
	a := &Args[float32]{M: 3, N: 5, K: 4}
	fill(rand.New(rand.NewPCG(1, 1)), a, 0, true)
	product := Prepare(a, 1)
	require.PanicsWithValue(t, "gemm: the product was prepared for 1 workers and bias true, received 2 and true", func() { product.Run(two, a.A, a.B, a.C, a.Bias, nil) })
	require.PanicsWithValue(t, "gemm: the product was prepared for 1 workers and bias true, received 1 and false", func() { product.Run(nil, a.A, a.B, a.C, nil, nil) })
}

func TestNoAllocation(t *testing.T) {
	p := pool.New(2)
	defer p.Close()
	rng := rand.New(rand.NewPCG(9, 9))
	for _, trans := range []bool{false, true} {
		a := &Args[float32]{M: 300, N: 100, K: 70, TransB: trans}
		fill(rng, a, 0, true)
		scratch := make([]float32, ScratchSize(a, p.Size()))
		require.Zero(t, testing.AllocsPerRun(20, func() { Run(p, a, scratch) }))
		product := Prepare(a, p.Size())
		require.Zero(t, testing.AllocsPerRun(20, func() { product.Run(p, a.A, a.B, a.C, a.Bias, scratch) }))
	}
}

// shapes are the products of the tutorial models, forward and backward, and square ones.
var shapes = []struct {
	name    string
	m, n, k int
	ta, tb  bool
}{
	{"64^3", 64, 64, 64, false, false},
	{"256^3", 256, 256, 256, false, false},
	{"512^3", 512, 512, 512, false, false},
	{"1024^3", 1024, 1024, 1024, false, false},
	{"mlp_fc1_fwd", 64, 512, 784, false, false},
	{"mlp_fc1_dW", 784, 512, 64, true, false},
	{"mlp_fc2_fwd", 64, 512, 512, false, false},
	{"mlp_fc2_dX", 64, 512, 512, false, true},
	{"mlp_fc2_dW", 512, 512, 64, true, false},
	{"mlp_head_fwd", 64, 10, 512, false, false},
	{"mlp_head_dX", 64, 512, 10, false, true},
	{"mlp_head_dW", 512, 10, 64, true, false},
	{"cnn_fc1_fwd", 64, 64, 5408, false, false},
	{"cnn_fc1_dX", 64, 5408, 64, false, true},
	{"cnn_fc1_dW", 5408, 64, 64, true, false},
	{"cnn_head_fwd", 64, 10, 64, false, false},
	{"attention_QK", 128, 128, 64, false, true},
	{"gpt_proj", 2048, 128, 128, false, false},
	{"gpt_ffn1", 2048, 512, 128, false, false},
	{"gpt_ffn2", 2048, 128, 512, false, false},
	{"gpt_head", 2048, 1000, 128, false, false},
	{"gpt_ffn1_dX", 2048, 128, 512, false, true},
	{"gpt_ffn2_dX", 2048, 512, 128, false, true},
	{"gpt_head_dX", 2048, 128, 1000, false, true},
	{"gpt_proj_dW", 128, 128, 2048, true, false},
	{"gpt_ffn1_dW", 128, 512, 2048, true, false},
	{"gpt_ffn2_dW", 512, 128, 2048, true, false},
	{"gpt_head_dW", 128, 1000, 2048, true, false},
	{"lstm_fwd", 64, 512, 128, false, false},
	{"lstm_dh", 64, 128, 512, false, true},
	{"lstm_dU", 128, 512, 64, true, false},
	{"lstm_all_dU", 128, 512, 6400, true, false},
	{"lstm_all_dW", 64, 512, 6400, true, false},
	{"lstm_all_x", 6400, 512, 64, false, false},
	{"lstm_all_dx", 6400, 64, 512, false, true},
	{"mlp_predict_1", 1, 512, 784, false, false},
	{"mlp_predict_1_head", 1, 10, 512, false, false},
	{"cnn_predict_1", 1, 64, 5408, false, false},
	{"mlp_predict_256_fc1", 256, 512, 784, false, false},
	{"mlp_predict_256_fc2", 256, 512, 512, false, false},
	{"mlp_predict_256_head", 256, 10, 512, false, false},
	{"cnn_predict_256_fc1", 256, 64, 5408, false, false},
	{"qkv", 4096, 768, 256, false, false},
	{"qkv_dW", 256, 768, 4096, true, false},
	{"qkv_dX", 4096, 256, 768, false, true},
}

func BenchmarkGEMM(b *testing.B) {
	for _, workers := range []int{1, 2} {
		for _, s := range shapes {
			b.Run(fmt.Sprintf("%s/workers=%d", s.name, workers), func(b *testing.B) {
				benchmark[float32](b, workers, s.m, s.n, s.k, s.ta, s.tb)
			})
		}
	}
	b.Run("256^3_float64/workers=1", func(b *testing.B) { benchmark[float64](b, 1, 256, 256, 256, false, false) })
}

func benchmark[T Float](b *testing.B, workers, m, n, k int, ta, tb bool) {
	b.ReportAllocs()
	p := pool.New(workers)
	defer p.Close()
	a := &Args[T]{M: m, N: n, K: k, TransA: ta, TransB: tb}
	fill(rand.New(rand.NewPCG(1, 1)), a, 0, !ta && !tb) // gradients have no bias
	scratch := make([]T, ScratchSize(a, p.Size()))
	flops := 2 * float64(m) * float64(n) * float64(k)
	best := math.Inf(1) // the least disturbed run
	for b.Loop() {
		start := time.Now()
		Run(p, a, scratch)
		best = min(best, float64(time.Since(start).Nanoseconds()))
	}
	b.ReportMetric(flops*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
	b.ReportMetric(flops/best, "best-GFLOP/s")
}
