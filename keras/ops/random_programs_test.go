package ops_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
)

// builder makes random functions of vectors of length 2, with nested loops, branches, custom gradients, gradients and
// rematerialization.
type builder struct {
	*rand.Rand
	g *ops.Graph
}

func (b builder) pick(pool tensors) *ops.Tensor { return pool[b.IntN(len(pool))] }

// grow adds n tensors computed from those of the pool.
func (b builder) grow(pool tensors, n, depth int) tensors {
	pool = append(tensors{}, pool...)
	for range n {
		pool = append(pool, b.step(pool, depth))
	}
	return pool
}

// last grows the pool and returns its last tensor, kept small.
func (b builder) last(pool tensors, depth int) *ops.Tensor {
	pool = b.grow(pool, 1+b.IntN(3), depth)
	return ops.Tanh(pool[len(pool)-1])
}

func (b builder) step(pool tensors, depth int) *ops.Tensor {
	x, y := b.pick(pool), b.pick(pool)
	kinds := 12
	if depth == 0 {
		kinds = 7
	}
	switch b.IntN(kinds) {
	case 0:
		return ops.Add(ops.Sin(x), y)
	case 1:
		return ops.Multiply(ops.Tanh(x), y)
	case 2:
		return ops.Divide(x, ops.AddScalar(ops.Square(y), 1))
	case 3:
		return ops.Take(ops.Stack(0, x, y), ops.Constant(b.g, ir.Int32, nil, []float64{float64(b.IntN(2))}), 0)
	case 4:
		return ops.Multiply(ops.Softmax(x, 0), ops.Flip(y))
	case 5:
		return ops.Matmul(ops.Outer(ops.Sigmoid(x), ops.Cos(y)), x)
	case 6:
		return b.custom(x, y)
	case 7:
		limit := b.Float64() - 0.5
		return ops.Cond(ops.CompareScalar(ir.Gt, ops.Sum(x), limit),
			func() tensors { return tensors{b.last(pool, depth-1)} }, func() tensors { return tensors{b.last(pool, depth-1)} })[0]
	case 8:
		return ops.Remat(func(xs ...*ops.Tensor) []*ops.Tensor {
			return tensors{b.last(append(xs, pool...), depth-1)}
		}, x, y)[0]
	case 9:
		return ops.Grad(ops.Sum(ops.Multiply(b.last(append(tensors{x}, pool...), depth-1), x)), x)[0]
	}
	return b.scan(pool, x, y, depth)
}

// custom is x·sin(y), with a hand-written gradient.
func (b builder) custom(x, y *ops.Tensor) *ops.Tensor {
	return ops.CustomGradient(func(xs ...*ops.Tensor) (tensors, func(tensors) tensors) {
		return tensors{ops.Multiply(xs[0], ops.Sin(xs[1]))}, func(dys tensors) tensors {
			return tensors{ops.Multiply(dys[0], ops.Sin(xs[1])), ops.Multiply(dys[0], ops.Multiply(xs[0], ops.Cos(xs[1])))}
		}
	}, x, y)[0]
}

func (b builder) scan(pool tensors, x, y *ops.Tensor, depth int) *ops.Tensor {
	steps := b.IntN(4)
	xs := tensors{ops.Stack(0, x, y, b.pick(pool))}
	if steps != 3 {
		xs[0] = ops.SliceAxis(xs[0], 0, 0, steps)
	}
	final, ys := ops.Scan(func(carry, slices tensors) (next, ys tensors) {
		inner := append(append(append(tensors{}, pool...), carry...), slices...)
		return tensors{b.last(inner, depth-1), carry[0]}, tensors{b.last(inner, depth-1)}
	}, tensors{x, y}, xs, ops.ScanOptions{Reverse: b.IntN(2) == 0})
	if b.IntN(2) == 0 {
		return ops.Add(final[0], ops.Sum(ys[0], 0))
	}
	return ops.Add(ops.Multiply(final[0], final[1]), ops.Sum(ys[0], 0))
}

// randomProgram is the random function with the given seed.
func randomProgram(seed uint64) opstest.Func {
	return func(g *ops.Graph, in tensors) tensors {
		b := builder{rand.New(rand.NewPCG(seed, 1)), g}
		return tensors{b.last(b.grow(in, 2, 2), 2)}
	}
}

var randomInputs = []opstest.Array{opstest.Normal(1, 2), opstest.Normal(2, 2), opstest.Normal(3, 2)}

// Gradients of random programs agree with central differences, and so do the gradients of their gradients.
func TestGradientsOfRandomPrograms(t *testing.T) {
	for seed := range uint64(150) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			opstest.CheckGradients(t, randomProgram(seed), randomInputs...)
			opstest.CheckSecondGradients(t, randomProgram(seed), randomInputs...)
		})
	}
}
