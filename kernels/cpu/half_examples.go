package cpu

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Ops that treat the examples of a batch separately, and have 16-bit operands, run on a few examples at a time. The
// examples are widened to float32 in memory that stays in the cache, the op's float32 kernel computes them, and the
// results are rounded when they are stored. No operand ever exists as a whole in 32 bits.

// halfBytes is how much float32 memory the examples of a chunk take.
const halfBytes = 512 << 10

// sharedOperands are the operands that all examples share, by op.
var sharedOperands = map[ir.Op][]int{ir.Conv: {1}, ir.ConvInputGrad: {1}, ir.MaxPool: nil, ir.MaxPoolGrad: nil, ir.AvgPool: nil, ir.AvgPoolGrad: nil,
	ir.Softmax: nil, ir.SoftmaxGrad: nil, ir.LogSoftmax: nil, ir.LogSoftmaxGrad: nil, ir.Attention: {3}, ir.AttentionGrad: {6},
	ir.LstmCell: nil, ir.LstmCellGrad: nil, ir.GruCell: nil, ir.GruCellGrad: nil}

// computesByExamples reports whether the node can be computed a few examples at a time.
func computesByExamples(p *ir.Program, n *ir.Node) bool {
	_, ok := sharedOperands[n.Op]
	t := p.Type(n.Inputs[0])
	empty := func(v ir.Value) bool { return p.Type(v).Shape.Size() == 0 } // values that have no part for each example, such as those of attention to no keys
	return ok && halfOf[t.DType] != nil && len(t.Shape) >= 2 && !slices.ContainsFunc(n.Inputs, empty) && !slices.ContainsFunc(n.Outputs, empty)
}

// halfPort is an operand or a result of such an op, as it is in the parent and for the op on a chunk.
type halfPort struct {
	o     *plan.Operand
	size  int      // elements of an example; 0 if all examples share the operand
	half  vec.Half // the type in the parent, if wide
	wide  *plan.Operand
	chunk *plan.Storage // what the op on a chunk reads or writes

	move     func() // widens n elements from begin on, or rounds them
	begin, n int
	rounds   bool
	copies   bool // results are copies of operands rather than sums
	unread   bool // nothing reads the result
}

// halfPiece is how many elements one task widens or rounds.
const halfPiece = 1 << 14

// newHalfPort returns a port with float32 memory for a chunk of the batch's examples. There is no such memory if the op
// reads 16 bits in place.
func newHalfPort(b *build, o *plan.Operand, batch, examples int, shared, inPlace bool) *halfPort {
	p := &halfPort{o: o, chunk: &plan.Storage{}}
	n := o.N
	if !shared {
		p.size = o.N / batch
		n = p.size * examples
	}
	h := halfOf[o.Typ.DType]
	if h == nil || inPlace {
		return p
	}
	p.half, p.wide = *h, b.scratch(ir.Float32, n)
	p.move = b.rt().parallel((n+halfPiece-1)/halfPiece, 1, func(_ *worker, lo, hi int) {
		lo, hi = lo*halfPiece, min(hi*halfPiece, p.n)
		if lo >= hi {
			return
		}
		wide, narrow := plan.Data[float32](p.wide)[lo:hi], plan.Data[uint16](p.o)[p.begin+lo:p.begin+hi]
		if p.rounds {
			p.round(narrow, wide)
		} else {
			p.half.Widen(wide, narrow)
		}
	})
	return p
}

// at sets the chunk to the given examples from first on.
func (p *halfPort) at(first, examples int) {
	p.begin, p.n = first*p.size, p.size*examples
	if p.wide != nil {
		p.chunk.Ptr = p.wide.Ptr()
		return
	}
	o := *p.o
	o.Skip(p.begin * o.Typ.DType.Size())
	p.chunk.Ptr = o.Ptr()
}

// widen reads the examples of the chunk.
func (p *halfPort) widen() {
	if p.wide == nil {
		return
	}
	if p.size == 0 {
		p.n = p.o.N
	}
	if p.n <= halfPiece {
		p.half.Widen(plan.Data[float32](p.wide)[:p.n], plan.Data[uint16](p.o)[p.begin:])
		return
	}
	p.rounds = false
	p.move()
}

// narrow writes the examples of the chunk.
func (p *halfPort) narrow() {
	switch {
	case p.wide == nil || p.unread:
	case p.n <= halfPiece:
		p.round(plan.Data[uint16](p.o)[p.begin:][:p.n], plan.Data[float32](p.wide))
	default:
		p.rounds = true
		p.move()
	}
}

// unread reports whether nothing reads the value.
func (b *build) unread(v ir.Value) bool {
	return len(b.Users[v]) == 0 && !slices.ContainsFunc(b.Program.Outputs, func(o ir.Output) bool { return o.Value == v })
}

// round rounds results.
func (p *halfPort) round(out []uint16, x []float32) {
	if p.copies {
		p.half.Narrow(out, x)
	} else {
		p.half.NarrowSums(out, x)
	}
}

// byExamples is the op of a unit, computed a few examples at a time.
type byExamples struct {
	b        *build
	batch    int
	examples int // examples of a chunk
	inputs   []*halfPort
	outputs  []*halfPort
	whole    func() // computes a chunk
	rest     func() // the same for the last chunk, if it is shorter
	prepare  func() // runs once before all chunks
	pairs    *kernelPairs
	byRows   bool // examples are rows of images, because each pixel is computed separately
	bias     *halfBias
}

// buildByExamples returns a builder that goes by examples if the operands have 16 bits, and otherwise uses wide.
func buildByExamples(wide func(b *build) (func(), error)) func(b *build) (func(), error) {
	return func(b *build) (func(), error) {
		if halfOf[b.in(0).Typ.DType] == nil || b.u.Fused != nil && b.u.Fused.Axis >= 0 { // a softmax along another axis widens its rows itself
			return wide(b)
		}
		return byExamplesOf(b, wide)
	}
}

// byExamplesOf compiles an op with 16-bit operands.
func byExamplesOf(b *build, wide func(b *build) (func(), error)) (func(), error) {
	e := &byExamples{b: b, batch: b.in(0).Typ.Shape[0]}
	inPairs := convolvesPairs(b)
	if e.byRows = inPairs && convolvesRows(b); e.byRows {
		shape := b.in(0).Typ.Shape
		e.batch = shape[:len(shape)-2].Size()
	}
	e.chooseChunk(inPairs)
	for i := range b.n.Inputs {
		e.inputs = append(e.inputs, newHalfPort(b, b.in(i), e.batch, e.examples, e.shares(i), inPairs))
	}
	for i := range b.n.Outputs {
		port := newHalfPort(b, b.out(i), e.batch, e.examples, false, false)
		port.copies = b.n.Op == ir.MaxPool || b.n.Op == ir.MaxPoolGrad
		port.unread = i > 0 && b.unread(b.n.Outputs[i])
		e.outputs = append(e.outputs, port)
	}
	compile := func(examples int) (func(), error) { return e.compile(wide, examples) }
	if e.prepare = func() {}; inPairs {
		compile = e.compilePairs
	}
	var err error
	if e.whole, err = compile(e.examples); err == nil && e.batch%e.examples > 0 {
		e.rest, err = compile(e.batch % e.examples)
	}
	e.bias = newHalfBias(b)
	return e.run, err
}

// shares reports whether all examples share input i.
func (e *byExamples) shares(i int) bool {
	for _, shared := range sharedOperands[e.b.n.Op] {
		if shared == i {
			s := e.b.in(i).Typ.Shape
			return e.b.n.Op != ir.Attention && e.b.n.Op != ir.AttentionGrad || len(s) == 0 || s[0] != e.batch
		}
	}
	return false
}

// chooseChunk sets the number of examples of a chunk to as many as fit, in chunks of about equal size. Chunks of pairs
// for matrix registers are sized separately.
func (e *byExamples) chooseChunk(inPairs bool) {
	if inPairs && micro.Matrices() {
		e.examples = e.chunkOfMatrices()
		return
	}
	bytes := 0
	for i := range e.b.n.Inputs {
		if !e.shares(i) {
			bytes += 4 * e.b.in(i).N / e.batch
		}
	}
	for i := range e.b.n.Outputs {
		bytes += 4 * e.b.Program.Type(e.b.n.Outputs[i]).Shape.Size() / e.batch
	}
	chunks := (e.batch*bytes + halfBytes - 1) / halfBytes
	workers := e.b.rt().pool.Size()
	e.examples = min(max((e.batch+chunks-1)/max(chunks, 1), workers, 1), e.batch)
}

// compile returns the function that computes a chunk of the given examples, as a program of one op on float32.
func (e *byExamples) compile(builder func(b *build) (func(), error), examples int) (func(), error) {
	b, n := e.b, e.b.n
	p := &ir.Program{Name: b.Program.Name}
	typ := func(port *halfPort) ir.Type {
		t := ir.Type{DType: port.o.Typ.DType, Shape: port.o.Typ.Shape.Clone()}
		if port.wide != nil {
			t.DType = ir.Float32
		}
		if port.size > 0 {
			t.Shape[0] = examples
		}
		return t
	}
	var in []ir.Value
	for _, port := range e.inputs {
		in = append(in, p.AddInput("", typ(port)))
	}
	out, err := p.Add(n.Scope, n.Op, attrsFor(n.Attrs, examples), in...)
	if err != nil {
		return nil, err
	}
	u := &fuse.Unit{Nodes: []int{0}, Time: b.u.Time}
	if f := b.u.Fused; f != nil && f.Pool {
		pool := &b.Program.Nodes[b.Def[f.Result]]
		pooled, err := p.Add(n.Scope, pool.Op, pool.Attrs, out[0])
		if err != nil {
			return nil, err
		}
		out = pooled
		u.Fused = fuse.NewEpilogue(0, pooled[0])
		u.Fused.Pool = true
	}
	g := fuse.NewGraph(p)
	g.Plain = true
	sub := &plan.Placement{Graph: g, Operands: make([]plan.Operand, p.NumValues())}
	place := func(v ir.Value, port *halfPort) {
		t := p.Type(v)
		sub.Operands[v] = plan.Operand{Mem: port.chunk, Typ: t, N: t.Shape.Size()}
		port.chunk.Bytes = max(port.chunk.Bytes, t.Bytes())
	}
	for i, v := range in {
		place(v, e.inputs[i])
	}
	for i, v := range out {
		place(v, e.outputs[i])
	}
	run, err := builder(&build{placement: &placement{Placement: sub}, c: b.c, u: u, n: &p.Nodes[0], part: true})
	b.Storages = append(b.Storages, sub.Storages...)
	return run, err
}

// attrsFor returns the attributes for the given number of examples.
func attrsFor(a ir.Attrs, examples int) ir.Attrs {
	switch a := a.(type) {
	case ir.ConvGradAttrs:
		a.Shape = a.Shape.Clone()
		a.Shape[0] = examples
		return a
	case ir.PoolGradAttrs:
		a.Shape = a.Shape.Clone()
		a.Shape[0] = examples
		return a
	}
	return a
}

func (e *byExamples) run() {
	for _, p := range e.inputs {
		if p.at(0, 0); p.size == 0 {
			p.widen()
		}
	}
	e.prepare()
	for first := 0; first < e.batch; first += e.examples {
		n, compute := min(e.examples, e.batch-first), e.whole
		if n < e.examples {
			compute = e.rest
		}
		for _, p := range e.inputs {
			if p.size > 0 {
				p.at(first, n)
				p.widen()
			}
		}
		for _, p := range e.outputs {
			p.at(first, n)
		}
		compute()
		for i, p := range e.outputs {
			if i == 0 && e.bias != nil {
				e.bias.narrow(p, first == 0)
			} else {
				p.narrow()
			}
		}
	}
}

// halfBias is what a unit does to the result of a convolution before it is stored.
type halfBias struct {
	bias *plan.Operand // or nil
	relu bool
	wide *plan.Operand // the bias in float32
}

// newHalfBias returns what the unit adds to its 16-bit product or convolution, or nil.
func newHalfBias(b *build) *halfBias {
	bias, relu := b.addedToProduct()
	if bias == nil && !relu {
		return nil
	}
	h := &halfBias{bias: bias, relu: relu}
	if bias != nil {
		h.wide = b.scratch(ir.Float32, bias.N)
	}
	return h
}

// narrow rounds the chunk of the result, adds the bias, and rounds again.
func (h *halfBias) narrow(p *halfPort, first bool) {
	out, x := plan.Data[uint16](p.o)[p.begin:][:p.n], plan.Data[float32](p.wide)[:p.n]
	if h.bias == nil {
		vec.Relu(x, x)
		p.half.NarrowSums(out, x)
		return
	}
	n, wide := h.bias.N, plan.Data[float32](h.wide)
	if n == 0 { // no channels
		return
	}
	if first {
		p.half.Widen(wide, plan.Data[uint16](h.bias))
	}
	p.half.RoundAddRows(out, x, wide, n, len(out)/n, n, n, h.relu)
}
