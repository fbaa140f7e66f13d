package vec

import "math"

// Scores is a block of rows of attention scores, one row for each query, stride elements apart. Row r sees the first
// min(Cols, Seen + r·Step) numbers of its row, at least one. A number of -Inf among them counts as not seen. Stride is
// [ScoreStride] of Cols: the elements behind a row belong to it and may be overwritten.
type Scores struct {
	Rows, Cols, Stride int
	Seen, Step         int // Step is 1 for causal attention, else 0
}

const scoreGroup = 16

// ScoreStride returns the distance of rows of the given number of scores.
func ScoreStride(cols int) int { return (cols + scoreGroup - 1) &^ (scoreGroup - 1) }

// Sees returns how many numbers row r sees.
func (s *Scores) Sees(r int) int { return min(s.Cols, s.Seen+r*s.Step) }

// HideRows stores -Inf where a mask of bytes is 0, so that a row does not see that number. The mask of row r begins at
// r·rowStep: with step 1 it has a byte for each of its Cols numbers, with step 0 one for all of them.
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
// stores the logarithms of the sums. A row that sees nothing gets zeros and -Inf; NaN or +Inf turn their row into NaN.
// scale must be positive.
//
// It reports whether scale·x was so large that rounding its largest number may have changed it by 1 or more. Then rows
// may be wrong, unless scale is 1.
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
		if k == len(shifts)-1 || r == len(total)-1 { // one logarithm of several sums costs little more than one of a single sum
			last := total[r-k : r+1]
			Log(last, last)
			Add(last, last, shifts[:k+1])
		}
	}
	return coarse
}

// Coarse reports whether neighbouring numbers as large as x are 1 or more apart, or x is infinite.
func Coarse[T Float](x T) bool {
	limit := T(1 << 53)
	if single[T]() {
		limit = 1 << 24
	}
	return x >= limit || x <= -limit
}

// SoftmaxRowsGrad is the gradient of [SoftmaxRows]. It replaces the scores p by the probabilities, which it computes
// again from the logarithms of the sums, and the gradients d of the probabilities by those of the scores, scale·p·(d −
// Σ p·d / Σ p). Both are 0 for what a row does not see. The sum of p differs from 1 by what the logarithms lost when
// they were rounded, perhaps to half precision.
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

// shiftOf returns what is added to scores before the exponential: 0 for a row that sees nothing, whose scores are all
// -Inf.
func shiftOf[T Float](total T) T {
	if math.IsInf(float64(total), -1) {
		return 0
	}
	return -total
}
