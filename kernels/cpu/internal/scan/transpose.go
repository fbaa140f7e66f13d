package scan

import (
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/pass"
)

// A product reads a matrix on its right fastest if the matrix's rows run along those of the result. The gradient of a
// recurrent layer multiplies by the transposed recurrent kernel in every step. transposeBeforeScans transposes the
// kernel once, before the loop. Loops that run in blocks of rows pack their matrices instead, transposed or not.

// transposeMinSteps is the number of steps from which on that pays.
const transposeMinSteps = 4

// transposed is an operand of a scan that some products of its body read transposed.
type transposed struct {
	operand int   // of the scan
	dots    []int // nodes of the body
}

// transposeBeforeScans rewrites the scans of a program.
func transposeBeforeScans(p *ir.Program, normal pass.Pass) (*ir.Program, error) {
	r, found := pass.NewRewriter(p), false
	for i := range p.Nodes {
		n := &p.Nodes[i]
		attrs, operands := n.Attrs, r.Operands(n)
		list, err := findTransposed(n, normal)
		if err != nil {
			return nil, err
		}
		if len(list) > 0 {
			found = true
			a := n.Attrs.(ir.ScanAttrs)
			body, err := transposeInBody(a.Body, list)
			if err != nil {
				return nil, err
			}
			for _, t := range list {
				out, err := r.To.Add(n.Scope, ir.Transpose, ir.TransposeAttrs{Perm: []int{1, 0}}, operands[t.operand])
				if err != nil {
					return nil, err
				}
				operands = append(operands, out[0])
			}
			a.Body = body
			attrs = a
		}
		results, err := r.To.Add(n.Scope, n.Op, attrs, operands...)
		if err == nil {
			err = r.Define(n, results)
		}
		if err != nil {
			return nil, err
		}
	}
	if !found {
		return p, nil
	}
	return r.Finish(), nil
}

// findTransposed looks for matrices that are the same in all steps, are the right side of a product, and are summed
// over their columns.
func findTransposed(n *ir.Node, normal pass.Pass) ([]transposed, error) {
	a, ok := n.Attrs.(ir.ScanAttrs)
	if !ok || a.Length < transposeMinSteps {
		return nil, nil
	}
	if body, err := normal.Run(a.Body); err != nil || ByRows(body, a) != nil {
		return nil, err
	}
	var list []transposed
	for j := a.Carry + a.Xs; j < len(a.Body.Inputs); j++ {
		v := a.Body.Inputs[j].Value
		t := a.Body.Type(v)
		if len(t.Shape) != 2 || !t.DType.IsWideFloat() {
			continue
		}
		found := transposed{operand: j}
		for i := range a.Body.Nodes {
			dot := &a.Body.Nodes[i]
			if attrs, ok := dot.Attrs.(ir.DotAttrs); ok && dot.Inputs[1] == v && len(attrs.RhsBatch) == 0 && len(attrs.RhsContract) == 1 && attrs.RhsContract[0] == 1 {
				found.dots = append(found.dots, i)
			}
		}
		if len(found.dots) > 0 {
			list = append(list, found)
		}
	}
	return list, nil
}

// transposeInBody returns the body with the transposed matrices as further inputs, which the products read instead.
func transposeInBody(body *ir.Program, list []transposed) (*ir.Program, error) {
	r := pass.NewRewriter(body)
	reads := map[int]ir.Value{} // by node of a product: its right side
	for _, t := range list {
		m := body.Type(body.Inputs[t.operand].Value)
		m.Shape = ir.Shape{m.Shape[1], m.Shape[0]}
		v := r.To.AddInput("", m)
		for _, i := range t.dots {
			reads[i] = v
		}
	}
	for i := range body.Nodes {
		n := &body.Nodes[i]
		attrs, operands := n.Attrs, r.Operands(n)
		if v, ok := reads[i]; ok {
			a := attrs.(ir.DotAttrs)
			a.RhsContract, operands[1] = []int{0}, v
			attrs = a
		}
		results, err := r.To.Add(n.Scope, n.Op, attrs, operands...)
		if err == nil {
			err = r.Define(n, results)
		}
		if err != nil {
			return nil, err
		}
	}
	return r.Finish(), nil
}
