package cpu

import (
	"math"

	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

func buildOptimizerUpdate(b *build) (func(), error) {
	if b.in(0).typ.DType == ir.Float64 {
		return optimizerUpdate[float64](b)
	}
	return optimizerUpdate[float32](b)
}

// optimizerUpdate copies the variable and its slots to the results unless they share memory, and updates them there.
func optimizerUpdate[T float](b *build) (func(), error) {
	a := b.n.Attrs.(ir.OptimizerAttrs)
	w, gradient, rate, step := b.out(0), b.in(1), b.in(2), b.in(3)
	begin := func() {
		copyOperand(w, b.in(0))
		for i := range b.n.Inputs[4:] {
			copyOperand(b.out(1+i), b.in(4+i))
		}
	}
	const block = 1 << 13
	var update func(lo, hi int)
	switch a.Rule {
	case "sgd":
		update = func(lo, hi int) { vec.SGD(data[T](w)[lo:hi], data[T](gradient)[lo:hi], data[T](rate)[0], 0) }
	case "momentum", "nesterov":
		velocity, mu, nesterov := b.out(1), T(a.Values[0]), a.Rule == "nesterov"
		update = func(lo, hi int) {
			vec.Momentum(data[T](w)[lo:hi], data[T](velocity)[lo:hi], data[T](gradient)[lo:hi], data[T](rate)[0], mu, 0, nesterov)
		}
	case "adam":
		m, v, beta1, beta2, epsilon := b.out(1), b.out(2), a.Values[0], a.Values[1], a.Values[2]
		var alpha T
		copies := begin
		begin = func() {
			copies()
			t := float64(data[T](step)[0])
			alpha = T(float64(data[T](rate)[0]) * math.Sqrt(1-math.Pow(beta2, t)) / (1 - math.Pow(beta1, t)))
		}
		update = func(lo, hi int) {
			args := vec.AdamArgs[T]{W: data[T](w)[lo:hi], M: data[T](m)[lo:hi], V: data[T](v)[lo:hi], G: data[T](gradient)[lo:hi],
				Alpha: alpha, OneMinusBeta1: T(1 - beta1), OneMinusBeta2: T(1 - beta2), Epsilon: T(epsilon), GradientScale: 1}
			vec.Adam(&args)
		}
	default:
		return nil, b.unsupported("unknown rule %q", a.Rule)
	}
	loop := b.rt().parallel(w.n, block, func(_ *worker, lo, hi int) { update(lo, hi) })
	return func() { begin(); loop() }, nil
}
