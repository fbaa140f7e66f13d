package kernelstest

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// program is a shorthand for writing programs by hand; a mistake in one is a mistake in this package and panics.
type program struct{ *ir.Program }

func newProgram(name string) program { return program{ir.New(name)} }

func (p program) in(dtype ir.DType, shape ...int) ir.Value {
	return p.AddInput(fmt.Sprintf("in%d", len(p.Inputs)), ir.Type{DType: dtype, Shape: shape})
}

func (p program) ops(op ir.Op, attrs ir.Attrs, in ...ir.Value) []ir.Value {
	out, err := p.Add("layer", op, attrs, in...)
	if err != nil {
		panic("kernelstest: " + err.Error())
	}
	return out
}

func (p program) op(op ir.Op, attrs ir.Attrs, in ...ir.Value) ir.Value {
	return p.ops(op, attrs, in...)[0]
}

func (p program) constant(dtype ir.DType, x float64, shape ...int) ir.Value {
	return p.op(ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(dtype, x, shape...)})
}

// out ends the program with the given results.
func (p program) out(values ...ir.Value) *ir.Program {
	for _, v := range values {
		p.AddOutput(fmt.Sprintf("out%d", len(p.Outputs)), v)
	}
	return p.Program
}

// run adds a case with a whole program.
func (d *draft) run(p *ir.Program, inputs ...reference.Value) {
	if err := p.Verify(); err != nil {
		panic("kernelstest: " + err.Error())
	}
	d.Program, d.Inputs = p, inputs
	d.suite.cases = append(d.suite.cases, d.Case)
}

func scanCases(s *suite) {
	for _, dtype := range []ir.DType{ir.Float32, ir.BFloat16, ir.Float64, ir.Int32} {
		body := newProgram("running sum") // (sum, x, offset) -> sum + x + offset; y is the new sum, and x unchanged
		carry, x, offset := body.in(dtype, 3), body.in(dtype, 3), body.in(dtype)
		sum := body.op(ir.Add, nil, body.op(ir.Add, nil, carry, x), body.op(ir.Broadcast, ir.BroadcastAttrs{Shape: ir.Shape{3}}, offset))
		body.out(sum, sum, x)
		for _, length := range []int{0, 1, 5} {
			for _, reverse := range []bool{false, true} {
				d := s.new(ir.Scan, "running sum %v length %d reverse %v", dtype, length, reverse).withinWhole(8)
				d.add(ir.ScanAttrs{Body: body.Program, Length: length, Carry: 1, Xs: 1, Reverse: reverse},
					d.normal(dtype, 3), d.normal(dtype, length, 3), d.normal(dtype))
			}
		}
	}
	swap := newProgram("swap") // carries exchange places: neither may overwrite the other
	a, b := swap.in(ir.Float32, 2, 3), swap.in(ir.Float32, 2, 3)
	swap.out(b, swap.op(ir.Add, nil, a, b), a, a)
	d := s.new(ir.Scan, "swapped carries").withinWhole(8)
	d.add(ir.ScanAttrs{Body: swap.Program, Length: 4, Carry: 2}, d.normal(ir.Float32, 2, 3), d.normal(ir.Float32, 2, 3))

	mapped := newProgram("map") // no carry
	x := mapped.in(ir.Float32, 4)
	mapped.out(mapped.op(ir.Exp, nil, x), mapped.constant(ir.Int32, 7))
	d = s.new(ir.Scan, "map").within(8)
	d.add(ir.ScanAttrs{Body: mapped.Program, Length: 3, Xs: 1}, d.normal(ir.Float32, 3, 4))

	kept := newProgram("kept") // the carry never changes; a constant is returned
	carry, constant := kept.in(ir.Int64), kept.in(ir.Bool, 2)
	kept.out(carry, constant)
	d = s.new(ir.Scan, "unchanged carry")
	d.add(ir.ScanAttrs{Body: kept.Program, Length: 3, Carry: 1}, d.normal(ir.Int64), d.normal(ir.Bool, 2))

	nested := newProgram("rows") // scans each row of a matrix with the program above
	inner := newProgram("inner")
	ic, ix := inner.in(ir.Float32), inner.in(ir.Float32)
	total := inner.op(ir.Sub, nil, ix, inner.op(ir.Mul, nil, ic, inner.constant(ir.Float32, 0.5)))
	inner.out(total, total)
	oc, row := nested.in(ir.Float32), nested.in(ir.Float32, 5)
	results := nested.ops(ir.Scan, ir.ScanAttrs{Body: inner.Program, Length: 5, Carry: 1, Xs: 1, Reverse: true}, oc, row)
	nested.out(results...)
	d = s.new(ir.Scan, "nested").withinWhole(16)
	d.add(ir.ScanAttrs{Body: nested.Program, Length: 4, Carry: 1, Xs: 1}, d.normal(ir.Float32), d.normal(ir.Float32, 4, 5))

	cell := newProgram("cell")
	h, in, kernel := cell.in(ir.Float32, 2, 3), cell.in(ir.Float32, 2, 3), cell.in(ir.Float32, 3, 3)
	dot := cell.op(ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}, h, kernel)
	next := cell.op(ir.Tanh, nil, cell.op(ir.Add, nil, dot, in))
	cell.out(next, next)
	d = s.new(ir.Scan, "recurrent cell").withinWhole(64)
	d.add(ir.ScanAttrs{Body: cell.Program, Length: 6, Carry: 1, Xs: 1}, d.normal(ir.Float32, 2, 3), d.normal(ir.Float32, 6, 2, 3), d.normal(ir.Float32, 3, 3))
}

func whileCases(s *suite) {
	less := func(types ...ir.Type) program { // the first state is below the last value, both int32
		p := newProgram("below")
		var in []ir.Value
		for i, t := range types {
			in = append(in, p.AddInput(fmt.Sprintf("in%d", i), t))
		}
		p.out(p.op(ir.Compare, ir.CompareAttrs{Direction: ir.Lt}, in[0], in[len(in)-1]))
		return p
	}
	counter, vector := ir.Type{DType: ir.Int32}, ir.Type{DType: ir.Float32, Shape: ir.Shape{3}}
	body := newProgram("fibonacci") // (n, a, b, limit) -> (n+1, b, a+b)
	n, a, b, _ := body.in(ir.Int32), body.in(ir.Float32, 3), body.in(ir.Float32, 3), body.in(ir.Int32)
	body.out(body.op(ir.Add, nil, n, body.constant(ir.Int32, 1)), b, body.op(ir.Add, nil, a, b))
	cond := less(counter, vector, vector, counter)
	for _, limit := range []float64{-1, 0, 1, 9} {
		d := s.new(ir.While, "fibonacci to %v", limit).withinWhole(32)
		d.add(ir.WhileAttrs{Cond: cond.Program, Body: body.Program, State: 3},
			value(ir.Int32, nil, func(int) float64 { return 0 }), d.normal(ir.Float32, 3), d.normal(ir.Float32, 3), value(ir.Int32, nil, func(int) float64 { return limit }))
	}
	triangle := newProgram("triangle") // an inner loop of as many steps as the outer counter
	i, sum, limit := triangle.in(ir.Int32), triangle.in(ir.Int32), triangle.in(ir.Int32)
	one := triangle.constant(ir.Int32, 1)
	inner := newProgram("inner")
	j, t, _ := inner.in(ir.Int32), inner.in(ir.Int32), inner.in(ir.Int32)
	unit := inner.constant(ir.Int32, 1)
	inner.out(inner.op(ir.Add, nil, j, unit), inner.op(ir.Add, nil, t, unit))
	innerCond := less(counter, counter, counter)
	counted := triangle.ops(ir.While, ir.WhileAttrs{Cond: innerCond.Program, Body: inner.Program, State: 2}, triangle.constant(ir.Int32, 0), sum, i)
	_ = limit
	triangle.out(triangle.op(ir.Add, nil, i, one), counted[1])
	d := s.new(ir.While, "nested")
	d.add(ir.WhileAttrs{Cond: less(counter, counter, counter).Program, Body: triangle.Program, State: 2},
		value(ir.Int32, nil, func(int) float64 { return 0 }), value(ir.Int32, nil, func(int) float64 { return 0 }), value(ir.Int32, nil, func(int) float64 { return 5 }))
}

func condCases(s *suite) {
	then, otherwise := newProgram("then"), newProgram("otherwise")
	a, b := then.in(ir.Float32, 3), then.in(ir.Float32, 3)
	then.out(then.op(ir.Mul, nil, a, b), a, then.constant(ir.Int8, 1))
	a, b = otherwise.in(ir.Float32, 3), otherwise.in(ir.Float32, 3)
	otherwise.out(b, otherwise.op(ir.Sub, nil, a, b), otherwise.constant(ir.Int8, 2))
	attrs := ir.CondAttrs{Then: then.Program, Else: otherwise.Program}
	for _, p := range []float64{0, 1} {
		d := s.new(ir.Cond, "branches %v", p).within(2)
		d.add(attrs, value(ir.Bool, nil, func(int) float64 { return p }), d.normal(ir.Float32, 3), d.normal(ir.Float32, 3))
		yes, no := newProgram("yes"), newProgram("no")
		yes.out(yes.constant(ir.Float64, 1, 2))
		no.out(no.constant(ir.Float64, -1, 2))
		d = s.new(ir.Cond, "no operands %v", p)
		d.add(ir.CondAttrs{Then: yes.Program, Else: no.Program}, value(ir.Bool, nil, func(int) float64 { return p }))

		outer := newProgram("outer") // a branch inside a loop, taken by turns
		flag, x := outer.in(ir.Bool), outer.in(ir.Float32, 3)
		r := outer.ops(ir.Cond, attrs, flag, x, x)
		outer.out(outer.op(ir.Not, nil, flag), r[0], r[1])
		d = s.new(ir.Cond, "inside a scan from %v", p).withinWhole(64)
		q := newProgram(d.Name)
		start, v := q.in(ir.Bool), q.in(ir.Float32, 3)
		d.run(q.out(q.ops(ir.Scan, ir.ScanAttrs{Body: outer.Program, Length: 3, Carry: 2}, start, v)...),
			value(ir.Bool, nil, func(int) float64 { return p }), value(ir.Float32, ir.Shape{3}, func(i int) float64 { return 0.5 + float64(i)/4 }))
	}
}

// wholeCases are programs of several ops whose outputs are awkward: the same value twice, an input, a constant, dead
// code.
func wholeCases(s *suite) {
	d := s.new(ir.Identity, "outputs of all sorts").within(4)
	p := newProgram(d.Name)
	x, y := p.in(ir.Float32, 4, 3), p.in(ir.Float32, 4, 3)
	sum := p.op(ir.Add, nil, x, y)
	p.op(ir.Exp, nil, sum) // dead
	d.run(p.out(sum, sum, x, p.constant(ir.Float32, 2, 5), p.op(ir.Identity, nil, x), p.op(ir.Reshape, ir.ReshapeAttrs{Shape: ir.Shape{12}}, y), p.op(ir.Reshape, ir.ReshapeAttrs{Shape: ir.Shape{2, 6}}, sum)),
		d.normal(ir.Float32, 4, 3), d.normal(ir.Float32, 4, 3))

	d = s.new(ir.Identity, "no outputs")
	p = newProgram(d.Name)
	p.op(ir.Neg, nil, p.in(ir.Float32, 3))
	d.run(p.out(), d.normal(ir.Float32, 3))

	d = s.new(ir.Identity, "no inputs")
	p = newProgram(d.Name)
	d.run(p.out(p.op(ir.Neg, nil, p.constant(ir.Float32, 2, 3))))

	d = s.new(ir.Identity, "long chain").withinWhole(64) // every value dies at once; one is needed at both ends
	p = newProgram(d.Name)
	first := p.in(ir.Float32, 37)
	v := first
	for range 60 {
		v = p.op(ir.Tanh, nil, p.op(ir.Add, nil, p.op(ir.Neg, nil, v), first))
	}
	d.run(p.out(v, p.op(ir.Sub, nil, v, first)), d.normal(ir.Float32, 37))

	d = s.new(ir.Dot, "dense layer with bias and relu").withinWhole(16) // what backends fuse
	p = newProgram(d.Name)
	in, kernel, bias := p.in(ir.Float32, 9, 17), p.in(ir.Float32, 17, 33), p.in(ir.Float32, 33)
	z := p.op(ir.Add, nil, p.op(ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}, in, kernel), p.op(ir.Broadcast, ir.BroadcastAttrs{Shape: ir.Shape{9, 33}, Axes: []int{1}}, bias))
	relu := p.op(ir.Relu, nil, z)
	d.run(p.out(relu, p.op(ir.Reduce, ir.ReduceAttrs{Kind: ir.Sum, Axes: []int{0, 1}}, relu)), d.normal(ir.Float32, 9, 17), d.normal(ir.Float32, 17, 33), d.normal(ir.Float32, 33))

	d = s.new(ir.Conv, "convolution with bias and relu").withinWhole(16)
	p = newProgram(d.Name)
	image, filter, shift := p.in(ir.Float32, 2, 6, 7, 3), p.in(ir.Float32, 3, 3, 3, 5), p.in(ir.Float32, 5)
	c := p.op(ir.Conv, conv(one2, one2, one2, one2, 1), image, filter)
	c = p.op(ir.Add, nil, c, p.op(ir.Broadcast, ir.BroadcastAttrs{Shape: ir.Shape{2, 6, 7, 5}, Axes: []int{3}}, shift))
	d.run(p.out(p.op(ir.Relu, nil, c)), d.normal(ir.Float32, 2, 6, 7, 3), d.normal(ir.Float32, 3, 3, 3, 5), d.normal(ir.Float32, 5))
}
