package gemm

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// A product of a few rows with weights in panels takes less time than reading these from a third-level cache. Where
// that is near, the processor fetches ahead by itself, the better the longer it sees memory being read in order, and
// what is asked for besides takes the places of what it would fetch. So a panel is read to its end before the next one,
// and nothing is asked for. A transposed B of which panels are made is read in the same order. There the processor sees
// a few numbers of each row and not the order, and the rows of the next panel are asked for.

const (
	followRows = 6       // more take longer than reading
	followMost = 1 << 24 // bytes of B that the cache is taken to hold: from memory, six rows take longer so
	fetchRows  = 3       // from which on a tile fetches meanwhile
)

// readsAhead reports whether the processor, with vectors of 512 bits that it computes as wholes, has a near third-level
// cache from which it fetches ahead well.
func readsAhead() bool {
	return isa.NearCache() && !isa.HalfUnits() && isa.Active().Has(isa.Vectors512)
}

// follows reports whether B is read in the order of memory.
func (a *Args[T]) follows() bool {
	packed := a.Packed && a.M <= followRows && len(a.Ahead) == 0 && a.K*a.N*int(sizeOf[T]()) <= followMost
	return readsAhead() && (packed || a.packsFew())
}

// follow computes the columns [n, end) of a chunk of the rows from m on, panel by panel, which are made in memory if B
// has none.
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

// followPanel makes the block of the panel of column c from sum k on in the tile's B, and has as much of the rows of
// the next panel fetched.
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
