package lower

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
	"github.com/gokeras/gokeras/kernels/ir"
)

// A loop whose steps treat examples separately is one kernel. Recurrent layers are such loops, and so are their
// gradients once sums over examples have been moved out (hoist.go). Each block processes a few examples through all
// steps. The nodes of a step are computed in order, with a barrier where a thread reads what other threads of the block
// have written. Blocks never wait for each other.

const (
	maxRowConstants = 512 << 10 // bytes of matrices that each block reads in each step
	rowBlocks       = 128       // blocks that a loop is divided into, about as many as a device runs concurrently
	maxRows         = 8         // examples per block
)

// rowLoop is the kernel of such a loop.
type rowLoop struct {
	*gen
	f       *fusion
	attrs   ir.ScanAttrs
	batch   int
	rows    int // per block
	block   int
	states  []Place // of the carried values
	stacked []Place // of the stacked results

	tid, first ptx.Operand // first is the block's first example
	moving     []moving
	out        []ptx.Operand    // where a step's results are written, numbered after the states
	writes     map[ir.Value]int // the result that a value is written to directly
	hazards    hazards
	bytes      int64
	cached     map[ir.Value]cached
}

// moving is a pointer that advances with each step.
type moving struct {
	register ptx.Operand
	bytes    int64
}

// rowsOfLoop is the number of examples that a loop treats separately; 0 if it does not, or if such a kernel would not
// be faster.
func (s *scope) rowsOfLoop(a ir.ScanAttrs, f *fusion) int {
	p := s.p
	if a.Carry == 0 || a.Length < 2 {
		return 0
	}
	first := func(v ir.Value) int {
		if shape := p.Type(v).Shape; len(shape) > 0 {
			return shape[0]
		}
		return 0
	}
	batch := first(p.Inputs[0].Value)
	row := make([]bool, p.NumValues())
	for _, in := range p.Inputs[:a.Carry+a.Xs] {
		if row[in.Value] = true; first(in.Value) != batch {
			return 0
		}
	}
	constants := 0
	for i := range p.Nodes {
		n := &p.Nodes[i]
		apart, across := keepsRowsApart(p, n, row, batch)
		if !across || len(f.checks[i]) > 0 || f.kernel[i] && !apart {
			return 0
		}
		for _, v := range n.Outputs {
			row[v] = apart
		}
		if n.Op == ir.Dot {
			constants += p.Type(n.Inputs[1]).Bytes()
		}
	}
	for i, out := range p.Outputs {
		if s.makers[out.Value] == nil && (i < a.Carry && out.Value != p.Inputs[i].Value || !row[out.Value]) || !row[out.Value] {
			return 0
		}
	}
	if constants == 0 || constants > maxRowConstants {
		return 0
	}
	return batch
}

// keepsRowsApart reports whether the result of a node has the examples on its first axis (apart), and, if an operand
// does, whether each example's result depends on that example alone (ok).
func keepsRowsApart(p *ir.Program, n *ir.Node, row []bool, batch int) (apart, ok bool) {
	shape := p.Type(n.Outputs[0]).Shape
	apart = slices.ContainsFunc(n.Inputs, func(v ir.Value) bool { return row[v] })
	if apart && (len(shape) == 0 || shape[0] != batch) {
		return false, false
	}
	switch a := n.Attrs.(type) {
	case ir.SliceAttrs:
		return apart, !apart || a.Start[0] == 0 && a.Limit[0] == batch && a.Stride[0] == 1
	case ir.BroadcastAttrs:
		return apart, !apart || a.Axes[0] == 0
	case ir.DotAttrs:
		x, y := p.Type(n.Inputs[0]), p.Type(n.Inputs[1])
		matrices := len(a.LhsBatch) == 0 && len(x.Shape) == 2 && len(y.Shape) == 2 && slices.Equal(a.LhsContract, []int{1}) && len(a.RhsContract) == 1
		float := x.DType.IsFloat() && x.DType.Size() <= 4
		return apart, matrices && float && row[n.Inputs[0]] && !row[n.Inputs[1]] && y.Shape.Size() > 0
	}
	switch n.Op {
	case ir.Reshape, ir.Constant, ir.Identity:
		return apart, true
	case ir.Concat:
		return apart, !apart || n.Attrs.(ir.AxisAttrs).Axis > 0
	}
	return apart, n.Op.IsElementwise()
}

// inRows writes a loop as one kernel, and reports whether it could.
func (s *scope) inRows(n *ir.Node, a ir.ScanAttrs, body *scope, f *fusion, states, xs, stacked []Place) bool {
	batch := body.rowsOfLoop(a, f)
	if batch == 0 {
		return false
	}
	l := &rowLoop{gen: body.kernel(n), f: f, attrs: a, batch: batch, states: states, stacked: stacked, block: 256}
	l.rows = min((batch+rowBlocks-1)/rowBlocks, maxRows)
	for i := range body.p.Nodes {
		if m := &body.p.Nodes[i]; m.Op == ir.Dot && (body.p.Type(m.Outputs[0]).Shape[1] >= 512 || body.p.Type(m.Inputs[0]).Shape[1] >= 512) {
			l.block = 512
		}
	}
	k := l.k
	l.tid = k.Op(ptx.B32, "mov.u32", special("%tid.x"))
	l.first = l.mov(ptx.B32, l.times(l.mov(ptx.B32, special("%ctaid.x")), l.rows))
	l.begin(xs)
	l.cache()
	l.loop(ptx.Int32(0), ptx.Int32(int64(a.Length)), 1, func(ptx.Operand) {
		l.step()
		for _, m := range l.moving {
			k.To(m.register, "add.s64", m.register, ptx.Int64(m.bytes))
		}
		k.Barrier()
	})
	l.launch([3]int{(batch + l.rows - 1) / l.rows, 1, 1}, l.block)
	step := &(*s.steps)[len(*s.steps)-1]
	step.Name, step.Bytes, step.FLOPs = fmt.Sprintf("scan of %d steps", a.Length), l.bytes, l.flops
	for v, taken := range body.taken {
		if taken {
			body.taken[v] = false
			s.arena.give(body.places[v].Offset, body.p.Type(v).Bytes())
		}
	}
	return true
}

// begin makes the pointers to a step's inputs and outputs.
func (l *rowLoop) begin(xs []Place) {
	p, a := l.p, l.attrs
	for i, in := range p.Inputs[a.Carry : a.Carry+a.Xs] {
		l.pointers[in.Value] = l.pointerOfStep(xs[i], in.Value)
	}
	for _, in := range p.Inputs[a.Carry+a.Xs:] {
		l.bytes += int64(p.Type(in.Value).Bytes())
	}
	l.writes = map[ir.Value]int{}
	for i, out := range p.Outputs[a.Carry:] {
		l.out = append(l.out, l.pointerOfStep(l.stacked[i], out.Value))
		if _, there := l.writes[out.Value]; !there && l.position[out.Value] >= 0 {
			l.writes[out.Value], l.pointers[out.Value] = i, l.out[i]
		}
	}
}

// pointerOfStep is a pointer to a value of the first step that runs; it moves with the steps.
func (l *rowLoop) pointerOfStep(place Place, v ir.Value) ptx.Operand {
	bytes := int64(l.p.Type(v).Bytes())
	l.bytes += bytes * int64(l.attrs.Length)
	m := moving{l.mov(ptx.B64, l.place(place)), bytes}
	if l.attrs.Reverse {
		l.k.To(m.register, "add.s64", m.register, ptx.Int64(bytes*int64(l.attrs.Length-1)))
		m.bytes = -bytes
	}
	l.moving = append(l.moving, m)
	return m.register
}

// step writes the computation of one step.
func (l *rowLoop) step() {
	p, a := l.p, l.attrs
	stack := func(before bool) { // results that are old states, or duplicates of other results
		for i, out := range p.Outputs[a.Carry:] {
			v := out.Value
			if at, made := l.writes[v]; before == (l.position[v] < 0) && (!made || at != i) {
				l.copyRows(v, fmt.Sprint("stacked", i), l.out[i])
			}
		}
	}
	stack(true)
	direct := map[ir.Value]Place{}
	for v, i := range l.writes {
		direct[v] = l.stacked[i]
	}
	for i := range p.Nodes {
		if !l.f.kernel[i] {
			continue
		}
		n := &p.Nodes[i]
		root, anchor := n.Outputs[0], n
		if m := l.f.anchor[i]; m != nil {
			anchor = m
		}
		l.settle(n, direct)
		l.inMemory[root] = false
		if anchor.Op == ir.Dot {
			l.product(anchor, root)
		} else {
			l.elementsOf(root)
		}
		l.inMemory[root] = true
	}
	stack(false)
	for i, out := range p.Outputs[:a.Carry] {
		if in := p.Inputs[i].Value; out.Value != in {
			l.copyRows(out.Value, l.name(in), l.pointer(in))
		}
	}
}

// name identifies the memory of a value.
func (l *rowLoop) name(v ir.Value) string { return fmt.Sprint("value", v) }

// mapping identifies the assignment of elements to threads: it depends on the shape alone.
func mapping(shape ir.Shape) string { return fmt.Sprint(shape) }

// elementsOf writes a value elementwise.
func (l *rowLoop) elementsOf(v ir.Value) {
	n, t := l.makers[v], l.p.Type(v)
	l.reading(n, mapping(t.Shape))
	l.hazards.write(l.k, l.name(v), mapping(t.Shape))
	to := l.pointer(v)
	l.each(t.Shape, func(number ptx.Operand) {
		r := l.register(t.DType, inlined[n.Op](l.gen, n, at(t.Shape, number)))
		l.store(t.DType, l.element(to, number, t.DType.Size()), r)
	})
}

// copyRows copies a value in memory.
func (l *rowLoop) copyRows(v ir.Value, name string, to ptx.Operand) {
	t := l.p.Type(v)
	l.hazards.read(l.k, l.name(v), mapping(t.Shape))
	l.hazards.write(l.k, name, mapping(t.Shape))
	from := l.pointer(v)
	l.each(t.Shape, func(number ptx.Operand) {
		x := l.load(t.DType, l.element(from, number, t.DType.Size()))
		l.store(t.DType, l.element(to, number, t.DType.Size()), x)
	})
}

// each writes a loop over the elements of the block's examples.
func (l *rowLoop) each(shape ir.Shape, body func(number ptx.Operand)) {
	columns := shape.Size() / l.batch
	from := l.mov(ptx.B32, l.times(l.first, columns))
	limit := l.k.Op(ptx.B32, "add.s32", from, ptx.Int32(int64(l.rows*columns)))
	if l.batch%l.rows != 0 {
		limit = l.k.Op(ptx.B32, "min.u32", limit, ptx.Int32(int64(shape.Size())))
	}
	l.loop(l.k.Op(ptx.B32, "add.s32", from, l.tid), limit, l.block, body)
}

// reading records what a node's kernel reads of what the loop writes.
func (l *rowLoop) reading(n *ir.Node, how string) {
	if !n.Op.IsElementwise() {
		how = anywhere
	}
	for _, v := range n.Inputs {
		switch {
		case l.inMemory[v]:
			l.hazards.read(l.k, l.name(v), how)
		case l.makers[v] != nil:
			l.reading(l.makers[v], how)
		}
	}
}

// hazards are the accesses since the last barrier: by the name of what was written or read, the mapping.
type hazards struct{ wrote, was map[string]string }

// anywhere is an access by any thread.
const anywhere = "anywhere"

func (h *hazards) read(k *ptx.Kernel, name, how string) {
	if w, ok := h.wrote[name]; ok && (w != how || how == anywhere) {
		h.barrier(k)
	}
	if h.was == nil {
		h.was = map[string]string{}
	}
	if before, ok := h.was[name]; ok && before != how {
		how = anywhere
	}
	h.was[name] = how
}

func (h *hazards) write(k *ptx.Kernel, name, how string) {
	r, read := h.was[name]
	w, wrote := h.wrote[name]
	if read && (r != how || how == anywhere) || wrote && (w != how || how == anywhere) {
		h.barrier(k)
	}
	if h.wrote == nil {
		h.wrote = map[string]string{}
	}
	h.wrote[name] = how
}

func (h *hazards) barrier(k *ptx.Kernel) {
	k.Barrier()
	h.wrote, h.was = nil, nil
}
