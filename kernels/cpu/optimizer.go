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
		if b.in(0).Typ.DType == ir.Float64 {
			build = optimizerUpdate[float64]
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

// optimizerUpdate copies the variable and its slots to the results, unless they share memory, and updates them there.
func optimizerUpdate[T block.Float](b *build) (update, error) {
	a := b.n.Attrs.(ir.OptimizerAttrs)
	w, gradient, rate, step := b.out(0), b.in(1), b.in(2), b.in(3)
	n, results := b.n, len(b.n.Outputs)
	begin := func() {
		copyOperand(w, &b.Operands[n.Inputs[0]])
		for i, slot := range n.Inputs[4 : 3+results] {
			copyOperand(&b.Operands[n.Outputs[1+i]], &b.Operands[slot])
		}
	}
	var run descendFunc[T]
	switch a.Rule {
	case "sgd":
		run = func(lo, hi int, g []T, by T) { vec.SGD(plan.Data[T](w)[lo:hi], g, plan.Data[T](rate)[0]*by, 0) }
	case "momentum", "nesterov":
		velocity, mu, nesterov := b.out(1), T(a.Values[0]), a.Rule == "nesterov"
		run = func(lo, hi int, g []T, by T) {
			vec.Momentum(plan.Data[T](w)[lo:hi], plan.Data[T](velocity)[lo:hi], g, plan.Data[T](rate)[0]*by, mu, 0, nesterov)
		}
	case "adam":
		m, v, beta1, beta2, epsilon := b.out(1), b.out(2), a.Values[0], a.Values[1], a.Values[2]
		var alpha T
		copies := begin
		begin = func() {
			copies()
			t := float64(plan.Data[T](step)[0])
			alpha = T(float64(plan.Data[T](rate)[0]) * math.Sqrt(1-math.Pow(beta2, t)) / (1 - math.Pow(beta1, t)))
		}
		run = func(lo, hi int, g []T, by T) {
			args := vec.AdamArgs[T]{W: plan.Data[T](w)[lo:hi], M: plan.Data[T](m)[lo:hi], V: plan.Data[T](v)[lo:hi], G: g,
				Alpha: alpha, OneMinusBeta1: T(1 - beta1), OneMinusBeta2: T(1 - beta2), Epsilon: T(epsilon), GradientScale: by}
			vec.Adam(&args)
		}
	default:
		return update{}, b.unsupported("unknown rule %q", a.Rule)
	}
	if len(n.Inputs) > 3+results {
		return update{w.N, begin, gatedUpdate(b, run)}, nil
	}
	if def := b.Def[n.Inputs[1]]; len(b.u.Nodes) > 1 && def >= 0 && b.UnitOf[def] == b.u { // an input of the program has no node
		return update{w.N, begin, widenedUpdate(b, &b.Operands[b.Node(n.Inputs[1]).Inputs[0]], run)}, nil
	}
	return update{w.N, begin, func(lo, hi int, _ *worker) { run(lo, hi, plan.Data[T](gradient)[lo:hi], 1) }}, nil
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
