package gemm

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// TestHalfEntriesAsLines: small entries are computed together where that pays, but not if one call computes all panels
// of an entry and these fill the first-level cache.
func TestHalfEntriesAsLines(t *testing.T) {
	if !micro.Rounds() {
		t.Skip("needs matrix registers (AMX), or an emulator of them (make amx)")
	}
	for _, c := range []struct {
		m, n, k, entries int
		together         bool
	}{
		{32, 64, 16, 8, true}, {32, 64, 80, 8, false}, {48, 64, 64, 32, false}, {16, 96, 56, 16, false}, {16, 96, 16, 16, true},
		{33, 48, 32, 32, true}, {20, 49, 8, 16, true}, {41, 74, 56, 64, false}, {48, 32, 64, 8, true}, {100, 100, 100, 8, false},
	} {
		a := HalfArgs{Type: vec.BFloat16, M: c.m, N: c.n, K: c.k, Batch: [2]int{1, c.entries}, LDA: c.k, LDB: c.n, LDC: c.n,
			StrideA: [2]int{0, c.m * c.k}, StrideB: [2]int{0, c.k * c.n}, StrideC: [2]int{0, c.m * c.n}}
		p := newHalfPlan(&a, 1, false)
		require.Equal(t, c.together, p.lines > 1, "%+v: %d lines", c, p.lines)
	}
}
