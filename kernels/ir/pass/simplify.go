package pass

import (
	"math"
	"slices"

	"github.com/gokeras/gokeras/internal/ints"
	"github.com/gokeras/gokeras/kernels/ir"
)

// SimplifyOptions say what [Simplify] may assume of a backend.
type SimplifyOptions struct {
	// Replicas is the number of replicas that run the program together; with one, the result of a collective is its
	// operand. 0 is 1.
	Replicas int
	// Int8Sums lets products of int32 whose operands are converted from int8 read the bytes ([ir.DotAttrs].Sums). The
	// backend must have a kernel for that.
	Int8Sums bool
	// FewProducts turns products that multiply few numbers for each result, of any types and orders of axes, into
	// elementwise operations, including sums of them. The backend's elementwise kernels must be faster there than its
	// kernels for products, and none of its other passes may look for such products.
	FewProducts bool
	// Fold computes the single elementwise node of a program of scalars, with the bits that the backend's kernels would
	// give at run time, or returns false if it cannot. nil is [FoldExact].
	Fold func(p *ir.Program, operands []ir.Literal) (result []byte, ok bool)
}

// Simplify returns the pass that removes dead nodes, computes repeated values once (except collectives, loops and
// branches), folds constants of one repeated element, removes operations that change nothing, and joins movements of
// data. No bit of any result changes, provided that Fold preserves them. Sub-programs stay unchanged; see [Inside].
func Simplify(o SimplifyOptions) Pass {
	return New("simplify", func(p *ir.Program) (*ir.Program, error) { return simplify(p, o) })
}

// simplifier rewrites a program with exact identities: a result never changes a bit, not even for NaN, infinities and
// -0.
type simplifier struct {
	Rewriter
	options SimplifyOptions
	def     []int                 // by value of the new program: the node that defines it, or -1
	known   map[uint64]int        // by hash: the last node of the new program with it
	before  []int                 // by node of the new program: the one before it with its hash, or -1
	changed bool                  // the new program differs from the old one
	relus   map[ir.Value]ir.Value // x -> relu(x)
	joined  map[ir.Value]bool     // concatenations that replaced sums of pads
}

// simplify removes dead nodes, computes repeated values once, and replaces nodes by simpler ones with the same result.
func simplify(p *ir.Program, o SimplifyOptions) (*ir.Program, error) {
	s := &simplifier{Rewriter: *NewRewriter(p), options: o, relus: map[ir.Value]ir.Value{}, joined: map[ir.Value]bool{}}
	s.known, s.before = make(map[uint64]int, len(p.Nodes)), make([]int, 0, len(p.Nodes))
	s.def = slices.Grow(ints.Repeat(-1, s.To.NumValues()), p.NumValues())
	live := p.Live()
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if !live[i] {
			s.changed = true
			continue
		}
		results, err := s.node(n, s.operandsOf(n))
		if err == nil {
			err = s.Define(n, results)
		}
		if err != nil {
			return nil, err
		}
	}
	if !s.changed && inOrder(p) {
		return p, nil
	}
	return s.Finish(), nil
}

// node returns values that equal the node's results on the given operands.
func (s *simplifier) node(n *ir.Node, in []ir.Value) ([]ir.Value, error) {
	if v, ok, err := s.identity(n, in); ok || err != nil {
		s.changed = true
		return []ir.Value{v}, err
	}
	return s.add(n, in)
}

// add appends a node unless an equal one exists. n is of the old program, or has no results.
func (s *simplifier) add(n *ir.Node, in []ir.Value) (out []ir.Value, err error) {
	alone := n.Op.IsCollective() || ir.SubPrograms(n.Attrs) != nil
	before, hash := -1, uint64(0)
	if !alone {
		hash = hashNode(n, in)
		if last, ok := s.known[hash]; ok {
			before = last
			for i := last; i >= 0; i = s.before[i] {
				if m := &s.To.Nodes[i]; m.Op == n.Op && slices.Equal(m.Inputs, in) && ir.EqualAttrs(m.Attrs, n.Attrs) {
					s.changed = true
					return m.Outputs, nil
				}
			}
		}
	}
	if len(n.Outputs) > 0 {
		out, err = s.To.Copy(s.From, n, in)
	} else {
		out, err = s.To.Add(n.Scope, n.Op, n.Attrs, in...)
	}
	if err != nil {
		return nil, err
	}
	at := len(s.To.Nodes) - 1
	for range out {
		s.def = append(s.def, at)
	}
	if s.before = append(s.before, before); !alone {
		s.known[hash] = at
	}
	if n.Op == ir.Relu {
		s.relus[in[0]] = out[0]
	}
	return out, nil
}

// hashNode returns a number that equal nodes share.
func hashNode(n *ir.Node, in []ir.Value) uint64 {
	h := ir.MixHash(ir.HashAttrs(n.Attrs), uint64(n.Op))
	for _, v := range in {
		h = ir.MixHash(h, uint64(v))
	}
	return h
}

//go:noinline
func (s *simplifier) one(n *ir.Node, op ir.Op, attrs ir.Attrs, in ...ir.Value) (ir.Value, bool, error) {
	v, err := s.node(&ir.Node{Op: op, Attrs: attrs, Scope: n.Scope}, in)
	if err != nil {
		return 0, false, err
	}
	return v[0], true, nil
}

// producer returns the node that defines v if it is of the given op.
func (s *simplifier) producer(v ir.Value, op ir.Op) *ir.Node {
	if i := s.def[v]; i >= 0 && s.To.Nodes[i].Op == op {
		return &s.To.Nodes[i]
	}
	return nil
}

// splat returns the element that fills v, if v is a constant of one repeated element.
func (s *simplifier) splat(v ir.Value) (ir.Literal, bool) {
	n := s.producer(v, ir.Constant)
	if n == nil {
		return ir.Literal{}, false
	}
	l := n.Attrs.(ir.ConstantAttrs).Literal
	if !l.Splat && l.Type.Shape.Size() == 1 {
		l.Splat = true
	}
	return l, l.Splat
}

// isSplat reports whether v is filled with x; -0 and +0 are different.
func (s *simplifier) isSplat(v ir.Value, x float64) bool {
	l, ok := s.splat(v)
	return ok && math.Float64bits(l.At(0)) == math.Float64bits(x)
}

// identity replaces a node with one result by a simpler value.
func (s *simplifier) identity(n *ir.Node, in []ir.Value) (ir.Value, bool, error) {
	switch n.Op {
	case ir.Identity:
		return in[0], true, nil
	case ir.Constant:
		return s.constant(n)
	case ir.Iota:
		return s.iota(n)
	case ir.Reshape, ir.Transpose, ir.Broadcast, ir.Slice, ir.Pad, ir.Concat, ir.Reduce, ir.Reverse:
		return s.movement(n, in)
	case ir.Dot:
		return s.dot(n, in)
	case ir.AllGather, ir.ReduceScatter, ir.CollectiveBroadcast:
		if s.options.Replicas <= 1 || n.Attrs.(ir.CollectiveAttrs).Size() == 1 {
			return in[0], true, nil
		}
	case ir.AllReduce:
		if (s.options.Replicas <= 1 || n.Attrs.(ir.CollectiveAttrs).Size() == 1) && len(in) == 1 {
			return in[0], true, nil
		}
	}
	if n.Op.IsElementwise() {
		return s.elementwise(n, in)
	}
	return 0, false, nil
}

// constant recognises literals that repeat one element.
func (s *simplifier) constant(n *ir.Node) (ir.Value, bool, error) {
	l := n.Attrs.(ir.ConstantAttrs).Literal
	size := l.Type.DType.Size()
	if l.Splat || l.Type.Shape.Size() == 0 {
		return 0, false, nil
	}
	for i := size; i < len(l.Data); i += size {
		if string(l.Data[i:i+size]) != string(l.Data[:size]) {
			return 0, false, nil
		}
	}
	return s.one(n, ir.Constant, ir.ConstantAttrs{Literal: ir.Literal{Type: l.Type, Data: l.Data[:size], Splat: true}})
}

// iota counts along one axis only and repeats that along the others; elementwise units read through the repetition.
func (s *simplifier) iota(n *ir.Node) (ir.Value, bool, error) {
	t, axis := n.Attrs.(ir.IotaAttrs).Type, n.Attrs.(ir.IotaAttrs).Axis
	if t.Shape[axis] == 1 && t.Shape.Size() > 0 { // the axis has length 1: all elements are 0
		return s.one(n, ir.Constant, ir.ConstantAttrs{Literal: ir.Literal{Type: t, Data: make([]byte, t.DType.Size()), Splat: true}})
	}
	if t.Shape.Size() == t.Shape[axis] {
		return 0, false, nil
	}
	line := ir.IotaAttrs{Type: ir.Type{DType: t.DType, Shape: ir.Shape{t.Shape[axis]}}}
	v, _, err := s.one(n, ir.Iota, line)
	if err != nil {
		return 0, false, err
	}
	return s.one(n, ir.Broadcast, ir.BroadcastAttrs{Shape: t.Shape, Axes: []int{axis}}, v)
}

// elementwise folds constants and removes operations that change nothing.
func (s *simplifier) elementwise(n *ir.Node, in []ir.Value) (ir.Value, bool, error) {
	if v, ok, err := s.foldSplats(n, in); ok || err != nil {
		return v, ok, err
	}
	t := s.To.Type(in[0])
	switch n.Op {
	case ir.Convert:
		to := n.Attrs.(ir.ConvertAttrs).DType
		if c := s.producer(in[0], ir.Convert); c != nil && to.IsHalf() && t.DType == ir.Float32 && s.To.Type(c.Inputs[0]).DType == to {
			return c.Inputs[0], true, nil // there and back
		}
		return in[0], t.DType == to, nil
	case ir.Mul:
		if s.isSplat(in[1], 1) {
			return in[0], true, nil
		}
		return in[1], s.isSplat(in[0], 1), nil
	case ir.Div:
		return in[0], s.isSplat(in[1], 1), nil
	case ir.Add: // x + 0 turns -0 into +0, x + -0 changes nothing
		zero := math.Copysign(0, -1)
		if !t.DType.IsFloat() {
			zero = 0
		}
		if s.isSplat(in[1], zero) {
			return in[0], true, nil
		}
		if s.isSplat(in[0], zero) {
			return in[1], true, nil
		}
		return s.sumOfPads(n, in)
	case ir.Sub:
		return in[0], s.isSplat(in[1], 0), nil
	case ir.Pow:
		if s.isSplat(in[1], 1) {
			return in[0], true, nil
		}
		if s.isSplat(in[1], 2) {
			return s.one(n, ir.Mul, nil, in[0], in[0])
		}
	case ir.Neg:
		if inner := s.producer(in[0], ir.Neg); inner != nil {
			return inner.Inputs[0], true, nil
		}
	case ir.Select:
		if l, ok := s.splat(in[0]); ok {
			if l.At(0) != 0 {
				return in[1], true, nil
			}
			return in[2], true, nil
		}
		return in[1], in[1] == in[2], nil
	case ir.Compare:
		// The mask of a relu reads the result of the relu, x > 0 as relu(x) > 0, so that the pre-activation need not be
		// kept.
		if n.Attrs.(ir.CompareAttrs).Direction == ir.Gt && s.isSplat(in[1], 0) {
			if y, ok := s.relus[in[0]]; ok {
				return s.one(n, ir.Compare, n.Attrs, y, in[1])
			}
		}
	}
	return 0, false, nil
}

// foldSplats computes a node whose operands are all constants of one repeated element.
func (s *simplifier) foldSplats(n *ir.Node, in []ir.Value) (ir.Value, bool, error) {
	for _, v := range in {
		if l, ok := s.splat(v); !ok || l.Type.Shape.Size() == 0 {
			return 0, false, nil
		}
	}
	literals := make([]ir.Literal, len(in))
	for i, v := range in {
		literals[i], _ = s.splat(v)
	}
	scalar := ir.New("")
	operands := make([]ir.Value, len(in))
	for i, l := range literals {
		operands[i] = scalar.AddInput("", ir.Type{DType: l.Type.DType})
	}
	out, err := scalar.Add(n.Scope, n.Op, n.Attrs, operands...)
	if err != nil {
		return 0, false, err
	}
	fold := s.options.Fold
	if fold == nil {
		fold = FoldExact
	}
	result := scalar.Type(out[0])
	folded, ok := fold(scalar, literals)
	if !ok {
		return 0, false, nil
	}
	t := ir.Type{DType: result.DType, Shape: literals[0].Type.Shape}
	return s.one(n, ir.Constant, ir.ConstantAttrs{Literal: ir.Literal{Type: t, Data: folded, Splat: true}})
}
