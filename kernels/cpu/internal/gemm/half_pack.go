package gemm

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// packA copies a block of A: its rows from m on, and sums of length k1 from k on, both counted in 32-bit words. The
// rows of the copy are plan.lda apart, and hold pairs or widened numbers in A's own orientation.
func (j *halfJob) packA(dst []float32, src []uint16, m, rows, k, k1 int) {
	a, p := &j.args, &j.plan
	switch {
	case !p.pairs && a.TransA:
		a.Type.WidenRows(dst, src[k*a.LDA+m:], rows, k1, p.lda, a.LDA)
	case !p.pairs:
		a.Type.WidenRows(dst, src[m*a.LDA+k:], k1, rows, p.lda, a.LDA)
	case a.TransA && !p.matrices:
		PackPairs(pairsOf(dst), src[2*k*a.LDA+m:], rows, k1, a.K-2*k, p.lda, a.LDA)
	case micro.TurnsPairs():
		micro.CopyPairs(dst, src[m*a.LDA+2*k:], rows, min(2*k1, a.K-2*k), k1, p.lda, a.LDA)
	default:
		copyRows(dst, src[m*a.LDA+2*k:], rows, min(2*k1, a.K-2*k), k1, p.lda, a.LDA)
	}
}

// copyRows copies rows of length 16-bit numbers, which are from numbers apart, to rows of words that are to words
// apart. It fills them up with zeros to the given number of words.
func copyRows(dst []float32, src []uint16, rows, length, words, to, from int) {
	if rows <= 0 {
		return
	}
	dst, src = dst[:(rows-1)*to+words], src[:(rows-1)*from+length]
	if length < 2*words {
		for r := range rows {
			clear(dst[r*to+length/2:][:words-length/2])
		}
	}
	to *= 2
	d, s := unsafe.Pointer(unsafe.SliceData(dst)), unsafe.Pointer(unsafe.SliceData(src))
	if 2*length >= vec.LeastCopied && vec.CopyRows(d, s, rows, 2*length, 2*to, 2*from) {
		return
	}
	const four = 4 // numbers at a time; the last four may overlap those before
	for r := range rows {
		if length < four {
			copy(halvesOf(dst)[r*to:], src[r*from:][:length])
			continue
		}
		for i := 0; i < length; i += four {
			i := min(i, length-four)
			*(*uint64)(unsafe.Add(d, 2*(r*to+i))) = *(*uint64)(unsafe.Add(s, 2*(r*from+i)))
		}
	}
}

// PackPairs interleaves pairs of rows, as [vec.PairRows] does; left is the rows that exist, and a missing last row is
// zeros.
func PackPairs(dst []uint32, src []uint16, columns, pairs, left, to, from int) {
	whole := min(pairs, left/2)
	vec.PairRows(dst, src, columns, whole, to, from)
	if whole == pairs {
		return
	}
	const width = 32
	var last [2 * width]uint16 // some columns of the last row, followed by zeros
	for c := 0; c < columns; c += width {
		n := copy(last[:width], src[2*whole*from+c:][:min(width, columns-c)])
		vec.PairRows(dst[whole*to+c:], last[:], n, 1, to, width)
	}
}

// packB makes the panel of the columns [n, n+cols) of B, at most a panel's width, for a block of sums as in packA. What
// is behind the columns may be any numbers. lines is memory for rows of a transposed B.
func (j *halfJob) packB(panel, lines []float32, src []uint16, k, k1, n, cols int) {
	a, p := &j.args, &j.plan
	width := micro.PanelWidth[float32]()
	switch {
	case p.pairs && !a.TransB:
		PackPairs(pairsOf(panel), src[2*k*a.LDB+n:], cols, k1, a.K-2*k, width, a.LDB)
	case p.masks:
		micro.TurnRows(panel, src[n*a.LDB+2*k:], cols, min(2*k1, a.K-2*k), a.LDB)
	case p.pairs && a.K%2 == 0 && a.LDB%2 == 0:
		micro.PackPanel(panel, words(src[n*a.LDB+2*k:]), k1, cols, 1, a.LDB/2)
	case p.pairs:
		copyRows(lines, src[n*a.LDB+2*k:], cols, min(2*k1, a.K-2*k), k1, k1, a.LDB)
		micro.PackPanel(panel, lines, k1, cols, 1, k1)
	case !a.TransB:
		a.Type.WidenRows(panel, src[k*a.LDB+n:], cols, k1, width, a.LDB)
	default:
		a.Type.WidenRows(lines, src[n*a.LDB+k:], k1, cols, k1, a.LDB)
		micro.PackPanel(panel, lines, k1, cols, 1, k1)
	}
}
