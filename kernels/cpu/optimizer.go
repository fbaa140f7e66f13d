package cpu

import (
	"math"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// update is the work on one variable.
type update struct {
	n     int
	begin func()
	run   func(lo, hi int)
}

// buildOptimizerUpdate updates one variable, or a bucket of them in one loop over all their elements.
func buildOptimizerUpdate(b *build) (func(), error) {
	updates, ends, total := make([]update, len(b.u.Nodes)), make([]int, len(b.u.Nodes)), 0
	for i, node := range b.u.Nodes {
		b.n = &b.Program.Nodes[node]
		var err error
		if b.in(0).Typ.DType == ir.Float64 {
			updates[i], err = optimizerUpdate[float64](b)
		} else {
			updates[i], err = optimizerUpdate[float32](b)
		}
		if err != nil {
			return nil, err
		}
		total += updates[i].n
		ends[i] = total
	}
	const block = 1 << 13
	loop := b.rt().parallel(total, block, func(_ *worker, lo, hi int) {
		for i := range updates {
			first := ends[i] - updates[i].n
			if from, to := max(lo, first), min(hi, ends[i]); from < to {
				updates[i].run(from-first, to-first)
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

// optimizerUpdate copies the variable and its slots to the results unless they share memory, and updates them there.
func optimizerUpdate[T block.Float](b *build) (update, error) {
	a := b.n.Attrs.(ir.OptimizerAttrs)
	w, gradient, rate, step := b.out(0), b.in(1), b.in(2), b.in(3)
	n := b.n
	begin := func() {
		copyOperand(w, &b.Operands[n.Inputs[0]])
		for i, slot := range n.Inputs[4:] {
			copyOperand(&b.Operands[n.Outputs[1+i]], &b.Operands[slot])
		}
	}
	var run func(lo, hi int)
	switch a.Rule {
	case "sgd":
		run = func(lo, hi int) {
			vec.SGD(plan.Data[T](w)[lo:hi], plan.Data[T](gradient)[lo:hi], plan.Data[T](rate)[0], 0)
		}
	case "momentum", "nesterov":
		velocity, mu, nesterov := b.out(1), T(a.Values[0]), a.Rule == "nesterov"
		run = func(lo, hi int) {
			vec.Momentum(plan.Data[T](w)[lo:hi], plan.Data[T](velocity)[lo:hi], plan.Data[T](gradient)[lo:hi], plan.Data[T](rate)[0], mu, 0, nesterov)
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
		run = func(lo, hi int) {
			args := vec.AdamArgs[T]{W: plan.Data[T](w)[lo:hi], M: plan.Data[T](m)[lo:hi], V: plan.Data[T](v)[lo:hi], G: plan.Data[T](gradient)[lo:hi],
				Alpha: alpha, OneMinusBeta1: T(1 - beta1), OneMinusBeta2: T(1 - beta2), Epsilon: T(epsilon), GradientScale: 1}
			vec.Adam(&args)
		}
	default:
		return update{}, b.unsupported("unknown rule %q", a.Rule)
	}
	return update{w.N, begin, run}, nil
}
