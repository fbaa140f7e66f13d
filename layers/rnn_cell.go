package layers

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
	"github.com/gokeras/gokeras/layers/initializers"
)

// RNNCell is one step of a recurrent layer: SimpleRNNCell, LSTMCell, GRUCell, StackedRNNCells, or one of your own for
// [RNN].
type RNNCell interface {
	Layer
	// StateSizes returns the length of each state vector.
	StateSizes() []int
	// OutputSize returns the length of the result of a step.
	OutputSize() int
	// Start prepares the steps over one batch: it reads the weights and draws the dropout masks, which are the same at
	// every step.
	Start(c *Context, batch int) CellRun
}

// CellRun computes the steps of a cell over one batch.
type CellRun struct {
	// Project maps inputs to what Step takes: of one step (batch, features), or of all at once (steps, batch,
	// features), which is one large matrix product instead of many small ones. nil passes the inputs on unchanged.
	Project func(x *ops.Tensor) *ops.Tensor
	// Step maps projected inputs (batch, ...) and states (batch, size) to the result (batch, size) and the new states.
	Step func(x *ops.Tensor, states []*ops.Tensor) (y *ops.Tensor, next []*ops.Tensor)
	// OutputIsState says that the result is always the new state number OutputState, so that it need not be kept
	// separately.
	OutputIsState bool
	OutputState   int
}

// shapedCell is implemented by cells whose states are not vectors. step is the shape of the inputs of one step.
type shapedCell interface {
	stateShapes(c *Context, step ir.Shape) []ir.Shape
	startShaped(c *Context, step ir.Shape) CellRun
}

// stateShapes returns the shape of each state: (batch, size), or what the cell specifies.
func stateShapes(c *Context, cell RNNCell, step ir.Shape) []ir.Shape {
	if s, ok := cell.(shapedCell); ok {
		return s.stateShapes(c, step)
	}
	var shapes []ir.Shape
	for _, n := range cell.StateSizes() {
		shapes = append(shapes, ir.Shape{step[0], n})
	}
	return shapes
}

// startCell starts a run for inputs of a shape, in the scope and the compute type of the cell, which may have its own
// dtype policy.
func startCell(c *Context, cell RNNCell, step ir.Shape) CellRun {
	compute := needBuilt(c, cell).dtypePolicy(c).Compute
	within := func(f func()) {
		c.EnterLayer(Name(cell), compute)
		f()
		c.LeaveLayer()
	}
	var inner CellRun
	within(func() {
		if s, ok := cell.(shapedCell); ok {
			inner = s.startShaped(c, step)
		} else {
			inner = cell.Start(c, step[0])
		}
	})
	run := inner
	run.Project = func(x *ops.Tensor) (y *ops.Tensor) {
		within(func() {
			if y = castFloat(x, compute); inner.Project != nil {
				y = inner.Project(y)
			}
		})
		return y
	}
	run.Step = func(x *ops.Tensor, states []*ops.Tensor) (y *ops.Tensor, next []*ops.Tensor) {
		within(func() { y, next = inner.Step(x, states) })
		return y, next
	}
	return run
}

func castFloat(x *ops.Tensor, dtype ir.DType) *ops.Tensor {
	if x.DType().IsFloat() {
		return ops.Cast(x, dtype)
	}
	return x
}

// recurrent holds the variables that all built-in cells have.
type recurrent struct {
	kernel, recurrentKernel, bias *distribute.Variable
}

// recurrentConfig is the part of a cell's configuration that shapes its variables and dropout.
type recurrentConfig struct {
	units, gates            int
	noBias                  bool
	biasShape               ir.Shape // nil: (gates*units)
	kernel, recurrent, bias WeightOptions
	dropout, recurrentDrop  float64
	seed                    *int
}

func (r *recurrent) buildWeights(b *Builder, in ir.Shape, c recurrentConfig) {
	if c.units <= 0 {
		b.Fail("Units must be positive, received %d", c.units)
	}
	for i, rate := range []float64{c.dropout, c.recurrentDrop} {
		if !(rate >= 0 && rate <= 1) {
			b.Fail("%s must be between 0 and 1, received %v", []string{"Dropout", "RecurrentDropout"}[i], rate)
		}
	}
	if len(in) < 2 {
		b.Fail("expected an input of 2 axes (batch, features), received shape %v; reshape it or add the missing axes", in)
	}
	width := c.gates * c.units
	c.recurrent.Initializer = orDefault(c.recurrent.Initializer, "orthogonal")
	r.kernel = b.AddWeight("kernel", ir.Shape{in[len(in)-1], width}, c.kernel)
	r.recurrentKernel = b.AddWeight("recurrent_kernel", ir.Shape{c.units, width}, c.recurrent)
	r.bias = nil
	if !c.noBias {
		shape := c.biasShape
		if shape == nil {
			shape = ir.Shape{width}
		}
		c.bias.Initializer = orDefault(c.bias.Initializer, "zeros")
		r.bias = b.AddWeight("bias", shape, c.bias)
	}
}

// recurrentRun holds what the steps of a built-in cell share over one batch.
type recurrentRun struct {
	c               *Context
	cfg             recurrentConfig
	kernel, matrix  *ops.Tensor   // input and recurrent kernel
	inputs, states  []*ops.Tensor // dropout masks: none, one for all gates, or one for each gate
	bias, stateBias *ops.Tensor   // of the inputs' and of the states' share; nil for none
}

// startRun reads the weights and draws the dropout masks. Without recurrent dropout, Keras draws one mask of the inputs
// for all gates. Otherwise it draws one mask for each gate, of inputs and of states.
func (r *recurrent) startRun(c *Context, batch int, cfg recurrentConfig) *recurrentRun {
	run := &recurrentRun{c: c, cfg: cfg, kernel: c.Weight(r.kernel), matrix: c.Weight(r.recurrentKernel)}
	if r.bias != nil {
		run.bias = c.Weight(r.bias)
		if run.bias.Rank() == 2 {
			run.bias, run.stateBias = ops.Index(run.bias, 0, 0), ops.Index(run.bias, 0, 1)
		}
	}
	masks := 1
	if cfg.recurrentDrop > 0 {
		masks = cfg.gates
	}
	draw := func(rate float64, size int) []*ops.Tensor {
		if !c.Training || rate == 0 {
			return nil
		}
		out := make([]*ops.Tensor, masks)
		for i := range out {
			ones := ops.Ones(c, run.kernel.DType(), batch, size)
			out[i] = dropout(c, ones, rate, cfg.seed, ones.Shape())
		}
		return out
	}
	run.inputs, run.states = draw(cfg.dropout, run.kernel.Dim(0)), draw(cfg.recurrentDrop, cfg.units)
	return run
}

// project returns the inputs' contribution to all gates: x·kernel + bias.
func (r *recurrentRun) project(x *ops.Tensor) *ops.Tensor {
	if features := r.kernel.Dim(0); !dim.MayEqual(x.Dim(-1), features) {
		ops.Failf(r.c.Graph(), "expected inputs with %d features, as the layer was built for, received %d", features, x.Dim(-1))
	}
	return addBias(r.product(x, r.kernel, r.inputs, 0, r.cfg.gates), r.bias)
}

// recur returns the states' contribution to a range of gates: h·recurrent_kernel.
func (r *recurrentRun) recur(h *ops.Tensor, from, to int) *ops.Tensor {
	return r.product(h, r.matrix, r.states, from, to)
}

// product multiplies x with the columns of some gates, after the dropout masks.
func (r *recurrentRun) product(x, kernel *ops.Tensor, masks []*ops.Tensor, from, to int) *ops.Tensor {
	columns := func(from, to int) *ops.Tensor {
		if from == 0 && to == r.cfg.gates {
			return kernel
		}
		return ops.SliceAxis(kernel, 1, from*r.cfg.units, to*r.cfg.units)
	}
	switch len(masks) {
	case 0:
		return ops.Matmul(x, columns(from, to))
	case 1:
		return ops.Matmul(ops.Multiply(x, masks[0]), columns(from, to))
	}
	parts := make([]*ops.Tensor, 0, to-from)
	for gate := from; gate < to; gate++ {
		parts = append(parts, ops.Matmul(ops.Multiply(x, masks[gate]), columns(gate, gate+1)))
	}
	return ops.Concatenate(-1, parts...)
}

// splitGates splits the last axis into n parts. Its gradient concatenates the parts' gradients, whereas that of
// ops.Split would add up n tensors of the full size in every step of the loop.
func splitGates(x *ops.Tensor, n int) []*ops.Tensor {
	return ops.CustomGradient(func(xs ...*ops.Tensor) ([]*ops.Tensor, func([]*ops.Tensor) []*ops.Tensor) {
		return ops.Split(xs[0], n, -1), func(dys []*ops.Tensor) []*ops.Tensor {
			return []*ops.Tensor{ops.Concatenate(-1, dys...)}
		}
	}, x)
}

func addBias(x, bias *ops.Tensor) *ops.Tensor {
	if bias == nil {
		return x
	}
	return ops.Add(x, bias)
}

// ForwardCell is the Forward of a cell: one step by itself. Inputs are x (batch, features) and the states, results y
// and the new states. A cell with variables must have been built, as it is in its own Forward or after BuildMember.
func ForwardCell(c *Context, cell RNNCell, in []*ops.Tensor) []*ops.Tensor {
	needContext(c, "ForwardCell")
	if IsNil(cell) {
		ops.Fail(c.Graph(), errNilLayer)
	}
	if _, makes := cell.(WeightBuilder); makes {
		needBuilt(c, cell)
	}
	sizes := cell.StateSizes()
	if len(in) != 1+len(sizes) || slices.Contains(in, nil) {
		ops.Failf(c.Graph(), "takes an input (batch, features) and %d states (batch, size), received %d tensors", len(sizes), len(in))
	}
	needRank(in[0], 2, "(batch, features)")
	checkStates(c, in[1:], stateShapes(c, cell, in[0].Shape()))
	run := cell.Start(c, in[0].Dim(0))
	x := in[0]
	if run.Project != nil {
		x = run.Project(x)
	}
	y, next := run.Step(x, in[1:])
	return append([]*ops.Tensor{y}, next...)
}

func checkStates(c *Context, states []*ops.Tensor, shapes []ir.Shape) {
	if len(states) != len(shapes) {
		ops.Failf(c.Graph(), "takes %d states, received %d", len(shapes), len(states))
	}
	for i, s := range states {
		if !dim.ShapesMayEqual(s.Shape(), shapes[i]) {
			ops.Failf(c.Graph(), "state %d must have shape %v, received %v", i, shapes[i], s.Shape())
		}
	}
}

// forgetBias initializes an LSTM's bias: ones for the forget gate, the given initializer for the others.
type forgetBias struct {
	other any
	units int
}

// Initialize writes the gates' biases in the order input, forget, cell, output.
func (f forgetBias) Initialize(into kernels.Array, seed uint64) error {
	other, err := initializers.Get(orDefault(f.other, "zeros"))
	if err != nil {
		return err
	}
	if err := other.Initialize(into.Slice(0, f.units), seed); err != nil {
		return fmt.Errorf("bias of the input gate: %w", err)
	}
	if err := (initializers.Ones{}).Initialize(into.Slice(f.units, 2*f.units), seed); err != nil {
		return err
	}
	if err := other.Initialize(into.Slice(2*f.units, 4*f.units), seed+1); err != nil {
		return fmt.Errorf("bias of the cell and output gates: %w", err)
	}
	return nil
}
