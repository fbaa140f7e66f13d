package vec

import "math"

// LogSumExp returns log Σ eˣ, computed relative to the largest number; scratch holds the exponentials. It is NaN if one
// of x is NaN or +Inf, or if all are −Inf.
func LogSumExp[T Float](x, scratch []T) T {
	largest := MaxOf(x)
	return largest + T(math.Log(float64(ExpAffine(scratch[:len(x)], x, 1, -largest, 1))))
}

// LogSumLines stores [LogSumExp] of rows of cols numbers without gaps, with scratch for a row.
func LogSumLines[T Float](totals, x []T, cols int, scratch []T) {
	x = x[:len(totals)*cols]
	if single[T]() && logSumLines32(as32(totals), as32(x), cols) {
		return
	}
	for r := range totals {
		totals[r] = LogSumExp(x[r*cols:][:cols], scratch)
	}
}

// LogSoftmaxLines stores x − log Σ eˣ for rows of cols numbers without gaps, with scratch for a row; dst may be x.
func LogSoftmaxLines[T Float](dst, x []T, cols int, scratch []T) {
	if cols <= 0 {
		return
	}
	x = x[:len(dst)]
	if single[T]() && logSoftmaxLines32(as32(dst), as32(x), cols) {
		return
	}
	for ; len(dst) >= cols; dst, x = dst[cols:], x[cols:] {
		AddScalar(dst[:cols], x[:cols], -LogSumExp(x[:cols], scratch))
	}
}

// LogSoftmaxLinesGrad stores dy − e^y·Σ dy for rows of cols numbers without gaps, with scratch for a row: the gradient
// of the log-softmax whose result is y. dst may be y or dy.
func LogSoftmaxLinesGrad[T Float](dst, y, dy []T, cols int, scratch []T) {
	if cols <= 0 {
		return
	}
	y, dy = y[:len(dst)], dy[:len(dst)]
	if single[T]() && logSoftmaxLinesGrad32(as32(dst), as32(y), as32(dy), cols) {
		return
	}
	for ; len(dst) >= cols; dst, y, dy = dst[cols:], y[cols:], dy[cols:] {
		e, up := scratch[:cols], dy[:cols]
		ExpAffine(e, y[:cols], 1, 0, Sum(up))
		Sub(dst[:cols], up, e)
	}
}
