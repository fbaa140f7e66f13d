package vec

import "math"

// Layer normalization of matrices [rows, cols] without gaps, in blocks of rows that stay in the first-level cache.
// Every row is summed by itself in an order that depends on cols alone.

const (
	normRows     = 32      // rows of a block
	normElements = 1 << 13 // elements of a block that has more than one row
)

func normBlock(cols int) int { return min(normRows, max(normElements/max(cols, 1), 1)) }

// LayerNorm stores y = gamma·(x − mean)·rstd + beta with the mean of each row and rstd = 1/√(variance + epsilon). It
// also stores mean and rstd, which have one number for each row.
func LayerNorm[T Float](y, x, gamma, beta, mean, rstd []T, epsilon float64) {
	rows, cols := len(mean), len(gamma)
	x, y, beta, rstd = x[:rows*cols], y[:rows*cols], beta[:cols], rstd[:rows]
	for r, step := 0, normBlock(cols); r < rows && cols > 0; r += step {
		end := min(r+step, rows)
		in, out, m, s := x[r*cols:end*cols], y[r*cols:end*cols], mean[r:end], rstd[r:end]
		if next := min(end+step, rows); len(x) >= FarNumbers { // prefetch while the block is computed
			Fetch(out, 1, len(out), 0)
			Fetch(x[end*cols:], 1, (next-end)*cols, 0)
		}
		if single[T]() && layerNorm32(as32(out), as32(in), as32(gamma), as32(beta), as32(m), as32(s), epsilon) {
			continue
		}
		if !single[T]() && layerNorm64(as64(out), as64(in), as64(gamma), as64(beta), as64(m), as64(s), epsilon) {
			continue
		}
		for i := range m {
			row, to := in[i*cols:(i+1)*cols], out[i*cols:(i+1)*cols]
			m[i] = Sum(row) / T(cols)
			AddScalar(to, row, -m[i])
			s[i] = T(1 / math.Sqrt(float64(Dot(to, to)/T(cols))+epsilon))
			Scale(to, to, s[i])
			MulAdd(to, to, gamma, beta)
		}
	}
}

// LayerNormGrad is the gradient of [LayerNorm]: with n = (x − mean)·rstd and g = gamma·dy it stores dx = rstd·(g −
// average(g) − n·average(g·n)) and adds Σ dy·n to dgamma and Σ dy to dbeta. scratch has 2·cols elements.
func LayerNormGrad[T Float](dx, dgamma, dbeta, x, gamma, mean, rstd, dy, scratch []T) {
	rows, cols := len(mean), len(gamma)
	x, dy, dx, rstd = x[:rows*cols], dy[:rows*cols], dx[:rows*cols], rstd[:rows]
	dgamma, dbeta = dgamma[:cols], dbeta[:cols]
	for r, step := 0, normBlock(cols); r < rows && cols > 0; r += step {
		end := min(r+step, rows)
		in, up, out, m, s := x[r*cols:end*cols], dy[r*cols:end*cols], dx[r*cols:end*cols], mean[r:end], rstd[r:end]
		if single[T]() && layerNormGrad32(as32(out), as32(dgamma), as32(dbeta), as32(in), as32(gamma), as32(m), as32(s), as32(up)) {
			continue
		}
		if !single[T]() && layerNormGrad64(as64(out), as64(dgamma), as64(dbeta), as64(in), as64(gamma), as64(m), as64(s), as64(up)) {
			continue
		}
		norm, g := scratch[:cols], scratch[cols:2*cols]
		for i := range m {
			up, out := up[i*cols:(i+1)*cols], out[i*cols:(i+1)*cols]
			AddScalar(norm, in[i*cols:(i+1)*cols], -m[i])
			Scale(norm, norm, s[i])
			Add(dbeta, dbeta, up)
			MulAdd(dgamma, up, norm, dgamma)
			Mul(g, up, gamma)
			meanG, meanGN := Sum(g)/T(cols), Dot(g, norm)/T(cols)
			Scale(norm, norm, -meanGN)
			AddScalar(g, g, -meanG)
			Add(out, g, norm)
			Scale(out, out, s[i])
		}
	}
}
