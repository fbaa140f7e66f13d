package ir

import "testing"

// sub returns a program of the given types whose outputs are the inputs with these numbers.
func sub(types []Type, outputs ...int) *Program {
	p := New("sub")
	for _, x := range types {
		p.AddInput("", x)
	}
	for _, i := range outputs {
		p.AddOutput("", Value(i))
	}
	return p
}

func TestInferScan(t *testing.T) {
	c, x, k := f32(2), i32(3), boolean()
	body := in(c, x, k)
	checkRules(t, []rule{
		{op: Scan, attrs: ScanAttrs{Body: sub(body, 0, 1, 2), Length: 5, Carry: 1, Xs: 1}, in: in(c, i32(5, 3), k), want: "float32[2], int32[5 3], bool[5]"},
		{op: Scan, attrs: ScanAttrs{Body: sub(nil), Length: 5}, want: ""},
		{op: Scan, attrs: ScanAttrs{Body: sub(body, 0), Length: 0, Carry: 1, Xs: 1}, in: in(c, i32(0, 3), k), want: "float32[2]"},
		{op: Scan, attrs: ScanAttrs{Length: 5}, err: "the body is missing"},
		{op: Scan, attrs: ScanAttrs{Body: sub(body, 0), Length: -1, Carry: 1, Xs: 1}, in: in(c, i32(5, 3), k), err: "length -1, 1 carries and 1 stacked inputs do not fit 3 operands"},
		{op: Scan, attrs: ScanAttrs{Body: sub(body, 0), Length: 5, Carry: 2, Xs: 2}, in: in(c, i32(5, 3), k), err: "2 carries and 2 stacked inputs do not fit 3 operands"},
		{op: Scan, attrs: ScanAttrs{Body: sub(body, 0), Length: 4, Carry: 1, Xs: 1}, in: in(c, i32(5, 3), k), err: "stacked operand 1 is int32[5 3]; its first axis must be the 4 steps"},
		{op: Scan, attrs: ScanAttrs{Body: sub(body, 0), Length: 4, Carry: 1, Xs: 1}, in: in(c, i32(), k), err: "stacked operand 1 is int32[]"},
		{op: Scan, attrs: ScanAttrs{Body: sub(body, 0), Length: 5, Carry: 1, Xs: 1}, in: in(c, i32(5, 3)), err: "the body takes 3 inputs, received 2"},
		{op: Scan, attrs: ScanAttrs{Body: sub(body, 0), Length: 5, Carry: 1, Xs: 1}, in: in(c, i32(5, 4), k), err: "input 1 of the body is int32[3], received int32[4]"},
		{op: Scan, attrs: ScanAttrs{Body: sub(body), Length: 5, Carry: 1, Xs: 1}, in: in(c, i32(5, 3), k), err: "the body returns 0 values, its state has 1"},
		{op: Scan, attrs: ScanAttrs{Body: sub(body, 1), Length: 5, Carry: 1, Xs: 1}, in: in(c, i32(5, 3), k), err: "the body returns int32[3] for state 0, which is float32[2]"},
		{op: Scan, attrs: AxisAttrs{}, err: "needs attributes of type ir.ScanAttrs"},
	})
}

func TestInferWhile(t *testing.T) {
	state, flag := in(i32(), boolean()), sub(in(i32(), boolean()), 1)
	checkRules(t, []rule{
		{op: While, attrs: WhileAttrs{Cond: flag, Body: sub(state, 0, 1), State: 2}, in: state, want: "int32[], bool[]"},
		{op: While, attrs: WhileAttrs{Cond: flag, Body: sub(state, 0), State: 1}, in: state, want: "int32[]"},
		{op: While, attrs: WhileAttrs{Cond: flag, Body: sub(state, 0), State: 3}, in: state, err: "3 state values do not fit 2 operands"},
		{op: While, attrs: WhileAttrs{Body: sub(state, 0), State: 1}, in: state, err: "the condition is missing"},
		{op: While, attrs: WhileAttrs{Cond: flag, State: 1}, in: state, err: "the body is missing"},
		{op: While, attrs: WhileAttrs{Cond: flag, Body: sub(state[:1], 0), State: 1}, in: state, err: "the body takes 1 inputs, received 2"},
		{op: While, attrs: WhileAttrs{Cond: sub(state, 0), Body: sub(state, 0), State: 1}, in: state, err: "the condition must return one bool scalar, it returns [int32[]]"},
		{op: While, attrs: WhileAttrs{Cond: sub(state, 1, 1), Body: sub(state, 0), State: 1}, in: state, err: "the condition must return one bool scalar"},
		{op: While, attrs: WhileAttrs{Cond: flag, Body: sub(state, 0, 1), State: 1}, in: state, err: "the body returns 2 values, its state has 1"},
		{op: While, attrs: WhileAttrs{Cond: flag, Body: sub(state, 1), State: 1}, in: state, err: "the body returns bool[] for state 0, which is int32[]"},
		{op: While, in: state, err: "needs attributes of type ir.WhileAttrs"},
	})
}

func TestInferCond(t *testing.T) {
	x := in(f32(2), i32())
	operands := in(boolean(), f32(2), i32())
	checkRules(t, []rule{
		{op: Cond, attrs: CondAttrs{sub(x, 0, 1), sub(x, 0, 1)}, in: operands, want: "float32[2], int32[]"},
		{op: Cond, attrs: CondAttrs{sub(nil), sub(nil)}, in: in(boolean()), want: ""},
		{op: Cond, attrs: CondAttrs{sub(x, 0), sub(x, 0)}, in: in(boolean(1), f32(2), i32()), err: "the predicate must be a bool scalar, received bool[1]"},
		{op: Cond, attrs: CondAttrs{sub(x[:1], 0), sub(x, 0)}, in: operands, err: "the then branch takes 1 inputs, received 2"},
		{op: Cond, attrs: CondAttrs{sub(x, 0), nil}, in: operands, err: "the else branch is missing"},
		{op: Cond, attrs: CondAttrs{sub(x, 0), sub(x, 0, 1)}, in: operands, err: "the branches return 1 and 2 values"},
		{op: Cond, attrs: CondAttrs{sub(x, 0), sub(x, 1)}, in: operands, err: "the else branch returns int32[] for state 0, which is float32[2]"},
		{op: Cond, in: operands, err: "needs attributes of type ir.CondAttrs"},
	})
}
