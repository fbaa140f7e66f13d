package fuse

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// Access says how an elementwise operation reads an operand through reshapes, broadcasts, slices and bit casts, which
// are then never computed. Element i of the index space is element offset + Σ_d strides[d]·index_d of source, where
// index_d are the coordinates of i in dims. The common case is a dense access: it has no dims and reads element i of
// the source.
type Access struct {
	Source  ir.Value
	Dense   bool
	Dims    []int
	Strides []int
	Offset  int
}

// minRun is the shortest contiguous run for which reading through a slice beats copying the slice first.
const minRun = 8

// maxStep is the largest distance between elements that are read through a slice. minStepped is the least number of
// such elements.
const (
	maxStep    = 4
	minStepped = 64
)

// walk follows axes of the index space through shape operations.
type walk struct {
	dims  []int
	axes  []int // by axis of the index space: the axis of the source that it moves along, or -1
	step  []int // and by how many elements
	start []int // by axis of the source
}

// resolve follows v to the value whose memory an elementwise operation reads.
func resolve(p *ir.Program, def []int, v ir.Value) Access {
	a := Access{Source: v, Dense: true}
	var w walk
	for ok := true; ok && def[a.Source] >= 0; {
		n := &p.Nodes[def[a.Source]]
		ok = false
		switch attrs := n.Attrs.(type) {
		case ir.ReshapeAttrs:
			ok = a.Dense
		case ir.ConvertAttrs:
			ok = n.Op == ir.BitCast && keepsWords(p.Type(n.Inputs[0]).DType, p.Type(a.Source).DType)
		case ir.BroadcastAttrs:
			w.begin(&a, p.Type(a.Source).Shape)
			w.broadcast(attrs, p.Type(n.Inputs[0]).Shape)
			ok = true
		case ir.SliceAttrs:
			if ok = slicesInRuns(attrs, p.Type(n.Inputs[0])); ok {
				w.begin(&a, p.Type(a.Source).Shape)
				w.slice(attrs)
			}
		}
		if ok {
			a.Source = n.Inputs[0]
		}
	}
	if !a.Dense {
		w.finish(&a, p.Type(a.Source).Shape)
		if a.Dense { // everything cancelled out, so reshapes further up can be read through too
			return resolve(p, def, a.Source)
		}
	}
	return a
}

// keepsWords reports whether a register holds the same bits for elements of both types. It does unless they have 16
// bits, because registers hold 16-bit floats as float32.
func keepsWords(from, to ir.DType) bool { return from.Size() == to.Size() && from.Size() >= 4 }

// slicesInRuns reports whether a slice keeps long contiguous runs, or elements that are only a few elements apart,
// which kernels gather into vectors.
func slicesInRuns(a ir.SliceAttrs, t ir.Type) bool {
	strides := t.Shape.Strides()
	run, step := 1, 1 // number of elements, and the distance between them
	for i := len(t.Shape) - 1; i >= 0; i-- {
		n, by := (a.Limit[i]-a.Start[i]+a.Stride[i]-1)/a.Stride[i], strides[i]*a.Stride[i]
		if n == 1 {
			continue
		}
		if run == 1 {
			step = by
		}
		if by != run*step {
			break
		}
		run *= n
	}
	if step == 1 {
		return run >= minRun
	}
	return step <= maxStep && run >= minStepped
}

func (w *walk) begin(a *Access, s ir.Shape) {
	if !a.Dense {
		return
	}
	a.Dense = false
	*w = walk{dims: slices.Clone(s), axes: make([]int, len(s)), step: make([]int, len(s)), start: make([]int, len(s))}
	for i := range s {
		w.axes[i], w.step[i] = i, 1
	}
}

func (w *walk) broadcast(a ir.BroadcastAttrs, under ir.Shape) {
	axis := make([]int, len(a.Shape)) // of the operand, by axis of the result
	for i := range axis {
		axis[i] = -1
	}
	start := make([]int, len(under))
	for i, r := range a.Axes {
		if under[i] != 1 {
			axis[r] = i
			start[i] = w.start[r]
		}
	}
	for d, ax := range w.axes {
		if ax >= 0 {
			w.axes[d] = axis[ax]
		}
	}
	w.start = start
}

func (w *walk) slice(a ir.SliceAttrs) {
	for i := range w.start {
		w.start[i] = a.Start[i] + a.Stride[i]*w.start[i]
	}
	for d, ax := range w.axes {
		if ax >= 0 {
			w.step[d] *= a.Stride[ax]
		}
	}
}

// finish turns axes into strides of the source and merges axes that can be stepped through as one.
func (w *walk) finish(a *Access, s ir.Shape) {
	strides := s.Strides()
	for i, at := range w.start {
		a.Offset += at * strides[i]
	}
	for d, n := range w.dims {
		stride := 0
		if w.axes[d] >= 0 {
			stride = strides[w.axes[d]] * w.step[d]
		}
		if n == 1 {
			continue
		}
		if k := len(a.Dims) - 1; k >= 0 && a.Strides[k] == stride*n {
			a.Dims[k], a.Strides[k] = a.Dims[k]*n, stride
			continue
		}
		a.Dims, a.Strides = append(a.Dims, n), append(a.Strides, stride)
	}
	if a.Offset == 0 && s.Size() == ir.Shape(w.dims).Size() && len(a.Dims) <= 1 && (len(a.Dims) == 0 || a.Strides[0] == 1) {
		a.Dense, a.Dims, a.Strides = true, nil, nil
	}
}

// Scalar reports whether the access reads one element for the whole index space.
func (a *Access) Scalar() bool {
	return !a.Dense && len(a.Dims) == 0 || len(a.Dims) == 1 && a.Strides[0] == 0
}

// period returns the length after which the access repeats the same consecutive elements, or 0 if it does not repeat.
func (a *Access) period() int {
	if len(a.Dims) == 2 && a.Strides[0] == 0 && a.Strides[1] == 1 {
		return a.Dims[1]
	}
	return 0
}

// maxRepeated is the longest repeated piece that is useful, because blocks are not longer.
const maxRepeated = 4096

// Repetition returns the length of a piece that is repeated, and how many times in a row before the access moves on. It
// picks the longest such piece of at most maxRepeated elements, and returns (0, 0) if there is none.
func (a *Access) Repetition() (length, count int) {
	n := 1
	for d := len(a.Dims) - 1; d >= 0 && n <= maxRepeated; d-- {
		if a.Strides[d] == 0 {
			length, count = n, a.Dims[d]
		}
		n *= a.Dims[d]
	}
	return length, count
}
