package cpu

import (
	"math"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// roots computes the λ with 1 + ρ·Σ weight²/(pole - λ) = 0, one after each pole, and the vectors weight/(pole - λ). If
// squared is set, the poles of the equation are the squares of the given ones, and the results the square roots of λ.
//
// Between two poles, the equation is interpolated by functions with the same poles: Li, "Solving secular equations
// stably and efficiently", 1993. A root is kept as its distances from all poles. They are measured from the nearer of
// its neighbours, so that no digits are lost.
type roots struct {
	squared        bool
	poles, weights []float64 // poles, or their square roots if squared; the squares of the weights sum to 1
	found          []float64
	z              []float64 // memory for callers to compute weights in
	distances      []float64 // pole - root, one row for each root
	stride         int
	gaps, part     []float64 // gaps: distances of the poles from the origin
	places, left   []int32
}

func (r *roots) size(n int) int {
	s := inDoubles[float64](n)
	return n*s + 7*s
}

func (r *roots) cut(scratch *[]float64, n int) {
	r.stride = inDoubles[float64](n)
	r.distances = scratchSlice[float64](scratch, n*r.stride)
	for _, part := range []*[]float64{&r.poles, &r.weights, &r.found, &r.z, &r.gaps, &r.part} {
		*part = scratchSlice[float64](scratch, n)
	}
	places := scratchSlice[float64](scratch, n)
	r.places = block.View[int32](unsafe.Pointer(unsafe.SliceData(places)), n)
	r.left = block.View[int32](unsafe.Pointer(unsafe.SliceData(places)), 2*n)[n:]
}

func (r *roots) distance(root, n int) []float64 { return r.distances[root*r.stride:][:n] }

// find computes the roots for n poles.
func (r *roots) find(n int, rho float64) {
	for k := range n {
		origin, shift := r.root(k, n, rho)
		if r.found[k] = r.poles[origin] + shift; r.squared {
			r.found[k] = math.Sqrt(r.poles[origin]*r.poles[origin] + shift)
		}
	}
}

// gapsFrom returns the distances of n poles from pole origin.
func (r *roots) gapsFrom(origin, n int) []float64 {
	gaps, poles := r.gaps[:n], r.poles[:n]
	vec.AddScalar(gaps, poles, -poles[origin])
	if r.squared {
		sums := r.part[:n]
		vec.AddScalar(sums, poles, poles[origin])
		vec.Mul(gaps, gaps, sums)
	}
	return gaps
}

// sides holds the sums over the poles on both sides of a place, and their derivatives.
type sides struct{ below, above, slopeBelow, slopeAbove float64 }

// at evaluates the sums over the poles up to k and over those after it, at distance shift from the origin.
func (r *roots) at(distance, gaps []float64, shift float64, k int) (s sides) {
	n := len(gaps)
	weights, q := r.weights[:n], r.part[:n]
	if n <= shortTurn {
		for i, gap := range gaps {
			distance[i] = gap - shift
			x := weights[i] / distance[i]
			if i <= k {
				s.below += weights[i] * x
				s.slopeBelow += x * x
			} else {
				s.above += weights[i] * x
				s.slopeAbove += x * x
			}
		}
		return s
	}
	vec.AddScalar(distance, gaps, -shift)
	vec.Div(q, weights, distance)
	s.below, s.slopeBelow = vec.Dot(weights[:k+1], q[:k+1]), vec.Dot(q[:k+1], q[:k+1])
	if k+1 < n {
		s.above, s.slopeAbove = vec.Dot(weights[k+1:], q[k+1:]), vec.Dot(q[k+1:], q[k+1:])
	}
	return s
}

// maxRootEstimates limits the estimates of a root. Three to six are usual.
const maxRootEstimates = 60

// root computes root k, and stores its distances from all poles.
func (r *roots) root(k, n int, rho float64) (origin int, shift float64) {
	weights, distance, gaps := r.weights[:n], r.distance(k, n), r.gapsFrom(k, n)
	constant := 1 / rho
	last := k == n-1
	low, high := 0.0, 2*rho
	if !last {
		high = gaps[k+1]
	}
	origin = k
	s := r.at(distance, gaps, high/2, k)
	f := constant + s.below + s.above
	squareBelow := weights[k] * weights[k]
	if !last {
		squareAbove := weights[k+1] * weights[k+1]
		c := f - squareBelow/distance[k] - squareAbove/distance[k+1]
		gap := high
		if f >= 0 {
			high /= 2
			a, b := c*gap+squareBelow+squareAbove, squareBelow*gap
			shift = smallerRoot(a, b, c)
		} else {
			origin, gaps = k+1, r.gapsFrom(k+1, n)
			low, high = -gap/2, 0
			a, b := c*gap-squareBelow-squareAbove, squareAbove*gap
			shift = -smallerRoot(-a, b, -c)
		}
	} else {
		rest := f - squareBelow/distance[k]
		shift = squareBelow / rest
	}
	for range maxRootEstimates {
		if !(shift > low && shift < high) {
			shift = low + (high-low)/2
			if shift == low || shift == high {
				break
			}
		}
		s = r.at(distance, gaps, shift, k)
		f = constant + s.below + s.above
		if bound := 8*(s.above-s.below) + constant + math.Abs(shift)*(s.slopeBelow+s.slopeAbove) + math.Abs(f); math.Abs(f) <= 0x1p-53*bound {
			return origin, shift
		}
		if f < 0 {
			low = max(low, shift)
		} else {
			high = min(high, shift)
		}
		step := s.step(constant, distance[k:])
		if !(math.Abs(step) <= math.MaxFloat64) { // the estimate has a pole here
			shift = low + (high-low)/2
			continue
		}
		shift += step
		if math.Abs(step) <= 0x1p-51*math.Abs(shift) {
			break
		}
	}
	if shift > low && shift < high {
		r.at(distance, gaps, shift, k)
	}
	return origin, shift
}

// step returns the distance to the root of interpolating functions. They have the same sums and derivatives, and the
// next two poles, or the last one, as their poles.
func (s *sides) step(constant float64, distance []float64) (step float64) {
	f, x := constant+s.below+s.above, distance[0]
	if len(distance) == 1 {
		c := constant + s.below - s.slopeBelow*x
		step = x + s.slopeBelow*x*x/c
	} else {
		y := distance[1]
		c := f - x*s.slopeBelow - y*s.slopeAbove
		step = smallerRoot((x+y)*f-x*y*(s.slopeBelow+s.slopeAbove), x*y*f, c)
	}
	if f*step >= 0 {
		return -f / (s.slopeBelow + s.slopeAbove)
	}
	return step
}

// smallerRoot returns the root of c·x² - a·x + b whose absolute value is smaller than a/2c, or the one of opposite
// sign.
func smallerRoot(a, b, c float64) float64 {
	root := math.Sqrt(math.Abs(a*a - 4*b*c))
	if a <= 0 {
		return (a - root) / (2 * c)
	}
	return 2 * b / (a + root)
}

// vectors computes the vector of each root. by is the factor that normalizes it.
func (r *roots) vectors(n int, use func(root int, x []float64, by float64)) {
	weights, q, squares := r.weights[:n], r.part[:n], r.z[:n]
	for i := range squares {
		squares[i] = 1
	}
	for k := range n {
		gaps := r.gapsFrom(k, n)
		gaps[k] = 1
		vec.Div(q, r.distance(k, n), gaps)
		vec.Mul(squares, squares, q)
	}
	for i, square := range squares {
		weights[i] = math.Copysign(math.Sqrt(math.Abs(square)), weights[i])
	}
	for k := range n {
		x := r.distance(k, n)
		vec.Div(x, weights, x)
		use(k, x, 1/math.Sqrt(dot(x, x)))
	}
}
