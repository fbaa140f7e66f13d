package ir

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// RowWise reports whether a program with open axes treats examples independently: its outputs have an axis 0 as long as the named size
// (the batch), and row i of each follows from row i of the inputs that have such an axis, in the same way for each row and whatever the
// number of rows is. The error says which operation does not, or cannot be said to.
//
// An axis counts examples where its length is the size, or a multiple of it whose parts belong to one example each. An operation is
// row-wise where it leaves the order of that axis alone and computes nothing across it. So no value without such an axis depends on an
// example.
func RowWise(p *Program, size string) error {
	r := rows{p: p, size: size, batch: dim.Symbol(size)}
	if err := r.check(); err != nil {
		return fmt.Errorf("ir: program %q: %w", p.Name, err)
	}
	for i, out := range p.Outputs {
		if s := p.Type(out.Value).Shape; len(s) == 0 || s[0] != r.batch {
			return fmt.Errorf("ir: program %q: output %d is %v, without an axis 0 that counts the examples", p.Name, i, p.Type(out.Value))
		}
	}
	return nil
}

type rows struct {
	p     *Program
	size  string
	batch int
}

// none stands for the axis of examples of a value that has none.
const none = -1

// axis returns the axis of a value that counts examples.
func (r rows) axis(v Value) (int, error) { return r.axisOf(r.p.Type(v).Shape) }

func (r rows) axisOf(s Shape) (int, error) {
	found := none
	for i, d := range s {
		if dim.Known(d) || !dim.Depends(d, r.size) {
			continue
		}
		if found != none || dim.Mul(dim.FloorDiv(d, r.batch), r.batch) != d || dim.Depends(dim.FloorDiv(d, r.batch), r.size) {
			return none, fmt.Errorf("shape %v does not count the examples along one axis", s)
		}
		found = i
	}
	return found, nil
}

func (r rows) check() error {
	for i := range r.p.Nodes {
		n := &r.p.Nodes[i]
		if err := r.node(n); err != nil {
			return fmt.Errorf("layer %q: %v: %w", n.Scope, n.Op, err)
		}
		for _, sub := range SubPrograms(n.Attrs) {
			if err := (rows{sub, r.size, r.batch}).check(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r rows) node(n *Node) error {
	in, out := make([]int, len(n.Inputs)), make([]int, len(n.Outputs))
	var err error
	touched := false
	for i, v := range n.Inputs {
		if in[i], err = r.axis(v); err != nil {
			return err
		}
		touched = touched || in[i] != none
	}
	for i, v := range n.Outputs {
		if out[i], err = r.axis(v); err != nil {
			return err
		}
		touched = touched || out[i] != none
	}
	if !touched && n.Op != RngBits && n.Op != Dropout && !n.Op.IsCollective() {
		return nil // numbers that all examples share
	}
	if !r.rowWise(n, in, out) {
		return fmt.Errorf("it works across the examples, or draws random numbers")
	}
	return nil
}

// rowWise reports whether an op keeps examples apart. in and out are the axes of examples of its operands and results.
func (r rows) rowWise(n *Node, in, out []int) bool {
	off := func(axes ...int) bool { return !slices.Contains(axes, in[0]) }
	shape := func(i int) Shape { return r.p.Type(n.Inputs[i]).Shape }
	last := func() int { return len(shape(0)) - 1 }
	switch a := n.Attrs.(type) {
	case ConstantAttrs:
		return a.Literal.Splat
	case IotaAttrs:
		return a.Axis != out[0]
	case ReshapeAttrs:
		// The examples follow each other within blocks, as many before as after.
		return in[0] != none && out[0] != none && shape(0)[:in[0]].Size() == a.Shape[:out[0]].Size()
	case TransposeAttrs, ConvertAttrs, CompareAttrs, ScanAttrs, WhileAttrs, CondAttrs:
		return r.aligned(n, in, out)
	case BroadcastAttrs:
		return in[0] == none || a.Axes[in[0]] == out[0] && shape(0)[in[0]] == a.Shape[out[0]]
	case SliceAttrs:
		k := in[0]
		return a.Start[k] == 0 && a.Limit[k] == shape(0)[k] && a.Stride[k] == 1
	case PadAttrs:
		k := in[0]
		return a.Low[k] == 0 && a.High[k] == 0 && a.Interior[k] == 0
	case AxisAttrs: // Concat, ArgMax, ArgMin
		return off(a.Axis) && !slices.ContainsFunc(in, func(k int) bool { return k != in[0] })
	case AxesAttrs:
		return off(a.Axes...)
	case DynamicSliceAttrs:
		return in[0] != none && a.Sizes[in[0]] == shape(0)[in[0]]
	case DotAttrs:
		return dotRowWise(a, in)
	case GatherAttrs:
		return off(a.Axis)
	case ResampleAttrs:
		return off(a.Axis)
	case ReduceAttrs:
		return off(a.Axes...)
	case CumulativeAttrs:
		return off(a.Axis)
	case SortAttrs:
		return off(a.Axis)
	case TopKAttrs:
		return off(last())
	case ConvAttrs, PoolAttrs, GroupNormAttrs, AttentionAttrs, RnnAttrs:
		return in[0] == 0 && firstOrNone(in) && (n.Op != Conv || in[1] == none)
	case ConvGradAttrs:
		return n.Op == ConvInputGrad && in[0] == 0 && in[1] == none
	case NormAttrs:
		return n.Op == LayerNorm && off(last()) && in[1] == none && in[2] == none
	case nil:
		return r.plain(n, in, out)
	}
	return false
}

// plain is rowWise of ops without attributes.
func (r rows) plain(n *Node, in, out []int) bool {
	last := len(r.p.Type(n.Inputs[0]).Shape) - 1
	switch n.Op {
	case Embedding:
		return in[0] == none
	case DynamicUpdateSlice: // of the whole axis of examples
		s, u := r.p.Type(n.Inputs[0]).Shape, r.p.Type(n.Inputs[1]).Shape
		return in[0] != none && in[1] == in[0] && s[in[0]] == u[in[0]]
	case Softmax, LogSoftmax, LstmCell, GruCell, SparseSoftmaxCrossEntropy:
		return in[0] != last && r.aligned(n, in, out)
	}
	return n.Op >= Neg && n.Op <= Select && r.aligned(n, in, out)
}

// aligned reports whether a loop, a branch, or an op whose operands and results have one shape keeps rows together.
func (r rows) aligned(n *Node, in, out []int) bool {
	switch n.Op {
	case Transpose:
		return true
	case Scan:
		a := n.Attrs.(ScanAttrs)
		for i := a.Carry; i < a.Carry+a.Xs; i++ {
			if in[i] == 0 {
				return false // a loop over the examples
			}
		}
		return !dim.Depends(a.Length, r.size)
	case While, Cond: // their bodies are looked at; what decides is a scalar, which no example reaches
		return true
	}
	for _, k := range slices.Concat(in, out) {
		if k != in[0] {
			return false
		}
	}
	return true
}

func firstOrNone(axes []int) bool {
	return !slices.ContainsFunc(axes, func(k int) bool { return k > 0 })
}

func dotRowWise(a DotAttrs, in []int) bool {
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
