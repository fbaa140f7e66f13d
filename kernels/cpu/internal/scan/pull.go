package scan

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/pass"
)

// A recurrent layer multiplies the inputs of all steps by its kernel before the loop, and the gradients of all steps by
// the transposed kernel after the gradient's loop. If a loop runs in blocks of rows, these products are cheaper inside
// it: their results or operands are then in the cache, and the large stack between product and loop is never written.

// pulled is a product that moves into a scan.
type pulled struct {
	operand int      // of the scan: the stack that the product computes, or -1
	result  int      // of the scan: the stack that the product reads
	dot     *ir.Node // the product
	bias    ir.Value // added to every row of the product, or -1
	state   int      // node of the body that multiplies a state by a matrix, if its result is only added to the operand, else -1
	sum     int      // the node that adds it

	recurrent int // the operand that is that matrix

	matrix, vector ir.Value // inputs of the new body: the product's matrix and its bias
}

// pullIntoScans rewrites the scans of a program that run in blocks of rows.
func pullIntoScans(p *ir.Program, normal pass.Pass) (*ir.Program, error) {
	uses, def := pass.Uses(p)
	plans, moved := map[int][]pulled{}, map[int]bool{} // by node of a scan; nodes that move into one
	var loops []int
	for i := range p.Nodes {
		a, ok := p.Nodes[i].Attrs.(ir.ScanAttrs)
		if !ok {
			continue
		}
		body, err := normal.Run(a.Body)
		if err != nil {
			return nil, err
		}
		if ByRows(body, a) != nil {
			loops = append(loops, i)
			plans[i] = findFeeding(p, i, uses, def, moved)
		}
	}
	for _, i := range loops { // a product between two loops moves into the later one, so that its result is not stored
		plans[i] = append(plans[i], findFed(p, i, def, moved)...)
	}
	if len(moved) == 0 {
		return p, nil
	}
	r := pass.NewRewriter(p)
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if moved[i] {
			continue
		}
		var err error
		if len(plans[i]) > 0 {
			var results []ir.Value
			if results, err = pull(r, n, plans[i]); err == nil {
				err = r.Define(n, results[:len(n.Outputs)])
			}
		} else {
			err = r.Keep(n)
		}
		if err != nil {
			return nil, err
		}
	}
	return r.Finish(), nil
}

// lastByMatrix reports whether the node multiplies the last axis of a stack of matrices by a matrix.
func lastByMatrix(p *ir.Program, n *ir.Node) bool {
	a, ok := n.Attrs.(ir.DotAttrs)
	return ok && len(a.LhsBatch) == 0 && len(a.LhsContract) == 1 && a.LhsContract[0] == 2 && len(p.Type(n.Inputs[0]).Shape) == 3 &&
		len(p.Type(n.Inputs[1]).Shape) == 2 && p.Type(n.Inputs[0]).DType.IsWideFloat()
}

// findFeeding looks for stacks read by scan i that are products, with or without a bias, and that nothing else reads.
func findFeeding(p *ir.Program, i int, uses, def []int, moved map[int]bool) []pulled {
	n := &p.Nodes[i]
	a := n.Attrs.(ir.ScanAttrs)
	var list []pulled
	for j := a.Carry; j < a.Carry+a.Xs; j++ {
		v := n.Inputs[j]
		if uses[v] != 1 || def[v] < 0 {
			continue
		}
		at, bias, add := def[v], ir.Value(-1), -1
		if m := &p.Nodes[at]; m.Op == ir.Add {
			for side := range 2 {
				d, b := def[m.Inputs[side]], def[m.Inputs[1-side]]
				if d < 0 || b < 0 || p.Nodes[d].Op != ir.Dot || uses[m.Inputs[side]] != 1 || !isRowBias(p, &p.Nodes[b]) {
					continue
				}
				at, bias, add = d, p.Nodes[b].Inputs[0], def[v]
				break
			}
		}
		if dot := &p.Nodes[at]; lastByMatrix(p, dot) {
			f := pulled{operand: j, dot: dot, bias: bias, state: -1}
			f.findState(a.Body, a.Body.Inputs[j].Value, a.Carry+a.Xs)
			if f.staysOutside(p, n, v) {
				continue
			}
			list = append(list, f)
			moved[at] = true
			if add >= 0 {
				moved[add] = true
			}
		}
	}
	return list
}

// Stacks of at most nearBytes are still in the second-level cache when the loop reads them. Their product stays before
// the loop, because one product for all steps is faster than many of few rows, each of which reads the matrix again. A
// narrow input costs next to nothing if it joins the product with the state. But joining copies the two matrices into
// one, and for a wide layer with few steps that would be more than the loop reads.
const (
	nearBytes   = 1 << 20
	narrowInput = 64
	stackCopies = 2 // the stack would be written and read
)

// staysOutside reports whether the product should stay before scan n, which reads its results in stack.
func (f *pulled) staysOutside(p *ir.Program, n *ir.Node, stack ir.Value) bool {
	t, joins := p.Type(stack), f.state >= 0
	// A sum with the state of a loop has other bits before the loop than inside it.
	bytes := t.Bytes() / max(t.Shape[1], 1) * ir.PaddedRows(t.Shape[1])
	if joins && p.Type(f.dot.Inputs[1]).Bytes()+p.Type(n.Inputs[f.recurrent]).Bytes() > stackCopies*bytes {
		return true
	}
	return bytes <= nearBytes && !(joins && p.Type(f.dot.Inputs[0]).Shape[2] < narrowInput)
}

// findState looks for the product h·u in a sum x + h·u, where nothing else reads either term, and u, which is operand
// number first or higher, is the same in all steps.
func (f *pulled) findState(body *ir.Program, x ir.Value, first int) {
	uses, def := pass.Uses(body)
	if uses[x] != 1 {
		return
	}
	for i := range body.Nodes {
		n := &body.Nodes[i]
		if n.Op != ir.Add || n.Inputs[0] != x && n.Inputs[1] != x {
			continue
		}
		v := n.Inputs[0]
		if v == x {
			v = n.Inputs[1]
		}
		if def[v] < 0 || uses[v] != 1 || body.Nodes[def[v]].Op != ir.Dot {
			return
		}
		dot := &body.Nodes[def[v]]
		j := slices.IndexFunc(body.Inputs, func(in ir.Input) bool { return in.Value == dot.Inputs[1] })
		if j >= first && Packable(body, dot) && f.dot.Attrs.(ir.DotAttrs).RhsContract[0] == 0 {
			f.state, f.sum, f.recurrent = def[v], i, j
		}
		return
	}
}

// isRowBias reports whether the node repeats a vector along the last axis.
func isRowBias(p *ir.Program, n *ir.Node) bool {
	a, ok := n.Attrs.(ir.BroadcastAttrs)
	return ok && len(a.Axes) == 1 && a.Axes[0] == len(a.Shape)-1 && p.Type(n.Inputs[0]).Shape[0] == a.Shape[len(a.Shape)-1]
}

// findFed looks for products of stacks that scan i computes with matrices that exist before it.
func findFed(p *ir.Program, i int, def []int, moved map[int]bool) []pulled {
	n := &p.Nodes[i]
	a := n.Attrs.(ir.ScanAttrs)
	var list []pulled
	for j := range p.Nodes {
		dot := &p.Nodes[j]
		if !lastByMatrix(p, dot) || def[dot.Inputs[1]] >= i || moved[j] {
			continue
		}
		if y := slices.Index(n.Outputs, dot.Inputs[0]); y >= a.Carry {
			list = append(list, pulled{operand: -1, result: y, dot: dot, bias: -1, state: -1})
			moved[j] = true
		}
	}
	return list
}

// pull adds the scan with the products inside, and replaces the products' results.
func pull(r *pass.Rewriter, n *ir.Node, list []pulled) ([]ir.Value, error) {
	a := n.Attrs.(ir.ScanAttrs)
	s := &pulling{r: r, n: n, a: a, operands: r.Operands(n), feeding: map[int]*pulled{}, sums: map[int]*pulled{}, skipped: map[int]bool{},
		body: pass.Rewriter{From: a.Body, To: ir.New(a.Body.Name), Mapped: make([]ir.Value, a.Body.NumValues())}}
	for i := range list {
		if f := &list[i]; f.operand >= 0 {
			s.feeding[f.operand] = f
			if f.state >= 0 {
				s.sums[f.sum], s.skipped[f.state] = f, true
			}
		}
	}
	if err := s.addInputs(list); err != nil {
		return nil, err
	}
	if err := s.addNodes(); err != nil {
		return nil, err
	}
	s.a.Body = s.body.Finish()
	var fed []*pulled
	for i := range list {
		if f := &list[i]; f.operand < 0 {
			y, err := s.multiply(f, s.a.Body.Outputs[f.result].Value)
			if err != nil {
				return nil, err
			}
			s.a.Body.AddOutput("", y)
			fed = append(fed, f)
		}
	}
	out, err := r.To.Add(n.Scope, ir.Scan, s.a, s.operands...)
	if err != nil {
		return nil, err
	}
	for i, f := range fed {
		r.Mapped[f.dot.Outputs[0]] = out[len(n.Outputs)+i]
	}
	return out, nil
}

// pulling is the state of rewriting one scan.
type pulling struct {
	r        *pass.Rewriter // of the surrounding program
	n        *ir.Node
	a        ir.ScanAttrs
	operands []ir.Value
	body     pass.Rewriter
	feeding  map[int]*pulled // by operand
	sums     map[int]*pulled // by node of the body
	skipped  map[int]bool    // nodes of the body
}

// addInputs adds the inputs of the new body: first the old ones, in which stacks computed by products are replaced by
// what the products read, and then the matrices and biases of the products. The two matrices of a joined product become
// one.
func (s *pulling) addInputs(list []pulled) error {
	for j, in := range s.a.Body.Inputs {
		t := s.a.Body.Type(in.Value)
		if f := s.feeding[j]; f != nil {
			t.Shape = s.r.From.Type(f.dot.Inputs[0]).Shape[1:]
			s.operands[j] = s.r.Mapped[f.dot.Inputs[0]]
		}
		s.body.Mapped[in.Value] = s.body.To.AddInput(in.Name, t)
	}
	constant := func(v ir.Value) ir.Value {
		s.operands = append(s.operands, v)
		return s.body.To.AddInput("", s.r.To.Type(v))
	}
	for i := range list {
		f := &list[i]
		matrix := s.r.Mapped[f.dot.Inputs[1]]
		if f.state >= 0 {
			both, err := s.r.To.Add(f.dot.Scope, ir.Concat, ir.AxisAttrs{Axis: 0}, matrix, s.operands[f.recurrent])
			if err != nil {
				return err
			}
			matrix = both[0]
		}
		f.matrix = constant(matrix)
		if f.bias >= 0 {
			f.vector = constant(s.r.Mapped[f.bias])
		}
	}
	return nil
}

// addNodes adds the products that feed the body, and the body's own nodes.
func (s *pulling) addNodes() error {
	for j, in := range s.a.Body.Inputs {
		f := s.feeding[j]
		if f == nil || f.state >= 0 {
			continue
		}
		z, err := s.multiply(f, s.body.Mapped[in.Value])
		if err != nil {
			return err
		}
		s.body.Mapped[in.Value] = z
	}
	for i := range s.a.Body.Nodes {
		m := &s.a.Body.Nodes[i]
		if s.skipped[i] {
			continue
		}
		var out []ir.Value
		var err error
		if f := s.sums[i]; f != nil {
			out, err = s.joined(f)
		} else {
			out, err = s.body.To.Add(m.Scope, m.Op, m.Attrs, s.body.Operands(m)...)
		}
		if err == nil {
			err = s.body.Define(m, out)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// joined adds x·w + h·u + b as one product, [x h]·[w; u] + b.
func (s *pulling) joined(f *pulled) ([]ir.Value, error) {
	p := s.body.To
	state := &s.a.Body.Nodes[f.state]
	left, err := p.Add(state.Scope, ir.Concat, ir.AxisAttrs{Axis: 1}, s.body.Mapped[s.a.Body.Inputs[f.operand].Value], s.body.Mapped[state.Inputs[0]])
	if err != nil {
		return nil, err
	}
	z, err := s.product(f, left[0], f.matrix, 0)
	return []ir.Value{z}, err
}

// multiply adds the product f, which was of a stack, for a single step.
func (s *pulling) multiply(f *pulled, x ir.Value) (ir.Value, error) {
	return s.product(f, x, f.matrix, f.dot.Attrs.(ir.DotAttrs).RhsContract[0])
}

// product adds x·matrix and the bias of f.
func (s *pulling) product(f *pulled, x, matrix ir.Value, contract int) (ir.Value, error) {
	p := s.body.To
	out, err := p.Add(f.dot.Scope, ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{contract}}, x, matrix)
	if err != nil || f.bias < 0 {
		return first(out), err
	}
	z := out[0]
	if out, err = p.Add(f.dot.Scope, ir.Broadcast, ir.BroadcastAttrs{Shape: p.Type(z).Shape, Axes: []int{1}}, f.vector); err != nil {
		return 0, err
	}
	out, err = p.Add(f.dot.Scope, ir.Add, nil, z, out[0])
	return first(out), err
}

func first(out []ir.Value) ir.Value {
	if len(out) == 0 {
		return 0
	}
	return out[0]
}
