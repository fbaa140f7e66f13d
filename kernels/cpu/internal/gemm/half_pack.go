package gemm

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// packA copies a block of A, rows of it from m on and sums of length k1 from k on, both counted in numbers of 32 bits,
// to rows of plan.lda: of pairs or widened, in A's own orientation.
func (j *halfJob) packA(dst []float32, src []uint16, m, rows, k, k1 int) {
	a, p := &j.args, &j.plan
	switch {
	case !p.pairs && a.TransA:
		a.Type.WidenRows(dst, src[k*a.LDA+m:], rows, k1, p.lda, a.LDA)
	case !p.pairs:
		a.Type.WidenRows(dst, src[m*a.LDA+k:], k1, rows, p.lda, a.LDA)
	case a.TransA:
		PackPairs(pairsOf(dst), src[2*k*a.LDA+m:], rows, k1, a.K-2*k, p.lda, a.LDA)
	default:
		length := min(2*k1, a.K-2*k)
		for r := range rows {
			line := halvesOf(dst[r*p.lda:][:k1])
			copy(line, src[(m+r)*a.LDA+2*k:][:length])
			clear(line[length:])
		}
	}
}

// PackPairs interleaves pairs of rows, of which there are left, as [vec.PairRows] does; a missing last one is zeros.
func PackPairs(dst []uint32, src []uint16, columns, pairs, left, to, from int) {
	whole := min(pairs, left/2)
	vec.PairRows(dst, src, columns, whole, to, from)
	if whole < pairs {
		last := dst[whole*to:][:columns]
		for c, x := range src[2*whole*from:][:columns] {
			last[c] = uint32(x)
		}
	}
}

// packB makes the panel of the columns [n, n+cols) of B, cols up to a panel's width, for a block of sums as in packA.
// What lies behind the columns is any numbers. Lines is memory for rows of a transposed B.
func (j *halfJob) packB(panel, lines []float32, src []uint16, k, k1, n, cols int) {
	a, p := &j.args, &j.plan
	width := micro.PanelWidth[float32]()
	switch {
	case p.pairs && !a.TransB:
		PackPairs(pairsOf(panel), src[2*k*a.LDB+n:], cols, k1, a.K-2*k, width, a.LDB)
	case p.pairs && a.K%2 == 0 && a.LDB%2 == 0:
		micro.PackPanel(panel, words(src[n*a.LDB+2*k:]), k1, cols, 1, a.LDB/2)
	case p.pairs:
		length := min(2*k1, a.K-2*k)
		for c := range cols {
			line := halvesOf(lines[c*k1:][:k1])
			copy(line, src[(n+c)*a.LDB+2*k:][:length])
			clear(line[length:])
		}
		micro.PackPanel(panel, lines, k1, cols, 1, k1)
	case !a.TransB:
		a.Type.WidenRows(panel, src[k*a.LDB+n:], cols, k1, width, a.LDB)
	default:
		a.Type.WidenRows(lines, src[n*a.LDB+k:], k1, cols, k1, a.LDB)
		micro.PackPanel(panel, lines, k1, cols, 1, k1)
	}
}
