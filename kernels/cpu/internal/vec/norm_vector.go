//go:build amd64 || arm64

package vec

import "math"

// normColumns returns how many of the columns go through assembly, and through which; the others are few.
func normColumns(cols int) (n int, wide, ok bool) {
	wide, ok = vectors()
	wide = wide && cols%16 < 8
	if n = whole(wide, cols); n == 0 {
		ok = false
	}
	return n, wide, ok
}

// layerNorm32 computes a block of at most normRows rows.
func layerNorm32(y, x, gamma, beta, mean, rstd []float32, epsilon float64) bool {
	cols, rows := len(gamma), len(mean)
	n, wide, ok := normColumns(cols)
	if !ok || cols > callElements { // a call must be short
		return false
	}
	var parts [8 * normRows]float32
	lines, width, stride := uintptr(rows), uintptr(4*n), uintptr(4*cols)
	callNormSums(wide, &parts[0], &x[0], lines, width, stride)
	for r := range mean {
		sum := join((*[8]float32)(parts[8*r:]))
		for _, v := range x[r*cols+n : (r+1)*cols] {
			sum += v
		}
		mean[r] = sum / float32(cols)
	}
	callNormSquares(wide, &parts[0], &x[0], &mean[0], lines, width, stride)
	for r, m := range mean {
		sum := join((*[8]float32)(parts[8*r:]))
		for _, v := range x[r*cols+n : (r+1)*cols] {
			sum += (v - m) * (v - m)
		}
		rstd[r] = float32(1 / math.Sqrt(float64(sum/float32(cols))+epsilon))
	}
	for r, m := range mean {
		s := rstd[r]
		for c := n; c < cols; c++ {
			y[r*cols+c] = (x[r*cols+c]-m)*s*gamma[c] + beta[c]
		}
	}
	callNormApply(wide, &y[0], &x[0], &mean[0], &rstd[0], &gamma[0], &beta[0], lines, width, stride)
	return true
}

// layerNormGrad32 computes a block of at most normRows rows.
func layerNormGrad32(dx, dgamma, dbeta, x, gamma, mean, rstd, dy []float32) bool {
	cols, rows := len(gamma), len(mean)
	n, wide, ok := normColumns(cols)
	if !ok || cols > callElements { // a call must be short
		return false
	}
	var parts [16 * normRows]float32
	var scalars [4 * normRows]float32
	lines, width, stride := uintptr(rows), uintptr(4*n), uintptr(4*cols)
	callNormGradSums(wide, &parts[0], &x[0], &dy[0], &mean[0], &rstd[0], &gamma[0], lines, width, stride)
	for r, m := range mean {
		sum, product, s := join((*[8]float32)(parts[16*r:])), join((*[8]float32)(parts[16*r+8:])), rstd[r]
		for c := n; c < cols; c++ {
			norm, up := (x[r*cols+c]-m)*s, dy[r*cols+c]
			dbeta[c] += up
			dgamma[c] += up * norm
			sum += up * gamma[c]
			product += up * gamma[c] * norm
		}
		a, b := sum/float32(cols), product/float32(cols)*s
		copy(scalars[4*r:], []float32{m, s, a, b})
	}
	step := 8
	if wide {
		step = 16
	}
	for c := 0; c < n; c += step {
		callNormGradColumns(wide, &dbeta[c], &dgamma[c], &x[c], &dy[c], &mean[0], &rstd[0], lines, stride)
	}
	for r := range rows {
		m, s, a, b := scalars[4*r], scalars[4*r+1], scalars[4*r+2], scalars[4*r+3]
		for c := n; c < cols; c++ {
			dx[r*cols+c] = s * (dy[r*cols+c]*gamma[c] - a - (x[r*cols+c]-m)*b)
		}
	}
	callNormGradApply(wide, &dx[0], &x[0], &dy[0], &scalars[0], &gamma[0], lines, width, stride)
	return true
}
