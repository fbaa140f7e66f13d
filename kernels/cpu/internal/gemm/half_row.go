package gemm

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// A product of a single row, as in a prediction for one example, takes a microsecond or less. So if the kernels can
// read B from panels, or B has few columns, they are called directly. The sums are those of a chunk of C.

// isRow reports whether the calling goroutine computes the product as a single row.
func (a *HalfArgs) isRow(p *pool.Pool) bool {
	return a.M == 1 && a.K > 0 && a.K <= halfRowMost && (a.Packed != nil || a.few()) && a.Variable == nil && (!a.TransA || a.LDA <= 1) &&
		max(a.Batch[0], 1)*max(a.Batch[1], 1) == 1 && (p.Size() <= 1 || a.N*a.K < rowMinElements) && !a.pairs() && byHalfRow.Taken()
}

// few reports whether the rows of B are contiguous and no longer than those of a panel.
func (a *HalfArgs) few() bool {
	return a.N <= micro.PanelWidth[float32]() && (a.LDB == a.N || a.LDB == 0) && !a.TransB
}

// row computes the product.
func (a *HalfArgs) row(scratch []float32) {
	width := micro.PanelWidth[float32]()
	most := min(ceil(a.N, width)*width, halfCols)
	checkScratch(len(scratch), 2*most+a.K+width*a.K)
	if a.Packed != nil {
		a.checkPanels()
	}
	a.checkBias()
	sums, bias, x, wide := scratch[:most], scratch[most:2*most], scratch[2*most:][:a.K], scratch[2*most+a.K:]
	a.Type.Widen(x, a.A[:a.K])
	for n := 0; n < a.N; n += most {
		cols := min(most, a.N-n)
		a.addRow(sums, x, wide, a.B, n, cols)
		a.finish(sums, bias, n, 1, n, cols, cols)
	}
}

// addRow sets sums to the columns [n, n+cols) of the product of a single row x. It returns false if the kernels can
// read B neither from panels nor in place. wide is memory for a panel.
func (a *HalfArgs) addRow(sums, x, wide []float32, matrix []uint16, n, cols int) bool {
	switch {
	case a.Packed != nil && a.narrow():
		a.addRowNarrow(sums, x, wide, n, cols)
	case a.Packed != nil:
		clear(sums[:cols])
		micro.AddRowPanels(sums[:cols], x, a.Packed[n*a.K:])
	case a.few(): // the whole matrix is contiguous
		a.Type.Widen(wide[:a.K*cols], matrix)
		clear(sums[:cols])
		micro.AddRowProduct(sums[:cols], x, wide, cols)
	default:
		return false
	}
	return true
}

// narrowRows is how many rows of a panel are widened at a time for a single row of A. They stay in the first-level
// cache, and it is a multiple of eight, so that the sums of eight products begin where they do without panels.
const narrowRows = 128

// addRowNarrow sets columns numbers of dst to what [micro.AddRowPanels] adds, from panels of 16-bit numbers, from
// column n on. wide is memory for a panel.
func (a *HalfArgs) addRowNarrow(dst, x, wide []float32, n, columns int) {
	width := micro.PanelWidth[float32]()
	dst = dst[:ceil(columns, width)*width]
	clear(dst)
	if micro.AddRowHalfPanels(dst, x, a.narrowPanel(n, 0, len(dst)/width*a.K), a.Type) {
		return
	}
	for c := 0; c < columns; c += width {
		for k := 0; k < len(x); k += narrowRows {
			rows := min(narrowRows, len(x)-k)
			a.Type.Widen(wide[:rows*width], a.narrowPanel(n+c, k, rows))
			micro.AddRowProduct(dst[c:min(c+width, columns)], x[k:k+rows], wide, width)
		}
	}
}
