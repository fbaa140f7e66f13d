package kernelstest

import (
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// factorCases has factorizations that a definition of a few operations computes: factors of single numbers, and
// divisions by triangles. Backends with kernels test their factors of larger matrices by multiplying them.
func factorCases(s *suite) {
	for _, dtype := range []ir.DType{ir.Float32, ir.Float64} {
		single := ir.Shape{5, 1, 1}
		for _, kind := range []ir.Factorization{ir.Cholesky, ir.LU, ir.QR, ir.SVD, ir.Eigh} {
			d := s.new(ir.Factor, "%s of one number %v", kind, dtype).within(4)
			p := newProgram(string(kind))
			x := p.in(dtype, single...)
			one, flat := p.constant(dtype, 1, single...), p.op(ir.Reshape, ir.ReshapeAttrs{Shape: ir.Shape{5, 1}}, x)
			switch kind {
			case ir.Cholesky:
				p.out(p.op(ir.Sqrt, nil, x))
			case ir.LU:
				p.out(x, p.constant(ir.Int32, 0, 5, 1))
			case ir.QR:
				p.out(one, x)
			case ir.SVD:
				p.out(p.op(ir.Sign, nil, x), p.op(ir.Abs, nil, flat), one)
			default:
				p.out(flat, one)
			}
			d.add(ir.FactorAttrs{Kind: kind, Definition: p.Program}, d.positive(dtype, single...))
		}
		for _, kind := range []ir.Factorization{ir.Lower, ir.Upper} {
			for _, c := range []struct{ a, b ir.Shape }{{ir.Shape{5, 5}, ir.Shape{5, 3}}, {ir.Shape{3, 20, 20}, ir.Shape{3, 20, 1}}} {
				d := s.new(ir.Factor, "%s %v%v of %v", kind, dtype, c.a, c.b).withinWhole(20)
				d.add(ir.FactorAttrs{Kind: kind, Definition: triangleDefinition(kind, dtype, c.a, c.b)}, d.dominated(dtype, c.a), d.normal(dtype, c.b...))
			}
		}
	}
}

// triangleDefinition divides by what is left of a matrix without the other triangle.
func triangleDefinition(kind ir.Factorization, dtype ir.DType, a, b ir.Shape) *ir.Program {
	p := newProgram(string(kind))
	x, y := p.in(dtype, a...), p.in(dtype, b...)
	row := p.op(ir.Iota, ir.IotaAttrs{Type: ir.Type{DType: ir.Int32, Shape: a}, Axis: len(a) - 2})
	column := p.op(ir.Iota, ir.IotaAttrs{Type: ir.Type{DType: ir.Int32, Shape: a}, Axis: len(a) - 1})
	direction := ir.Ge
	if kind == ir.Upper {
		direction = ir.Le
	}
	kept := p.op(ir.Compare, ir.CompareAttrs{Direction: direction}, row, column)
	triangle := p.op(ir.Select, nil, kept, x, p.constant(dtype, 0, a...))
	return p.out(p.ops(ir.Eliminate, nil, triangle, y)[0])
}

// dominated returns matrices with four on the diagonal and small numbers elsewhere.
func (d *draft) dominated(dtype ir.DType, shape ir.Shape) reference.Value {
	n := shape[len(shape)-1]
	return value(dtype, shape, func(i int) float64 {
		x := d.rng.NormFloat64() / float64(n)
		if i/n%n == i%n {
			x += 4
		}
		return x
	})
}
