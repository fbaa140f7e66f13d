//go:build amd64 || arm64

package vec

import "math"

// normPiece is columns that go through one kind of assembly.
type normPiece struct {
	first, n int
	wide     bool
}

// twoPieces is the length of rows from which on a second call for 8 columns costs less than narrow vectors for all
// columns.
const twoPieces = 64

// normPieces returns the columns that go through assembly, in vectors of 16 (if available) and of 8, and their number;
// fewer than 8 columns remain.
func normPieces(cols int) (list [2]normPiece, n int) {
	wide, ok := vectors()
	if !ok {
		return list, 0
	}
	wide = wide && (cols%16 < 8 || cols >= twoPieces)
	k := 0
	if n = whole(true, cols); wide && n > 0 {
		list[0] = normPiece{0, n, true}
		k = 1
	} else {
		n = 0
	}
	if more := whole(false, cols-n); more > 0 {
		list[k] = normPiece{n, more, false}
		n += more
	}
	return list, n
}

// layerNorm32 computes a block of at most normRows rows.
func layerNorm32(y, x, gamma, beta, mean, rstd []float32, epsilon float64) bool {
	cols, rows := len(gamma), len(mean)
	pieces, n := normPieces(cols)
	if n == 0 || cols > callElements { // so that a call is short
		return false
	}
	var parts [8 * normRows]float32
	var more [normRows]float32 // sums of the second piece
	lines, stride := uintptr(rows), uintptr(4*cols)
	p, q := pieces[0], pieces[1]
	if q.n > 0 {
		callNormSums(q.wide, &parts[0], &x[q.first], lines, uintptr(4*q.n), stride)
		for r := range mean {
			more[r] = join((*[8]float32)(parts[8*r:]))
		}
	}
	callNormSums(p.wide, &parts[0], &x[0], lines, uintptr(4*p.n), stride)
	for r := range mean {
		sum := join((*[8]float32)(parts[8*r:])) + more[r]
		for _, v := range x[r*cols+n : (r+1)*cols] {
			sum += v
		}
		mean[r] = sum / float32(cols)
	}
	if q.n > 0 {
		callNormSquares(q.wide, &parts[0], &x[q.first], &mean[0], lines, uintptr(4*q.n), stride)
		for r := range mean {
			more[r] = join((*[8]float32)(parts[8*r:]))
		}
	}
	callNormSquares(p.wide, &parts[0], &x[0], &mean[0], lines, uintptr(4*p.n), stride)
	for r, m := range mean {
		sum := join((*[8]float32)(parts[8*r:])) + more[r]
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
	callNormApply(p.wide, &y[0], &x[0], &mean[0], &rstd[0], &gamma[0], &beta[0], lines, uintptr(4*p.n), stride)
	if q.n > 0 {
		callNormApply(q.wide, &y[q.first], &x[q.first], &mean[0], &rstd[0], &gamma[q.first], &beta[q.first], lines, uintptr(4*q.n), stride)
	}
	return true
}

// layerNormGrad32 computes a block of at most normRows rows.
func layerNormGrad32(dx, dgamma, dbeta, x, gamma, mean, rstd, dy []float32) bool {
	cols, rows := len(gamma), len(mean)
	pieces, n := normPieces(cols)
	if n == 0 || cols > callElements { // so that a call is short
		return false
	}
	var parts [16 * normRows]float32
	var more [2 * normRows]float32 // sums of the second piece
	var scalars [4 * normRows]float32
	lines, stride := uintptr(rows), uintptr(4*cols)
	if q := pieces[1]; q.n > 0 {
		callNormGradSums(q.wide, &parts[0], &x[q.first], &dy[q.first], &mean[0], &rstd[0], &gamma[q.first], lines, uintptr(4*q.n), stride)
		for k := range 2 * rows {
			more[k] = join((*[8]float32)(parts[8*k:]))
		}
	}
	callNormGradSums(pieces[0].wide, &parts[0], &x[0], &dy[0], &mean[0], &rstd[0], &gamma[0], lines, uintptr(4*pieces[0].n), stride)
	for r, m := range mean {
		sum, product, s := join((*[8]float32)(parts[16*r:]))+more[2*r], join((*[8]float32)(parts[16*r+8:]))+more[2*r+1], rstd[r]
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
	for _, p := range pieces {
		if p.n > 0 {
			callNormGradColumns(p.wide, &dbeta[p.first], &dgamma[p.first], &x[p.first], &dy[p.first], &mean[0], &rstd[0], lines, uintptr(4*p.n), stride)
		}
	}
	for r := range rows {
		m, s, a, b := scalars[4*r], scalars[4*r+1], scalars[4*r+2], scalars[4*r+3]
		for c := n; c < cols; c++ {
			dx[r*cols+c] = s * (dy[r*cols+c]*gamma[c] - a - (x[r*cols+c]-m)*b)
		}
	}
	for _, p := range pieces {
		if p.n > 0 {
			callNormGradApply(p.wide, &dx[p.first], &x[p.first], &dy[p.first], &scalars[0], &gamma[p.first], lines, uintptr(4*p.n), stride)
		}
	}
	return true
}
