package vec

import "math"

// Scores is a block of rows of attention scores, one for each query, stride elements apart. Row r sees the first
// min(Cols, Seen + r·Step) numbers of its row, at least one; a number of -Inf among them is not seen either. Stride is
// [ScoreStride] of Cols: what follows a row belongs to it and may be overwritten.
type Scores struct {
	Rows, Cols, Stride int
	Seen, Step         int // Step is 1 for causal attention, else 0
}

const scoreGroup = 16

// ScoreStride is the distance of rows of the given number of scores.
func ScoreStride(cols int) int { return (cols + scoreGroup - 1) &^ (scoreGroup - 1) }

// Sees returns how many numbers row r sees.
func (s *Scores) Sees(r int) int { return min(s.Cols, s.Seen+r*s.Step) }

// HideRows puts -Inf where a mask of bytes is 0, so that a row does not see what it could. Row r has the bytes from
// r·rowStep on: one for each of its Cols numbers if step is 1, or with step 0 one for all of them.
func HideRows[T Float](x []T, s Scores, mask []uint8, rowStep, step int) {
	if s.Rows <= 0 || s.Cols <= 0 {
		return
	}
	x, mask = x[:s.Rows*s.Stride], mask[:(s.Rows-1)*rowStep+(s.Cols-1)*step+1]
	if single[T]() && step == 1 && s.Cols >= scoreGroup && s.hide32(as32(x), mask, rowStep) {
		return
	}
	hidden := T(math.Inf(-1))
	for r := range s.Rows {
		row := x[r*s.Stride:][:s.Cols]
		if step == 0 && mask[r*rowStep] != 0 {
			continue
		}
		for i := range row {
			if mask[r*rowStep+i*step] == 0 {
				row[i] = hidden
			}
		}
	}
}

// SoftmaxRows replaces scores x by the probabilities e^(scale·x) / Σ e^(scale·x), 0 for what a row does not see, and
// stores the logarithms of the sums. A row that sees nothing gets zeros and -Inf; NaN or +Inf make NaN of a row. Scale
// is positive.
//
// It reports whether scale·x was so large that rounding its largest number moved it by 1 or more: then rows may be
// wrong, unless scale is 1.
func SoftmaxRows[T Float](x, total []T, s Scores, scale T) (coarse bool) {
	x, total = x[:s.Rows*s.Stride], total[:s.Rows]
	if single[T]() && s.Cols > 0 {
		if coarse, ok := s.softmax32(as32(x), as32(total), float32(scale)); ok {
			return coarse
		}
	}
	var shifts [32]T // of the last rows
	for r := range total {
		row := x[r*s.Stride:][:s.Cols]
		seen := row[:s.Sees(r)]
		clear(row[len(seen):])
		largest := MaxOf(seen) * scale
		k := r % len(shifts)
		if shifts[k], total[r] = largest, 1; math.IsInf(float64(largest), -1) {
			clear(seen)
		} else {
			total[r] = ExpAffine(seen, seen, scale, -largest, 1)
			Scale(seen, seen, 1/total[r])
			coarse = coarse || Coarse(largest)
		}
		if k == len(shifts)-1 || r == len(total)-1 { // a logarithm of several sums costs little more than one
			last := total[r-k : r+1]
			Log(last, last)
			Add(last, last, shifts[:k+1])
		}
	}
	return coarse
}

// Coarse reports whether numbers as large as x are 1 and more apart, or infinite.
func Coarse[T Float](x T) bool {
	limit := T(1 << 53)
	if single[T]() {
		limit = 1 << 24
	}
	return x >= limit || x <= -limit
}

// SoftmaxRowsGrad is the gradient of [SoftmaxRows]: it replaces the scores p by the probabilities, which it computes
// again with the logarithms of the sums, and the gradients d of the probabilities by those of the scores, scale·p·(d −
// Σ p·d / Σ p); both are 0 for what a row does not see. The sum of p is 1, but for what the logarithms lost when they
// were rounded, to half precision perhaps.
func SoftmaxRowsGrad[T Float](p, d, total []T, s Scores, scale T) {
	p, d, total = p[:s.Rows*s.Stride], d[:s.Rows*s.Stride], total[:s.Rows]
	if single[T]() && s.Cols > 0 && s.softmaxGrad32(as32(p), as32(d), as32(total), float32(scale)) {
		return
	}
	for r, t := range total {
		row, up := p[r*s.Stride:][:s.Cols], d[r*s.Stride:][:s.Cols]
		seen := s.Sees(r)
		clear(row[seen:])
		clear(up[seen:])
		row, up = row[:seen], up[:seen]
		sum := max(ExpAffine(row, row, scale, shiftOf(t), 1), 0x1p-126)
		AffineMul(up, up, row, scale, -scale*Dot(row, up)/sum)
	}
}

// shiftOf is what is added to scores before their exponential is taken: nothing for a row that sees nothing, all of
// whose scores are -Inf.
func shiftOf[T Float](total T) T {
	if math.IsInf(float64(total), -1) {
		return 0
	}
	return -total
}
