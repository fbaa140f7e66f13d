package pass

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// DecomposeHalfUpdates returns the pass that replaces updates of 16-bit variables by their formulas in float32, between
// conversions of the variable, its slots and the gradient, and of the results. Backends that compile elementwise
// operations into one loop then read and write 16 bits alone, together with what computes the gradient element by
// element. Variables and gradients that are computed in float32 are not rounded before.
//
// inPlace reports whether plain gradient descent of variables of a type along a product in float32 stays an update, in
// float32, because adding the product to the widened variable is faster than storing it for the formula.
func DecomposeHalfUpdates(inPlace func(variable ir.DType) bool) Pass {
	return New("decompose half updates", func(p *ir.Program) (*ir.Program, error) {
		half := func(n *ir.Node) bool { return n.Op == ir.OptimizerUpdate && p.Type(n.Inputs[0]).DType.IsHalf() }
		if !slices.ContainsFunc(p.Nodes, func(n ir.Node) bool { return half(&n) }) {
			return p, nil
		}
		u := halfUpdates{Rewriter: NewRewriter(p), inPlace: inPlace}
		u.uses, u.def = Uses(p)
		for i := range p.Nodes {
			n := &p.Nodes[i]
			var err error
			if half(n) && !u.looksUp(n) {
				var out []ir.Value
				if out, err = u.formulas(n); err == nil {
					err = u.Define(n, out)
				}
			} else {
				err = u.Keep(n)
			}
			if err != nil {
				return nil, err
			}
		}
		return u.Finish(), nil
	})
}

// largeVariable is the number of elements from which on the gradient of a variable of 16 bits is computed together with
// its update, element by element, if it is a product of one example, or of two and the rule is plain gradient descent.
// Matrix products are faster beyond that.
const largeVariable = 1 << 14

// halfUpdates is the pass over one program.
type halfUpdates struct {
	*Rewriter
	uses, def []int
	inPlace   func(variable ir.DType) bool
}

// formulas adds what replaces an update, and returns its results.
func (u *halfUpdates) formulas(n *ir.Node) ([]ir.Value, error) {
	half, in := u.From.Type(n.Inputs[0]).DType, u.Operands(n)
	sum, outer, err := u.outerProducts(n)
	if err != nil {
		return nil, err
	}
	if outer {
		in[1] = sum
	}
	for i, v := range n.Inputs {
		if i == 1 && outer {
			continue
		}
		if j := u.def[v]; i < 2 && j >= 0 && u.From.Nodes[j].Op == ir.Convert { // the variable, as weight decay leaves it, and the gradient
			if from := u.From.Nodes[j].Inputs[0]; u.From.Type(from).DType == ir.Float32 {
				in[i] = u.Mapped[from]
			}
		}
		if u.To.Type(in[i]).DType.IsHalf() {
			if in[i], err = u.add(n.Scope, ir.Convert, ir.ConvertAttrs{DType: ir.Float32}, in[i]); err != nil {
				return nil, err
			}
		}
	}
	var out []ir.Value
	if u.descends(n) && !outer {
		for i := 2; i < len(in) && err == nil; i++ {
			in[i], err = u.add(n.Scope, ir.Convert, ir.ConvertAttrs{DType: ir.Float32}, in[i])
		}
		if err == nil {
			out, err = u.To.Add(n.Scope, n.Op, n.Attrs, in...)
			out = slices.Clone(out)
		}
	} else {
		out, _, err = ir.Decompose(u.To, &ir.Node{Op: n.Op, Attrs: n.Attrs, Inputs: in, Scope: n.Scope})
	}
	for i := range out {
		if err == nil {
			out[i], err = u.add(n.Scope, ir.Convert, ir.ConvertAttrs{DType: half}, out[i])
		}
	}
	return out, err
}

// looksUp reports whether the update is plain gradient descent along the gradient of a table, which is computed in
// float32. Backends then update only the rows that were looked up, while formulas would compute all.
func (u *halfUpdates) looksUp(n *ir.Node) bool {
	if n.Attrs.(ir.OptimizerAttrs).Rule != "sgd" || len(n.Inputs) != 4 {
		return false
	}
	i := u.def[n.Inputs[1]]
	if i < 0 || u.From.Nodes[i].Op != ir.Convert {
		return false
	}
	v := u.From.Nodes[i].Inputs[0]
	d := u.def[v]
	return d >= 0 && u.From.Nodes[d].Op == ir.EmbeddingGrad && u.From.Type(v).DType == ir.Float32
}

// descends reports whether the update is plain gradient descent along a product in float32 that backends add to the
// variable in place, without storing it. Products of 16 bits are stored: that is half as much.
func (u *halfUpdates) descends(n *ir.Node) bool {
	if n.Attrs.(ir.OptimizerAttrs).Rule != "sgd" || len(n.Inputs) != 4 {
		return false
	}
	for i := u.def[n.Inputs[1]]; i >= 0; {
		d := &u.From.Nodes[i]
		if d.Op != ir.Convert {
			return d.Op == ir.Dot && u.From.Type(d.Outputs[0]).DType == ir.Float32 && u.inPlace(u.From.Type(n.Inputs[0]).DType) && len(d.Attrs.(ir.DotAttrs).LhsBatch) == 0
		}
		i = u.def[d.Inputs[0]]
	}
	return false
}

// outerProducts adds the gradient of an update as a sum of outer products, if it is a product of few examples that
// nothing else reads. ok is false for other gradients.
func (u *halfUpdates) outerProducts(n *ir.Node) (sum ir.Value, ok bool, err error) {
	d := u.fewExamples(n)
	if d == nil {
		return 0, false, nil
	}
	a, shape := d.Attrs.(ir.DotAttrs), u.From.Type(d.Outputs[0]).Shape
	for k := range u.From.Type(d.Inputs[0]).Shape[a.LhsContract[0]] {
		var factors [2]ir.Value
		for i, axis := range []int{a.LhsContract[0], a.RhsContract[0]} {
			if factors[i], err = u.example(n.Scope, d.Inputs[i], axis, k); err == nil {
				factors[i], err = u.add(n.Scope, ir.Broadcast, ir.BroadcastAttrs{Shape: shape, Axes: []int{i}}, factors[i])
			}
			if err != nil {
				return 0, false, err
			}
		}
		product, err := u.add(n.Scope, ir.Mul, nil, factors[:]...)
		if err == nil && k > 0 {
			product, err = u.add(n.Scope, ir.Add, nil, sum, product)
		}
		if err != nil {
			return 0, false, err
		}
		sum, ok = product, true
	}
	return sum, ok, nil
}

// fewExamples returns the product of few examples that is the gradient of a large variable alone, or nil.
func (u *halfUpdates) fewExamples(n *ir.Node) *ir.Node {
	for v := n.Inputs[1]; u.def[v] >= 0 && u.uses[v] == 1; {
		d := &u.From.Nodes[u.def[v]]
		if d.Op == ir.Convert {
			v = d.Inputs[0]
			continue
		}
		a, ok := d.Attrs.(ir.DotAttrs)
		s := u.From.Type(v).Shape
		if !ok || d.Op != ir.Dot || len(s) != 2 || s.Size() < largeVariable || len(a.LhsContract) != 1 || len(a.LhsBatch) > 0 {
			return nil
		}
		most := 1
		if n.Attrs.(ir.OptimizerAttrs).Rule == "sgd" {
			most = 2
		}
		if x := u.From.Type(d.Inputs[0]); x.Shape[a.LhsContract[0]] > most || !x.DType.IsFloat() {
			return nil
		}
		return d
	}
	return nil
}

// example adds one row, or column, of a matrix in float32.
func (u *halfUpdates) example(scope string, of ir.Value, axis, k int) (ir.Value, error) {
	t := u.From.Type(of)
	attrs := ir.SliceAttrs{Start: []int{0, 0}, Limit: slices.Clone(t.Shape), Stride: []int{1, 1}}
	attrs.Start[axis], attrs.Limit[axis] = k, k+1
	v, err := u.add(scope, ir.Slice, attrs, u.Mapped[of])
	if err == nil {
		v, err = u.add(scope, ir.Reshape, ir.ReshapeAttrs{Shape: ir.Shape{t.Shape[1-axis]}}, v)
	}
	if err == nil && t.DType != ir.Float32 {
		v, err = u.add(scope, ir.Convert, ir.ConvertAttrs{DType: ir.Float32}, v)
	}
	return v, err
}
