package ops_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
)

// gradientCase is a function whose gradients are compared with central differences, and so are the gradients of its
// gradients if second is set.
type gradientCase struct {
	name   string
	second bool
	fn     opstest.Func
	in     []opstest.Array
}

// gradientCases are filled by the test files of the families.
var gradientCases []gradientCase

func addCase(name string, second bool, fn opstest.Func, in ...opstest.Array) {
	gradientCases = append(gradientCases, gradientCase{name, second, fn, in})
}

// unary, binary and ternary turn plain functions into traced ones.
func unary(f func(x *ops.Tensor) *ops.Tensor) opstest.Func {
	return func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor { return []*ops.Tensor{f(in[0])} }
}

func binary(f func(a, b *ops.Tensor) *ops.Tensor) opstest.Func {
	return func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor { return []*ops.Tensor{f(in[0], in[1])} }
}

func ternary(f func(a, b, c *ops.Tensor) *ops.Tensor) opstest.Func {
	return func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor { return []*ops.Tensor{f(in[0], in[1], in[2])} }
}

func TestGradients(t *testing.T) {
	for _, c := range gradientCases {
		t.Run(c.name, func(t *testing.T) { opstest.CheckGradients(t, c.fn, c.in...) })
	}
}

func TestSecondGradients(t *testing.T) {
	for _, c := range gradientCases {
		if c.second {
			t.Run(c.name, func(t *testing.T) { opstest.CheckSecondGradients(t, c.fn, c.in...) })
		}
	}
}

// withoutGradient lists the ops whose results do not change smoothly with any operand.
var withoutGradient = []ir.Op{
	ir.Constant, ir.Iota, ir.RngBits, ir.Sign, ir.Floor, ir.Ceil, ir.Round, ir.IsFinite, ir.Not, ir.Identity, ir.BitCast, ir.BitAnd, ir.BitOr,
	ir.BitXor, ir.ShiftLeft, ir.ShiftRight, ir.Compare, ir.ArgMax, ir.ArgMin, ir.While, ir.ReplicaID,
}

// recorder is a T that records that a check failed.
type recorder struct{ failed bool }

func (r *recorder) Helper()               {}
func (r *recorder) Errorf(string, ...any) { r.failed = true }
func (r *recorder) Fatalf(f string, args ...any) {
	panic(fmt.Sprintf(f, args...))
}

// check is one way to detect a wrong gradient.
type check func(t opstest.T)

func allChecks() []check {
	var checks []check
	for _, c := range gradientCases {
		checks = append(checks, func(t opstest.T) { opstest.CheckGradients(t, c.fn, c.in...) })
		if c.second {
			checks = append(checks, func(t opstest.T) { opstest.CheckSecondGradients(t, c.fn, c.in...) })
		}
	}
	for _, c := range collectives {
		checks = append(checks, func(t opstest.T) { checkCollective(t, c.f) })
	}
	return checks
}

// The gradient of each operand of each op in turn is made wrong by one percent, and some check must notice. So a new op
// in package ir, or a new rule, fails here until it is checked.
func TestEveryGradientIsChecked(t *testing.T) {
	type place struct {
		op      ir.Op
		operand int
	}
	asked := map[place][]check{} // the checks that use a gradient
	for _, c := range allChecks() {
		here := map[place]bool{}
		restore := ops.WatchGradients(func(op ir.Op, operand int, grad *ops.Tensor) *ops.Tensor {
			here[place{op, operand}] = true
			return grad
		})
		c(t)
		restore()
		for p := range here {
			asked[p] = append(asked[p], c)
		}
	}
	for _, op := range ir.Ops() {
		if slices.Contains(withoutGradient, op) || op == ir.Convert { // casts have a separate test
			continue
		}
		differentiated := false
		for operand := range 8 {
			here := place{op, operand}
			differentiated = differentiated || len(asked[here]) > 0
			restore := ops.WatchGradients(func(op ir.Op, operand int, grad *ops.Tensor) *ops.Tensor {
				if here == (place{op, operand}) {
					return ops.MultiplyScalar(grad, 1.01)
				}
				return grad
			})
			noticed := slices.ContainsFunc(asked[here], func(c check) bool {
				r := &recorder{}
				c(r)
				return r.failed
			})
			restore()
			require.Equal(t, len(asked[here]) > 0, noticed, "nothing notices a wrong gradient of operand %d of %v", operand, op)
		}
		require.True(t, differentiated, "no case differentiates %v", op)
	}
}

func caseName(what any, in ...opstest.Array) string {
	name := fmt.Sprint(what)
	for _, a := range in {
		name += fmt.Sprint(" ", a.Shape)
	}
	return name
}
