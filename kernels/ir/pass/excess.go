package pass

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// ExcessOptions say what [ExcessPrecision] may do.
type ExcessOptions struct {
	// Type reports whether values that a program computes in a 16-bit type are to be computed in float32.
	Type func(d ir.DType) bool
	// Keep reports whether a node of the program stays in 16 bits all the same, with the elementwise nodes that read
	// it; nil: no node does.
	Keep func(p *ir.Program, n *ir.Node) bool
	// Most is how many more bytes the results that live at the same time may take. A program that would need more stays
	// unchanged.
	Most int
	// Inputs says that what a program computes from inputs of 16 bits is computed in float32 as well, as where all
	// variables of a model have 16 bits. Otherwise it stays as it is.
	Inputs bool
	// Updates says that only what serves nothing but the program's outputs, element by element, is computed in float32,
	// such as the update of a variable, and only if such a variable has 16 bits. Results of it take no memory, so that
	// Most does not matter.
	Updates bool
}

// ExcessPrecision returns the pass that computes in float32 what a program computes in 16 bits from numbers that it
// converts from float32, as mixed precision does, or from all that it reads (ExcessOptions.Inputs). These numbers are
// then no longer rounded between operations. They are rounded only where they leave the program, meet other replicas,
// or where the program checks whether numbers of float16, or sums of them, are finite, because those beyond its range
// are not. XLA calls this excess precision. On a processor without arithmetic in 16 bits, rounding is extra work that
// loses precision.
//
// Values that a program reads in 16 bits stay so, with everything computed from them, unless the options say otherwise;
// even then, what only moves such values moves them as they are, unless it repeats them. If a layer rounds numbers and
// converts them back, without computing in between, they are rounded. If one layer rounds numbers for another, they are
// not.
func ExcessPrecision(o ExcessOptions) Pass {
	return New("excess precision", func(p *ir.Program) (*ir.Program, error) {
		if !worthExcess(p, o) {
			return p, nil
		}
		e := newExcess(p, o, false)
		if err := e.nodes(); err != nil {
			return nil, err
		}
		return e.Finish(), nil
	})
}

// excess rewrites a program. Rewriter.Mapped has values in their original types, or -1 if there is no such value yet.
type excess struct {
	*Rewriter
	o      ExcessOptions
	inside bool // a loop or a branch, whose inputs and outputs are wide
	def    []int
	wide   []ir.Value // by value of the old program: in float32, or -1
	stays  []bool     // of 16 bits, and so is everything computed from it
	beside []bool     // of 16 bits, and so is everything computed from it element by element
	exact  []bool     // a number that was rounded, without computing anything
	by     []string   // the layer that rounded a number in exact
	whole  []bool     // a number in float32 that is not rounded
	asked  []bool     // something computed from it is checked for finiteness
	light  []bool     // with ExcessOptions.Updates: what may be computed in float32; else nil
}

func newExcess(p *ir.Program, o ExcessOptions, inside bool) *excess {
	n := p.NumValues()
	e := &excess{Rewriter: &Rewriter{From: p, To: ir.New(p.Name), Mapped: make([]ir.Value, n)}, o: o, inside: inside, wide: make([]ir.Value, n),
		stays: make([]bool, n), beside: make([]bool, n), exact: make([]bool, n), by: make([]string, n), whole: make([]bool, n), asked: make([]bool, n)}
	_, e.def = Uses(p)
	e.ask()
	if o.Updates && !inside {
		e.light = onlyUpdates(p)
	}
	for i := range n {
		e.Mapped[i], e.wide[i] = -1, -1
	}
	for _, in := range p.Inputs {
		t := p.Type(in.Value)
		switch half := o.Type(t.DType); {
		case half && inside:
			t.DType = ir.Float32
			e.wide[in.Value], e.whole[in.Value] = e.To.AddInput(in.Name, t), true
		default:
			e.Mapped[in.Value], e.stays[in.Value] = e.To.AddInput(in.Name, t), half && !o.Inputs
		}
	}
	return e
}

// smallInput is the most elements of an input of 16 bits that is converted before everything else, so that what reads
// it, such as a product that adds a bias, finds it computed. Larger ones are converted where they are needed first.
const smallInput = 1 << 13

// smallInputs converts small inputs of 16 bits. A conversion that nothing reads is no step of the program.
func (e *excess) smallInputs() error {
	for _, in := range e.From.Inputs {
		if v := in.Value; e.o.Inputs && !e.inside && e.half(v) && e.From.Type(v).Shape.Size() <= smallInput {
			if _, err := e.widened(v); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *excess) half(v ir.Value) bool { return e.o.Type(e.From.Type(v).DType) }

// nodes rewrites all nodes, and makes the outputs.
func (e *excess) nodes() error {
	if err := e.smallInputs(); err != nil {
		return err
	}
	leaves := make([]bool, e.From.NumValues())
	for _, out := range e.From.Outputs {
		leaves[out.Value] = !e.inside && e.half(out.Value)
	}
	for i := range e.From.Nodes {
		n := &e.From.Nodes[i]
		if err := e.node(n); err != nil {
			return err
		}
		for _, v := range n.Outputs { // where it is computed, so that the conversion is part of the same loop
			if leaves[v] {
				if _, err := e.narrowed(v); err != nil {
					return err
				}
			}
		}
	}
	for _, out := range e.From.Outputs {
		var err error
		if e.inside && e.half(out.Value) {
			e.Mapped[out.Value], err = e.widened(out.Value)
		} else {
			_, err = e.narrowed(out.Value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// converted adds a conversion.
func (e *excess) converted(v ir.Value, d ir.DType) (ir.Value, error) {
	out, err := e.To.Add("", ir.Convert, ir.ConvertAttrs{DType: d}, v)
	if err != nil {
		return 0, err
	}
	return out[0], nil
}

// widened returns a value of 16 bits in float32.
func (e *excess) widened(v ir.Value) (ir.Value, error) {
	if e.wide[v] >= 0 {
		return e.wide[v], nil
	}
	var err error
	if i := e.def[v]; i >= 0 && e.From.Nodes[i].Op == ir.Constant {
		e.wide[v], err = e.literal(e.From.Nodes[i].Attrs.(ir.ConstantAttrs).Literal)
	} else {
		e.wide[v], err = e.converted(e.Mapped[v], ir.Float32)
	}
	return e.wide[v], err
}

// literal adds a constant in float32.
//
//dim:known a literal has its elements
func (e *excess) literal(l ir.Literal) (ir.Value, error) {
	w := ir.Literal{Type: ir.Type{DType: ir.Float32, Shape: l.Type.Shape}, Splat: l.Splat}
	for i := range len(l.Data) / l.Type.DType.Size() {
		w.Data = ir.AppendElement(w.Data, ir.Float32, l.At(i))
	}
	out, err := e.To.Add("", ir.Constant, ir.ConstantAttrs{Literal: w})
	if err != nil {
		return 0, err
	}
	return out[0], nil
}

// narrowed returns a value in its original type.
func (e *excess) narrowed(v ir.Value) (ir.Value, error) {
	var err error
	if e.Mapped[v] < 0 {
		e.Mapped[v], err = e.converted(e.wide[v], e.From.Type(v).DType)
	}
	return e.Mapped[v], err
}

// any reports whether one of the 16-bit values that the node reads is marked.
func (e *excess) any(n *ir.Node, marked []bool) bool {
	for _, v := range n.Inputs {
		if marked[v] {
			return true
		}
	}
	return false
}

// node adds a node.
func (e *excess) node(n *ir.Node) error {
	switch {
	case e.light != nil && !(updatesOnly(n.Op) && e.light[n.Outputs[0]]):
		return e.same(n, nil)
	case n.Op == ir.Barrier:
		return e.barrier(n)
	case n.Op == ir.Convert && !e.stays[n.Inputs[0]]:
		if done, err := e.conversion(n); done || err != nil {
			return err
		}
	case n.Op == ir.IsFinite:
		return e.isFinite(n)
	case e.any(n, e.stays):
		return e.same(n, e.stays)
	case !e.inside && e.o.Keep != nil && e.o.Keep(e.From, n), n.Op.IsElementwise() && n.Op != ir.Convert && e.any(n, e.beside):
		return e.same(n, e.beside)
	case n.Op != ir.Convert && computesWide(n.Op) && (e.o.Inputs && (!moves(n) || n.Op == ir.Broadcast) || e.any(n, e.whole) || !slices.ContainsFunc(n.Inputs, e.half)):
		return e.compute(n)
	}
	return e.same(n, nil)
}

// moves reports whether a node only moves numbers.
func moves(n *ir.Node) bool { return n.Op.Traits().Moves && ir.SubPrograms(n.Attrs) == nil }

// computesWide reports whether the op computes in float32 the same as in 16 bits, without roundings.
func computesWide(op ir.Op) bool {
	switch op {
	case ir.Constant, ir.Iota, ir.BitCast, ir.CheckFinite, ir.OptimizerUpdate:
		return false
	}
	return !op.IsCollective()
}

// same adds the node unchanged, and marks its 16-bit results.
func (e *excess) same(n *ir.Node, mark []bool) error {
	in := make([]ir.Value, len(n.Inputs))
	var err error
	for i, v := range n.Inputs {
		if in[i], err = e.narrowed(v); err != nil {
			return err
		}
	}
	out, err := e.To.Add(n.Scope, n.Op, n.Attrs, in...)
	if err != nil {
		return err
	}
	for i, v := range n.Outputs {
		e.Mapped[v] = out[i]
		if e.half(v) && mark != nil {
			mark[v] = true
		}
		e.exact[v], e.by[v] = n.Op == ir.Constant || n.Op == ir.Iota || n.Op == ir.Convert, n.Scope
	}
	return nil
}

// conversion adds a conversion to or from 16 bits, or leaves it out. It reports false for other conversions.
func (e *excess) conversion(n *ir.Node) (done bool, err error) {
	from, to := n.Inputs[0], n.Outputs[0]
	switch {
	case e.half(to) && e.From.Type(from).DType == ir.Float32:
		e.wide[to], e.exact[to], e.by[to], e.whole[to] = e.Mapped[from], true, n.Scope, true
		return true, nil
	case e.asked[to] && e.From.Type(from).DType == ir.Float16:
		return false, nil
	case e.half(from) && !(e.exact[from] && e.by[from] == n.Scope) && !e.half(to):
		wide, err := e.widened(from)
		if err == nil {
			e.Mapped[to] = wide
			if d := e.From.Type(to).DType; d != ir.Float32 {
				e.Mapped[to], err = e.converted(wide, d)
			}
		}
		return true, err
	}
	return false, nil
}

// barrier adds a barrier. Its result has the marks of its first operand, because a recomputed value equals the
// original, whatever it waits for.
func (e *excess) barrier(n *ir.Node) error {
	x, y, to := n.Inputs[0], n.Inputs[1], n.Outputs[0]
	from, after, results := e.Mapped[x], e.Mapped[y], e.Mapped
	if e.whole[x] {
		from, results = e.wide[x], e.wide
	}
	if after < 0 {
		after = e.wide[y]
	}
	out, err := e.To.Add(n.Scope, n.Op, n.Attrs, from, after)
	if err == nil {
		results[to] = out[0]
		e.stays[to], e.beside[to], e.exact[to], e.by[to], e.whole[to] = e.stays[x], e.beside[x], e.exact[x], e.by[x], e.whole[x]
	}
	return err
}

// ask marks the numbers that reach a finiteness check through sums, which may be sums over replicas: numbers beyond the
// range of float16 must become infinite before that. What isFinite checks directly is not among them.
func (e *excess) ask() {
	for i := len(e.From.Nodes) - 1; i >= 0; i-- {
		n := &e.From.Nodes[i]
		switch {
		case n.Op == ir.IsFinite && !e.ofHalf(n.Inputs[0]):
			e.asked[n.Inputs[0]] = true
		case (n.Op == ir.Add || n.Op == ir.Sub || n.Op.IsCollective() || n.Op.Traits().Moves) && slices.ContainsFunc(n.Outputs, func(v ir.Value) bool { return e.asked[v] }):
			for _, v := range n.Inputs {
				e.asked[v] = true
			}
		}
	}
}

// ofHalf reports whether a value is a conversion of 16 bits.
func (e *excess) ofHalf(v ir.Value) bool {
	i := e.def[v]
	return i >= 0 && e.From.Nodes[i].Op == ir.Convert && e.half(e.From.Nodes[i].Inputs[0])
}

// isFinite adds a finiteness check. Numbers of float16 are checked in 16 bits, whatever they were converted to.
func (e *excess) isFinite(n *ir.Node) error {
	v := n.Inputs[0]
	if e.ofHalf(v) {
		v = e.From.Nodes[e.def[v]].Inputs[0]
	}
	var in ir.Value
	var err error
	if e.half(v) && e.From.Type(v).DType == ir.BFloat16 { // bfloat16 has the range of float32
		in, err = e.widened(v)
	} else {
		in, err = e.narrowed(v)
	}
	if err != nil {
		return err
	}
	out, err := e.To.Add(n.Scope, n.Op, n.Attrs, in)
	if err == nil {
		e.Mapped[n.Outputs[0]] = out[0]
	}
	return err
}

// compute adds the node on operands in float32.
func (e *excess) compute(n *ir.Node) error {
	in, exact, by := make([]ir.Value, len(n.Inputs)), moves(n), ""
	var err error
	for i, v := range n.Inputs {
		if e.half(v) {
			in[i], err = e.widened(v)
			exact, by = exact && e.exact[v], e.by[v]
		} else {
			in[i], err = e.narrowed(v)
		}
		if err != nil {
			return err
		}
	}
	attrs, err := e.programs(n.Attrs)
	if err != nil {
		return err
	}
	out, err := e.To.Add(n.Scope, n.Op, attrs, in...)
	if err != nil {
		return err
	}
	for i, v := range n.Outputs {
		switch t := e.To.Type(out[i]); {
		case t.Equal(e.From.Type(v)):
			e.Mapped[v] = out[i]
		case e.half(v) && t.DType == ir.Float32:
			e.wide[v], e.exact[v], e.by[v], e.whole[v] = out[i], exact, by, true
		default:
			return fmt.Errorf("%v: result %d becomes %v", n.Op, i, t)
		}
	}
	return nil
}

// programs returns the attributes with the programs of a loop or a branch rewritten.
func (e *excess) programs(attrs ir.Attrs) (ir.Attrs, error) {
	var failed error
	body := func(p *ir.Program) *ir.Program {
		inner := newExcess(p, e.o, true)
		if err := inner.nodes(); err != nil {
			failed = err
			return p
		}
		return inner.Finish()
	}
	switch a := attrs.(type) {
	case ir.ScanAttrs:
		a.Body = body(a.Body)
		return a, failed
	case ir.WhileAttrs:
		a.Cond, a.Body = body(a.Cond), body(a.Body)
		return a, failed
	case ir.CondAttrs:
		a.Then, a.Else = body(a.Then), body(a.Else)
		return a, failed
	}
	return attrs, nil
}
