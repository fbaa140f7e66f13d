package ir

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// rnnCells: blocks of units in the kernel, number of states, whether a recurrent bias is an operand.
var rnnCells = map[string]struct {
	gates, states int
	bias          bool
}{
	"simple":           {1, 1, false},
	"lstm":             {4, 2, false},
	"gru":              {3, 1, true},
	"gru_reset_before": {3, 1, false},
}

// RnnCell returns the number of gates and states of a cell kind and whether it has a recurrent bias.
func RnnCell(kind string) (gates, states int, recurrentBias bool, err error) {
	c, ok := rnnCells[kind]
	if !ok {
		return 0, 0, false, fmt.Errorf("unknown cell %q", kind)
	}
	return c.gates, c.states, c.bias, nil
}

func inferRnnScan(in []Type, attrs Attrs) ([]Type, error) {
	a, ok := attrs.(RnnAttrs)
	if !ok {
		return nil, wrongAttrs(attrs, a)
	}
	gates, states, bias, err := RnnCell(a.Cell)
	if err != nil {
		return nil, err
	}
	if !KnownActivation(a.Activation) || !KnownActivation(a.RecurrentActivation) && a.Cell != "simple" {
		return nil, fmt.Errorf("unknown activation %q or recurrent activation %q", a.Activation, a.RecurrentActivation)
	}
	x, r := in[0], in[1]
	if !x.DType.IsFloat() || len(x.Shape) != 3 || len(r.Shape) != 2 {
		return nil, fmt.Errorf("x must be floats (B, T, gates*units) and the recurrent kernel (units, gates*units), received %v and %v", x, r)
	}
	batch, units := x.Shape[0], r.Shape[0]
	want := []Type{{x.DType, Shape{batch, x.Shape[1], dim.Mul(gates, units)}}, {x.DType, Shape{units, dim.Mul(gates, units)}}}
	if bias {
		want = append(want, Type{x.DType, Shape{dim.Mul(gates, units)}})
	}
	state := Type{x.DType, Shape{batch, units}}
	for range states {
		want = append(want, state)
	}
	if a.Masked {
		want = append(want, Type{Bool, x.Shape[:2]})
	}
	if len(in) != len(want) {
		return nil, fmt.Errorf("cell %q takes %d operands, received %d", a.Cell, len(want), len(in))
	}
	out := append([]Type{{x.DType, Shape{batch, x.Shape[1], units}}}, slices.Repeat([]Type{state}, states)...)
	return out, checkOperands(in, want...)
}

// optimizerRules: number of slots and of fixed numbers of each rule.
var optimizerRules = map[string]struct{ slots, values int }{
	"sgd":      {0, 0},
	"momentum": {1, 1},
	"nesterov": {1, 1},
	"adam":     {2, 3},
}

func inferOptimizerUpdate(in []Type, attrs Attrs) ([]Type, error) {
	a, ok := attrs.(OptimizerAttrs)
	if !ok {
		return nil, wrongAttrs(attrs, a)
	}
	rule, ok := optimizerRules[a.Rule]
	if !ok || len(a.Values) != rule.values || len(in) != 4+rule.slots && len(in) != 6+rule.slots {
		return nil, fmt.Errorf("rule %q with %d numbers and %d operands is unknown", a.Rule, len(a.Values), len(in))
	}
	w := in[0]
	if !w.DType.IsFloat() {
		return nil, fmt.Errorf("needs floats, received %v", w)
	}
	want := []Type{w, w, {w.DType, nil}, {w.DType, nil}}
	want = append(want, slices.Repeat([]Type{w}, rule.slots)...)
	if len(in) > len(want) {
		want = append(want, Type{DType: Bool}, Type{DType: w.DType})
		if w.DType == Float32 && in[1].DType.IsHalf() {
			want[1].DType = in[1].DType
		}
	}
	return slices.Repeat([]Type{w}, 1+rule.slots), checkOperands(in, want...)
}
