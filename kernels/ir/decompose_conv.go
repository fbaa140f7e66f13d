package ir

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir/dim"
)

func init() {
	decompositions[Conv] = decomposeConv
	decompositions[ConvInputGrad] = decomposeConvInputGrad
	decompositions[ConvKernelGrad] = decomposeConvKernelGrad
}

// window walks over the positions ("taps") inside a window. The cells that all output positions see at one tap form a
// strided slice of the padded input. Shapes are (batch, spatial..., channels).
type window struct {
	input, output                Shape // spatial lengths
	size, stride, dilation       []int
	low, high                    []int
	batch, inChannels, positions int // positions: number of output positions of the whole batch
}

func newWindow(x, y Shape, size, stride, dilation, low, high []int) window {
	n := len(x) - 1
	if dilation == nil {
		dilation = slices.Repeat([]int{1}, n-1)
	}
	return window{x[1:n], y[1:n], size, stride, dilation, low, high, x[0], x[n], y[:n].Size()}
}

// taps lists the offsets within the window in row-major order.
//
//go:noinline
func (w window) taps() [][]int {
	all := [][]int{{}}
	for _, length := range w.size {
		var longer [][]int
		for _, tap := range all {
			for i := range length {
				longer = append(longer, append(slices.Clone(tap), i))
			}
		}
		all = longer
	}
	return all
}

// around pads a list of per-axis numbers with those of the batch and channel axes.
//
//go:noinline
func around(first int, spatial []int, last int) []int {
	return append(append([]int{first}, spatial...), last)
}

// padded adds the window's padding, filled with v, to x.
func (w window) padded(b *builder, x, v Value) Value {
	interior := make([]int, len(w.size)+2)
	return b.op(Pad, PadAttrs{around(0, w.low, 0), around(0, w.high, 0), interior}, x, v)
}

// cells cuts out of the padded input the cells that the output positions see at a tap: (batch, output..., channels).
func (w window) cells(b *builder, padded Value, tap []int) Value {
	channels := b.shape(padded)[len(w.size)+1]
	start, limit := make([]int, len(w.size)), make([]int, len(w.size))
	for i := range start {
		start[i] = tap[i] * w.dilation[i]
		limit[i] = dim.Add(start[i], w.reach(i))
	}
	return b.op(Slice, SliceAttrs{around(0, start, 0), around(w.batch, limit, channels), around(1, w.stride, 1)}, padded)
}

// reach is the distance from the cell that the first output position sees to the one after the last.
func (w window) reach(i int) int { return dim.Add(dim.Mul(dim.Sub(w.output[i], 1), w.stride[i]), 1) }

// spreadCells is the transpose of cells: it puts (batch, output..., channels) at the positions of the tap's cells in an
// otherwise zero padded input.
func (w window) spreadCells(b *builder, v Value, tap []int) Value {
	low, high, interior := make([]int, len(w.size)), make([]int, len(w.size)), make([]int, len(w.size))
	for i := range low {
		low[i] = tap[i] * w.dilation[i]
		high[i] = dim.Sub(dim.Add(w.low[i], w.input[i], w.high[i]), dim.Add(low[i], w.reach(i)))
		interior[i] = w.stride[i] - 1
	}
	return b.op(Pad, PadAttrs{around(0, low, 0), around(0, high, 0), around(0, interior, 0)}, v, b.scalar(b.typ(v).DType, 0))
}

// cropped removes the padding again.
func (w window) cropped(b *builder, v Value) Value {
	limit := make([]int, len(w.size))
	for i := range limit {
		limit[i] = dim.Add(w.low[i], w.input[i])
	}
	ones := slices.Repeat([]int{1}, len(w.size))
	return b.op(Slice, SliceAttrs{around(0, w.low, 0), around(w.batch, limit, b.shape(v)[len(w.size)+1]), around(1, ones, 1)}, v)
}

// wide converts a 16-bit float to float32, for sums and differences that should not lose digits at each step.
func (b *builder) wide(v Value) Value {
	if b.typ(v).DType.IsHalf() {
		return b.convert(v, Float32)
	}
	return v
}

// narrow converts results to the element type of v, which wide may have changed.
func (b *builder) narrow(v Value, results ...Value) []Value {
	for i := range results {
		results[i] = b.convert(results[i], b.typ(v).DType)
	}
	return results
}

func (b *builder) zeros(t Type) Value {
	return b.op(Constant, ConstantAttrs{Scalar(t.DType, 0, t.Shape...)})
}

// grouped splits the channel axis of v into (groups, channels of a group).
func (b *builder) grouped(v Value, groups int) Value {
	s := b.shape(v)
	n := len(s) - 1
	return b.reshape(v, append(slices.Clone(s[:n]), groups, dim.FloorDiv(s[n], groups))...)
}

// kernelTap cuts the (in, groups, out of a group) matrices of one tap out of a kernel (window..., in, out).
func (b *builder) kernelTap(kernel Value, tap []int, groups int) Value {
	s := b.shape(kernel)
	n := len(tap)
	start, limit := append(slices.Clone(tap), 0, 0), append(slices.Clone(tap), s[n], s[n+1])
	for i := range n {
		limit[i] = tap[i] + 1
	}
	matrix := b.op(Slice, SliceAttrs{start, limit, slices.Repeat([]int{1}, n+2)}, kernel)
	return b.reshape(matrix, s[n], groups, dim.FloorDiv(s[n+1], groups))
}

// groupsLast moves the groups axis, which Dot puts first, before the last axis and joins the two.
func (b *builder) groupsLast(v Value) Value {
	s := b.shape(v)
	n := len(s)
	perm := append(append(upTo(n)[1:n-1], 0), n-1)
	joined := append(slices.Clone(s[1:n-1]), dim.Mul(s[0], s[n-1]))
	return b.reshape(b.transpose(v, perm...), joined...)
}

// decomposeConv sums, over the window's taps, the products of the cells seen there with the tap's matrix.
func decomposeConv(b *builder, n *Node) []Value {
	a := n.Attrs.(ConvAttrs)
	x, kernel := b.wide(n.Inputs[0]), b.wide(n.Inputs[1])
	result := b.p.Type(n.Inputs[0])
	var err error
	if result.Shape, err = ConvShape(b.shape(x), b.shape(kernel), a); err != nil {
		panic(buildError{err})
	}
	rank := len(result.Shape)
	w := newWindow(b.shape(x), result.Shape, b.shape(kernel)[:rank-2], a.Strides, a.Dilation, a.PadLow, a.PadHigh)
	if w.positions == 0 {
		return []Value{b.zeros(result)}
	}
	padded := w.padded(b, x, b.scalar(b.typ(x).DType, 0))
	var sum Value
	for i, tap := range w.taps() {
		// (batch, output..., groups, in) · (in, groups, out) -> (groups, batch, output..., out)
		product := b.op(Dot, DotAttrs{LhsBatch: []int{rank - 1}, RhsBatch: []int{1}, LhsContract: []int{rank}, RhsContract: []int{0}},
			b.grouped(w.cells(b, padded, tap), a.Groups), b.kernelTap(kernel, tap, a.Groups))
		if i == 0 {
			sum = product
		} else {
			sum = b.add(sum, product)
		}
	}
	return b.narrow(n.Inputs[0], b.groupsLast(sum))
}

// decomposeConvInputGrad multiplies dy with each tap's transposed matrices and adds the products at the positions of
// the tap's cells.
func decomposeConvInputGrad(b *builder, n *Node) []Value {
	a := n.Attrs.(ConvGradAttrs)
	dy, kernel := b.wide(n.Inputs[0]), b.wide(n.Inputs[1])
	rank := len(a.Shape)
	w := newWindow(a.Shape, b.shape(dy), b.shape(kernel)[:rank-2], a.Conv.Strides, a.Conv.Dilation, a.Conv.PadLow, a.Conv.PadHigh)
	if w.positions == 0 {
		return []Value{b.zeros(Type{b.typ(n.Inputs[0]).DType, a.Shape})}
	}
	var sum Value
	for i, tap := range w.taps() {
		// (batch, output..., groups, out) · (in, groups, out) -> (groups, batch, output..., in)
		product := b.op(Dot, DotAttrs{LhsBatch: []int{rank - 1}, RhsBatch: []int{1}, LhsContract: []int{rank}, RhsContract: []int{2}},
			b.grouped(dy, a.Conv.Groups), b.kernelTap(kernel, tap, a.Conv.Groups))
		part := w.spreadCells(b, b.groupsLast(product), tap)
		if i == 0 {
			sum = part
		} else {
			sum = b.add(sum, part)
		}
	}
	return b.narrow(n.Inputs[0], w.cropped(b, sum))
}

// decomposeConvKernelGrad makes each tap's matrices from the cells seen there and dy, summed over batch and positions.
func decomposeConvKernelGrad(b *builder, n *Node) []Value {
	a := n.Attrs.(ConvGradAttrs)
	x, dy := b.wide(n.Inputs[0]), b.wide(n.Inputs[1])
	rank := len(a.Shape)
	w := newWindow(b.shape(x), b.shape(dy), a.Shape[:rank-2], a.Conv.Strides, a.Conv.Dilation, a.Conv.PadLow, a.Conv.PadHigh)
	if w.positions == 0 {
		return []Value{b.zeros(Type{b.typ(n.Inputs[0]).DType, a.Shape})}
	}
	padded := w.padded(b, x, b.scalar(b.typ(x).DType, 0))
	summed := upTo(rank - 1)
	var matrices []Value
	for _, tap := range w.taps() {
		// (batch, output..., groups, in) · (batch, output..., groups, out) -> (groups, in, out)
		product := b.op(Dot, DotAttrs{LhsBatch: []int{rank - 1}, RhsBatch: []int{rank - 1}, LhsContract: summed, RhsContract: summed},
			b.grouped(w.cells(b, padded, tap), a.Conv.Groups), b.grouped(dy, a.Conv.Groups))
		matrices = append(matrices, b.reshape(b.groupsLast(product), 1, a.Shape[rank-2], a.Shape[rank-1]))
	}
	return b.narrow(n.Inputs[0], b.reshape(b.op(Concat, AxisAttrs{0}, matrices...), a.Shape...))
}
