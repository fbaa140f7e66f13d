package ops

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/ir"
)

// Tensor is one value of a graph under construction: it has a type but no numbers yet.
type Tensor struct {
	g    *Graph
	v    ir.Value
	mask *Tensor
}

// Graph returns the graph that the tensor belongs to.
//
//go:noinline
func (t *Tensor) Graph() *Graph {
	if t == nil {
		Failf(nil, "an operand is nil; every operation needs all of its tensors")
	}
	return t.g
}

// Value returns the name of the tensor in the program of its graph.
func (t *Tensor) Value() ir.Value { return t.v }

// Type returns element type and shape.
//
//go:noinline
func (t *Tensor) Type() ir.Type {
	if t == nil {
		Failf(nil, "an operand is nil; every operation needs all of its tensors")
	}
	return t.g.program.Type(t.v)
}

// Shape returns the length of each axis. It must not be changed.
func (t *Tensor) Shape() ir.Shape { return t.Type().Shape }

// DType returns the element type.
func (t *Tensor) DType() ir.DType { return t.Type().DType }

// Rank returns the number of axes.
func (t *Tensor) Rank() int { return len(t.Shape()) }

// Dim returns the length of an axis; negative axes count from the end.
func (t *Tensor) Dim(axis int) int { return t.Shape()[t.Axis(axis)] }

// Axis turns a negative axis into one counted from the front, and fails when there is no such axis.
func (t *Tensor) Axis(axis int) int { return normalizeAxis(t.g, axis, t.Rank(), t.Shape()) }

func normalizeAxis(g *Graph, axis, rank int, shape ir.Shape) int {
	a := axis
	if a < 0 {
		a += rank
	}
	if a < 0 || a >= rank {
		Failf(g, "axis %d is outside shape %v; expected %d to %d", axis, shape, -rank, rank-1)
	}
	return a
}

// Mask returns the Keras mask that travels with the tensor: bool, true where a step counts; nil where there is none.
func (t *Tensor) Mask() *Tensor { return t.mask }

// WithMask returns the same tensor with another mask (nil removes it).
//
//go:noinline
func (t *Tensor) WithMask(mask *Tensor) *Tensor {
	return &Tensor{g: t.g, v: t.v, mask: mask}
}

// DropMask removes the mask from this tensor, for everyone who holds it.
func (t *Tensor) DropMask() { t.mask = nil }

// Tensors returns t alone, so that a tensor serves as a source of gradients.
func (t *Tensor) Tensors(*Graph) []*Tensor { return []*Tensor{t} }

// String prints the name and type, %4 float32[8 10].
func (t *Tensor) String() string { return fmt.Sprintf("%%%d %v", t.v, t.Type()) }
