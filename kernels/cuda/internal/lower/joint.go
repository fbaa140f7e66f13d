package lower

import (
	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
	"github.com/gokeras/gokeras/kernels/ir"
)

// part is a share of a joint kernel, with one thread per element.
type part struct {
	n      int
	before func() // what each thread does first
	write  func(thread ptx.Operand)
}

// joint launches independent parts as one kernel: the first blocks compute the first part, and so on. A launch takes
// longer than a small part.
func (g *gen) joint(parts []part) {
	k, block := g.k, 32
	for _, p := range parts {
		for block < 256 && block < p.n {
			block *= 2
		}
	}
	tid := k.Op(ptx.B32, "mov.u32", special("%tid.x"))
	cta := k.Op(ptx.B32, "mov.u32", special("%ctaid.x"))
	blocks := 0
	for i, p := range parts {
		first, next := blocks, ""
		if i < len(parts)-1 {
			next = k.Label()
		}
		clear(g.memo) // other parts' threads do not execute this
		write := k.Later(func() {
			if p.before != nil {
				p.before()
			}
			blocks += (p.n + block - 1) / block / g.several(p.n, func(each int) ptx.Operand {
				mine := g.sub(cta, ptx.Int32(int64(first)))
				thread := k.Op(ptx.B32, "mad.lo.s32", mine, ptx.Int32(int64(block*each)), tid)
				if p.n%block != 0 {
					k.BranchIf(g.compare("ge", "u32", thread, ptx.Int32(int64(p.n))), g.exit)
				}
				return thread
			}, block, p.write)
		})
		if next != "" {
			k.BranchIf(g.compare("ge", "u32", cta, ptx.Int32(int64(blocks))), next)
		}
		write()
		if next != "" {
			k.Branch(g.exit)
			k.Place(next)
		}
	}
	g.launch([3]int{blocks, 1, 1}, block)
}

// copying is a region to copy.
type copying struct {
	typ      ir.Type
	from, to Place
}

// maxParts limits the parts of a joint kernel, and thereby its parameters.
const maxParts = 128

// copyAll copies regions that do not overlap, with few kernels.
func (s *scope) copyAll(n *ir.Node, list []copying, guarded bool) {
	var all []copying
	for _, c := range list {
		if c.typ.Bytes() > 0 {
			all = append(all, c)
		}
	}
	for len(all) > 0 {
		some := all[:min(len(all), maxParts)]
		all = all[len(some):]
		g := s.kernel(n)
		if guarded {
			g.stopOnFailure()
		}
		parts := make([]part, len(some))
		for i, c := range some {
			g.copied += int64(c.typ.Bytes())
			parts[i] = g.copyPart(c)
		}
		g.joint(parts)
	}
}

// copyPart copies a region in the largest units possible.
func (g *gen) copyPart(c copying) part {
	a, b := g.place(c.from), g.place(c.to)
	d, count := ir.Uint8, c.typ.Bytes()
	for _, w := range []ir.DType{ir.Int64, ir.Int32, ir.Uint16} {
		if count%w.Size() == 0 && aligned(c.from, w.Size()) && aligned(c.to, w.Size()) {
			d, count = w, count/w.Size()
			break
		}
	}
	return part{n: count, write: func(thread ptx.Operand) {
		g.store(d, g.element(b, thread, d.Size()), g.load(d, g.element(a, thread, d.Size())))
	}}
}

// copyTo copies a region.
func (s *scope) copyTo(n *ir.Node, t ir.Type, from, to Place, guarded bool) {
	s.copyAll(n, []copying{{t, from, to}}, guarded)
}
