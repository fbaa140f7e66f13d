package vec

import (
	"math"
	"unsafe"
)

// roundsHalves reports whether the kernels here can run.
func roundsHalves() bool {
	wide, ok := vectors()
	return ok && wide && BFloat16.rounding() != 0
}

func (s *Scores) softmaxHalves(dst []uint16, x, total, factors []float32, scale float32, to int) (coarse, ok bool) {
	if !roundsHalves() {
		return false, false
	}
	var sums [scoreRows]float32
	scale *= math.Log2E
	s.pieces(1, func(first, rows, n int, mask *float32, step uintptr) {
		callSoftmaxHalves(unsafe.Pointer(&dst[first*to]), at(x, first*s.Stride), at(total, first), &sums[0], mask, uintptr(rows), uintptr(n),
			uintptr(4*s.Stride), uintptr(2*to), step, uintptr(s.Stride-n), unsafe.Pointer(&scale))
		part := total[first : first+rows]
		for r, t := range part {
			coarse = coarse || Coarse(t) && t != -math.MaxFloat32 // which means no score
			part[r], factors[first+r] = t*math.Ln2, 1/max(sums[r], 0x1p-126)
		}
		Log(sums[:rows], sums[:rows])
		Add(part, part, sums[:rows])
	})
	return coarse, true
}

// scaleHalves computes columns that are not whole vectors in two calls. The second has the last vector of each row,
// which overlaps the one before it.
func scaleHalves(dst []uint16, x, factors []float32, columns, to, from int) bool {
	const vector = 16
	if columns < vector || !roundsHalves() {
		return false
	}
	whole := columns &^ (vector - 1)
	scaleVectors(dst, x, factors, whole, to, from)
	if last := columns - vector; whole < columns {
		scaleVectors(dst[last:], x[last:], factors, vector, to, from)
	}
	return true
}

func scaleVectors(dst []uint16, x, factors []float32, columns, to, from int) {
	rows := len(factors)
	_, _ = dst[(rows-1)*to+columns-1], x[(rows-1)*from+columns-1]
	most := max(callElements/columns, 1)
	for i := 0; i < rows; i += most {
		callScaleHalves(unsafe.Pointer(&dst[i*to]), &x[i*from], &factors[i], uintptr(columns), uintptr(min(most, rows-i)), uintptr(2*to), uintptr(4*from))
	}
}
