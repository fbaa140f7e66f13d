package vec

// SoftmaxHalves is [SoftmaxRows] with probabilities that are rounded to bfloat16, in rows of dst, to numbers apart.
// Each row gets Stride numbers, with zeros behind what it sees. They still have to be multiplied by the row's factor;
// [ScaleHalves] does that to products of them, which are fewer. The scores are overwritten. Where AVX-512 rounds,
// powers are accurate to 2⁻¹⁶, some bits more than bfloat16 keeps. Rows may be wrong if it reports large numbers,
// whatever the scale.
func SoftmaxHalves(dst []uint16, x, total, factors []float32, s Scores, scale float32, to int) (coarse bool) {
	if s.Rows <= 0 || s.Cols <= 0 {
		return false
	}
	dst, x, total, factors = dst[:(s.Rows-1)*to+s.Stride], x[:s.Rows*s.Stride], total[:s.Rows], factors[:s.Rows]
	if coarse, ok := s.softmaxHalves(dst, x, total, factors, scale, to); ok {
		return coarse
	}
	return s.softmaxRounded(dst, x, total, factors, scale, to)
}

// SoftmaxHalvesExact is SoftmaxHalves for scores of any size that are already scaled.
func SoftmaxHalvesExact(dst []uint16, x, total, factors []float32, s Scores, to int) {
	s.softmaxRounded(dst, x, total[:s.Rows], factors[:s.Rows], 1, to)
}

func (s *Scores) softmaxRounded(dst []uint16, x, total, factors []float32, scale float32, to int) (coarse bool) {
	coarse = SoftmaxRows(x, total, *s, scale)
	BFloat16.NarrowRows(dst, x, s.Cols, s.Rows, to, s.Stride)
	for r := range factors {
		factors[r] = 1
		clear(dst[r*to+s.Cols:][:s.Stride-s.Cols])
	}
	return coarse
}

// ScaleHalves multiplies rows of x, from numbers apart, by their factors, and rounds them to rows of bfloat16, to
// numbers apart. It may overwrite x.
func ScaleHalves(dst []uint16, x, factors []float32, columns, to, from int) {
	rows := len(factors)
	if columns <= 0 || rows == 0 || scaleHalves(dst, x, factors, columns, to, from) {
		return
	}
	for r, f := range factors {
		row := x[r*from:][:columns]
		for i := 0; i < len(row) && f != 1; i++ { // a few: longer rows with factors are scaled above
			row[i] *= f
		}
	}
	BFloat16.NarrowRows(dst, x, columns, rows, to, from)
}
