package ir

func init() {
	decompositions[Erfc] = func(b *builder, n *Node) []Value { return b.narrow(n.Inputs[0], b.erfc(b.wide(n.Inputs[0]))) }
}

// erfc is 1 - erf(x) up to 1/2. Beyond that it is e^(-a²)·R(a) with a = |x|, or 2 minus that for negative x. Part of
// the exponent is an exact square, which keeps the digits of a. R(a) is e^(a²)·erfc(a), and (2a + 1)·R(a) is a
// polynomial of (a - 4) / (a + 4).
func (b *builder) erfc(x Value) Value {
	parts, most := 128.0, 10.3 // a·parts has as many digits as fit twice into the type; from most on the result is 0
	if b.typ(x).DType == Float64 {
		parts, most = 1<<20, 27.5
	}
	one, two, size := b.like(x, 1), b.like(x, 2), b.op(Abs, nil, x)
	a := b.op(Minimum, nil, size, b.like(x, most))
	t := b.div(b.sub(a, b.like(x, 4)), b.add(a, b.like(x, 4)))
	r := b.like(x, erfcTerms[0])
	for _, c := range erfcTerms[1:] {
		r = b.add(b.mul(r, t), b.like(x, c))
	}
	r = b.div(r, b.add(b.mul(a, two), one))
	start := b.scale(b.op(Round, nil, b.scale(a, parts)), 1/parts)
	rest := b.op(Expm1, nil, b.mul(b.sub(start, a), b.add(start, a)))
	far := b.mul(b.op(Exp, nil, b.op(Neg, nil, b.mul(start, start))), b.add(r, b.mul(r, rest)))
	far = b.op(Select, nil, b.compare(Lt, x, b.like(x, 0)), b.sub(two, far), far)
	near := b.sub(one, b.op(Erf, nil, x))
	return b.op(Select, nil, b.compare(Gt, size, b.like(x, 0.5)), far, near)
}

// erfcTerms interpolate at Chebyshev nodes, with an error of 2^-56 of the result.
var erfcTerms = [...]float64{-8.906208663934622e-09, -9.456271524915692e-09, 1.0181247475149971e-07, 5.883230632914435e-08, -8.187662562915786e-07,
	3.0994402010831546e-07, 5.706827475068264e-06, -1.1232086023404734e-05, -2.4398609353512906e-05, 0.00015062567141369432,
	-0.00019925669640425623, -0.0007577743061693371, 0.005031969952329153, -0.016197733895959854, 0.03716751554242076, -0.06633036582729279,
	0.09373283499798463, -0.10103906603558063, 0.06809705425470212, 0.015379652102606133, -0.13962111684056255, 1.2329951186255526}
