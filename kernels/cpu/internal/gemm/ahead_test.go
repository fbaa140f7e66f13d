package gemm

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// TestAhead checks that prefetching changes no bit of a product, and that the prefetched memory does not change.
func TestAhead(t *testing.T) {
	p := pool.New(2)
	defer p.Close()
	for _, path := range isa.Paths() {
		t.Run(path.String(), func(t *testing.T) {
			defer isa.Override(path)()
			rng := rand.New(rand.NewPCG(7, 8))
			a := &Args[float32]{M: 17, N: 70, K: 40}
			fill(rng, a, 0, true)
			packed := make([]float32, PackedSize[float32](a.N, a.K))
			PackB(nil, packed, a.B, a.K, a.N, 0, false)
			a.B, a.LDB, a.Packed = packed, 0, true
			Run(nil, a, make([]float32, ScratchSize(a, 1)))
			want := append([]float32(nil), a.C...)
			clear(a.C)
			memory := random[float32](rng, 5000)
			before := append([]float32(nil), memory...)
			a.Ahead = [][]float32{memory[:7], nil, memory[100:3000], memory[4999:]}
			for _, q := range []*pool.Pool{nil, p} {
				Run(q, a, make([]float32, ScratchSize(a, q.Size())))
				for i := range want {
					require.Equal(t, math.Float32bits(want[i]), math.Float32bits(a.C[i]), i)
				}
			}
			assert.Equal(t, before, memory)
			assert.Len(t, a.Ahead[2], 2900, "the list belongs to the caller")
		})
	}
}

// TestFetch takes pieces off a list: each once, in order, and none larger than requested.
func TestFetch(t *testing.T) {
	memory := make([]float32, 10)
	for i := range memory {
		memory[i] = float32(i)
	}
	j := &job[float32]{args: Args[float32]{Ahead: [][]float32{memory[:5], nil, memory[7:9]}}}
	var got [][]float32
	for range 5 {
		got = append(got, j.fetch(3))
	}
	assert.Equal(t, [][]float32{{0, 1, 2}, {3, 4}, {7, 8}, nil, nil}, got)
}
