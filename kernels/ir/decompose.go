package ir

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// decompositions maps each composite to the function that defines it. The files decompose_*.go fill it, one family
// each.
//
// Sums and differences of 16-bit floats are decomposed through float32, and the results rounded once (see
// builder.wide), so that a decomposed op is as exact as one with a kernel.
var decompositions [opCount]func(b *builder, n *Node) []Value

// Decompose appends to p the primitives (or simpler composites) that compute node n, whose operands must be values of
// p, and returns the values of its results. It reports false for an op that has no decomposition.
func Decompose(p *Program, n *Node) (results []Value, ok bool, err error) {
	if !n.Op.IsComposite() {
		return nil, false, nil
	}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case buildError:
			err = fmt.Errorf("ir: decomposing %v: %w", n.Op, r.error)
		default:
			panic(r)
		}
	}()
	return decompositions[n.Op](&builder{p, n.Scope}, n), true, nil
}

// builder writes nodes and keeps the first error for Decompose.
type builder struct {
	p     *Program
	scope string
}

type buildError struct{ error }

//go:noinline
func (b *builder) op(op Op, attrs Attrs, in ...Value) Value { return b.ops(op, attrs, in...)[0] }

func (b *builder) ops(op Op, attrs Attrs, in ...Value) []Value {
	out, err := b.p.Add(b.scope, op, attrs, in...)
	if err != nil {
		panic(buildError{err})
	}
	return out
}

//go:noinline
func (b *builder) typ(v Value) Type { return b.p.Type(v) }

//go:noinline
func (b *builder) shape(v Value) Shape { return b.p.Type(v).Shape }

// like is a constant of the type of v.
func (b *builder) like(v Value, x float64) Value {
	t := b.typ(v)
	return b.op(Constant, ConstantAttrs{Scalar(t.DType, x, t.Shape...)})
}

// length is a tensor of the type of v filled with a length. An open length is counted when the program runs.
func (b *builder) length(v Value, n int) Value {
	if dim.Known(n) {
		return b.like(v, float64(n)) //dim:known
	}
	t := b.typ(v)
	count := b.reduce(Sum, b.op(Constant, ConstantAttrs{Scalar(Int32, 1, n)}), 0)
	return b.op(Broadcast, BroadcastAttrs{Shape: t.Shape}, b.convert(count, t.DType))
}

func (b *builder) scalar(d DType, x float64) Value {
	return b.op(Constant, ConstantAttrs{Scalar(d, x)})
}

//go:noinline
func (b *builder) add(x, y Value) Value { return b.op(Add, nil, x, y) }

//go:noinline
func (b *builder) sub(x, y Value) Value { return b.op(Sub, nil, x, y) }

//go:noinline
func (b *builder) mul(x, y Value) Value { return b.op(Mul, nil, x, y) }

//go:noinline
func (b *builder) div(x, y Value) Value { return b.op(Div, nil, x, y) }

func (b *builder) scale(x Value, by float64) Value { return b.mul(x, b.like(x, by)) }

//go:noinline
func (b *builder) reduce(k Kind, x Value, axes ...int) Value {
	return b.op(Reduce, ReduceAttrs{k, axes}, x)
}

// spread repeats x, which lacks the given axes of shape s, along them.
func (b *builder) spread(x Value, s Shape, axes ...int) Value {
	kept := make([]int, 0, len(s))
	for i := range s {
		missing := false
		for _, a := range axes {
			missing = missing || a == i
		}
		if !missing {
			kept = append(kept, i)
		}
	}
	return b.op(Broadcast, BroadcastAttrs{s, kept}, x)
}

//go:noinline
func (b *builder) reshape(x Value, s ...int) Value { return b.op(Reshape, ReshapeAttrs{s}, x) }

//go:noinline
func (b *builder) transpose(x Value, perm ...int) Value {
	return b.op(Transpose, TransposeAttrs{perm}, x)
}

//go:noinline
func (b *builder) compare(d Direction, x, y Value) Value { return b.op(Compare, CompareAttrs{d}, x, y) }

func (b *builder) convert(x Value, d DType) Value {
	if b.typ(x).DType == d {
		return x
	}
	return b.op(Convert, ConvertAttrs{d}, x)
}

func upTo(n int) []int {
	axes := make([]int, n)
	for i := range axes {
		axes[i] = i
	}
	return axes
}
