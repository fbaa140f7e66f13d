package ir

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// rowRule reports whether an op keeps examples apart. in and out are the axes of examples of its operands and results,
// or none.
type rowRule func(r rows, n *Node, in, out []int) bool

func (r rows) operand(n *Node, i int) Shape { return r.p.Type(n.Inputs[i]).Shape }

// rowsAcross: the op works across the examples, or nobody has checked.
func rowsAcross(rows, *Node, []int, []int) bool { return false }

// rowsKept: the examples follow their axes, wherever these go.
func rowsKept(rows, *Node, []int, []int) bool { return true }

// rowsAligned: operands and results have the examples on the same axis.
func rowsAligned(_ rows, _ *Node, in, out []int) bool {
	for _, k := range slices.Concat(in, out) {
		if k != in[0] {
			return false
		}
	}
	return true
}

// rowsAlignedOffLast: as rowsAligned, and the axis is not the last one, along which the op works.
func rowsAlignedOffLast(r rows, n *Node, in, out []int) bool {
	return rowsOffLast(r, n, in, out) && rowsAligned(r, n, in, out)
}

func rowsOffLast(r rows, n *Node, in, _ []int) bool { return in[0] != len(r.operand(n, 0))-1 }

// rowsOffMatrix: operands and results have the examples on the same axis, before the last two of the operands.
func rowsOffMatrix(r rows, n *Node, in, out []int) bool {
	return rowsAligned(r, n, in, out) && in[0] < len(r.operand(n, 0))-2
}

func rowsOfFourier(r rows, n *Node, in, out []int) bool {
	return rowsAligned(r, n, in, out) && in[0] != n.Attrs.(FourierAttrs).Axis
}

// rowsFirst: the examples are the first axis of all values that have any.
func rowsFirst(_ rows, _ *Node, in, _ []int) bool {
	return in[0] == 0 && !slices.ContainsFunc(in, func(k int) bool { return k > 0 })
}

// rowsFirstPlainKernel: and the kernel has none.
func rowsFirstPlainKernel(r rows, n *Node, in, out []int) bool {
	return rowsFirst(r, n, in, out) && in[1] == none
}

func rowsOfConstant(_ rows, n *Node, _, _ []int) bool { return n.Attrs.(ConstantAttrs).Literal.Splat }

func rowsOfIota(_ rows, n *Node, _, out []int) bool { return n.Attrs.(IotaAttrs).Axis != out[0] }

// rowsOfReshape: the examples follow each other within blocks, and their number is the same before and after.
func rowsOfReshape(r rows, n *Node, in, out []int) bool {
	return in[0] != none && out[0] != none && r.operand(n, 0)[:in[0]].Size() == n.Attrs.(ReshapeAttrs).Shape[:out[0]].Size()
}

func rowsOfBroadcast(r rows, n *Node, in, out []int) bool {
	a := n.Attrs.(BroadcastAttrs)
	return in[0] == none || a.Axes[in[0]] == out[0] && r.operand(n, 0)[in[0]] == a.Shape[out[0]]
}

func rowsOfSlice(r rows, n *Node, in, _ []int) bool {
	a, k := n.Attrs.(SliceAttrs), in[0]
	return k != none && a.Start[k] == 0 && a.Limit[k] == r.operand(n, 0)[k] && a.Stride[k] == 1
}

func rowsOfPad(_ rows, n *Node, in, _ []int) bool {
	a, k := n.Attrs.(PadAttrs), in[0]
	return k != none && a.Low[k] == 0 && a.High[k] == 0 && a.Interior[k] == 0
}

func rowsOffAxis(_ rows, n *Node, in, _ []int) bool {
	return n.Attrs.(AxisAttrs).Axis != in[0] && !slices.ContainsFunc(in, func(k int) bool { return k != in[0] })
}

func rowsOffAxes(_ rows, n *Node, in, _ []int) bool {
	return !slices.Contains(n.Attrs.(AxesAttrs).Axes, in[0])
}

func rowsOfDynamicSlice(r rows, n *Node, in, _ []int) bool {
	return in[0] != none && n.Attrs.(DynamicSliceAttrs).Sizes[in[0]] == r.operand(n, 0)[in[0]]
}

// rowsOfDynamicUpdate: the update covers the whole axis of examples.
func rowsOfDynamicUpdate(r rows, n *Node, in, _ []int) bool {
	return in[0] != none && in[1] == in[0] && r.operand(n, 0)[in[0]] == r.operand(n, 1)[in[0]]
}

func rowsOfDot(_ rows, n *Node, in, _ []int) bool {
	a := n.Attrs.(DotAttrs)
	l, r := in[0], in[1]
	if slices.Contains(a.LhsContract, l) || slices.Contains(a.RhsContract, r) {
		return false
	}
	i, j := slices.Index(a.LhsBatch, l), slices.Index(a.RhsBatch, r)
	if l == none || r == none {
		return i < 0 && j < 0
	}
	return i >= 0 && i == j
}

// rowsOfPackedDot: the rows of x are examples, and the matrix has none.
func rowsOfPackedDot(r rows, n *Node, in, out []int) bool {
	others := slices.ContainsFunc(in[1:], func(k int) bool { return k != none })
	return !others && in[0] == out[0] && in[0] != len(r.operand(n, 0))-1
}

func rowsOfGather(_ rows, n *Node, in, _ []int) bool { return n.Attrs.(GatherAttrs).Axis != in[0] }

func rowsOfResample(_ rows, n *Node, in, _ []int) bool { return n.Attrs.(ResampleAttrs).Axis != in[0] }

func rowsOfReduce(_ rows, n *Node, in, _ []int) bool {
	return !slices.Contains(n.Attrs.(ReduceAttrs).Axes, in[0])
}

func rowsOfCumulative(_ rows, n *Node, in, _ []int) bool {
	return n.Attrs.(CumulativeAttrs).Axis != in[0]
}

func rowsOfSort(_ rows, n *Node, in, _ []int) bool { return n.Attrs.(SortAttrs).Axis != in[0] }

// rowsOfScan: the op does not loop over the examples, nor as often as there are examples.
func rowsOfScan(r rows, n *Node, in, _ []int) bool {
	a := n.Attrs.(ScanAttrs)
	return !slices.Contains(in[a.Carry:a.Carry+a.Xs], 0) && !dim.Depends(a.Length, r.size)
}

func rowsOfLayerNorm(r rows, n *Node, in, out []int) bool {
	return rowsOffLast(r, n, in, out) && in[1] == none && in[2] == none
}

// rowsOfPackedEmbedding: the indices have examples, and the table has none.
func rowsOfPackedEmbedding(_ rows, _ *Node, in, _ []int) bool {
	return in[0] == none && !slices.ContainsFunc(in[2:], func(k int) bool { return k != none })
}

func rowsOfEmbedding(_ rows, _ *Node, in, _ []int) bool { return in[0] == none }
