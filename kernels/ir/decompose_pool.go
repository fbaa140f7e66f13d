package ir

import (
	"math"
	"slices"

	"github.com/gokeras/gokeras/kernels/ir/dim"
)

func init() {
	decompositions[MaxPool] = decomposeMaxPool
	decompositions[MaxPoolGrad] = decomposeMaxPoolGrad
	decompositions[AvgPool] = decomposeAvgPool
	decompositions[AvgPoolGrad] = decomposeAvgPoolGrad
}

// poolWindow returns the window of a pooling of x and the type of its result.
func (b *builder) poolWindow(x Type, a PoolAttrs) (window, Type) {
	shape, err := poolShape(x.Shape, a)
	if err != nil {
		panic(buildError{err})
	}
	return newWindow(x.Shape, shape, a.Window, a.Strides, nil, a.PadLow, a.PadHigh), Type{x.DType, shape}
}

// decomposeMaxPool pads with minus infinity, which changes no maximum.
func decomposeMaxPool(b *builder, n *Node) []Value {
	x := n.Inputs[0]
	w, result := b.poolWindow(b.typ(x), n.Attrs.(PoolAttrs))
	if w.positions == 0 {
		return []Value{b.zeros(result)}
	}
	padded := w.padded(b, x, b.scalar(result.DType, math.Inf(-1)))
	var largest Value
	for i, tap := range w.taps() {
		if cells := w.cells(b, padded, tap); i == 0 {
			largest = cells
		} else {
			largest = b.op(Maximum, nil, largest, cells)
		}
	}
	return []Value{largest}
}

// decomposeMaxPoolGrad gives dy to the first tap whose cell is real (not padding) and equals y, or is NaN.
func decomposeMaxPoolGrad(b *builder, n *Node) []Value {
	x, y, dy := n.Inputs[0], n.Inputs[1], b.wide(n.Inputs[2])
	w, _ := b.poolWindow(b.typ(x), n.Attrs.(PoolAttrs))
	if w.positions == 0 {
		return []Value{b.zeros(b.typ(x))}
	}
	padded := w.padded(b, x, b.scalar(b.typ(x).DType, math.Inf(-1)))
	inside := b.op(Constant, ConstantAttrs{Scalar(Bool, 1, b.shape(x)...)})
	valid := w.padded(b, inside, b.scalar(Bool, 0))
	open := b.op(Constant, ConstantAttrs{Scalar(Bool, 1, b.shape(y)...)}) // windows that have not passed on their gradient yet
	var sum Value
	for i, tap := range w.taps() {
		cells := w.cells(b, padded, tap)
		match := b.op(BitOr, nil, b.compare(Eq, cells, y), b.compare(Ne, cells, cells))
		match = b.op(BitAnd, nil, b.op(BitAnd, nil, match, w.cells(b, valid, tap)), open)
		open = b.op(BitAnd, nil, open, b.op(Not, nil, match))
		part := w.spreadCells(b, b.op(Select, nil, match, dy, b.like(dy, 0)), tap)
		if i == 0 {
			sum = part
		} else {
			sum = b.add(sum, part)
		}
	}
	return b.narrow(x, w.cropped(b, sum))
}

// cellCounts is a constant of the type of v, (batch, output..., channels): the number of real cells in each window.
//
//dim:known open axes are counted by countedCells
func (w window) cellCounts(b *builder, v Value) Value {
	if !dim.AllKnown(slices.Concat(w.input, w.output, w.low)) {
		return w.countedCells(b, v)
	}
	counts := make([]float64, w.output.Size())
	at := make([]int, len(w.output))
	for i := range counts {
		counts[i] = 1
		for d, o := range at {
			first := o*w.stride[d] - w.low[d]
			counts[i] *= float64(min(first+w.size[d], w.input[d]) - max(first, 0))
		}
		for d := len(at) - 1; d >= 0; d-- {
			if at[d]++; at[d] < w.output[d] {
				break
			}
			at[d] = 0
		}
	}
	literal, err := Floats(b.typ(v).DType, w.output, counts)
	if err != nil {
		panic(buildError{err})
	}
	return b.op(Broadcast, BroadcastAttrs{b.shape(v), upTo(len(at) + 1)[1:]}, b.op(Constant, ConstantAttrs{literal}))
}

// countedCells counts the real cells of windows over open axes when the program runs: it slides the windows over ones.
func (w window) countedCells(b *builder, v Value) Value {
	t := b.typ(v)
	ones := b.op(Constant, ConstantAttrs{Scalar(t.DType, 1, around(1, w.input, 1)...)})
	padded := w.padded(b, ones, b.scalar(t.DType, 0))
	single := w
	single.batch = 1
	var sum Value
	for i, tap := range w.taps() {
		if cells := single.cells(b, padded, tap); i == 0 {
			sum = cells
		} else {
			sum = b.add(sum, cells)
		}
	}
	axes := upTo(len(w.output) + 1)[1:]
	return b.op(Broadcast, BroadcastAttrs{t.Shape, axes}, b.reshape(sum, w.output...))
}

func decomposeAvgPool(b *builder, n *Node) []Value {
	x := b.wide(n.Inputs[0])
	w, result := b.poolWindow(b.typ(n.Inputs[0]), n.Attrs.(PoolAttrs))
	if w.positions == 0 {
		return []Value{b.zeros(result)}
	}
	padded := w.padded(b, x, b.scalar(b.typ(x).DType, 0))
	var sum Value
	for i, tap := range w.taps() {
		if cells := w.cells(b, padded, tap); i == 0 {
			sum = cells
		} else {
			sum = b.add(sum, cells)
		}
	}
	return b.narrow(n.Inputs[0], b.div(sum, w.cellCounts(b, sum)))
}

func decomposeAvgPoolGrad(b *builder, n *Node) []Value {
	a := n.Attrs.(PoolGradAttrs)
	dy := b.wide(n.Inputs[0])
	x := Type{b.typ(n.Inputs[0]).DType, a.Shape}
	w, _ := b.poolWindow(x, a.Pool)
	if w.positions == 0 {
		return []Value{b.zeros(x)}
	}
	share := b.div(dy, w.cellCounts(b, dy))
	var sum Value
	for i, tap := range w.taps() {
		if part := w.spreadCells(b, share, tap); i == 0 {
			sum = part
		} else {
			sum = b.add(sum, part)
		}
	}
	return b.narrow(n.Inputs[0], w.cropped(b, sum))
}
