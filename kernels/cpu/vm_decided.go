package cpu

import (
	"maps"

	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Some conditions of selections are one bool for all elements: whether accumulated gradients are due, whether a moving
// average begins. Large units with such a condition are compiled for either of its values, without the selection and
// without what only the other side needs: while gradients are added up, the update of their variable is neither
// computed nor read. The bits are the same.

const (
	leastDecided = 1 << 11 // elements of a unit
	mostDecided  = 2       // conditions, each of which doubles the code
)

// compileDecided compiles a unit, whose conditions are known in part, for all values of others.
func (p *placement) compileDecided(u *fuse.Unit, rt *runtime, known map[ir.Value]bool) func() {
	condition, ok := p.condition(u, known)
	if !ok {
		run, inPlace := p.compileKnown(u, rt, known)
		if len(inPlace) == 0 {
			return run
		}
		beside, _ := p.compileKnown(u, rt, nil)
		return func() {
			if areInPlace(inPlace) {
				run()
			} else {
				beside()
			}
		}
	}
	var ways [2]func()
	for i := range ways {
		more := map[ir.Value]bool{condition: i == 1}
		maps.Copy(more, known)
		ways[i] = p.compileDecided(u, rt, more)
	}
	o := &p.Operands[condition]
	return func() {
		if plan.Data[bool](o)[0] {
			ways[1]()
		} else {
			ways[0]()
		}
	}
}

// areInPlace reports whether each two operands have the same memory.
func areInPlace(pairs [][2]*plan.Operand) bool {
	for _, o := range pairs {
		if o[0].Ptr() != o[1].Ptr() {
			return false
		}
	}
	return true
}

// condition returns a condition that is one bool for all elements, and in memory before the unit runs.
func (p *placement) condition(u *fuse.Unit, known map[ir.Value]bool) (ir.Value, bool) {
	if len(known) == mostDecided || u.Size < leastDecided || u.Rows > 0 || len(u.Sinks) > 0 {
		return 0, false
	}
	found, ok := ir.Value(0), false
	for _, i := range u.Nodes {
		switch n := &p.Program.Nodes[i]; n.Op {
		case ir.Gather: // may fail, whether or not its result is used
			return 0, false
		case ir.Select:
			a := u.Accesses[n.Inputs[0]]
			if _, seen := known[a.Source]; !seen && !ok && p.isCondition(u, &a) {
				found, ok = a.Source, true
			}
		}
	}
	return found, ok
}

// isCondition reports whether an access reads one bool that the unit does not compute.
func (p *placement) isCondition(u *fuse.Unit, a *fuse.Access) bool {
	o := &p.Operands[a.Source]
	def := p.Def[a.Source]
	return a.Scalar() && o.Typ.DType == ir.Bool && o.N == 1 && o.Mem != nil && (def < 0 || p.UnitOf[def] != u)
}

// decide finds the selections whose condition is known, and skips the nodes that nothing needs then.
func (b *vmBuilder) decide(known map[ir.Value]bool) {
	if len(known) == 0 {
		return
	}
	b.decided = map[int]ir.Value{}
	for _, i := range b.u.Nodes {
		if n := &b.Program.Nodes[i]; n.Op == ir.Select {
			if yes, ok := known[b.u.Accesses[n.Inputs[0]].Source]; ok {
				b.decided[i] = n.Inputs[2]
				if yes {
					b.decided[i] = n.Inputs[1]
				}
			}
		}
	}
	needed := map[ir.Value]bool{}
	for k := len(b.u.Nodes) - 1; k >= 0; k-- {
		i := b.u.Nodes[k]
		n := &b.Program.Nodes[i]
		v := n.Outputs[0]
		reads := n.Inputs
		if x, ok := b.decided[i]; ok {
			reads = []ir.Value{x}
		}
		if !needed[v] && (b.Operands[v].Mem == nil || b.isThere(i)) {
			b.skip[i] = true
			continue
		}
		if y, ok := b.reluMask[i]; ok {
			needed[b.u.Accesses[y].Source] = true
		}
		if s, ok := b.shares[i]; ok {
			needed[b.u.Accesses[s.X].Source], needed[b.u.Accesses[s.Y].Source] = true, true
		}
		for _, x := range reads {
			needed[b.u.Accesses[x].Source] = true
		}
	}
}

// isThere reports whether the result of node i is what its memory already holds: the operand that a selection takes,
// which may be in float32 between 16 bits in memory. That of an output of the program is, where the caller gave it the
// memory of the input that it replaces.
func (b *vmBuilder) isThere(i int) bool {
	v := b.Program.Nodes[i].Outputs[0]
	x, to := b.origin(v), &b.Operands[v]
	from := &b.Operands[x]
	if _, part := b.Parts[v]; x == v || part || from.Mem == nil || from.N != to.N {
		return false
	}
	if from.Mem == to.Mem {
		return from.Off == to.Off
	}
	for _, out := range b.Program.Outputs {
		if root, _ := b.Root(out.Value); root == v && out.Alias >= 0 && b.Operands[b.Program.Inputs[out.Alias].Value].Mem == from.Mem {
			b.inPlace = append(b.inPlace, [2]*plan.Operand{from, to})
			return true
		}
	}
	return false
}

// origin returns the value of the same type in memory that v is a copy of, or v.
func (b *vmBuilder) origin(v ir.Value) ir.Value {
	d := b.Program.Type(v).DType
	for x := v; ; {
		i := b.Def[x]
		if i < 0 || b.UnitOf[i] != b.u {
			if b.Program.Type(x).DType == d {
				return x
			}
			return v
		}
		n := &b.Program.Nodes[i]
		next, ok := b.decided[i]
		if !ok {
			if n.Op != ir.Convert || !d.IsHalf() {
				return v
			}
			next = n.Inputs[0]
		}
		a := b.u.Accesses[next]
		if t := b.Program.Type(a.Source).DType; !a.Dense || t != d && !(d.IsHalf() && t == ir.Float32) {
			return v
		}
		x = a.Source
	}
}

// compileDecision adds node i, a selection whose condition is known, as a copy.
func (b *vmBuilder) compileDecision(i int, n *ir.Node) {
	copied := ir.Node{Op: ir.Identity, Inputs: []ir.Value{b.decided[i]}, Outputs: n.Outputs}
	args := []uint8{b.operand(b.u.Accesses[b.decided[i]])}
	v := n.Outputs[0]
	d, inMemory := b.Program.Type(v).DType, b.Operands[v].Mem != nil
	dst := b.result(v)
	b.prog.ops = appendKernel(b.prog.ops, b.Program, &copied, dst, args)
	if inMemory && d.IsHalf() {
		b.narrow(v, b.memory(b.Operands[v]))
	}
	b.release(n, i)
}
