package gemm

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// A product of a few rows with packed weights takes less time than it takes to read these from a third-level cache. If
// that cache is near, the processor prefetches by itself, and better the longer it sees memory being read in order.
// Explicit prefetches would only displace its own. So a panel is read to its end before the next one, without prefetch
// instructions. If panels are made from a transposed B, B is read in the same order; but then the processor sees a few
// numbers of each row and not the order, so the rows of the next panel are prefetched explicitly.

const (
	followRows = 6       // most rows: products of more take longer than reading
	followMost = 1 << 24 // bytes of B that the cache is assumed to hold: if B comes from memory, six rows take longer this way
	fetchRows  = 3       // rows from which on a tile has time to prefetch
)

// readsAhead reports whether the processor computes vectors of 512 bits as wholes and prefetches well from a near
// third-level cache.
func readsAhead() bool {
	return isa.NearCache() && !isa.HalfUnits() && isa.Active().Has(isa.Vectors512)
}

// follows reports whether B is to be read strictly in the order of memory.
func (a *Args[T]) follows() bool {
	packed := a.Packed && a.M <= followRows && len(a.Ahead) == 0 && a.K*a.N*int(sizeOf[T]()) <= followMost
	return readsAhead() && (packed || a.packsFew()) && byFollow.Taken()
}

// follow computes the columns [n, end) of a chunk of the rows from m on, panel by panel. If B is not packed, it makes
// each panel in memory.
func (j *job[T]) follow(t *micro.Tile[T], matrixA, matrixB, matrixC, memory []T, m, n, end int) {
	a, width := &j.args, micro.PanelWidth[T]()
	blocks := ceil(a.K, blockK())
	t.BK = width
	for c := n; c < end; c += width {
		t.Cols, t.C = min(width, end-c), matrixC[m*a.LDC+c:]
		for i := range blocks {
			k := i * a.K / blocks
			t.K = (i+1)*a.K/blocks - k
			j.setA(t, matrixA, nil, m, k)
			t.B, t.Bias = memory, nil
			if a.Packed {
				t.B = matrixB[c*a.K+k*width:]
			} else {
				j.followPanel(t, matrixB, k, c)
			}
			if a.Bias != nil && i == 0 {
				t.Bias = a.Bias[c:]
			}
			t.Accumulate, t.ReLU = a.Accumulate || i > 0, a.ReLU && i == blocks-1
			micro.Run(t)
		}
	}
}

// followPanel sets the tile's B to a block of the panel at column c, from sum k on. It lets the tile prefetch as much
// of the rows of the next panel.
func (j *job[T]) followPanel(t *micro.Tile[T], matrix []T, k, c int) {
	a, width := &j.args, micro.PanelWidth[T]()
	packPanel(t.B, matrix, a, k, t.K, c)
	t.Next, t.NextStep = nil, width
	at := (c+width)*a.LDB + k*width
	if at+t.K*width > len(matrix) {
		return
	}
	if t.Rows < fetchRows {
		vec.Fetch(matrix[at:], 1, t.K*width, t.K*width)
		return
	}
	t.Next = matrix[at:]
}
