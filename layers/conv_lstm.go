package layers

import (
	"slices"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/ints"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// convLSTM holds what ConvLSTM1D, 2D and 3D have in common once their fields are read. Internally, channels come last.
type convLSTM struct {
	recurrentLoop
	channelsFirst bool
}

// convLSTMConfig is the configuration of the cell.
type convLSTMConfig struct {
	rank, filters                   int
	conv                            convFields
	activation, recurrentActivation any
	noBias, noUnitForgetBias        bool
	kernel, recurrent, bias         WeightOptions
	dropout, recurrentDrop          float64
	seed                            *int
}

// buildOver makes the cell of a layer, named and placed as in Keras, and its variables.
func (l *convLSTM) buildOver(b *Builder, in ir.Shape, layer Layer, dtype string, cfg convLSTMConfig) {
	l.channelsFirst = isChannelsFirst(b.context.Graph(), cfg.conv.DataFormat)
	if len(in) != cfg.rank+3 {
		b.Fail("needs an input (batch, steps, ...) whose steps are %s, received shape %v", spatialForm(cfg.rank, l.channelsFirst), in)
	}
	if l.channelsFirst {
		in = ints.Concat(in[:2], in[3:], in[2:3])
	}
	cfg.conv.DataFormat = ""
	cell := &convLSTMCell{Name: "conv_lstm_cell", DType: dtype, Frozen: b.base.frozen, cfg: cfg}
	b.adoptOnly(cell)
	l.spatial = cfg.rank
	l.buildLoop(b, []ir.Shape{in}, layer, cell)
}

// Forward runs the steps.
func (l *convLSTM) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	inputs := slices.Clone(in)
	if l.channelsFirst {
		inputs[0] = ops.MoveAxis(in[0], 2, -1).WithMask(in[0].Mask())
		for i, x := range inputs[1:] {
			if x.DType() != ir.Bool {
				inputs[i+1] = ops.MoveAxis(x, 1, -1)
			}
		}
	}
	if rank := l.spatial + 3; inputs[0].Rank() != rank {
		ops.Failf(c.Graph(), "expected an input of %d axes, received shape %v", rank, in[0].Shape())
	}
	out := l.recurrentLoop.Forward(c, inputs)
	for i, y := range out {
		if l.channelsFirst {
			out[i] = ops.MoveAxis(y, -1, y.Rank()-l.spatial-1)
		}
	}
	return out
}

// convLSTMCell is one step of a ConvLSTM.
type convLSTMCell struct {
	Base
	Name, DType string
	Frozen      bool

	cfg             convLSTMConfig
	conv            convolution
	recurrentKernel *distribute.Variable
}

// ClassName is the one in Keras.
func (l *convLSTMCell) ClassName() string { return "ConvLSTMCell" }

// Build creates the variables.
func (l *convLSTMCell) Build(b *Builder, in []ir.Shape) {
	cfg := l.cfg
	checkDropout(b, cfg.dropout)
	checkDropout(b, cfg.recurrentDrop)
	needFilters(b, cfg.filters)
	l.conv.read(b, cfg.rank, cfg.conv, in[0])
	if l.conv.causal {
		b.Fail("unknown Padding %q; use %q or %q", Causal, Valid, Same)
	}
	l.conv.buildConv(b, in[0], 4*cfg.filters, 1, cfg.kernel)
	cfg.recurrent.Initializer = orDefault(cfg.recurrent.Initializer, "orthogonal")
	l.recurrentKernel = b.AddWeight("recurrent_kernel", ints.Concat(l.conv.kernelSize, ir.Shape{cfg.filters, 4 * cfg.filters}), cfg.recurrent)
	if !cfg.noUnitForgetBias {
		cfg.bias.Initializer = forgetBias{cfg.bias.Initializer, cfg.filters}
	}
	l.conv.buildBias(b, 4*cfg.filters, cfg.noBias, cfg.bias)
}

// StateSizes returns the channels of the states.
func (l *convLSTMCell) StateSizes() []int { return []int{l.cfg.filters, l.cfg.filters} }

// OutputSize returns the channels of the result.
func (l *convLSTMCell) OutputSize() int { return l.cfg.filters }

// stateShapes returns the shape of h and c, (batch, positions..., filters).
func (l *convLSTMCell) stateShapes(c *Context, step ir.Shape) []ir.Shape {
	s := ir.Shape{step[0]}
	for i := range l.cfg.rank {
		n, span := step[i+1], (l.conv.kernelSize[i]-1)*l.conv.dilation[i]+1 //dim:known windows are constants
		if l.conv.same {
			n, span = dim.Add(n, l.conv.strides[i]-1), l.conv.strides[i] //dim:known
		}
		if dim.Less(n, span) {
			ops.Failf(c.Graph(), "the window %v (dilated %v) is longer than the steps %v, so the result would be empty; use a smaller KernelSize, or Padding %q", l.conv.kernelSize, l.conv.dilation, step, Same)
		}
		s = append(s, dim.Add(dim.FloorDiv(dim.Sub(n, span), l.conv.strides[i]), 1))
	}
	s = append(s, l.cfg.filters)
	return []ir.Shape{s, s}
}

// Start would need to know the length of the spatial axes; see startShaped.
func (l *convLSTMCell) Start(c *Context, _ int) CellRun {
	ops.Failf(c.Graph(), "this cell runs in ConvLSTM layers only")
	return CellRun{}
}

func (l *convLSTMCell) startShaped(c *Context, step ir.Shape) CellRun {
	kernel, matrix := c.Weight(l.conv.kernel), c.Weight(l.recurrentKernel)
	if !dim.MayEqual(step[len(step)-1], kernel.Dim(-2)) {
		ops.Failf(c.Graph(), "expected inputs with %d channels, as the layer was built for, received %d", kernel.Dim(-2), step[len(step)-1])
	}
	draw := func(rate float64, shape ir.Shape) []*ops.Tensor {
		if !c.Training || rate == 0 {
			return nil
		}
		masks := make([]*ops.Tensor, 4)
		for i := range masks {
			masks[i] = dropout(c, ops.Ones(c, kernel.DType(), shape...), rate, l.cfg.seed, shape)
		}
		return masks
	}
	inputs, states := draw(l.cfg.dropout, step), draw(l.cfg.recurrentDrop, l.stateShapes(c, step)[0])
	project := func(x *ops.Tensor) *ops.Tensor {
		y := convGates(x, kernel, inputs, func(x, kernel *ops.Tensor) *ops.Tensor {
			return ops.Conv(x, kernel, l.conv.options(x, 1))
		})
		if l.conv.biases != nil {
			y = ops.Add(y, c.Weight(l.conv.biases))
		}
		return y
	}
	around := func(h, kernel *ops.Tensor) *ops.Tensor {
		ones := ints.Repeat(1, l.cfg.rank)
		low, high := samePads(h, l.conv.kernelSize, ones, ones)
		return ops.Conv(h, kernel, ops.ConvOptions{PadLow: low, PadHigh: high})
	}
	next := func(x *ops.Tensor, s []*ops.Tensor) (*ops.Tensor, []*ops.Tensor) {
		h, carry := lstmStep(c, l.cfg.activation, l.cfg.recurrentActivation, ops.Add(x, convGates(s[0], matrix, states, around)), s[1])
		return h, []*ops.Tensor{h, carry}
	}
	return CellRun{Project: project, Step: next, OutputIsState: true}
}

// convGates convolves x (..., batch, spatial..., channels) with the kernels of the four gates: all at once, or one
// after the other if each gate has its own dropout mask.
func convGates(x, kernel *ops.Tensor, masks []*ops.Tensor, conv func(x, kernel *ops.Tensor) *ops.Tensor) *ops.Tensor {
	joined := func(x, kernel *ops.Tensor) *ops.Tensor {
		if x.Rank() == kernel.Rank() {
			return conv(x, kernel)
		}
		y := conv(joinSteps(x), kernel)
		return ops.Reshape(y, ints.Concat(x.Shape()[:2], y.Shape()[1:])...)
	}
	if masks == nil {
		return joined(x, kernel)
	}
	parts := ops.Split(kernel, 4, -1)
	for i, m := range masks {
		parts[i] = joined(ops.Multiply(x, m), parts[i])
	}
	return ops.Concatenate(-1, parts...)
}

// Forward computes one step.
func (l *convLSTMCell) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	run := startCell(c, l, in[0].Shape())
	y, next := run.Step(run.Project(in[0]), in[1:])
	return append([]*ops.Tensor{y}, next...)
}
