package randomtraining

import (
	"testing"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// TestRecurrent makes calls on recurrent networks that recurrent.py drew, and compares what is in the model after each
// call with Keras. RANDOM_RECURRENT is another file of sequences.
func TestRecurrent(t *testing.T) {
	checkAll[*sequence](t, "RANDOM_RECURRENT", "testdata/recurrent.json.gz")
}

// TestFreshRecurrent has recurrent.py draw.
func TestFreshRecurrent(t *testing.T) {
	checkFresh[*sequence](t, "recurrent.py", "RANDOM_RECURRENT", "10")
}

func init() { layers.Register[Leaky]("Drawn") }

// Leaky is a cell of recurrent.py: two states, and a result that is neither.
type Leaky struct {
	layers.Base

	Name   string  `keras:"name"`
	DType  string  `keras:"dtype"`
	Frozen bool    `keras:"trainable,not"`
	Units  int     `keras:"units"`
	Leak   float64 `keras:"leak"`

	kernel, mix *distribute.Variable
}

// Build creates the variables.
func (l *Leaky) Build(b *layers.Builder, in []ir.Shape) {
	l.kernel = b.AddWeight("kernel", ir.Shape{in[0][1], l.Units}, layers.WeightOptions{})
	l.mix = b.AddWeight("mix", ir.Shape{l.Units, l.Units}, layers.WeightOptions{})
}

// StateSizes returns the lengths of the states.
func (l *Leaky) StateSizes() []int { return []int{l.Units, 1} }

// OutputSize returns Units.
func (l *Leaky) OutputSize() int { return l.Units }

// Start prepares the steps over a batch.
func (l *Leaky) Start(c *layers.Context, _ int) layers.CellRun {
	kernel, mix := c.Weight(l.kernel), c.Weight(l.mix)
	return layers.CellRun{
		Project: func(x *ops.Tensor) *ops.Tensor { return ops.Matmul(x, kernel) },
		Step: func(x *ops.Tensor, states []*ops.Tensor) (*ops.Tensor, []*ops.Tensor) {
			h, n := states[0], states[1]
			h = ops.Add(h.Multiply(l.Leak), ops.Tanh(ops.Add(x, ops.Matmul(h, mix))).Multiply(1-l.Leak))
			n = n.Add(1)
			return ops.Divide(h, n), []*ops.Tensor{h, n}
		},
	}
}

// Forward computes one step.
func (l *Leaky) Forward(c *layers.Context, in []*ops.Tensor) []*ops.Tensor {
	return layers.ForwardCell(c, l, in)
}
