package geometry

import (
	"github.com/gokeras/gokeras/kernels/ir"
)

// Layout says where a product is stored: element (row, col) of entry (i, j, ...) has the offset i·batch[0] + ... +
// row·rowStride + col·colStride.
type Layout struct {
	RowStride, ColStride int
	Batch                []int
}

// ProductLayout returns the layout of a product of the given shape (batch axes, then row axes, then column axes) whose
// result is transposed by perm (nil: not at all). It returns false if the rows or the columns do not merge, or if
// neither are contiguous.
func ProductLayout(s ir.Shape, batch, rows int, perm []int) (Layout, bool) {
	strides := s.Strides()
	if perm != nil {
		out := make(ir.Shape, len(s))
		for i, p := range perm {
			out[i] = s[p]
		}
		for i, stride := range out.Strides() {
			strides[perm[i]] = stride
		}
	}
	l := Layout{Batch: strides[:batch]}
	m, rowStride, okRows := mergeStrides(s[batch:batch+rows], strides[batch:batch+rows])
	n, colStride, okCols := mergeStrides(s[batch+rows:], strides[batch+rows:])
	l.RowStride, l.ColStride = rowStride, colStride
	switch {
	case n == 1 && m > 1:
		l.ColStride = 1
	case m == 1:
		l.RowStride = n * colStride
	}
	contiguous := l.ColStride == 1 && (m == 1 || l.RowStride >= n) || l.RowStride == 1 && l.ColStride >= m
	return l, okRows && okCols && contiguous
}

// MergeAxes reports whether the axes, in this order, can be stepped through as one, and returns its length and stride.
func MergeAxes(s ir.Shape, axes []int) (n, stride int, ok bool) {
	return mergeStrides(along(s, axes), along(s.Strides(), axes))
}

func mergeStrides(dims, strides []int) (n, stride int, ok bool) {
	n, stride, ok = 1, 1, true
	begun := false
	for i := len(dims) - 1; i >= 0; i-- {
		d, st := dims[i], strides[i]
		if d == 1 {
			continue
		}
		if !begun {
			stride, begun = st, true
		} else if st != stride*n {
			ok = false
		}
		n *= d
	}
	return n, stride, ok
}

// along returns the entries of the given axes.
func along(list, axes []int) []int {
	out := make([]int, len(axes))
	for i, axis := range axes {
		out[i] = list[axis]
	}
	return out
}
