package gemm

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
)

// A product of a few rows with weights in panels takes less time than reading these from a third-level cache. Where
// that is near, the processor fetches ahead by itself, the better the longer it sees memory being read in order, and
// what is asked for besides takes the places of what it would fetch. So a panel is read to its end before the next one,
// and nothing is asked for.

const (
	followRows = 6       // more take longer than reading
	followMost = 1 << 24 // bytes of B that the cache is taken to hold: from memory, six rows take longer so
)

// follows reports whether B is read in the order of memory.
func (a *Args[T]) follows() bool {
	return a.Packed && a.M <= followRows && len(a.Ahead) == 0 && a.K*a.N*int(sizeOf[T]()) <= followMost &&
		isa.NearCache() && !isa.HalfUnits() && isa.Active().Has(isa.Vectors512)
}

// follow computes the columns [n, end) of a chunk of the rows from m on, panel by panel.
func (j *job[T]) follow(t *micro.Tile[T], matrixA, matrixB, matrixC []T, m, n, end int) {
	a, width := &j.args, micro.PanelWidth[T]()
	blocks := ceil(a.K, blockK())
	t.BK = width
	for c := n; c < end; c += width {
		t.Cols, t.C = min(width, end-c), matrixC[m*a.LDC+c:]
		for i := range blocks {
			k := i * a.K / blocks
			t.K = (i+1)*a.K/blocks - k
			j.setA(t, matrixA, nil, m, k)
			t.B, t.Bias = matrixB[c*a.K+k*width:], nil
			if a.Bias != nil && i == 0 {
				t.Bias = a.Bias[c:]
			}
			t.Accumulate, t.ReLU = a.Accumulate || i > 0, a.ReLU && i == blocks-1
			micro.Run(t)
		}
	}
}
