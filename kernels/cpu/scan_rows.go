package cpu

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// The steps of a recurrent layer treat the examples of a batch, the rows of its matrices, independently of each other: what crosses rows
// are the sums for the gradients of weights, which sumAfterScans has taken out. So a scan can run all its steps for a few rows and then
// for the next few: nobody waits for others between steps, and the rows stay in the cache of the processor that computes them.
// What follows finds out for which loops that holds, and makes their bodies for fewer rows.

// scanMinRows is the smallest batch that is cut into blocks of rows, of which none is smaller than scanMinBlock.
const (
	scanMinRows  = 8
	scanMinBlock = 4
)

// rowBody is the body of a scan whose steps treat rows independently.
type rowBody struct {
	program *ir.Program
	batch   int
	row     []bool // by value: its first axis is the rows; the other values are the same for all rows
}

// byRows analyses the body, which is normalised, of a scan; it returns nil where rows are not independent.
func byRows(body *ir.Program, a ir.ScanAttrs) *rowBody {
	if a.Carry == 0 || a.Length == 0 {
		return nil
	}
	first := body.Type(body.Inputs[0].Value).Shape
	if len(first) == 0 || first[0] < scanMinRows {
		return nil
	}
	r := &rowBody{program: body, batch: first[0], row: make([]bool, body.NumValues())}
	for _, in := range body.Inputs[:a.Carry+a.Xs] {
		if !r.hasRows(in.Value) {
			return nil
		}
		r.row[in.Value] = true
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
		if !r.row[out.Value] {
			return nil
		}
	}
	return r
}

// hasRows reports whether the first axis of v is as long as the batch.
func (r *rowBody) hasRows(v ir.Value) bool {
	s := r.program.Type(v).Shape
	return len(s) > 0 && s[0] == r.batch
}

// spread goes through the body once. It reports true for again if it found that an operand of the scan that is the same in all steps
// holds rows, which it takes into account next time.
func (r *rowBody) spread() (again, ok bool) {
	for i := range r.program.Nodes {
		n := &r.program.Nodes[i]
		if n.Op.IsCollective() || ir.SubPrograms(n.Attrs) != nil {
			return false, false
		}
		row := slices.ContainsFunc(n.Inputs, func(v ir.Value) bool { return r.row[v] })
		switch a := n.Attrs.(type) {
		case ir.ConstantAttrs:
			row = a.Literal.Splat && r.hasRows(n.Outputs[0])
			ok = true
		case ir.BroadcastAttrs:
			row, ok = r.broadcast(n, a, row)
		case ir.DotAttrs:
			ok = !row || r.row[n.Inputs[0]] && !r.row[n.Inputs[1]] && len(a.LhsBatch) == 0 && !slices.Contains(a.LhsContract, 0)
		case ir.SliceAttrs:
			ok = !row || a.Start[0] == 0 && a.Limit[0] == r.batch && a.Stride[0] == 1
		case ir.ReshapeAttrs:
			ok = !row || r.hasRows(n.Outputs[0])
		case ir.TransposeAttrs:
			ok = !row || a.Perm[0] == 0
		case ir.AxisAttrs:
			ok = !row || n.Op == ir.Concat && a.Axis > 0
		default:
			ok = !row || n.Op.IsElementwise() || isCell(n.Op) && len(r.program.Type(n.Inputs[0]).Shape) > 1
		}
		if !ok {
			return false, false
		}
		if row && n.Op != ir.Dot && n.Op != ir.Constant && n.Op != ir.Broadcast {
			for _, v := range n.Inputs {
				if r.row[v] {
					continue
				}
				if !r.hasRows(v) || slices.IndexFunc(r.program.Inputs, func(in ir.Input) bool { return in.Value == v }) < 0 {
					return false, false
				}
				r.row[v], again = true, true
			}
		}
		for _, v := range n.Outputs {
			r.row[v] = row
		}
	}
	return again, true
}

// broadcast reports whether the result of a broadcast holds rows, and whether the first axis of its operand, if that does, stays the first.
func (r *rowBody) broadcast(n *ir.Node, a ir.BroadcastAttrs, row bool) (result, ok bool) {
	if row {
		return true, a.Axes[0] == 0 && a.Shape[0] == r.batch
	}
	at := slices.Index(a.Axes, 0)
	rows := r.hasRows(n.Outputs[0]) && (at < 0 || r.program.Type(n.Inputs[0]).Shape[at] == 1)
	return rows, true
}

func isCell(op ir.Op) bool {
	return op == ir.LstmCell || op == ir.LstmCellGrad || op == ir.GruCell || op == ir.GruCellGrad
}

// forRows returns the body for the given number of rows, without the outputs for which dropped is true.
func (r *rowBody) forRows(rows int, dropped []bool) (*ir.Program, error) {
	w := &rewriter{from: r.program, to: ir.New(r.program.Name), mapped: make([]ir.Value, r.program.NumValues())}
	cut := func(v ir.Value, s ir.Shape) ir.Shape {
		if !r.row[v] {
			return s
		}
		s = slices.Clone(s)
		s[0] = rows
		return s
	}
	for _, in := range r.program.Inputs {
		t := r.program.Type(in.Value)
		t.Shape = cut(in.Value, t.Shape)
		w.mapped[in.Value] = w.to.AddInput(in.Name, t)
	}
	for i := range r.program.Nodes {
		n := &r.program.Nodes[i]
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
		out, err := w.to.Add(n.Scope, n.Op, attrs, w.operands(n)...)
		if err != nil {
			return nil, err
		}
		for j, v := range n.Outputs {
			w.mapped[v] = out[j]
		}
	}
	for j, out := range r.program.Outputs {
		if !dropped[j] {
			w.to.AddOutput(out.Name, w.mapped[out.Value])
		}
	}
	return w.to, nil
}
