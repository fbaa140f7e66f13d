package scan

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/pass"
)

// The steps of a recurrent layer treat the examples of a batch, which are the rows of its matrices, independently of
// each other. Only the sums for the gradients of weights cross rows, and sumAfterScans has moved these out. A scan can
// therefore run all its steps for a few rows, and then for the next few. Workers need not wait for each other between
// steps, and the rows stay in the cache of the processor that computes them. This file finds out for which loops that
// is true, and builds their bodies for fewer rows.

// minRows is the smallest batch that is cut into blocks of rows. No block is smaller than scanMinBlock.
const (
	minRows  = 8
	MinBlock = 4
)

// RowBody is the body of a scan whose steps treat rows independently.
type RowBody struct {
	Program *ir.Program
	Batch   int
	Row     []bool // by value: its first axis is the rows; other values are the same for all rows
}

// ByRows analyses the normalized body of a scan. It returns nil if rows are not independent.
func ByRows(body *ir.Program, a ir.ScanAttrs) *RowBody {
	if a.Carry == 0 || a.Length == 0 {
		return nil
	}
	first := body.Type(body.Inputs[0].Value).Shape
	if len(first) == 0 || first[0] < minRows {
		return nil
	}
	r := &RowBody{Program: body, Batch: first[0], Row: make([]bool, body.NumValues())}
	for _, in := range body.Inputs[:a.Carry+a.Xs] {
		if !r.hasRows(in.Value) {
			return nil
		}
		r.Row[in.Value] = true
	}
	for {
		again, ok := r.spread()
		if !ok {
			return nil
		}
		if !again {
			break
		}
	}
	for _, out := range body.Outputs {
		if !r.Row[out.Value] {
			return nil
		}
	}
	return r
}

// hasRows reports whether the first axis of v has the length of the batch.
func (r *RowBody) hasRows(v ir.Value) bool {
	s := r.Program.Type(v).Shape
	return len(s) > 0 && s[0] == r.Batch
}

// spread goes through the body once. It returns again = true if it found that an operand which is the same in all steps
// holds rows. The next call takes that into account.
func (r *RowBody) spread() (again, ok bool) {
	for i := range r.Program.Nodes {
		n := &r.Program.Nodes[i]
		if n.Op.IsCollective() || ir.SubPrograms(n.Attrs) != nil {
			return false, false
		}
		row := slices.ContainsFunc(n.Inputs, func(v ir.Value) bool { return r.Row[v] })
		switch a := n.Attrs.(type) {
		case ir.ConstantAttrs:
			row = a.Literal.Splat && r.hasRows(n.Outputs[0])
			ok = true
		case ir.BroadcastAttrs:
			row, ok = r.broadcast(n, a, row)
		case ir.DotAttrs:
			ok = !row || r.Row[n.Inputs[0]] && !r.Row[n.Inputs[1]] && len(a.LhsBatch) == 0 && !slices.Contains(a.LhsContract, 0)
		case ir.SliceAttrs:
			ok = !row || a.Start[0] == 0 && a.Limit[0] == r.Batch && a.Stride[0] == 1
		case ir.ReshapeAttrs:
			ok = !row || r.hasRows(n.Outputs[0])
		case ir.TransposeAttrs:
			ok = !row || a.Perm[0] == 0
		case ir.AxisAttrs:
			ok = !row || n.Op == ir.Concat && a.Axis > 0
		default:
			ok = !row || n.Op.IsElementwise() || IsCell(n.Op) && len(r.Program.Type(n.Inputs[0]).Shape) > 1
		}
		if !ok {
			return false, false
		}
		if row && n.Op != ir.Dot && n.Op != ir.Constant && n.Op != ir.Broadcast {
			for _, v := range n.Inputs {
				if r.Row[v] {
					continue
				}
				if !r.hasRows(v) || slices.IndexFunc(r.Program.Inputs, func(in ir.Input) bool { return in.Value == v }) < 0 {
					return false, false
				}
				r.Row[v], again = true, true
			}
		}
		for _, v := range n.Outputs {
			r.Row[v] = row
		}
	}
	return again, true
}

// broadcast reports whether the result of a broadcast holds rows. ok is false if the operand holds rows and its first
// axis does not stay first.
func (r *RowBody) broadcast(n *ir.Node, a ir.BroadcastAttrs, row bool) (result, ok bool) {
	if row {
		return true, a.Axes[0] == 0 && a.Shape[0] == r.Batch
	}
	at := slices.Index(a.Axes, 0)
	rows := r.hasRows(n.Outputs[0]) && (at < 0 || r.Program.Type(n.Inputs[0]).Shape[at] == 1)
	return rows, true
}

func IsCell(op ir.Op) bool {
	return op == ir.LstmCell || op == ir.LstmCellGrad || op == ir.GruCell || op == ir.GruCellGrad
}

// ForRows returns the body for the given number of rows, without the outputs that are marked in dropped.
func (r *RowBody) ForRows(rows int, dropped []bool) (*ir.Program, error) {
	w := &pass.Rewriter{From: r.Program, To: ir.New(r.Program.Name), Mapped: make([]ir.Value, r.Program.NumValues())}
	cut := func(v ir.Value, s ir.Shape) ir.Shape {
		if !r.Row[v] {
			return s
		}
		s = slices.Clone(s)
		s[0] = rows
		return s
	}
	for _, in := range r.Program.Inputs {
		t := r.Program.Type(in.Value)
		t.Shape = cut(in.Value, t.Shape)
		w.Mapped[in.Value] = w.To.AddInput(in.Name, t)
	}
	for i := range r.Program.Nodes {
		n := &r.Program.Nodes[i]
		attrs := n.Attrs
		switch a := n.Attrs.(type) {
		case ir.ConstantAttrs:
			a.Literal.Type.Shape = cut(n.Outputs[0], a.Literal.Type.Shape)
			attrs = a
		case ir.BroadcastAttrs:
			a.Shape = cut(n.Outputs[0], a.Shape)
			attrs = a
		case ir.ReshapeAttrs:
			a.Shape = cut(n.Outputs[0], a.Shape)
			attrs = a
		case ir.SliceAttrs:
			a.Limit = cut(n.Outputs[0], a.Limit)
			attrs = a
		}
		out, err := w.To.Add(n.Scope, n.Op, attrs, w.Operands(n)...)
		if err != nil {
			return nil, err
		}
		for j, v := range n.Outputs {
			w.Mapped[v] = out[j]
		}
	}
	for j, out := range r.Program.Outputs {
		if !dropped[j] {
			w.To.AddOutput(out.Name, w.Mapped[out.Value])
		}
	}
	return w.To, nil
}

// Packable reports whether a product of matrices can read its right side packed.
func Packable(p *ir.Program, n *ir.Node) bool {
	a := n.Attrs.(ir.DotAttrs)
	l, r := p.Type(n.Inputs[0]), p.Type(n.Inputs[1])
	return (r.DType.IsWideFloat() || r.DType.IsHalf()) && len(l.Shape) == 2 && len(r.Shape) == 2 && len(a.LhsBatch) == 0 && len(a.LhsContract) == 1 && a.LhsContract[0] == 1 &&
		r.Shape.Size() > 0
}
