package cpu

import (
	"math"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// update is the work on one variable.
type update struct {
	n     int
	begin func()
	run   func(lo, hi int, of *worker)
}

// buildOptimizerUpdate updates one variable, or a bucket of variables in one loop over all their elements.
func buildOptimizerUpdate(b *build) (func(), error) {
	var updates []update
	var ends []int
	total := 0
	for _, node := range b.u.Nodes {
		if b.n = &b.Program.Nodes[node]; b.n.Op == ir.Convert {
			continue
		}
		build := optimizerUpdate[float32]
		switch b.in(0).Typ.DType {
		case ir.Float64:
			build = optimizerUpdate[float64]
		case ir.Float16, ir.BFloat16:
			build = halfUpdate
		}
		u, err := build(b)
		if err != nil {
			return nil, err
		}
		total += u.n
		updates, ends = append(updates, u), append(ends, total)
	}
	const block = 1 << 13
	loop := b.rt().parallel(total, block, func(w *worker, lo, hi int) {
		for i := range updates {
			first := ends[i] - updates[i].n
			if from, to := max(lo, first), min(hi, ends[i]); from < to {
				updates[i].run(from-first, to-first, w)
			}
		}
	})
	return func() {
		for i := range updates {
			updates[i].begin()
		}
		loop()
	}, nil
}

// updateStep is a step of a rule on some elements of a variable and its slots, by a gradient times a power of two.
type updateStep[T block.Float] = func(of [3][]T, g []T, by T)

// updateRule returns the step of the node's rule, and what is computed once before it, which may be nil. number reads
// an operand of one element.
func updateRule[T block.Float](b *build, number func(o *plan.Operand) T) (begin func(), step updateStep[T], err error) {
	a := b.n.Attrs.(ir.OptimizerAttrs)
	rate, count := b.in(2), b.in(3)
	switch a.Rule {
	case "sgd":
		step = func(of [3][]T, g []T, by T) { vec.SGD(of[0], g, number(rate)*by, 0) }
	case "momentum", "nesterov":
		mu, nesterov := T(a.Values[0]), a.Rule == "nesterov"
		step = func(of [3][]T, g []T, by T) { vec.Momentum(of[0], of[1], g, number(rate)*by, mu, 0, nesterov) }
	case "adam":
		beta1, beta2, epsilon := a.Values[0], a.Values[1], a.Values[2]
		var alpha T
		begin = func() {
			t := float64(number(count))
			alpha = T(float64(number(rate)) * math.Sqrt(1-math.Pow(beta2, t)) / (1 - math.Pow(beta1, t)))
		}
		step = func(of [3][]T, g []T, by T) {
			args := vec.AdamArgs[T]{W: of[0], M: of[1], V: of[2], G: g,
				Alpha: alpha, OneMinusBeta1: T(1 - beta1), OneMinusBeta2: T(1 - beta2), Epsilon: T(epsilon), GradientScale: by}
			vec.Adam(&args)
		}
	default:
		err = b.unsupported("unknown rule %q", a.Rule)
	}
	return begin, step, err
}

// updatedBy returns the operand of the gradient, or, where the unit converts it, of what it is converted from.
func updatedBy(b *build) (gradient *plan.Operand, converted bool) {
	v := b.n.Inputs[1]
	if def := b.Def[v]; len(b.u.Nodes) > 1 && def >= 0 && b.UnitOf[def] == b.u { // an input of the program has no node
		return &b.Operands[b.Node(v).Inputs[0]], true
	}
	return b.in(1), false
}

// optimizerUpdate copies the variable and its slots to the results, unless they share memory, and updates them there.
func optimizerUpdate[T block.Float](b *build) (update, error) {
	n, count := b.n, len(b.n.Outputs)
	var to [3]*plan.Operand
	for i := range n.Outputs {
		to[i] = b.out(i)
	}
	before, step, err := updateRule(b, func(o *plan.Operand) T { return plan.Data[T](o)[0] })
	if err != nil {
		return update{}, err
	}
	begin := func() {
		copyOperand(to[0], &b.Operands[n.Inputs[0]])
		for i, slot := range n.Inputs[4 : 3+count] {
			copyOperand(to[1+i], &b.Operands[slot])
		}
		if before != nil {
			before()
		}
	}
	run := func(lo, hi int, g []T, by T) {
		var of [3][]T
		for i := range count {
			of[i] = plan.Data[T](to[i])[lo:hi]
		}
		step(of, g, by)
	}
	if len(n.Inputs) > 3+count {
		return update{to[0].N, begin, gatedUpdate(b, run)}, nil
	}
	gradient, converted := updatedBy(b)
	if converted {
		return update{to[0].N, begin, widenedUpdate(b, gradient, run)}, nil
	}
	return update{to[0].N, begin, func(lo, hi int, _ *worker) { run(lo, hi, plan.Data[T](gradient)[lo:hi], 1) }}, nil
}

// halfUpdate updates a variable and slots of 16 bits in pieces that stay in the first-level cache in float32. A
// gradient in float32 is not rounded before.
func halfUpdate(b *build) (update, error) {
	half, count := halfOf[b.in(0).Typ.DType], len(b.n.Outputs)
	rate, steps := b.in(2), b.in(3)
	var numbers [2]float32 // the rate and the number of steps, which workers only read
	before, step, err := updateRule(b, func(o *plan.Operand) float32 {
		if o == rate {
			return numbers[0]
		}
		return numbers[1]
	})
	if err != nil {
		return update{}, err
	}
	begin := func() {
		half.Widen(numbers[:1], plan.Data[uint16](rate)[:1])
		half.Widen(numbers[1:], plan.Data[uint16](steps)[:1])
		if before != nil {
			before()
		}
	}
	var from, to [3]*plan.Operand
	for i := range count {
		from[i], to[i] = b.in(0), b.out(i)
		if i > 0 {
			from[i] = b.in(3 + i)
		}
	}
	gradient, wide := updatedBy(b)
	const piece, stride = 1 << 10, 1<<10 + 80 // stores at a distance of 4096 bytes would delay loads
	b.rt().need(4 * stride * 4)
	return update{to[0].N, begin, func(lo, hi int, w *worker) {
		scratch := scratchOf[float32](w, 4*stride)
		for ; lo < hi; lo += piece {
			end := min(lo+piece, hi)
			var of [3][]float32
			for i := range count {
				of[i] = scratch[i*stride:][:end-lo]
				half.Widen(of[i], plan.Data[uint16](from[i])[lo:end])
			}
			g := scratch[3*stride:][:end-lo]
			if wide {
				g = plan.Data[float32](gradient)[lo:end]
			} else {
				half.Widen(g, plan.Data[uint16](gradient)[lo:end])
			}
			step(of, g, 1)
			for i := range count {
				half.Narrow(plan.Data[uint16](to[i])[lo:end], of[i])
			}
		}
	}}, nil
}

// descendFunc updates elements of a variable by a gradient times a power of two.
type descendFunc[T block.Float] = func(lo, hi int, g []T, by T)

// gatedUpdate is an update that may be skipped. It first divides the gradient, and widens it if it has 16 bits, in
// pieces that stay in the first-level cache. Dividing by a power of two, as a loss scale is, takes no time: it divides
// the rate, or Adam's factor.
func gatedUpdate[T block.Float](b *build, run descendFunc[T]) func(lo, hi int, of *worker) {
	gradient, gate, divisor := b.in(1), b.in(len(b.n.Inputs)-2), b.in(len(b.n.Inputs)-1)
	half := halfOf[gradient.Typ.DType]
	const piece = 1 << 11
	b.rt().need(2 * piece * 8)
	return func(lo, hi int, of *worker) {
		if !plan.Data[bool](gate)[0] {
			return
		}
		by := plan.Data[T](divisor)[0]
		factor, exact := 1/by, isPowerOfTwo(float64(by))
		if exact && half == nil {
			run(lo, hi, plan.Data[T](gradient)[lo:hi], factor)
			return
		}
		scratch := scratchOf[T](of, 2*piece)
		if !exact {
			factor = 1
			for i := range scratch[piece:] {
				scratch[piece+i] = by
			}
		}
		for ; lo < hi; lo += piece {
			end := min(lo+piece, hi)
			g := scratch[:end-lo]
			from := g
			if half != nil {
				half.Widen(block.View[float32](unsafe.Pointer(&g[0]), len(g)), plan.Data[uint16](gradient)[lo:end])
			} else {
				from = plan.Data[T](gradient)[lo:end]
			}
			if !exact {
				vec.Div(g, from, scratch[piece:][:len(g)])
			}
			run(lo, end, g, factor)
		}
	}
}

// widenedUpdate is an update by a 16-bit gradient, which it widens a piece at a time.
func widenedUpdate[T block.Float](b *build, gradient *plan.Operand, run descendFunc[T]) func(lo, hi int, of *worker) {
	half := halfOf[gradient.Typ.DType]
	const piece = 1 << 11
	b.rt().need(4 * piece)
	return func(lo, hi int, of *worker) {
		for ; lo < hi; lo += piece {
			end := min(lo+piece, hi)
			g := scratchOf[float32](of, end-lo)
			half.Widen(g, plan.Data[uint16](gradient)[lo:end])
			run(lo, end, block.View[T](unsafe.Pointer(&g[0]), len(g)), 1)
		}
	}
}

// isPowerOfTwo reports whether dividing by x gives the same bits as multiplying by 1/x.
func isPowerOfTwo(x float64) bool {
	fraction, exponent := math.Frexp(x)
	return fraction == 0.5 && -100 < exponent && exponent < 100
}
