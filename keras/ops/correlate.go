package ops

// Correlate returns the cross-correlation of two vectors, c[k] = Σ_i a[i+k]·b[i]. The mode selects the k: "valid" where
// the shorter vector lies inside the longer one, "same" for as many results as the longer one has elements, "full"
// wherever they overlap. The result has a float type.
func Correlate(a, b *Tensor, mode string) *Tensor {
	d := Promote(a.DType(), b.DType())
	a, b = Cast(a, d), Cast(b, d)
	if a.Rank() != 1 || b.Rank() != 1 || a.Dim(0) == 0 || b.Dim(0) == 0 {
		Failf(graphOf(a, b), "correlate: needs two vectors that are not empty, received shapes %v and %v", a.Shape(), b.Shape())
	}
	n, m := a.Dim(0), b.Dim(0)
	Fixed(a, "correlate", n, m)
	if m > n { //dim:known the other way round the result runs backwards
		return Flip(Correlate(b, a, mode), 0)
	}
	low, high := 0, 0
	switch mode {
	case "valid":
	case "same":
		low = m / 2        //dim:known
		high = m - 1 - low //dim:known
	case "full":
		low, high = m-1, m-1 //dim:known
	default:
		Failf(graphOf(a, b), "correlate: unknown mode %q; known: valid, same, full", mode)
	}
	x, kernel := Reshape(float(a), 1, n, 1), Reshape(float(b), m, 1, 1)
	return Reshape(Conv(x, kernel, ConvOptions{PadLow: []int{low}, PadHigh: []int{high}}), -1)
}
