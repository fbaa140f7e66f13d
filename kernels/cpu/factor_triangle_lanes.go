package cpu

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Solving vec.Lanes triangles side by side pays up to squareTriangle rows and right sides. With at most
// fewTriangleSides right sides it pays up to mostTriangleLanes rows. With at most fewestSides, which take less time
// than arranging the triangles side by side, it pays up to singleTriangle. Half of the lanes may be empty if there are
// at most smallTriangle numbers to find.
const (
	squareTriangle    = 24
	mostTriangleLanes = 64
	singleTriangle    = 32
	fewTriangleSides  = 8
	fewestSides       = 2
	smallTriangle     = 128
)

// inTriangleLanes reports whether the triangles are small enough, and enough of them to fill the lanes.
func inTriangleLanes(b *build) bool {
	s := b.in(1).Typ.Shape
	n, m := s[len(s)-2], s[len(s)-1]
	matrices := s[:len(s)-2].Size()
	lanes := (matrices + vec.Lanes - 1) / vec.Lanes * vec.Lanes
	switch {
	case n == 0 || m == 0:
		return false
	case n*m <= smallTriangle && n <= squareTriangle:
		return matrices >= vec.Lanes/2
	case m <= fewTriangleSides:
		return n <= mostTriangleLanes && (m > fewestSides || n <= singleTriangle) && 4*matrices >= 3*lanes
	}
	return n <= squareTriangle && m <= squareTriangle && 4*matrices >= 3*lanes
}

// triangleLanes solves vec.Lanes triangles side by side, in float64.
func triangleLanes(b *build, lower bool) func() {
	in, right, out := b.in(0), b.in(1), b.out(0)
	n, m := matrixLengths(right)
	matrices := right.Typ.Shape.Size() / (n * m)
	groups := (matrices + vec.Lanes - 1) / vec.Lanes
	square, sides := vec.Lanes*n*n, vec.Lanes*n*m
	size := 2*square + 2*sides + vec.Lanes*m
	b.rt().need(size * 8)
	return b.rt().parallel(groups, grain(vec.Lanes*n*n*m/16+vec.Lanes*n), func(w *worker, lo, hi int) {
		scratch := scratchOf[float64](w, size)
		t := triangleSides{n: n, m: m, lower: lower, a: cut(&scratch, square), x: cut(&scratch, sides), y: cut(&scratch, vec.Lanes*m)}
		matrix, rows := cut(&scratch, square), cut(&scratch, sides)
		for g := lo; g < hi; g++ {
			first := g * vec.Lanes
			count := min(vec.Lanes, matrices-first)
			toLanes(t.a, numbersAt(matrix[:count*n*n], in, first*n*n), n*n, count)
			toLanes(t.x, numbersAt(rows[:count*n*m], right, first*n*m), n*m, count)
			t.solve()
			to := rows[:count*n*m]
			if out.Typ.DType == ir.Float64 {
				to = plan.Data[float64](out)[first*n*m:][:count*n*m]
			}
			micro.Transpose(to, t.x, n*m, count, n*m, vec.Lanes)
			if out.Typ.DType != ir.Float64 {
				writeDoubles(out, first*n*m, to)
			}
		}
	})
}

// triangleSides holds vec.Lanes triangles a (n, n) with right sides x (n, m), side by side.
type triangleSides struct {
	n, m    int
	lower   bool
	a, x, y []float64 // y is memory for the right sides of a row
}

// solve replaces the right sides by the solutions. y holds a negated row of these; its products with the rest of a
// column are added to the remaining right sides.
func (t *triangleSides) solve() {
	const lanes = vec.Lanes
	n, m := t.n, t.m
	for step := range n {
		k := step
		if !t.lower {
			k = n - 1 - step
		}
		row, negative := t.x[k*m*lanes:(k+1)*m*lanes], t.y[:m*lanes]
		diagonal := t.a[(k*n+k)*lanes:][:lanes]
		for c := 0; c < len(row); c += lanes {
			vec.Div(row[c:c+lanes], row[c:c+lanes], diagonal)
		}
		if step == n-1 {
			return
		}
		vec.Neg(negative, row)
		if t.lower {
			vec.AddOuter(t.x[(k+1)*m*lanes:], t.a[((k+1)*n+k)*lanes:], negative, n-k-1, m, m*lanes, n*lanes)
		} else {
			vec.AddOuter(t.x, t.a[k*lanes:], negative, k, m, m*lanes, n*lanes)
		}
	}
}
