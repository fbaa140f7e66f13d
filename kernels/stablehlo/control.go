package stablehlo

import "github.com/gokeras/gokeras/kernels/ir"

func init() {
	lowerings[ir.Scan] = (*emitter).scan
	lowerings[ir.While] = (*emitter).while
	lowerings[ir.Cond] = (*emitter).cond
}

// loop writes a while over the given state. Regions see nothing from outside, as compilers that come from HLO expect,
// so constants travel in the state. The failure flag is part of it if something inside can fail.
func (e *emitter) loop(state []value, fails bool, cond func(state []value) value, body func(state []value) []value) []value {
	all := state
	if fails {
		e.settle()
		all = append(append([]value{}, state...), e.flag)
	}
	types := typesOf(all)
	outer := e.flag
	test := e.region(types, func(in []value) []value { return []value{cond(in[:len(state)])} })
	step := e.region(types, func(in []value) []value {
		if fails {
			e.flag = in[len(state)]
		}
		next := body(in[:len(state)])
		if fails {
			e.settle()
			next = append(next, e.flag)
		}
		return next
	})
	e.flag = outer
	results := e.general("while", all, "", test+", "+step, types)
	if fails {
		e.flag = results[len(state)]
	}
	return results[:len(state)]
}

// scan counts steps. At each step, slices of the stacked inputs are cut out and slices of the stacked outputs are put
// in.
func (e *emitter) scan(n *ir.Node, in []value) []value {
	a := n.Attrs.(ir.ScanAttrs)
	var stacked []value // the ys, which are empty at first
	for _, out := range a.Body.Outputs[a.Carry:] {
		t := a.Body.Type(out.Value)
		stacked = append(stacked, e.splat(ir.Type{DType: t.DType, Shape: append(ir.Shape{a.Length}, t.Shape...)}, 0))
	}
	if a.Length == 0 {
		return append(append([]value{}, in[:a.Carry]...), stacked...)
	}
	counter := ir.Type{DType: ir.Int32}
	state := append(append([]value{e.splat(counter, 0)}, in...), stacked...)
	final := e.loop(state, canFail(a.Body), func(s []value) value {
		return e.compare(ir.Lt, s[0], e.splat(counter, float64(a.Length)))
	}, func(s []value) []value { return e.scanStep(a, s, len(in)) })
	return append(append([]value{}, final[1:1+a.Carry]...), final[1+len(in):]...)
}

func (e *emitter) scanStep(a ir.ScanAttrs, state []value, inputs int) []value {
	step := state[0]
	zero := e.splat(step.typ, 0)
	place := step
	if a.Reverse {
		place = e.binary("subtract", e.splat(step.typ, float64(a.Length-1)), step)
	}
	at := func(rank int) []value { // start of the slice at the step
		starts := make([]value, rank)
		for i := range starts {
			starts[i] = zero
		}
		starts[0] = place
		return starts
	}
	arguments := append([]value{}, state[1:1+inputs]...)
	for i := a.Carry; i < a.Carry+a.Xs; i++ {
		sizes := arguments[i].shape().Clone()
		sizes[0] = 1
		arguments[i] = e.reshape(e.dynamicSlice(arguments[i], at(len(sizes)), sizes), sizes[1:]...)
	}
	results := e.inline(a.Body, arguments)
	next := append([]value{e.binary("add", step, e.splat(step.typ, 1))}, results[:a.Carry]...)
	next = append(next, state[1+a.Carry:1+inputs]...)
	for i, y := range results[a.Carry:] {
		whole := state[1+inputs+i]
		slice := e.reshape(y, append([]int{1}, y.shape()...)...)
		next = append(next, e.dynamicUpdateSlice(whole, slice, at(len(whole.shape()))))
	}
	return next
}

// while tests its condition before the loop and at the end of each step, and carries the answer. A failure in a
// condition then reaches the failure flag, which the region of a condition could not return.
func (e *emitter) while(n *ir.Node, in []value) []value {
	a := n.Attrs.(ir.WhileAttrs)
	fails := canFail(a.Cond) || canFail(a.Body)
	state := append([]value{e.inline(a.Cond, in)[0]}, in...)
	final := e.loop(state, fails, func(s []value) value { return s[0] }, func(s []value) []value {
		next := append(e.inline(a.Body, s[1:]), s[1+a.State:]...)
		return append([]value{e.inline(a.Cond, next)[0]}, next...)
	})
	return final[1 : 1+a.State]
}

// cond writes both branches as regions that use the operands from outside.
func (e *emitter) cond(n *ir.Node, in []value) []value {
	a := n.Attrs.(ir.CondAttrs)
	fails := canFail(a.Then) || canFail(a.Else)
	if fails {
		e.settle()
	}
	outer := e.flag
	var types []ir.Type
	branch := func(p *ir.Program) string {
		return e.region(nil, func([]value) []value {
			e.flag = outer
			results := e.inline(p, in[1:])
			if fails {
				e.settle()
				results = append(results, e.flag)
			}
			types = typesOf(results)
			return results
		})
	}
	regions := branch(a.Then) + ", " + branch(a.Else)
	e.flag = outer
	results := e.general("if", in[:1], "", regions, types)
	if fails {
		e.flag = results[len(results)-1]
		results = results[:len(results)-1]
	}
	return results
}
