package ir

import (
	"fmt"
	"math"
	"slices"

	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// FillRows makes a program whose batch may be padded with copies of its examples. The program gets one more input, the
// last one, an int32 that says how many rows count; these come first. Where examples meet, in sums, products, maxima
// and minima over them, in products of matrices and in sums into segments, the other rows are left out. So results
// without an axis of examples are those of the batch without padding, except for the order in which sums are formed.
//
// p has open axes, and the named size counts its examples; [RowWise] says which axes do that. The error says which
// operation works across the examples in another way.
func FillRows(p *Program, size string) (*Program, error) {
	f := filler{rows: rows{p: p, size: size, batch: dim.Symbol(size)}, out: New(p.Name), mapped: make(map[Value]Value, p.NumValues()), masks: map[int]Value{}}
	out, err := f.program()
	if err != nil {
		return nil, fmt.Errorf("ir: program %q: %w", p.Name, err)
	}
	return out, nil
}

type filler struct {
	rows
	out    *Program
	mapped map[Value]Value
	count  Value         // how many rows count
	masks  map[int]Value // by length of an axis that has one or several elements for each row: which of them count
	// numbered: examples have been numbered. Rows that do not count may then differ from all examples, and indices in
	// them may be invalid.
	numbered bool
}

func (f *filler) program() (*Program, error) {
	for _, in := range f.p.Inputs {
		f.mapped[in.Value] = f.out.AddInput(in.Name, f.p.Type(in.Value))
	}
	f.count = f.out.AddInput("rows", Type{DType: Int32})
	for i := range f.p.Nodes {
		n := f.p.Nodes[i]
		if err := f.add(&n); err != nil {
			return nil, fmt.Errorf("layer %q: %v: %w", n.Scope, n.Op, err)
		}
	}
	for i, o := range f.p.Outputs {
		if k, err := f.axis(o.Value); err != nil || k != none {
			return nil, fmt.Errorf("output %d is %v; expected one that does not count the examples", i, f.p.Type(o.Value))
		}
		f.out.Outputs = append(f.out.Outputs, Output{o.Name, f.mapped[o.Value], o.Alias})
	}
	return f.out, nil
}

// add copies a node. If examples meet in it, its operands get values in the other rows that change nothing.
func (f *filler) add(n *Node) error {
	across := f.node(n)
	switch {
	case n.Op == Iota: // the rows that count come first, so their numbers are unchanged
		f.numbered = f.numbered || across != nil
		across = nil
	case n.Op == Gather && across != nil:
		if ok, err := f.gather(n); ok || err != nil {
			return err
		}
	}
	if across == nil {
		for _, sub := range SubPrograms(n.Attrs) {
			if err := (rows{sub, f.size, f.batch}).check(); err != nil {
				return err
			}
			if f.numbered && looksUp(sub) {
				return fmt.Errorf("it looks up what may be the numbers of examples")
			}
		}
		restore, err := f.boundIndices(n)
		if err != nil {
			return err
		}
		defer restore()
		return f.out.copyNode(n, f.mapped)
	}
	neutral, operands, ok := f.meeting(n)
	if !ok {
		return across
	}
	restore, err := f.boundIndices(n)
	if err != nil {
		return err
	}
	defer restore()
	in := make([]Value, len(n.Inputs))
	for j, v := range n.Inputs {
		in[j] = f.mapped[v]
	}
	for j, axis := range operands {
		if axis == none {
			continue
		}
		if in[j], err = f.only(n.Scope, in[j], axis, neutral); err != nil {
			return err
		}
	}
	out, err := f.out.Add(n.Scope, n.Op, n.Attrs, in...)
	if err != nil {
		return err
	}
	for j, v := range n.Outputs {
		f.mapped[v] = out[j]
	}
	return nil
}

// indexOperand is the index of the operand with indices that end a run if they are invalid; none for other nodes.
func indexOperand(n *Node) int {
	mode := IndexError
	switch a := n.Attrs.(type) {
	case GatherAttrs:
		mode = a.Mode
	case ScatterAttrs:
		mode = a.Mode
	}
	if mode != IndexError {
		return none
	}
	switch n.Op {
	case Gather, Scatter, Embedding, PackedEmbedding, SparseSoftmaxCrossEntropy:
		return 1
	}
	return none
}

func looksUp(p *Program) bool {
	return slices.ContainsFunc(p.Nodes, func(n Node) bool {
		return indexOperand(&n) != none || slices.ContainsFunc(SubPrograms(n.Attrs), looksUp)
	})
}

// boundIndices sets the indices of this node to 0 in rows that do not count, if they might be invalid there. The
// returned function undoes that.
func (f *filler) boundIndices(n *Node) (restore func(), err error) {
	at := indexOperand(n)
	if !f.numbered || at == none {
		return func() {}, nil
	}
	v := n.Inputs[at]
	axis, err := f.axis(v)
	if err != nil || axis == none {
		return func() {}, err
	}
	was := f.mapped[v]
	if f.mapped[v], err = f.only(n.Scope, was, axis, 0); err != nil {
		return nil, err
	}
	return func() { f.mapped[v] = was }, nil
}

// meeting describes a node in which examples meet: the number that changes nothing there, and the axes of examples of
// the operands that must have it in the rows that do not count.
func (f *filler) meeting(n *Node) (neutral float64, operands []int, ok bool) {
	operands = make([]int, len(n.Inputs))
	for i, v := range n.Inputs {
		var err error
		if operands[i], err = f.axis(v); err != nil {
			return 0, nil, false
		}
	}
	for _, v := range n.Outputs {
		if k, err := f.axis(v); err != nil || k != none {
			return 0, nil, false
		}
	}
	switch a := n.Attrs.(type) {
	case ReduceAttrs: // over the axis of examples, or the result would have one
		neutral, ok = neutralOf(a.Kind, f.p.Type(n.Inputs[0]).DType)
		return neutral, operands, ok
	case DotAttrs: // rows with rows; both must be 0, because 0 times infinity is not 0
		return 0, operands, n.Op == Dot && operands[0] != none && operands[1] != none
	case ScatterAttrs: // the indices stay; they are valid because they are copies
		updates := operands[2]
		ok = n.Op == Scatter && a.Kind == Sum && operands[0] == none && operands[1] != none && updates == a.Axis+operands[1]
		return 0, []int{none, none, updates}, ok
	}
	return 0, nil, false
}

// gather adds a Gather that picks examples. Indices are limited to the rows that count; rows that do not count pick the
// first one.
func (f *filler) gather(n *Node) (bool, error) {
	a := n.Attrs.(GatherAttrs)
	from, err := f.axis(n.Inputs[0])
	if err != nil || from != a.Axis || a.Mode == IndexClip {
		return false, nil
	}
	picks, err := f.axis(n.Inputs[1])
	if err != nil {
		return false, nil
	}
	e := emitter{p: f.out, scope: n.Scope}
	index := f.mapped[n.Inputs[1]]
	t := f.out.Type(index)
	if t.DType != Int32 && t.DType != Int64 {
		return false, nil
	}
	end, err := f.end(&e, f.p.Type(n.Inputs[0]).Shape[from])
	if err != nil {
		return false, err
	}
	if t.DType != Int32 {
		end = e.add(Convert, ConvertAttrs{t.DType}, end)
	}
	number := func(v float64) Value { return e.add(Constant, ConstantAttrs{Scalar(t.DType, v, t.Shape...)}) }
	inside := e.add(Compare, CompareAttrs{Lt}, index, e.add(Broadcast, BroadcastAttrs{Shape: t.Shape}, end))
	index = e.add(Select, nil, inside, index, number(-1))
	if picks != none {
		counts, err := f.mask(n.Scope, t.Shape[picks])
		if err != nil {
			return false, err
		}
		index = e.add(Select, nil, e.add(Broadcast, BroadcastAttrs{Shape: t.Shape, Axes: []int{picks}}, counts), index, number(0))
	}
	f.mapped[n.Outputs[0]] = e.add(Gather, a, f.mapped[n.Inputs[0]], index)
	return true, e.err
}

// emitter appends nodes until one fails.
type emitter struct {
	p     *Program
	scope string
	err   error
}

func (e *emitter) add(op Op, attrs Attrs, in ...Value) Value {
	if e.err != nil {
		return 0
	}
	out, err := e.p.Add(e.scope, op, attrs, in...)
	if err != nil {
		e.err = err
		return 0
	}
	return out[0]
}

// neutralOf is the number that changes nothing in a reduction.
func neutralOf(k Kind, d DType) (float64, bool) {
	switch {
	case k == Sum || k == Or:
		return 0, true
	case k == Prod || k == And:
		return 1, true
	case k == Max && d.IsFloat():
		return math.Inf(-1), true
	case k == Min && d.IsFloat():
		return math.Inf(1), true
	}
	return 0, false
}

// only is x with the neutral number in rows that do not count.
func (f *filler) only(scope string, x Value, axis int, neutral float64) (Value, error) {
	t := f.out.Type(x)
	counts, err := f.mask(scope, t.Shape[axis])
	if err != nil {
		return 0, err
	}
	e := emitter{p: f.out, scope: scope}
	wide := e.add(Broadcast, BroadcastAttrs{Shape: t.Shape, Axes: []int{axis}}, counts)
	y := e.add(Select, nil, wide, x, e.add(Constant, ConstantAttrs{Scalar(t.DType, neutral, t.Shape...)}))
	return y, e.err
}

// mask says which elements of an axis of the given length belong to rows that count.
func (f *filler) mask(scope string, length int) (Value, error) {
	if v, ok := f.masks[length]; ok {
		return v, nil
	}
	e := emitter{p: f.out, scope: scope}
	end, err := f.end(&e, length)
	if err != nil {
		return 0, err
	}
	shape := Shape{length}
	place := e.add(Iota, IotaAttrs{Type: Type{DType: Int32, Shape: shape}})
	v := e.add(Compare, CompareAttrs{Lt}, place, e.add(Broadcast, BroadcastAttrs{Shape: shape}, end))
	if e.err == nil {
		f.masks[length] = v
	}
	return v, e.err
}

// end is how many elements of an axis of the given length belong to rows that count.
func (f *filler) end(e *emitter, length int) (Value, error) {
	each := dim.FloorDiv(length, f.batch)
	if !dim.Known(each) {
		return 0, fmt.Errorf("the axis of length %s does not count the examples by a fixed number of elements", dim.String(length))
	}
	return e.add(Mul, nil, f.count, e.add(Constant, ConstantAttrs{Scalar(Int32, float64(each))})), nil //dim:known looked at above
}
