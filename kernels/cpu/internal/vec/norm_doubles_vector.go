//go:build amd64 || arm64

package vec

import (
	"math"
	"unsafe"
)

// The functions below are the loops of norm.go for float64, with the same bits, for rows that [Sum] and [Dot] add up in
// a single block.

// eights returns how many of the columns go through assembly, a multiple of 8: 0 if there is none, or if rows are too
// long.
func eights(cols int) (n int, wide bool) {
	wide, ok := vectors()
	if !ok || cols > sumBlock {
		return 0, false
	}
	return cols &^ 7, wide
}

// layerNorm64 computes a block of at most normRows rows.
func layerNorm64(y, x, gamma, beta, mean, rstd []float64, epsilon float64) bool {
	cols, rows := len(gamma), uintptr(len(mean))
	n, wide := eights(cols)
	if n == 0 {
		return false
	}
	var parts [normRows][8]float64
	bytes, stride := uintptr(8*n), uintptr(8*cols)
	callNormSumsDoubles(wide, unsafe.Pointer(&parts), place(x, 0), rows, bytes, stride)
	for r := range mean {
		s := &parts[r]
		for k, v := range x[r*cols+n : (r+1)*cols] {
			s[k] += v
		}
		mean[r] = join(s) / float64(cols)
	}
	callNormSquaresDoubles(wide, unsafe.Pointer(&parts), place(x, 0), place(mean, 0), rows, bytes, stride)
	for r, m := range mean {
		s := &parts[r]
		for k, v := range x[r*cols+n : (r+1)*cols] {
			s[k] += float64((v - m) * (v - m))
		}
		rstd[r] = 1 / math.Sqrt(join(s)/float64(cols)+epsilon)
	}
	for r, m := range mean {
		for c := n; c < cols; c++ { // y may be x
			y[r*cols+c] = float64((x[r*cols+c]-m)*rstd[r]*gamma[c]) + beta[c]
		}
	}
	callNormApplyDoubles(wide, place(y, 0), place(x, 0), place(mean, 0), place(rstd, 0), place(gamma, 0), place(beta, 0), rows, bytes, stride)
	return true
}

// layerNormGrad64 computes a block of at most normRows rows.
func layerNormGrad64(dx, dgamma, dbeta, x, gamma, mean, rstd, dy []float64) bool {
	cols, rows := len(gamma), uintptr(len(mean))
	n, wide := eights(cols)
	if n == 0 {
		return false
	}
	var parts [normRows][2][8]float64
	var scalars [normRows][4]float64
	bytes, stride := uintptr(8*n), uintptr(8*cols)
	callNormGradSumsDoubles(wide, unsafe.Pointer(&parts), place(x, 0), place(dy, 0), place(mean, 0), place(rstd, 0), place(gamma, 0), rows, bytes, stride)
	callNormGradColumnsDoubles(wide, &dbeta[0], &dgamma[0], &x[0], &dy[0], &mean[0], &rstd[0], rows, bytes, stride)
	for r, m := range mean {
		sums, products := &parts[r][0], &parts[r][1]
		for c := n; c < cols; c++ {
			norm, up := (x[r*cols+c]-m)*rstd[r], dy[r*cols+c]
			dbeta[c] += up
			dgamma[c] += float64(up * norm)
			sums[c-n] += float64(up * gamma[c])
			products[c-n] += float64(up * gamma[c] * norm)
		}
		scalars[r] = [4]float64{m, rstd[r], join(sums) / float64(cols), join(products) / float64(cols)}
	}
	for r := range mean {
		m, s, a, b := scalars[r][0], scalars[r][1], scalars[r][2], scalars[r][3]
		for c := n; c < cols; c++ {
			dx[r*cols+c] = s * (float64(dy[r*cols+c]*gamma[c]) - a - float64((x[r*cols+c]-m)*s*b))
		}
	}
	callNormGradApplyDoubles(wide, place(dx, 0), place(x, 0), place(dy, 0), unsafe.Pointer(&scalars), place(gamma, 0), rows, bytes, stride)
	return true
}
