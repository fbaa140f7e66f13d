package lower

import (
	"maps"

	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
	"github.com/gokeras/gokeras/kernels/ir"
)

// value returns a register with an element of a value: loaded from memory, or computed here.
func (g *gen) value(v ir.Value, x *index) ptx.Operand {
	if r, ok := g.memo[read{v, x}]; ok {
		return r
	}
	if r, ok := g.reduced[v]; ok {
		return r
	}
	var r ptx.Operand
	t := g.p.Type(v)
	if g.stored(v) {
		r = g.load(t.DType, g.element(g.pointer(v), g.number(x), t.DType.Size()))
	} else {
		n := g.makers[v]
		r = inlined[n.Op](g, n, x)
	}
	g.memo[read{v, x}] = r
	return r
}

// inlined says how each op that can be part of a chain computes an element of its result.
var inlined map[ir.Op]func(g *gen, n *ir.Node, x *index) ptx.Operand

func init() {
	inlined = map[ir.Op]func(g *gen, n *ir.Node, x *index) ptx.Operand{
		ir.Constant: (*gen).literal,
		ir.Iota: func(g *gen, n *ir.Node, x *index) ptx.Operand {
			a := n.Attrs.(ir.IotaAttrs)
			i := g.split(x)[a.Axis]
			return g.convert(ir.Uint32, a.Type.DType, g.mov(ptx.B32, i))
		},
		ir.RngBits: func(g *gen, n *ir.Node, x *index) ptx.Operand {
			return g.randomWord(n.Inputs[0], n.Attrs.(ir.RngAttrs).Stream, g.number(x))
		},
		ir.Convert: func(g *gen, n *ir.Node, x *index) ptx.Operand {
			to := n.Attrs.(ir.ConvertAttrs).DType
			return g.convert(g.p.Type(n.Inputs[0]).DType, to, g.value(n.Inputs[0], x))
		},
		ir.Compare: func(g *gen, n *ir.Node, x *index) ptx.Operand {
			d := g.p.Type(n.Inputs[0]).DType
			a, b := g.value(n.Inputs[0], x), g.value(n.Inputs[1], x)
			return g.relation(n.Attrs.(ir.CompareAttrs).Direction, d, g.register(d, a), b)
		},
		ir.Select: func(g *gen, n *ir.Node, x *index) ptx.Operand {
			return g.pick(g.value(n.Inputs[0], x), g.value(n.Inputs[1], x), g.value(n.Inputs[2], x))
		},
		ir.IsFinite: func(g *gen, n *ir.Node, x *index) ptx.Operand { return g.isFinite(n.Inputs[0], x) },
		ir.ReplicaID: func(g *gen, n *ir.Node, _ *index) ptx.Operand {
			if n.Attrs.(ir.CollectiveAttrs).Replicas > 1 {
				g.args = append(g.args, Arg{Kind: Replica})
				return g.k.Op(ptx.B32, "cvt.u32.u64", g.k.Param())
			}
			return ptx.Int32(0)
		},
		ir.Identity:    func(g *gen, n *ir.Node, x *index) ptx.Operand { return g.value(n.Inputs[0], x) },
		ir.CheckFinite: func(g *gen, n *ir.Node, x *index) ptx.Operand { return g.value(n.Inputs[0], x) }, // see findChecks
		ir.Reshape: func(g *gen, n *ir.Node, x *index) ptx.Operand {
			return g.value(n.Inputs[0], at(g.p.Type(n.Inputs[0]).Shape, g.number(x)))
		},
		ir.BitCast:            (*gen).bitCast,
		ir.Transpose:          (*gen).transpose,
		ir.Broadcast:          (*gen).broadcast,
		ir.Slice:              (*gen).slice,
		ir.Pad:                (*gen).pad,
		ir.Concat:             (*gen).concat,
		ir.Reverse:            (*gen).reverse,
		ir.DynamicSlice:       (*gen).dynamicSlice,
		ir.DynamicUpdateSlice: (*gen).dynamicUpdate,
		ir.Gather:             (*gen).gather,
		ir.Resample:           (*gen).resample,
	}
	maps.Copy(inlined, pools)
	for _, op := range ir.Ops() {
		if !op.IsElementwise() || inlined[op] != nil || op == ir.Erfc { // it is decomposed
			continue
		}
		switch op {
		case ir.Add, ir.Sub, ir.Mul, ir.Div, ir.Pow, ir.Maximum, ir.Minimum, ir.Rem, ir.Atan2, ir.GeluGrad,
			ir.BitAnd, ir.BitOr, ir.BitXor, ir.ShiftLeft, ir.ShiftRight:
			inlined[op] = func(g *gen, n *ir.Node, x *index) ptx.Operand {
				d := g.p.Type(n.Inputs[0]).DType
				a, b := g.value(n.Inputs[0], x), g.value(n.Inputs[1], x)
				return g.binary(n.Op, d, g.register(d, a), b)
			}
		default:
			inlined[op] = func(g *gen, n *ir.Node, x *index) ptx.Operand {
				d := g.p.Type(n.Inputs[0]).DType
				return g.unary(n.Op, d, g.register(d, g.value(n.Inputs[0], x)))
			}
		}
	}
}

// register puts an immediate into a register: not all instructions accept one as first operand.
func (g *gen) register(d ir.DType, x ptx.Operand) ptx.Operand {
	if x.IsImmediate() {
		return g.mov(classOf(d), x)
	}
	return x
}

func (g *gen) literal(n *ir.Node, x *index) ptx.Operand {
	l := n.Attrs.(ir.ConstantAttrs).Literal
	if l.Splat || l.Type.Shape.Size() == 1 {
		return g.immediate(l, 0)
	}
	p := g.place(g.constantPlace(l))
	return g.load(l.Type.DType, g.element(p, g.number(x), l.Type.DType.Size()))
}

// bits returns the bits of an element as an integer.
func (g *gen) bits(d ir.DType, x ptx.Operand) ptx.Operand {
	switch d {
	case ir.Bool:
		return g.pick(x, ptx.Int32(1), ptx.Int32(0))
	case ir.Float64:
		return g.k.Op(ptx.B64, "mov.b64", x)
	case ir.Float32:
		return g.k.Op(ptx.B32, "mov.b32", x)
	case ir.Float16, ir.BFloat16:
		return g.narrow(d, x)
	}
	return x
}

// fromBits returns the element with the given bits in an integer register; upper bits are ignored.
func (g *gen) fromBits(d ir.DType, x ptx.Operand) ptx.Operand {
	switch d {
	case ir.Bool:
		return g.compare("ne", "s32", g.k.Op(ptx.B32, "and.b32", x, ptx.Int32(0xff)), ptx.Int32(0))
	case ir.Float64:
		return g.k.Op(ptx.F64, "mov.b64", x)
	case ir.Float32:
		return g.k.Op(ptx.F32, "mov.b32", x)
	case ir.Float16, ir.BFloat16:
		return g.widen(d, g.k.Op(ptx.B32, "and.b32", x, ptx.Int32(0xffff)))
	}
	return g.wrap(d, x)
}

// bitCast reads the bytes as another type; the last axis grows or shrinks with the ratio of the sizes.
func (g *gen) bitCast(n *ir.Node, x *index) ptx.Operand {
	from, to := g.p.Type(n.Inputs[0]), n.Attrs.(ir.ConvertAttrs).DType
	a, b := from.DType.Size(), to.Size()
	number := g.number(x)
	part := func(at *index) ptx.Operand {
		return g.mov(classInteger(a), g.bits(from.DType, g.register(from.DType, g.value(n.Inputs[0], at))))
	}
	switch {
	case a == b:
		return g.fromBits(to, part(at(from.Shape, number)))
	case a > b: // a piece of an element
		whole := part(at(from.Shape, g.over(number, a/b)))
		shift := g.k.Op(ptx.B32, "mul.lo.s32", g.mod(number, a/b), ptx.Int32(int64(8*b)))
		whole = g.k.Op(whole.Class, map[bool]string{true: "shr.u64", false: "shr.u32"}[a == 8], whole, shift)
		if a == 8 {
			whole = g.k.Op(ptx.B32, "cvt.u32.u64", whole)
		}
		return g.fromBits(to, whole)
	}
	c := classInteger(b)
	joined := g.mov(c, g.integer(c, 0))
	for i := range b / a {
		piece := part(at(from.Shape, g.add(g.times(number, b/a), ptx.Int32(int64(i)))))
		if a < 4 {
			piece = g.k.Op(ptx.B32, "and.b32", piece, ptx.Int32(1<<(8*a)-1))
		}
		if c == ptx.B64 {
			piece = g.k.Op(ptx.B64, "cvt.u64.u32", piece)
		}
		suffix := map[ptx.Class]string{ptx.B32: "b32", ptx.B64: "b64"}[c]
		piece = g.k.Op(c, "shl."+suffix, piece, ptx.Int32(int64(8*a*i)))
		joined = g.k.Op(c, "or."+suffix, joined, piece)
	}
	return g.fromBits(to, joined)
}

func classInteger(size int) ptx.Class {
	if size == 8 {
		return ptx.B64
	}
	return ptx.B32
}

// randomWord is a word of Philox4x32-10; see ir.RngAttrs.
func (g *gen) randomWord(state ir.Value, stream uint32, i ptx.Operand) ptx.Operand {
	k := g.k
	var s [4]ptx.Operand
	for j := range s {
		s[j] = g.value(state, g.stateIndex(state, j))
	}
	key := [2]ptx.Operand{s[0], s[1]}
	i = g.mov(ptx.B32, i)
	c := [4]ptx.Operand{k.Op(ptx.B32, "shr.u32", i, ptx.Int32(2)), g.mov(ptx.B32, ptx.Int32(int64(int32(stream)))), s[2], s[3]}
	imm := func(x uint32) ptx.Operand { return ptx.Int32(int64(int32(x))) }
	xor := func(a, b ptx.Operand) ptx.Operand { return k.Op(ptx.B32, "xor.b32", a, b) }
	for round := range 10 {
		if round > 0 {
			key[0] = k.Op(ptx.B32, "add.s32", key[0], imm(0x9E3779B9))
			key[1] = k.Op(ptx.B32, "add.s32", key[1], imm(0xBB67AE85))
		}
		high := func(a ptx.Operand, b uint32) ptx.Operand { return k.Op(ptx.B32, "mul.hi.u32", a, imm(b)) }
		low := func(a ptx.Operand, b uint32) ptx.Operand { return k.Op(ptx.B32, "mul.lo.s32", a, imm(b)) }
		c = [4]ptx.Operand{
			xor(xor(high(c[2], 0xCD9E8D57), c[1]), key[0]), low(c[2], 0xCD9E8D57),
			xor(xor(high(c[0], 0xD2511F53), c[3]), key[1]), low(c[0], 0xD2511F53),
		}
	}
	which := k.Op(ptx.B32, "and.b32", i, ptx.Int32(3))
	second := g.compare("ge", "u32", which, ptx.Int32(2))
	odd := g.compare("ne", "s32", k.Op(ptx.B32, "and.b32", which, ptx.Int32(1)), ptx.Int32(0))
	return g.pick(second, g.pick(odd, c[3], c[2]), g.pick(odd, c[1], c[0]))
}

// stateIndex is the index of a word of the random state.
func (g *gen) stateIndex(state ir.Value, j int) *index {
	return at(g.p.Type(state).Shape, ptx.Int32(int64(j)))
}

// isFinite reports whether an element of a value is finite.
func (g *gen) isFinite(v ir.Value, x *index) ptx.Operand {
	m := g.calc(classOf(g.p.Type(v).DType))
	y := m.sub(g.value(v, x), g.value(v, x)) // NaN if it is not finite
	return m.is("eq", y, y)
}
