package lower

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
	"github.com/gokeras/gokeras/kernels/ir"
)

// cuDNN expects kernels with the output channels first, but ours have them last: one of our kernels transposes them.
// Few of the library's engines would accept strides instead.

// Convolution is y = x * w, or the gradient of x or w, with channels last.
type Convolution struct {
	ir.ConvAttrs
	Number     int
	Op         ir.Op
	X, Y, W    ir.Shape // (batch, positions..., channels) for X and Y, (kernel positions..., channels of a group, channels) for W
	DType      ir.DType
	TF32       bool
	Bias, ReLU bool // for Conv: y = max(x * w + bias, 0), fused

	fused bool // the whole chain after it is bias and ReLU, or there is none
}

// call describes a convolution for a library.
func (w window) call(op ir.Op) *Convolution {
	return &Convolution{ConvAttrs: w.ConvAttrs, Op: op, X: w.x, Y: w.y, W: w.kernel}
}

// fits reports whether the library supports the convolution.
func (c *Convolution) fits() bool {
	axes := len(c.X) - 2
	return axes >= 1 && axes <= 3 && c.X.Size() > 0 && c.W.Size() > 0
}

// biasAndReLU reports whether the chain after a convolution is exactly a bias in memory, an activation, or both.
func (s *scope) biasAndReLU(n *ir.Node, root ir.Value) (bias, relu, ok bool) {
	if n.Op != ir.Conv || s.p.Type(root).DType != s.p.Type(n.Outputs[0]).DType {
		return false, false, root == n.Outputs[0]
	}
	at := root
	if m := s.makers[at]; m.Op == ir.Relu {
		at, relu = m.Inputs[0], true
	}
	if at == n.Outputs[0] {
		return false, relu, true
	}
	_, bias = s.biasOf(n, at)
	return bias, relu, bias
}

// biasOf returns the per-channel value in memory that is added to the result of a convolution.
func (s *scope) biasOf(n *ir.Node, sum ir.Value) (ir.Value, bool) {
	m := s.makers[sum]
	if m.Op != ir.Add {
		return 0, false
	}
	wide := m.Inputs[1]
	if wide == n.Outputs[0] {
		wide = m.Inputs[0]
	} else if m.Inputs[0] != n.Outputs[0] {
		return 0, false
	}
	b := s.makers[wide]
	shape := s.p.Type(sum).Shape
	if b == nil || b.Op != ir.Broadcast || !slices.Equal(b.Attrs.(ir.BroadcastAttrs).Axes, []int{len(shape) - 1}) {
		return 0, false
	}
	v := b.Inputs[0]
	return v, s.inMemory[v] && s.p.Type(v).Shape.Equal(shape[len(shape)-1:]) && s.p.Type(v).DType == s.p.Type(sum).DType && aligned(s.places[v], chunkBytes)
}

// convolved lets cuDNN compute a convolution, with a kernel that transposes the convolution kernel before, or its
// gradient after.
func (s *scope) convolved(g *gen, c contraction, n *ir.Node, root ir.Value, write func()) {
	out := s.p.Type(n.Outputs[0])
	step := s.librarian(g, n, DNN)
	call := c.convolution
	call.Number, call.DType, call.TF32 = s.plan.Products-1, out.DType, step.TF32
	step.Convolution = call
	step.Body = s.collected(write)
	launches := s.plan.Launches
	temporary := func(bytes int) Place { return Place{Space: Arena, Offset: s.arena.take(bytes)} }
	columns := call.W[len(call.W)-1]
	turned := temporary(call.W.Size() * out.DType.Size())
	result, chain := s.places[root], !call.fused && n.Op != ir.ConvKernelGrad
	if chain {
		result = temporary(out.Bytes())
	}
	workspace := temporary(workspaceBytes)
	x, y, bias := s.places[n.Inputs[0]], result, workspace
	switch n.Op {
	case ir.ConvInputGrad:
		x, y = result, s.places[n.Inputs[0]]
	case ir.ConvKernelGrad:
		y = s.places[n.Inputs[1]]
	}
	if call.Bias {
		at := root
		if call.ReLU {
			at = s.makers[root].Inputs[0]
		}
		v, _ := s.biasOf(n, at)
		bias = s.places[v]
	}
	for _, p := range []Place{x, turned, y, bias, workspace} {
		step.Args = append(step.Args, Arg{Kind: Address, Place: p})
	}
	step.Bytes = int64((call.X.Size() + call.W.Size() + call.Y.Size()) * out.DType.Size())
	if n.Op == ir.ConvKernelGrad {
		step.Head = s.collected(func() {
			g := s.kernel(n)
			g.commit(root)
			from, to := g.place(turned), g.place(g.places[root])
			g.turn(out.DType, columns, call.W.Size()/columns, from, func(number, x ptx.Operand) { g.finish(n.Outputs[0], root, at(out.Shape, number), x, to) })
			for _, q := range c.sums {
				s.reduce(q.n, q.root)
			}
		})
	} else {
		step.Before = s.collected(func() {
			g := s.kernel(n)
			g.copied = int64(call.W.Size() * out.DType.Size())
			from, to := g.place(s.places[n.Inputs[1]]), g.place(turned)
			g.turn(out.DType, call.W.Size()/columns, columns, from, func(number, x ptx.Operand) { g.store(out.DType, g.element(to, number, out.DType.Size()), x) })
		})
		step.Head = s.collected(func() {
			if chain {
				s.afterLibrary(n, root, result, out, nil)
			} else {
				s.statisticsOnTheirOwn(root)
			}
		})
		if chain {
			s.arena.give(result.Offset, out.Bytes())
		}
	}
	s.arena.give(workspace.Offset, workspaceBytes)
	s.arena.give(turned.Offset, call.W.Size()*out.DType.Size())
	s.plan.Launches = launches + len(step.Before) + len(step.Head) + 1
	*s.steps = append(*s.steps, step)
}

// turn transposes a matrix: it passes on its elements with their numbers in the transposed matrix. Squares of 32 by 32
// go through shared memory, so that adjacent threads read and write adjacent elements.
func (g *gen) turn(d ir.DType, rows, columns int, from ptx.Operand, result func(number, x ptx.Operand)) {
	const side, block = 32, 256
	k, class := g.k, classOf(d)
	size := sizeOf(class)
	across, down := (columns+side-1)/side, (rows+side-1)/side
	tid := k.Op(ptx.B32, "mov.u32", special("%tid.x"))
	cta := g.mov(ptx.B32, special("%ctaid.x"))
	firstRow, firstColumn := g.times(g.over(cta, across), side), g.times(g.mod(cta, across), side)
	lane, line := g.mod(tid, side), g.over(tid, side)
	square := g.shared(k.Shared(side * (side + 1) * size))
	each := func(lines, lanes int, firstLine, firstLane ptx.Operand, body func(inLine, line, lane ptx.Operand)) {
		for i := range side / (block / side) {
			inLine := g.add(line, ptx.Int32(int64(i*block/side)))
			l, at := g.mov(ptx.B32, g.add(firstLine, inLine)), g.mov(ptx.B32, g.add(firstLane, lane))
			skip := k.Label()
			k.BranchUnless(g.both(g.compare("lt", "u32", l, ptx.Int32(int64(lines))), g.compare("lt", "u32", at, ptx.Int32(int64(lanes)))), skip)
			g.apart(func() { body(inLine, l, at) })
			k.Place(skip)
		}
	}
	slot := func(row, column ptx.Operand) ptx.Operand {
		return address(k.Op(ptx.B32, "mad.lo.s32", g.mov(ptx.B32, g.add(g.times(row, side+1), column)), ptx.Int32(int64(size)), square))
	}
	each(rows, columns, firstRow, firstColumn, func(inLine, row, column ptx.Operand) {
		k.To(slot(inLine, lane), "st.shared."+sharedType(class), g.load(d, g.element(from, g.add(g.times(row, columns), column), d.Size())))
	})
	k.Barrier()
	each(columns, rows, firstColumn, firstRow, func(inLine, column, row ptx.Operand) {
		x := k.Op(class, "ld.shared."+sharedType(class), slot(lane, inLine))
		result(g.mov(ptx.B32, g.add(g.times(column, rows), row)), x)
	})
	g.launch([3]int{across * down, 1, 1}, block)
}
