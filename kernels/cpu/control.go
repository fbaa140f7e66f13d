package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/ir"
)

// A sub-program is compiled once, into a schedule whose memory is part of the parent's arena. To run it, its inputs and
// outputs are pointed at the parent's memory; nothing is copied.

// subschedule compiles a sub-program.
func (b *build) subschedule(p *ir.Program) (*schedule, error) { return b.partOf(p, false) }

// partOf is subschedule for a program that may be part of one that only predicts.
func (b *build) partOf(p *ir.Program, predicts bool) (*schedule, error) {
	s, err := b.c.compilePart(p, false, predicts)
	if err != nil {
		return nil, err
	}
	b.kids = append(b.kids, child{s, b.workspace(s.bytes), nil})
	return s, nil
}

// operandList returns the node's operands [from, to).
func (b *build) operandList(from, to int) []*plan.Operand {
	list := make([]*plan.Operand, 0, to-from)
	for i := from; i < to; i++ {
		list = append(list, b.in(i))
	}
	return list
}

func (b *build) results() []*plan.Operand {
	list := make([]*plan.Operand, len(b.n.Outputs))
	for i := range list {
		list[i] = b.out(i)
	}
	return list
}

// alternates reserves a second buffer for each state, so that a step reads one and writes the other.
func (b *build) alternates(states []*plan.Operand) []*plan.Operand {
	list := make([]*plan.Operand, len(states))
	for i, s := range states {
		list[i] = &plan.Operand{Mem: b.workspace(s.Typ.Bytes()), Typ: s.Typ, N: s.N}
	}
	return list
}

func bind(to []*plan.Storage, from []*plan.Operand) {
	for i, o := range from {
		to[i].Ptr = o.Ptr()
	}
}

// bindConstants is bind for operands that do not change while the sub-program runs repeatedly. If an operand is a whole
// input of the program that no output replaces, or a conversion of one, its buffer comes along: products can then use
// what the buffer keeps for them (weights.go) in all runs.
func (b *build) bindConstants(to []*plan.Storage, from []*plan.Operand) {
	for i, o := range from {
		to[i].Ptr, to[i].Whose = o.Ptr(), nil
		if o.Off == 0 && b.constant(o) {
			to[i].Whose = o.Mem.Whose
		}
	}
}

// sliceAt points storages at slice i, along axis 0, of stacked operands.
func sliceAt(to []*plan.Storage, stacked []*plan.Operand, i, length int) {
	for k, o := range stacked {
		stride := o.N / length * o.Typ.DType.Size()
		to[k].Ptr = unsafe.Add(o.Ptr(), i*stride)
	}
}

func buildScan(b *build) (func(), error) {
	a := b.n.Attrs.(ir.ScanAttrs)
	if run, err := buildBlockScan(b); run != nil || err != nil {
		return run, err
	}
	body, err := b.partOf(a.Body, b.predicts && a.Carry == 0) // see scan.ByExamples
	if err != nil {
		return nil, err
	}
	initial := b.operandList(0, a.Carry)
	xs, constants := b.operandList(a.Carry, a.Carry+a.Xs), b.operandList(a.Carry+a.Xs, len(b.n.Inputs))
	results := b.results()
	final, ys := results[:a.Carry], results[a.Carry:]
	other := b.alternates(final)
	rt := b.rt()
	return func() {
		if a.Length == 0 {
			for i := range final {
				copyOperand(final[i], initial[i])
			}
			return
		}
		b.bindConstants(body.inputs[a.Carry+a.Xs:], constants)
		from := initial
		for n := range a.Length {
			at := n
			if a.Reverse {
				at = a.Length - 1 - n
			}
			to := final // steps alternate between the two, so that the last one writes final
			if (a.Length-1-n)%2 == 1 {
				to = other
			}
			bind(body.inputs, from)
			bind(body.outputs, to)
			sliceAt(body.inputs[a.Carry:], xs, at, a.Length)
			sliceAt(body.outputs[a.Carry:], ys, at, a.Length)
			if body.execute(rt); rt.err != nil {
				return
			}
			from = to
		}
	}, nil
}

func buildWhile(b *build) (func(), error) {
	a := b.n.Attrs.(ir.WhileAttrs)
	cond, err := b.subschedule(a.Cond)
	if err != nil {
		return nil, err
	}
	body, err := b.subschedule(a.Body)
	if err != nil {
		return nil, err
	}
	initial, constants := b.operandList(0, a.State), b.operandList(a.State, len(b.n.Inputs))
	final := b.results()
	other := b.alternates(final)
	goOn := b.scratch(ir.Bool, 1)
	rt := b.rt()
	return func() {
		b.bindConstants(cond.inputs[a.State:], constants)
		b.bindConstants(body.inputs[a.State:], constants)
		cond.outputs[0].Ptr = goOn.Ptr()
		from, to, next := initial, final, other
		for {
			bind(cond.inputs, from)
			if cond.execute(rt); rt.err != nil {
				return
			}
			if !plan.Data[bool](goOn)[0] {
				break
			}
			bind(body.inputs, from)
			bind(body.outputs, to)
			if body.execute(rt); rt.err != nil {
				return
			}
			from, to, next = to, next, to
		}
		for i := range final {
			copyOperand(final[i], from[i])
		}
	}, nil
}

func buildCond(b *build) (func(), error) {
	a := b.n.Attrs.(ir.CondAttrs)
	yes, err := b.subschedule(a.Then)
	if err != nil {
		return nil, err
	}
	no, err := b.subschedule(a.Else)
	if err != nil {
		return nil, err
	}
	pred, operands, results := b.in(0), b.operandList(1, len(b.n.Inputs)), b.results()
	rt := b.rt()
	return func() {
		s := no
		if plan.Data[bool](pred)[0] {
			s = yes
		}
		bind(s.inputs, operands)
		bind(s.outputs, results)
		s.execute(rt)
	}, nil
}
