package gemm

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// TestScaling draws the products of layers, forward and gradients, and checks how much faster sixteen workers are than
// one: the workers are simulated, as few machines have so many processors.
func TestScaling(t *testing.T) {
	const workers, least = 16, 4
	rng := rand.New(rand.NewPCG(71, 72))
	p := pool.Simulated(workers)
	draws := 12
	if testing.Short() {
		draws = 4
	}
	for range draws {
		rows, in, out := drawLayer(rng)
		for kind, a := range map[string]*Args[float32]{
			"result":   {M: rows, N: out, K: in, ReLU: true},
			"weights":  {M: in, N: out, K: rows, TransA: true},
			"gradient": {M: rows, N: in, K: out, TransB: true},
		} {
			fill(rng, a, 0, kind == "result")
			scratch := make([]float32, ScratchSize(a, workers))
			run := func() { Run(p, a, scratch) }
			if kind == "weights" && IsTall(a) {
				var l Tall[float32]
				run = func() { l.Run(p, a) }
			}
			speedup := p.Speedup(run)
			t.Logf("%s of %d rows, %d to %d: %.1f", kind, rows, in, out, speedup)
			assert.Greater(t, speedup, float64(least), "%s of %d rows, %d to %d", kind, rows, in, out)
		}
	}
}

// drawLayer draws a layer of 64 to 256 million operations.
func drawLayer(rng *rand.Rand) (rows, in, out int) {
	for {
		rows, in, out = 1<<rng.IntN(14)+rng.IntN(40), 1<<rng.IntN(13)+rng.IntN(20), 1<<rng.IntN(12)+rng.IntN(20)
		if flops := 2 * rows * in * out; flops > 1<<26 && flops < 1<<28 {
			return rows, in, out
		}
	}
}
