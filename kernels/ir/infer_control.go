package ir

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// matchInputs checks that a sub-program takes exactly the given types.
func matchInputs(what string, sub *Program, in []Type) error {
	if sub == nil {
		return fmt.Errorf("%s is missing", what)
	}
	if len(sub.Inputs) != len(in) {
		return fmt.Errorf("%s takes %d inputs, received %d", what, len(sub.Inputs), len(in))
	}
	for i, t := range in {
		if got := sub.Type(sub.Inputs[i].Value); !got.Fits(t) {
			return fmt.Errorf("input %d of %s is %v, received %v", i, what, got, t)
		}
	}
	return nil
}

func outputTypes(sub *Program) []Type {
	types := make([]Type, len(sub.Outputs))
	for i, out := range sub.Outputs {
		types[i] = sub.Type(out.Value)
	}
	return types
}

func matchState(what string, got, want []Type) error {
	if len(got) < len(want) {
		return fmt.Errorf("%s returns %d values, its state has %d", what, len(got), len(want))
	}
	for i, t := range want {
		if !got[i].Fits(t) {
			return fmt.Errorf("%s returns %v for state %d, which is %v", what, got[i], i, t)
		}
	}
	return nil
}

func inferScan(in []Type, attrs Attrs) ([]Type, error) {
	a, ok := attrs.(ScanAttrs)
	if !ok {
		return nil, wrongAttrs(attrs, a)
	}
	if dim.Known(a.Length) && a.Length < 0 || a.Carry < 0 || a.Xs < 0 || a.Carry+a.Xs > len(in) {
		return nil, fmt.Errorf("length %d, %d carries and %d stacked inputs do not fit %d operands", a.Length, a.Carry, a.Xs, len(in))
	}
	body := make([]Type, len(in))
	copy(body, in)
	for i := a.Carry; i < a.Carry+a.Xs; i++ {
		if len(in[i].Shape) == 0 || !dim.MayEqual(in[i].Shape[0], a.Length) {
			return nil, fmt.Errorf("stacked operand %d is %v; its first axis must be the %s steps", i, in[i], dim.String(a.Length))
		}
		body[i] = Type{in[i].DType, in[i].Shape[1:]}
	}
	if err := matchInputs("the body", a.Body, body); err != nil {
		return nil, err
	}
	out := outputTypes(a.Body)
	if err := matchState("the body", out, in[:a.Carry]); err != nil {
		return nil, err
	}
	for i := a.Carry; i < len(out); i++ {
		out[i].Shape = append(Shape{a.Length}, out[i].Shape...)
	}
	return out, nil
}

func inferWhile(in []Type, attrs Attrs) ([]Type, error) {
	a, ok := attrs.(WhileAttrs)
	if !ok {
		return nil, wrongAttrs(attrs, a)
	}
	if a.State < 0 || a.State > len(in) {
		return nil, fmt.Errorf("%d state values do not fit %d operands", a.State, len(in))
	}
	if err := matchInputs("the condition", a.Cond, in); err != nil {
		return nil, err
	}
	if err := matchInputs("the body", a.Body, in); err != nil {
		return nil, err
	}
	if out := outputTypes(a.Cond); len(out) != 1 || !out[0].Equal(Type{Bool, nil}) {
		return nil, fmt.Errorf("the condition must return one bool scalar, it returns %v", out)
	}
	out := outputTypes(a.Body)
	if len(out) != a.State {
		return nil, fmt.Errorf("the body returns %d values, its state has %d", len(out), a.State)
	}
	return out, matchState("the body", out, in[:a.State])
}

func inferCond(in []Type, attrs Attrs) ([]Type, error) {
	a, ok := attrs.(CondAttrs)
	if !ok {
		return nil, wrongAttrs(attrs, a)
	}
	if !in[0].Equal(Type{Bool, nil}) {
		return nil, fmt.Errorf("the predicate must be a bool scalar, received %v", in[0])
	}
	if err := matchInputs("the then branch", a.Then, in[1:]); err != nil {
		return nil, err
	}
	if err := matchInputs("the else branch", a.Else, in[1:]); err != nil {
		return nil, err
	}
	out, other := outputTypes(a.Then), outputTypes(a.Else)
	if len(out) != len(other) {
		return nil, fmt.Errorf("the branches return %d and %d values", len(out), len(other))
	}
	return out, matchState("the else branch", other, out)
}
