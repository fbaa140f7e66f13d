package cpu

import (
	"math"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// mostTurns limits the estimates of an eigenvalue. Two or three are usual.
const mostTurns = 60

// rotate diagonalizes the tridiagonal matrix from lo to hi by rotations, shifted by estimates of eigenvalues. The rows
// of eigenvectors are rotated along with it. Source: Bowdler and others, "The QR and QL algorithms for symmetric
// matrices", 1968.
func (q *conquest[T]) rotate(lo, hi int) {
	d, b := q.d, q.e
	b[hi-1] = 0
	shift, size := 0.0, 0.0
	for l := lo; l < hi; l++ {
		size = max(size, math.Abs(d[l])+math.Abs(b[l]))
		small := size * 0x1p-52
		last := l
		for last < hi-1 && !(math.Abs(b[last]) <= small) {
			last++
		}
		for range mostTurns {
			if last == l {
				break
			}
			shift += q.turnTo(l, last, lo, hi)
			if !(math.Abs(b[l]) > small) {
				break
			}
		}
		d[l], b[l] = d[l]+shift, 0
	}
}

// turnTo shifts by an estimate of eigenvalue l, which it returns, and rotates the rows from last up to l.
func (q *conquest[T]) turnTo(l, last, lo, hi int) (shift float64) {
	d, b := q.d, q.e
	g := d[l]
	p := (d[l+1] - g) / (2 * b[l])
	r := math.Copysign(math.Hypot(1, p), p) // does not overflow or underflow, as squares do beside blocks of 1e-200
	d[l], d[l+1] = b[l]/(p+r), b[l]*(p+r)
	next := d[l+1]
	shift = g - d[l]
	for i := l + 2; i < hi; i++ {
		d[i] -= shift
	}
	p = d[last]
	c, before, beforeThat, s, sBefore, side := 1.0, 1.0, 1.0, 0.0, 0.0, b[l+1]
	angles := q.angles[:2*(last-l)]
	for i, at := last-1, 0; i >= l; i, at = i-1, at+2 {
		beforeThat, before, sBefore = before, c, s
		g, h := c*b[i], c*p
		if r = math.Sqrt(p*p + b[i]*b[i]); r < 0x1p-450 {
			r = math.Hypot(p, b[i])
		}
		b[i+1] = s * r
		if s, c = 0, 1; r != 0 {
			s, c = b[i]/r, p/r
		}
		p = c*d[i] - s*g
		d[i+1] = h + s*(c*g+s*d[i])
		angles[at], angles[at+1] = T(c), T(s)
	}
	turnChain(q.rows, angles, l, last, lo, hi)
	p = -s * sBefore * beforeThat * side * b[l] / next
	b[l], d[l] = s*p, c*p
	return shift
}

// turnChain rotates rows from last up to l, whose nonzero columns are lo to hi.
func turnChain[T block.Float](rows strided[T], angles []T, l, last, lo, hi int) {
	vec.TurnChain(rows.x[l*rows.stride+lo:], angles, last-l, paddedColumns(hi-lo), rows.stride)
}
