package lower

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
	"github.com/gokeras/gokeras/kernels/ir"
)

// gen writes one kernel of a program.
type gen struct {
	*scope
	k        *ptx.Kernel
	node     *ir.Node // the node that the kernel is for
	args     []Arg
	maps     []Arg // arguments that are tensor maps; they follow the others
	pointers map[ir.Value]ptx.Operand
	memo     map[read]ptx.Operand
	reduced  map[ir.Value]ptx.Operand    // reduced values at the thread's output
	exact    map[ptx.Operand]ptx.Operand // for a bfloat16 in a register, the 16 bits that it was widened from
	exit     string                      // label of the kernel's end
	root     ir.Value
	roots    []ir.Value // for a joint kernel, instead of root
	rooted   bool       // the kernel writes root; otherwise it writes the node's results
	flops    int64      // of its products
	copied   int64      // bytes that the kernel only copies
	found    bool       // it computes the statistics of its results
	plain    bool       // it multiplies without tensor cores, though the device has them
}

// read is a value at an index.
type read struct {
	value ir.Value
	at    *index
}

// lowerError is what lowering panics with; [Program] returns it.
type lowerError struct{ error }

func (s *scope) failf(n *ir.Node, format string, args ...any) {
	panic(lowerError{fmt.Errorf("cuda: %s: %v: %w", n.Scope, n.Op, fmt.Errorf(format, args...))})
}

// kernel begins a kernel for a node. If the guard of its branch is false, the kernel ends at once.
func (s *scope) kernel(n *ir.Node) *gen {
	g := &gen{scope: s, k: &ptx.Kernel{}, node: n, pointers: map[ir.Value]ptx.Operand{}, memo: map[read]ptx.Operand{}, exact: map[ptx.Operand]ptx.Operand{}}
	g.exit = g.k.Label()
	if s.guard.Space != Nowhere {
		p := g.place(s.guard)
		byte := g.k.Op(ptx.B32, "ld.global.u8", address(p))
		g.k.BranchIf(g.k.Op(ptx.Pred, "setp.eq.s32", byte, ptx.Int32(0)), g.exit)
	}
	return g
}

// stopOnFailure ends the kernel if the failure flag is set, for kernels that replace inputs.
func (g *gen) stopOnFailure() { g.stopIf(g.flag()) }

// flag returns the address of the failure flag.
func (g *gen) flag() ptx.Operand {
	g.args = append(g.args, Arg{Kind: Flag})
	return g.k.Pointer()
}

func (g *gen) stopIf(flag ptx.Operand) {
	set := g.k.Op(ptx.B32, "ld.global.u32", address(flag))
	g.k.BranchIf(g.k.Op(ptx.Pred, "setp.ne.s32", set, ptx.Int32(0)), g.exit)
}

// place adds a pointer argument.
func (g *gen) place(p Place) ptx.Operand {
	r := g.k.Pointer()
	g.args = append(g.args, Arg{Kind: Address, Place: p})
	return r
}

// pointer returns the address of a value in memory.
func (g *gen) pointer(v ir.Value) ptx.Operand {
	if p, ok := g.pointers[v]; ok {
		return p
	}
	p := g.place(g.places[v])
	g.pointers[v] = p
	return p
}

// launch finishes the kernel and appends its launch.
func (g *gen) launch(grid [3]int, block int) {
	g.k.Place(g.exit)
	if grid[0] > math.MaxInt32 || grid[1] > 65535 || grid[2] > 65535 {
		g.failf(g.node, "its launch needs a grid of %v blocks, more than a device takes", grid)
	}
	if len(g.args) > maxArgs {
		g.failf(g.node, "its kernel reads and writes %d places, more than the %d parameters that a kernel may have", len(g.args), maxArgs)
	}
	g.k.MaxThreads = block
	step := Step{Kind: Launch, Kernel: g.module.Add(g.k), Scope: g.node.Scope, Op: g.node.Op, Grid: grid, Block: block, Shared: g.k.Dynamic, Args: append(g.args, g.maps...), FLOPs: g.flops}
	step.Name, step.Bytes = g.describe()
	if step.Tensor = g.k.Ampere && !g.plain; step.Tensor && g.p.Type(g.node.Inputs[0]).DType == ir.Float32 {
		step.Tensor, step.TF32 = false, true
	}
	*g.steps = append(*g.steps, step)
	g.plan.Launches++
}

// describe returns the names of a kernel's ops, and the size in bytes of the values that it reads and writes.
func (g *gen) describe() (name string, bytes int64) {
	if g.copied > 0 {
		return "copy", 2 * g.copied
	}
	name = g.node.Op.String()
	for _, v := range g.roots {
		bytes += int64(g.p.Type(v).Bytes())
	}
	for v := range g.pointers {
		bytes += int64(g.p.Type(v).Bytes())
	}
	switch {
	case len(g.roots) > 0:
		return fmt.Sprintf("%s and %d more", name, len(g.roots)-1), bytes
	case !g.rooted:
		for _, v := range g.node.Outputs {
			if int(v) < len(g.makers) && g.makers[v] == g.node { // otherwise it is a step of a loop around this program
				bytes += int64(g.p.Type(v).Bytes())
			}
		}
		return name, bytes
	}
	if made := g.makers[g.root]; made != nil && made != g.node {
		name += "+" + made.Op.String()
	}
	return name, bytes + int64(g.p.Type(g.root).Bytes())
}

// threads begins a kernel with one thread per element, and returns the thread's number.
func (g *gen) threads(n int) (thread ptx.Operand, grid [3]int, block int) {
	block = 256
	for block > 32 && block/2 >= n {
		block /= 2
	}
	tid := g.k.Op(ptx.B32, "mov.u32", special("%tid.x"))
	cta := g.k.Op(ptx.B32, "mov.u32", special("%ctaid.x"))
	thread = g.k.Op(ptx.B32, "mad.lo.s32", cta, ptx.Int32(int64(block)), tid)
	if n%block != 0 {
		g.k.BranchIf(g.k.Op(ptx.Pred, "setp.ge.u32", thread, ptx.Int32(int64(n))), g.exit)
	}
	return thread, [3]int{(n + block - 1) / block, 1, 1}, block
}

// HasType reports whether the type can be loaded, stored and converted by load, store, widen and narrow.
func HasType(d ir.DType) bool {
	return d.Valid() && (!d.IsHalf() || d == ir.Float16 || d == ir.BFloat16)
}

// classOf is the kind of register that holds an element.
func classOf(d ir.DType) ptx.Class {
	switch d {
	case ir.Bool:
		return ptx.Pred
	case ir.Int64, ir.Uint64:
		return ptx.B64
	case ir.Float64:
		return ptx.F64
	case ir.Float16, ir.BFloat16, ir.Float32:
		return ptx.F32
	}
	return ptx.B32
}

// address formats an address operand.
func address(p ptx.Operand) ptx.Operand { return ptx.Raw("[" + p.String() + "]") }

func special(name string) ptx.Operand { return ptx.Raw(name) }

// element returns the address of element number n.
func (g *gen) element(base, n ptx.Operand, size int) ptx.Operand {
	if x, known := n.Int(); known {
		if x == 0 {
			return address(base)
		}
		return ptx.Raw(fmt.Sprintf("[%v+%d]", base, x*int64(size)))
	}
	return address(g.k.Op(ptx.B64, "mad.wide.u32", n, ptx.Int32(int64(size)), base))
}

// load loads an element into a register of its class.
func (g *gen) load(d ir.DType, from ptx.Operand) ptx.Operand {
	k := g.k
	switch d {
	case ir.Bool:
		return k.Op(ptx.Pred, "setp.ne.s32", k.Op(ptx.B32, "ld.global.u8", from), ptx.Int32(0))
	case ir.Int8:
		return k.Op(ptx.B32, "ld.global.s8", from)
	case ir.Uint8:
		return k.Op(ptx.B32, "ld.global.u8", from)
	case ir.Int16:
		return k.Op(ptx.B32, "ld.global.s16", from)
	case ir.Uint16:
		return k.Op(ptx.B32, "ld.global.u16", from)
	case ir.Int32, ir.Uint32:
		return k.Op(ptx.B32, "ld.global.b32", from)
	case ir.Int64, ir.Uint64:
		return k.Op(ptx.B64, "ld.global.b64", from)
	case ir.Float64:
		return k.Op(ptx.F64, "ld.global.f64", from)
	case ir.Float32:
		return k.Op(ptx.F32, "ld.global.f32", from)
	}
	return g.widen(d, k.Op(ptx.B32, "ld.global.u16", from))
}

// widen converts the bits of a 16-bit float to a float32.
func (g *gen) widen(d ir.DType, bits ptx.Operand) ptx.Operand {
	if d == ir.BFloat16 {
		wide := g.k.Op(ptx.F32, "mov.b32", g.k.Op(ptx.B32, "shl.b32", bits, ptx.Int32(16)))
		g.exact[wide] = bits
		return wide
	}
	wide := g.k.Op(ptx.F32, "cvt.f32.f16", g.k.Op(ptx.B16, "cvt.u16.u32", bits))
	if !g.carries {
		return wide
	}
	const nan = 0x7c00 // of infinity; larger ones are NaN
	k := g.k
	carried := k.Op(ptx.B32, "and.b32", bits, ptx.Int32(0x7fff))
	is := g.compare("gt", "u32", carried, ptx.Int32(nan))
	sign := k.Op(ptx.B32, "shl.b32", k.Op(ptx.B32, "and.b32", bits, ptx.Int32(0x8000)), ptx.Int32(16))
	kept := k.Op(ptx.B32, "or.b32", sign, k.Op(ptx.B32, "add.s32", k.Op(ptx.B32, "shl.b32", carried, ptx.Int32(13)), ptx.Int32((0xff-0x1f)<<23)))
	return k.Op(ptx.F32, "mov.b32", g.pick(is, kept, k.Op(ptx.B32, "mov.b32", wide)))
}

// carries reports whether a program inspects the bits of float16 numbers, or makes such numbers from bits. In such
// programs the payload of NaN must survive loads and stores, but conversions between float16 and float32 replace every
// NaN by the same one.
func carries(p *ir.Program) bool {
	half := func(v ir.Value) bool { return p.Type(v).DType == ir.Float16 }
	return slices.ContainsFunc(p.Nodes, func(n ir.Node) bool {
		return n.Op == ir.BitCast && (half(n.Inputs[0]) || half(n.Outputs[0])) || slices.ContainsFunc(ir.SubPrograms(n.Attrs), carries)
	})
}

// narrow rounds a float32 to the bits of a 16-bit float.
func (g *gen) narrow(d ir.DType, x ptx.Operand) ptx.Operand {
	k := g.k
	if d == ir.Float16 {
		bits := k.Op(ptx.B32, "cvt.u32.u16", k.Op(ptx.B16, "cvt.rn.f16.f32", x))
		if !g.carries {
			return bits
		}
		carried := k.Op(ptx.B32, "mov.b32", x)
		sign := k.Op(ptx.B32, "and.b32", k.Op(ptx.B32, "shr.u32", carried, ptx.Int32(16)), ptx.Int32(0x8000))
		payload := k.Op(ptx.B32, "and.b32", k.Op(ptx.B32, "shr.u32", carried, ptx.Int32(13)), ptx.Int32(0x3ff))
		lost := g.compare("eq", "s32", payload, ptx.Int32(0))
		kept := k.Op(ptx.B32, "or.b32", k.Op(ptx.B32, "or.b32", sign, ptx.Int32(0x7c00)), g.pick(lost, ptx.Int32(0x200), payload))
		return g.pick(k.Op(ptx.Pred, "setp.neu.f32", x, x), kept, bits)
	}
	if bits, known := g.exact[x]; known {
		return bits
	}
	bits := k.Op(ptx.B32, "mov.b32", x)
	odd := k.Op(ptx.B32, "and.b32", k.Op(ptx.B32, "shr.u32", bits, ptx.Int32(16)), ptx.Int32(1))
	up := k.Op(ptx.B32, "add.s32", k.Op(ptx.B32, "add.s32", bits, odd), ptx.Int32(0x7fff))
	nan := k.Op(ptx.Pred, "setp.neu.f32", x, x)
	// NaN keeps the upper part of its payload, unless that is 0, which would make it infinite.
	lost := g.compare("eq", "s32", k.Op(ptx.B32, "and.b32", bits, ptx.Int32(0x7f0000)), ptx.Int32(0))
	kept := k.Op(ptx.B32, "or.b32", bits, g.pick(lost, ptx.Int32(0x400000), ptx.Int32(0)))
	up = k.Op(ptx.B32, "selp.b32", kept, up, nan)
	return k.Op(ptx.B32, "shr.u32", up, ptx.Int32(16))
}

// store stores a register of the element's class.
func (g *gen) store(d ir.DType, to, x ptx.Operand) {
	name := "st.global.b32"
	switch d {
	case ir.Bool:
		name, x = "st.global.u8", g.k.Op(ptx.B32, "selp.b32", ptx.Int32(1), ptx.Int32(0), x)
	case ir.Int8, ir.Uint8:
		name = "st.global.u8"
	case ir.Int16, ir.Uint16:
		name = "st.global.u16"
	case ir.Int64, ir.Uint64:
		name = "st.global.b64"
	case ir.Float64:
		name = "st.global.f64"
	case ir.Float32:
		name = "st.global.f32"
	case ir.Float16, ir.BFloat16:
		name, x = "st.global.u16", g.narrow(d, x)
	}
	g.k.To(to, name, x)
}

// constant returns a number of an element type, as an immediate or in a register.
func (g *gen) constant(d ir.DType, x float64) ptx.Operand {
	l := ir.Scalar(d, x)
	return g.immediate(l, 0)
}

// immediate returns an element of a literal.
func (g *gen) immediate(l ir.Literal, i int) ptx.Operand {
	d := l.Type.DType
	switch d {
	case ir.Bool:
		p := g.k.Reg(ptx.Pred)
		g.k.To(p, "setp.ne.s32", ptx.Int32(int64(l.Data[i])), ptx.Int32(0))
		return p
	case ir.Int64, ir.Uint64:
		n := uint64(0)
		for b := range 8 {
			n |= uint64(l.Data[8*i+b]) << (8 * b)
		}
		return ptx.Int64(int64(n))
	case ir.Float64:
		return ptx.Float64(ir.Element(l.Data, d, i))
	case ir.Float16, ir.BFloat16, ir.Float32:
		return ptx.Float32(float32(ir.Element(l.Data, d, i)))
	}
	return ptx.Int32(int64(int32(int64(ir.Element(l.Data, d, i)))))
}

// mov copies an immediate or register into a new register.
func (g *gen) mov(c ptx.Class, x ptx.Operand) ptx.Operand {
	r := g.k.Reg(c)
	g.assign(r, x)
	return r
}

// assign copies x into register r.
func (g *gen) assign(r, x ptx.Operand) {
	if r.Class == ptx.Pred {
		one := g.k.Op(ptx.B32, "selp.b32", ptx.Int32(1), ptx.Int32(0), x)
		g.k.To(r, "setp.ne.s32", one, ptx.Int32(0))
		return
	}
	g.k.To(r, [...]string{ptx.B32: "mov.b32", ptx.B64: "mov.b64", ptx.F32: "mov.f32", ptx.F64: "mov.f64"}[r.Class], x)
}

// pick returns yes if p is true, else no.
func (g *gen) pick(p, yes, no ptx.Operand) ptx.Operand {
	c := yes.Class
	if c == ptx.Pred {
		k := g.k
		a := k.Op(ptx.Pred, "and.pred", p, yes)
		b := k.Op(ptx.Pred, "and.pred", k.Op(ptx.Pred, "not.pred", p), no)
		return k.Op(ptx.Pred, "or.pred", a, b)
	}
	return g.k.Op(c, [...]string{ptx.B32: "selp.b32", ptx.B64: "selp.b64", ptx.F32: "selp.f32", ptx.F64: "selp.f64"}[c], yes, no, p)
}

// compare compares two registers or immediates; typ is the instruction's type.
func (g *gen) compare(relation, typ string, a, b ptx.Operand) ptx.Operand {
	return g.k.Op(ptx.Pred, "setp."+relation+"."+typ, a, b)
}

func (g *gen) both(a, b ptx.Operand) ptx.Operand   { return g.k.Op(ptx.Pred, "and.pred", a, b) }
func (g *gen) either(a, b ptx.Operand) ptx.Operand { return g.k.Op(ptx.Pred, "or.pred", a, b) }
func (g *gen) not(a ptx.Operand) ptx.Operand       { return g.k.Op(ptx.Pred, "not.pred", a) }

// apart writes code that some threads skip: values that it loads are not available afterwards.
func (g *gen) apart(body func()) {
	saved := maps.Clone(g.memo)
	body()
	g.memo = saved
}

// loop writes a loop whose counter runs from first to below limit in the given steps, possibly not at all.
func (g *gen) loop(first, limit ptx.Operand, step int, body func(i ptx.Operand)) {
	g.loopOn(g.mov(ptx.B32, first), limit, step, body)
}

// loopOn is loop with a given register for the counter, which holds the final value afterwards.
func (g *gen) loopOn(i, limit ptx.Operand, step int, body func(i ptx.Operand)) {
	again, end := g.k.Label(), g.k.Label()
	g.k.Place(again)
	g.k.BranchIf(g.compare("ge", "u32", i, limit), end)
	g.apart(func() { body(i) })
	g.k.To(i, "add.s32", i, ptx.Int32(int64(step)))
	g.k.Branch(again)
	g.k.Place(end)
}

func itoa(n int) string { return strconv.Itoa(n) }
