package main

import (
	"math/rand/v2"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Random calls of functions that are given functions: loops, branches and maps. peer.py has the same ones.

// loops are their families; each name is that of a call in loopCalls.
var loops = []drawn{
	{"loop_scan_decay loop_scan_tanh loop_map_softmax loop_vectorized_norm loop_vectorized_dot", "float32 float32 float64", stepsArguments},
	{"loop_associative_add loop_associative_maximum loop_associative_product", "float32 float32 float64", stepsArguments},
	{"loop_scan_cell", "float32 float32 float64", cellArguments},
	{"loop_fori loop_while loop_cond loop_switch", "float32 float32 float64", unaryArguments},
}

// stepsArguments are from a few to thousands of slices of all that is left.
func stepsArguments(r *rand.Rand, d string, s []int) []argument {
	n := 1
	for _, size := range s {
		n *= size
	}
	steps := pick(r, 3, 10, 50, 300, 2000)
	return []argument{one(drawnTensor(d, []int{min(steps, n), max(n/steps, 1)}))}
}

// cellArguments are the inputs of a simple cell, and its matrix.
func cellArguments(r *rand.Rand, d string, s []int) []argument {
	n := 1
	for _, size := range s {
		n *= size
	}
	units, steps := pick(r, 3, 8, 17, 64), pick(r, 4, 20, 100)
	w := drawnTensor(d, []int{units, units})
	w.Low, w.High = -0.2, 0.2
	return []argument{one(drawnTensor(d, []int{steps, max(n/(steps*units), 1), units})), one(w)}
}

type tensors = []*ops.Tensor

// loopCalls are the functions, of the operands of a call.
var loopCalls = map[string]func(x tensors) tensors{
	"loop_scan_decay": func(x tensors) tensors {
		return scanned(x[0], func(carry, x *ops.Tensor) *ops.Tensor { return ops.Add(ops.MultiplyScalar(carry, 0.5), x) })
	},
	"loop_scan_tanh": func(x tensors) tensors {
		return scanned(x[0], func(carry, x *ops.Tensor) *ops.Tensor { return ops.Tanh(ops.Add(carry, x)) })
	},
	"loop_scan_cell": func(x tensors) tensors {
		return scanned(x[0], func(carry, step *ops.Tensor) *ops.Tensor { return ops.Tanh(ops.Add(ops.Matmul(carry, x[1]), step)) })
	},
	"loop_map_softmax": func(x tensors) tensors {
		return ops.Map(func(x []*ops.Tensor) []*ops.Tensor { return tensors{ops.Softmax(x[0], -1)} }, x[0])
	},
	"loop_vectorized_norm": func(x tensors) tensors {
		return ops.VectorizedMap(func(x []*ops.Tensor) []*ops.Tensor { return tensors{ops.Sqrt(ops.Sum(ops.Square(x[0])))} }, x[0])
	},
	"loop_vectorized_dot": func(x tensors) tensors {
		return ops.VectorizedMap(func(x []*ops.Tensor) []*ops.Tensor { return tensors{ops.Multiply(x[0], ops.Sum(x[0]))} }, x[0])
	},
	"loop_associative_add":     func(x tensors) tensors { return tensors{ops.AssociativeScan(ops.Add, x[0], 0, false)} },
	"loop_associative_maximum": func(x tensors) tensors { return tensors{ops.AssociativeScan(ops.Maximum, x[0], 0, true)} },
	"loop_associative_product": func(x tensors) tensors { return tensors{ops.AssociativeScan(ops.Multiply, x[0], 0, false)} },
	"loop_fori": func(x tensors) tensors {
		return ops.ForiLoop(0, 5, func(_ *ops.Tensor, state []*ops.Tensor) []*ops.Tensor { return tensors{halved(state[0])} }, x[0])
	},
	"loop_while": func(x tensors) tensors {
		return ops.WhileLoop(func(state []*ops.Tensor) *ops.Tensor { return ops.Greater(ops.Max(state[0]), number(state[0], 0.05)) },
			func(state []*ops.Tensor) []*ops.Tensor { return tensors{halved(state[0])} }, x[0])
	},
	"loop_cond": func(x tensors) tensors {
		return ops.Cond(ops.Greater(ops.Sum(x[0]), number(x[0], 0)), func() []*ops.Tensor { return tensors{halved(x[0])} }, func() []*ops.Tensor { return tensors{ops.Tanh(x[0])} })
	},
	"loop_switch": func(x tensors) tensors {
		least := ops.Cast(ops.Greater(ops.Max(x[0]), number(x[0], 0)), ir.Int32)
		return ops.Switch(least, []func(x []*ops.Tensor) []*ops.Tensor{
			func(x []*ops.Tensor) []*ops.Tensor { return tensors{ops.Tanh(x[0])} }, func(x []*ops.Tensor) []*ops.Tensor { return tensors{halved(x[0])} }}, x[0])
	},
}

func number(x *ops.Tensor, v float64) *ops.Tensor { return ops.Full(x, x.DType(), v) }

func halved(x *ops.Tensor) *ops.Tensor { return ops.MultiplyScalar(x, 0.5) }

// scanned returns what a step makes of what it carried and each slice, from zeros on.
func scanned(x *ops.Tensor, step func(carry, x *ops.Tensor) *ops.Tensor) tensors {
	_, ys := ops.Scan(func(carry, xs []*ops.Tensor) (next, ys []*ops.Tensor) {
		y := tensors{step(carry[0], xs[0])}
		return y, y
	}, tensors{ops.ZerosLike(ops.Index(x, 0, 0))}, tensors{x}, ops.ScanOptions{})
	return ys
}
