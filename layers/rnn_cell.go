package layers

import (
	"fmt"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers/initializers"
)

// RNNCell is one step of a recurrent layer: SimpleRNNCell, LSTMCell, GRUCell, StackedRNNCells, or one of your own for [RNN].
type RNNCell interface {
	Layer
	// StateSizes returns the length of each state vector.
	StateSizes() []int
	// OutputSize returns the length of the result of a step.
	OutputSize() int
	// Start prepares the steps over one batch: it draws the dropout masks, which are the same at every step.
	Start(c *Context, batch int) CellRun
}

// CellRun computes the steps of a cell over one batch.
type CellRun struct {
	// Project maps inputs to what Step takes: of one step (batch, features), or of all steps at once (batch, steps, features),
	// which is one large matrix product instead of many small ones.
	Project func(x *ops.Tensor) *ops.Tensor
	// Step maps projected inputs (batch, ...) and states (batch, size) to the result and the new states.
	Step func(x *ops.Tensor, states []*ops.Tensor) (y *ops.Tensor, next []*ops.Tensor)
	// OutputIsState says that the result always is the first new state.
	OutputIsState bool
}

// recurrent are the variables that all built-in cells have.
type recurrent struct {
	kernel, recurrentKernel, bias *distribute.Variable
}

// recurrentConfig is the part of a cell's configuration that shapes its variables and activations.
type recurrentConfig struct {
	units, gates            int
	noBias                  bool
	biasShape               ir.Shape // nil: (gates*units)
	kernel, recurrent, bias WeightOptions
	dropout, recurrentDrop  float64
	seed                    uint64
}

func (r *recurrent) buildWeights(b *Builder, in ir.Shape, c recurrentConfig) {
	if c.units <= 0 {
		b.Fail("Units must be positive, received %d", c.units)
	}
	for name, rate := range map[string]float64{"Dropout": c.dropout, "RecurrentDropout": c.recurrentDrop} {
		if !(rate >= 0 && rate <= 1) {
			b.Fail("%s must be in [0, 1], received %v", name, rate)
		}
	}
	width := c.gates * c.units
	c.recurrent.Initializer = orDefault(c.recurrent.Initializer, "orthogonal")
	r.kernel = b.AddWeight("kernel", ir.Shape{in[len(in)-1], width}, c.kernel)
	r.recurrentKernel = b.AddWeight("recurrent_kernel", ir.Shape{c.units, width}, c.recurrent)
	if !c.noBias {
		shape := c.biasShape
		if shape == nil {
			shape = ir.Shape{width}
		}
		c.bias.Initializer = orDefault(c.bias.Initializer, "zeros")
		r.bias = b.AddWeight("bias", shape, c.bias)
	}
}

// start returns the run's projection, and the function that applies recurrent dropout to a state. inputBias is the part of the
// bias that belongs to the inputs, or nil.
func (r *recurrent) startRun(c *Context, batch int, cfg recurrentConfig, inputBias func() *ops.Tensor) (project func(*ops.Tensor) *ops.Tensor, drop func(*ops.Tensor) *ops.Tensor) {
	kernel := c.Weight(r.kernel)
	mask := func(rate float64, size int) *ops.Tensor {
		if !c.Training || rate == 0 {
			return nil
		}
		return ops.Dropout(ops.Ones(c, c.ComputeDType(), batch, size), rate, cfg.seed)
	}
	inputs, states := mask(cfg.dropout, kernel.Dim(0)), mask(cfg.recurrentDrop, cfg.units)
	project = func(x *ops.Tensor) *ops.Tensor {
		if x.Dim(-1) != kernel.Dim(0) {
			ops.Failf(c.Graph(), "expected inputs with %d features (the layer was built with that many), received shape %v", kernel.Dim(0), x.Shape())
		}
		if inputs != nil {
			m := inputs
			if x.Rank() == 3 {
				m = ops.ExpandDims(m, 1)
			}
			x = ops.Multiply(x, m)
		}
		y := ops.Matmul(x, kernel)
		if r.bias != nil {
			y = ops.Add(y, inputBias())
		}
		return y
	}
	drop = func(h *ops.Tensor) *ops.Tensor {
		if states != nil {
			return ops.Multiply(h, states)
		}
		return h
	}
	return project, drop
}

// stepOf calls a cell on its own: inputs are x (batch, features) and the states; results are y and the new states.
func stepOf(c *Context, cell RNNCell, in []*ops.Tensor) []*ops.Tensor {
	sizes := cell.StateSizes()
	if len(in) != 1+len(sizes) {
		ops.Failf(c.Graph(), "takes an input (batch, features) and %d states (batch, size), received %d tensors", len(sizes), len(in))
	}
	run := cell.Start(c, in[0].Dim(0))
	y, next := run.Step(run.Project(in[0]), in[1:])
	return append([]*ops.Tensor{y}, next...)
}

// forgetBias initializes an LSTM's bias: ones for the forget gate, the given initializer for the others.
type forgetBias struct {
	other any
	units int
}

// Initialize returns the gates' biases in the order input, forget, cell, output.
func (f forgetBias) Initialize(_ ir.Shape, dtype ir.DType, seed uint64) ([]float64, error) {
	other, err := initializers.Get(orDefault(f.other, "zeros"))
	if err != nil {
		return nil, err
	}
	input, err := other.Initialize(ir.Shape{f.units}, dtype, seed)
	if err != nil {
		return nil, err
	}
	rest, err := other.Initialize(ir.Shape{2 * f.units}, dtype, seed+1)
	if err != nil {
		return nil, fmt.Errorf("forget bias: %w", err)
	}
	out := append([]float64{}, input...)
	for range f.units {
		out = append(out, 1)
	}
	return append(out, rest...), nil
}
