package ops

// Append joins b to the end of a along axis.
func Append(a, b *Tensor, axis int) *Tensor { return Concatenate(axis, a, b) }

// Hstack joins tensors along axis 1, vectors along axis 0.
func Hstack(xs ...*Tensor) *Tensor {
	wide := atLeast(1, xs)
	if len(wide) > 0 && wide[0].Rank() == 1 {
		return Concatenate(0, wide...)
	}
	return Concatenate(1, wide...)
}

// Vstack joins tensors along axis 0; vectors are rows.
func Vstack(xs ...*Tensor) *Tensor { return Concatenate(0, atLeast(2, xs)...) }

// Dstack joins tensors along axis 2; a vector (n) counts as (1, n, 1), a matrix (n, m) as (n, m, 1).
func Dstack(xs ...*Tensor) *Tensor { return Concatenate(2, atLeast(3, xs)...) }

// ColumnStack makes a matrix whose columns are the given vectors and the columns of the given matrices.
func ColumnStack(xs ...*Tensor) *Tensor {
	columns := make([]*Tensor, len(xs))
	for i, x := range xs {
		if columns[i] = x; x.Rank() < 2 {
			columns[i] = Reshape(x, -1, 1)
		}
	}
	return Concatenate(1, columns...)
}

// atLeast extends each tensor to rank n as NumPy does: new axes come in front, a third one at the end.
func atLeast(n int, xs []*Tensor) []*Tensor {
	out := make([]*Tensor, len(xs))
	for i, x := range xs {
		for x.Rank() < min(n, 2) {
			x = ExpandDims(x, 0)
		}
		if n == 3 && x.Rank() == 2 {
			x = ExpandDims(x, 2)
		}
		out[i] = x
	}
	return out
}

// Hsplit cuts x into equal parts along axis 1, a vector along axis 0.
func Hsplit(x *Tensor, parts int) []*Tensor { return Split(x, parts, min(x.Rank(), 2)-1) }

// Vsplit cuts x into equal parts along axis 0.
func Vsplit(x *Tensor, parts int) []*Tensor { return Split(x, parts, 0) }

// Dsplit cuts x into equal parts along axis 2.
func Dsplit(x *Tensor, parts int) []*Tensor { return Split(x, parts, 2) }

// ArraySplit cuts x along axis into parts. If the length does not divide evenly, the first parts are longer by one.
func ArraySplit(x *Tensor, parts, axis int) []*Tensor {
	if parts <= 0 {
		Failf(x.Graph(), "array split: needs at least one part, received %d", parts)
	}
	checkParts(x, "array split", parts)
	n := x.Dim(axis)
	Fixed(x, "array split", n)
	var positions []int
	for i, at := 0, 0; i < parts-1; i++ {
		at += n / parts  //dim:known
		if i < n%parts { //dim:known
			at++ //dim:known
		}
		positions = append(positions, at)
	}
	return SplitAt(x, positions, axis)
}

// Fliplr reverses axis 1.
func Fliplr(x *Tensor) *Tensor { return Flip(x, 1) }

// Flipud reverses axis 0.
func Flipud(x *Tensor) *Tensor { return Flip(x, 0) }

// Rot90 rotates the plane of two axes by times quarter turns, from the first axis towards the second.
func Rot90(x *Tensor, times, axis1, axis2 int) *Tensor {
	a, b := x.Axis(axis1), x.Axis(axis2)
	if a == b {
		Failf(x.g, "rot90: needs two different axes, received axis %d twice", a)
	}
	// Reverse the rows along the outer axis, which move as a whole, before or after the exchange.
	switch turns := (times%4 + 4) % 4; {
	case turns == 1 && a < b:
		return Flip(SwapAxes(x, a, b), a)
	case turns == 1:
		return SwapAxes(Flip(x, b), a, b)
	case turns == 2:
		return Flip(x, a, b)
	case turns == 3 && a < b:
		return SwapAxes(Flip(x, a), a, b)
	case turns == 3:
		return Flip(SwapAxes(x, a, b), b)
	}
	return x
}

// Diagflat returns the square matrix with the elements of x, in row-major order, on the diagonal k places above the
// main one.
func Diagflat(x *Tensor, k int) *Tensor {
	m := Diag(Ravel(x))
	low, high := []int{max(-k, 0), max(k, 0)}, []int{max(k, 0), max(-k, 0)}
	return Pad(m, low, high, 0)
}

// UnravelIndex returns, for row-major positions in a tensor of the given shape, the position along each axis.
func UnravelIndex(indices *Tensor, shape ...int) []*Tensor {
	out := make([]*Tensor, len(shape))
	for i := len(shape) - 1; i >= 0; i-- {
		n := Scalar(indices, float64(shape[i]))
		indices, out[i] = divmod(indices, n)
	}
	return out
}
