package scan

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/pass"
)

// The gradient of a recurrent layer's weights is a sum over its steps. The backward loop computes it step by step:
// every step adds a small product to a matrix. sumAfterScans moves such sums out of the loops: the loop stores the
// factors of all steps, and one large product computes the sum. That product is as fast as products get, and the matrix
// is written only once.

// maxStacked limits the memory, in bytes, of a factor that a loop did not store before.
const maxStacked = 64 << 20

// scanSum is a carry of a scan that is the sum of the products of all steps.
type scanSum struct {
	carry    int
	add, dot int       // nodes of the body
	factors  [2]factor // of the product
	attrs    ir.DotAttrs
}

// factor is a value of the body, with the place where all its slices are stacked.
type factor struct {
	v     ir.Value
	x, y  int // the number of the scan's operand or result that stacks it, or -1
	extra bool
}

// sumAfterScans rewrites the scans of a program.
func sumAfterScans(p *ir.Program) (*ir.Program, error) {
	r, found := pass.NewRewriter(p), false
	for i := range p.Nodes {
		n := &p.Nodes[i]
		var err error
		if sums := findScanSums(n); len(sums) > 0 {
			found = true
			var results []ir.Value
			if results, err = splitScan(r, n, sums); err == nil {
				err = r.Define(n, results)
			}
		} else {
			err = r.Keep(n)
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

// findScanSums looks for carries c with c' = c + a·b, where nothing else reads c or the product.
func findScanSums(n *ir.Node) []scanSum {
	a, ok := n.Attrs.(ir.ScanAttrs)
	if !ok {
		return nil
	}
	body := a.Body
	uses, def := pass.Uses(body)
	var sums []scanSum
	for k := range a.Carry {
		old, sum := body.Inputs[k].Value, body.Outputs[k].Value
		if uses[old] != 1 || uses[sum] != 1 || def[sum] < 0 {
			continue
		}
		add := &body.Nodes[def[sum]]
		if add.Op != ir.Add || add.Inputs[0] != old && add.Inputs[1] != old {
			continue
		}
		product := add.Inputs[0]
		if product == old {
			product = add.Inputs[1]
		}
		if product == old || uses[product] != 1 || def[product] < 0 || body.Nodes[def[product]].Op != ir.Dot {
			continue
		}
		dot := &body.Nodes[def[product]]
		attrs := dot.Attrs.(ir.DotAttrs)
		if len(attrs.LhsBatch) > 0 {
			continue
		}
		s := scanSum{carry: k, add: def[sum], dot: def[product], attrs: attrs}
		ok := true
		for side, v := range dot.Inputs {
			s.factors[side] = stackOf(body, a, v)
			ok = ok && (!s.factors[side].extra || s.factors[side].v >= 0 && body.Type(v).Bytes() <= maxStacked/max(a.Length, 1))
		}
		if ok {
			sums = append(sums, s)
		}
	}
	return sums
}

// stackOf finds where the slices of a value of the body are stacked. If the value comes from whole operands, it is not
// worth stacking, and v is -1.
func stackOf(body *ir.Program, a ir.ScanAttrs, v ir.Value) factor {
	f := factor{v: v, x: -1, y: -1}
	for j, in := range body.Inputs {
		switch {
		case in.Value != v:
		case j >= a.Carry && j < a.Carry+a.Xs:
			f.x = j
			return f
		case j >= a.Carry+a.Xs:
			f.v, f.extra = -1, true
			return f
		}
	}
	for j, out := range body.Outputs[a.Carry:] {
		if out.Value == v {
			f.y = a.Carry + j
			return f
		}
	}
	f.extra = true
	return f
}

// splitScan adds the scan without the sums, and the products that compute them.
func splitScan(r *pass.Rewriter, n *ir.Node, sums []scanSum) ([]ir.Value, error) {
	a := n.Attrs.(ir.ScanAttrs)
	dropped, skipped := map[int]bool{}, map[int]bool{}
	var extra []ir.Value
	for _, s := range sums {
		dropped[s.carry], skipped[s.add], skipped[s.dot] = true, true, true
		for _, f := range s.factors {
			if f.extra && !slices.Contains(extra, f.v) {
				extra = append(extra, f.v)
			}
		}
	}
	body, err := copyBody(a.Body, dropped, skipped)
	if err != nil {
		return nil, err
	}
	attrs := ir.ScanAttrs{Body: body.To, Length: a.Length, Carry: a.Carry - len(dropped), Xs: a.Xs, Reverse: a.Reverse}
	place := make([]int, len(a.Body.Outputs)) // by old output: the new one
	for j, out := range a.Body.Outputs {
		if !dropped[j] {
			place[j] = len(body.To.Outputs)
			body.To.AddOutput(out.Name, body.Mapped[out.Value])
		}
	}
	firstExtra := len(body.To.Outputs)
	for _, v := range extra {
		body.To.AddOutput("", body.Mapped[v])
	}
	in := r.Operands(n)
	var operands []ir.Value
	for j, v := range in {
		if !dropped[j] {
			operands = append(operands, v)
		}
	}
	out, err := r.To.Add(n.Scope, ir.Scan, attrs, operands...)
	if err != nil {
		return nil, err
	}
	results := make([]ir.Value, len(n.Outputs))
	for j := range results {
		if !dropped[j] {
			results[j] = out[place[j]]
		}
	}
	for _, s := range sums {
		var stacks [2]ir.Value
		for side, f := range s.factors {
			switch {
			case f.x >= 0:
				stacks[side] = in[f.x]
			case f.y >= 0:
				stacks[side] = out[place[f.y]]
			default:
				stacks[side] = out[firstExtra+slices.Index(extra, f.v)]
			}
		}
		product, err := r.To.Add(n.Scope, ir.Dot, ir.DotAttrs{LhsContract: behindSteps(s.attrs.LhsContract), RhsContract: behindSteps(s.attrs.RhsContract)}, stacks[:]...)
		if err != nil {
			return nil, err
		}
		sum, err := r.To.Add(n.Scope, ir.Add, nil, in[s.carry], product[0])
		if err != nil {
			return nil, err
		}
		results[s.carry] = sum[0]
	}
	return results, nil
}

// behindSteps returns the axes of a stack that are summed over: the steps and the given axes of a slice.
func behindSteps(axes []int) []int {
	all := []int{0}
	for _, axis := range axes {
		all = append(all, axis+1)
	}
	return all
}

// copyBody copies a loop's body without some inputs and nodes, and without its outputs.
func copyBody(body *ir.Program, inputs, nodes map[int]bool) (*pass.Rewriter, error) {
	r := &pass.Rewriter{From: body, To: ir.New(body.Name), Mapped: make([]ir.Value, body.NumValues())}
	for j, in := range body.Inputs {
		if !inputs[j] {
			r.Mapped[in.Value] = r.To.AddInput(in.Name, body.Type(in.Value))
		}
	}
	for i := range body.Nodes {
		if nodes[i] {
			continue
		}
		n := &body.Nodes[i]
		out, err := r.To.Add(n.Scope, n.Op, n.Attrs, r.Operands(n)...)
		if err == nil {
			err = r.Define(n, out)
		}
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}
