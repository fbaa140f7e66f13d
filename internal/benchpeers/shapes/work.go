package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/optimizers"
)

// work is one compiled program of a spec with its inputs in place.
type work struct {
	ctx   context.Context // of its runs
	fn    *distribute.Function
	inst  *distribute.Instance
	step  uint32
	flops float64 // of products and convolutions, padding included
	bytes float64 // of what is read and written at least: inputs, variables and results once
}

func (w *work) run() error {
	w.step++
	return w.inst.Run(w.ctx, 1, w.step)
}

func (w *work) close() {
	w.fn.Release(w.inst)
	w.fn.Close()
}

// compile prepares a function and fills its inputs: numbers around 0, or integers below limit.
func compile(name string, trace distribute.TraceFunc, limit int, types ...ir.Type) (*work, error) {
	fn := distribute.NewFunction(distribute.Default(), name, trace)
	inst, err := fn.Acquire([][]ir.Type{types}, []int{types[0].Shape[0]})
	if err != nil {
		return nil, err
	}
	r := rand.New(rand.NewPCG(1, 2))
	w := &work{ctx: context.Background(), fn: fn, inst: inst}
	for i, t := range types {
		values := make([]float64, t.Shape.Size())
		for j := range values {
			if values[j] = r.NormFloat64(); t.DType == ir.Int32 {
				values[j] = float64(r.IntN(limit))
			}
		}
		a, err := kernels.FromFloat64s(t.DType, t.Shape, values)
		if err != nil {
			return nil, err
		}
		if err := inst.Input(0, i).Write(a.Data); err != nil {
			return nil, err
		}
		w.bytes += float64(t.Bytes())
	}
	return w, nil
}

// forward is a function of inputs and weights.
type forward struct {
	call    func(c *layers.Context, in []*ops.Tensor) *ops.Tensor
	layer   layers.Layer // nil: no weights
	inputs  []ir.Type
	flops   float64 // of the forward pass
	product float64 // how many times that a training step counts
	limit   int     // of inputs that are integers, which have no gradients; 0: none are
}

func (s *spec) dtype() ir.DType {
	if s.Double {
		return ir.Float64
	}
	return ir.Float32
}

// layerOf returns the layer of a spec; nil where there is none.
func (s *spec) layerOf() layers.Layer {
	if s.Padding != "" {
		return s.anyLayer()
	}
	if l := s.optionLayer(); l != nil {
		return l
	}
	k, stride, dilation := []int{s.Kernel}, []int{s.Stride}, []int{max(s.Dilation, 1)}
	policy := map[bool]string{true: "float64"}[s.Double]
	switch axes := len(s.Input) - 2; s.Kind {
	case "separable":
		return &layers.SeparableConv2D{Filters: s.Filters, KernelSize: k, Strides: stride, Padding: "same"}
	case "convlstm", "einsumdense", "mha", "gqa":
		return s.compound()
	case "depthwise":
		if axes == 1 {
			return &layers.DepthwiseConv1D{KernelSize: k, Strides: stride, Padding: "same", DepthMultiplier: max(s.Filters, 1)}
		}
		return &layers.DepthwiseConv2D{KernelSize: k, Strides: stride, Padding: "same", DepthMultiplier: max(s.Filters, 1)}
	case "conv":
		switch axes {
		case 1:
			return &layers.Conv1D{Filters: s.Filters, KernelSize: k, Strides: stride, DilationRate: dilation, Groups: s.Groups, Padding: "same"}
		case 2:
			return &layers.Conv2D{Filters: s.Filters, KernelSize: k, Strides: stride, DilationRate: dilation, Groups: s.Groups, Padding: "same", DType: policy}
		}
		return &layers.Conv3D{Filters: s.Filters, KernelSize: k, Strides: stride, DilationRate: dilation, Groups: s.Groups, Padding: "same"}
	case "transpose":
		if axes == 1 {
			return &layers.Conv1DTranspose{Filters: s.Filters, KernelSize: k, Strides: stride, Padding: "same"}
		}
		return &layers.Conv2DTranspose{Filters: s.Filters, KernelSize: k, Strides: stride, Padding: "same"}
	case "dense":
		return &layers.Dense{Units: s.Filters}
	case "groupnorm":
		return &layers.GroupNormalization{Groups: s.Groups}
	case "batchnorm":
		return &layers.BatchNormalization{}
	case "layernorm":
		return &layers.LayerNormalization{}
	case "maxpool":
		return &layers.MaxPooling2D{PoolSize: k, Strides: stride, Padding: "same"}
	case "avgpool":
		return &layers.AveragePooling2D{PoolSize: k, Strides: stride, Padding: "valid"}
	case "globalpool":
		return &layers.GlobalAveragePooling2D{}
	case "upsampling":
		switch axes {
		case 1:
			return &layers.UpSampling1D{Size: s.Stride}
		case 2:
			return &layers.UpSampling2D{Size: stride, Interpolation: map[bool]layers.Interpolation{true: layers.Bilinear}[s.Bilinear]}
		}
		return &layers.UpSampling3D{Size: stride}
	case "softmax":
		return &layers.Softmax{}
	}
	return nil
}

// forward returns the function of a spec of one layer; out is the number of elements of its result.
func (s *spec) forward() *forward {
	f := &forward{layer: s.layerOf(), product: 3, inputs: []ir.Type{{DType: s.dtype(), Shape: s.Input}}}
	if s.Kind == "attention" {
		f.inputs = append(f.inputs, f.inputs[0], f.inputs[0])
		f.product = 3.5 // the gradient has five products where the result has two
		f.flops = 4 * float64(s.Input[0]*s.Input[1]*s.Input[1]*s.Input[2]*s.Input[3])
		if s.Causal {
			f.flops /= 2
		}
		f.call = func(_ *layers.Context, in []*ops.Tensor) *ops.Tensor {
			return ops.Attention(in[0], in[1], in[2], nil, 1/math.Sqrt(float64(s.Input[3])), s.Causal)
		}
		return f
	}
	f.call = func(c *layers.Context, in []*ops.Tensor) *ops.Tensor { return s.optionCall(f.layer, c, in) }
	switch {
	case s.Kind == "lookup":
		f.inputs[0].DType, f.limit = ir.Int32, s.Rows
	case (s.Kind == "mha" || s.Kind == "gqa") && s.Steps > 0:
		f.inputs = append(f.inputs, ir.Type{DType: s.dtype(), Shape: ir.Shape{s.Input[0], s.Steps, s.Input[2]}})
	case s.Kind == "mha" || s.Kind == "gqa":
		f.call = func(c *layers.Context, in []*ops.Tensor) *ops.Tensor { return s.overItself(f.layer, c, in[0]) }
	}
	return f
}

// flopsFor returns the operations of a forward pass with the given result.
func (s *spec) flopsFor(out ir.Shape) float64 {
	window := math.Pow(float64(s.Kernel), float64(len(s.Input)-2))
	if s.Padding != "" {
		window = float64(ir.Shape(s.Windows).Size())
	}
	channels := s.Input[s.channelsAxis()]
	switch s.Kind {
	case "depthwise":
		return 2 * float64(out.Size()) * window
	case "conv":
		return 2 * float64(out.Size()) * window * float64(channels/s.Groups)
	case "separable":
		return 2 * float64(out.Size()/s.Filters*channels) * (window + float64(s.Filters))
	case "lstm", "gru", "simplernn":
		gates := map[string]float64{"lstm": 4, "gru": 3, "simplernn": 1}[s.Kind]
		return 2 * float64(s.Input[0]*s.Input[1]*s.Filters*(channels+s.Filters)) * gates
	case "bidirectional":
		return 2 * 2 * float64(s.Input[0]*s.Input[1]*s.Filters*(channels+s.Filters)) * 4
	case "convlstm":
		pixels := float64(s.Input[0] * s.Input[1] * s.Input[2] * s.Input[3])
		return 2 * pixels * float64(s.Kernel*s.Kernel*(channels+s.Filters)*4*s.Filters)
	case "einsumdense":
		return 2 * float64(ir.Shape(s.Input).Size()) * float64(s.Heads*s.Filters)
	case "mha", "gqa":
		return s.headFLOPs()
	case "dense":
		return 2 * float64(ir.Shape(s.Input).Size()) * float64(s.Filters)
	case "transpose":
		return 2 * float64(ir.Shape(s.Input).Size()) * window * float64(s.Filters)
	}
	return 0
}

func contextOf(r *distribute.Replica, training bool) *layers.Context {
	if training {
		return r.Training()
	}
	return r.Inference()
}

// layerWork compiles a layer's result and, for training, its gradients with respect to inputs and weights.
func (s *spec) layerWork(train bool) (*work, error) {
	f := s.forward()
	y, err := compile("forward", func(r *distribute.Replica, in []*ops.Tensor) []*ops.Tensor {
		return []*ops.Tensor{f.call(contextOf(r, train), in)}
	}, f.limit, f.inputs...)
	if err != nil {
		return nil, err
	}
	out := y.inst.Output(0, 0).Type()
	y.flops = f.flops + s.flopsFor(out.Shape)
	y.bytes += float64(out.Bytes())
	if !train {
		return y, nil
	}
	y.close()
	flops := y.flops * f.product
	w, err := compile("gradients", func(r *distribute.Replica, in []*ops.Tensor) []*ops.Tensor {
		n := len(in) - 1
		result := f.call(r.Training(), in[:n])
		var sources []*ops.Tensor
		if f.limit == 0 {
			sources = append(sources, in[:n]...)
		}
		if f.layer != nil {
			for _, v := range layers.TrainableWeights(f.layer) {
				sources = append(sources, r.Read(v))
			}
		}
		return append(ops.VJP([]*ops.Tensor{result}, in[n:], sources...), result)
	}, f.limit, append(f.inputs, out)...)
	if err != nil {
		return nil, err
	}
	w.flops = flops
	w.bytes *= 2 // inputs and their gradients, the result and its gradient
	return w, nil
}

// modelWork compiles a training step of a model, or its prediction.
func (s *spec) modelWork(train bool) (*work, error) {
	var stack []layers.Layer
	policy := map[bool]string{true: "float64"}[s.Double]
	x := ir.Type{DType: s.dtype(), Shape: s.Input}
	var optimizer optimizers.Optimizer = &optimizers.SGD{LearningRate: 0.01}
	switch s.Kind {
	case "mlp":
		for i, width := range s.Widths {
			l := &layers.Dense{Units: width, Activation: "relu", DType: policy}
			if i == len(s.Widths)-1 {
				l.Activation = nil
			}
			stack = append(stack, l)
		}
	case "cnn":
		stack = []layers.Layer{&layers.Conv2D{Filters: 32, KernelSize: []int{3}, Activation: "relu", DType: policy}, &layers.MaxPooling2D{DType: policy},
			&layers.Flatten{DType: policy}, &layers.Dense{Units: 64, Activation: "relu", DType: policy}, &layers.Dense{Units: 10, DType: policy}}
	case "embedding":
		x.DType, optimizer = ir.Int32, &optimizers.Adam{LearningRate: 1e-3}
		stack = []layers.Layer{&layers.Embedding{InputDim: s.Rows, OutputDim: s.Filters}, &layers.GlobalAveragePooling1D{}, &layers.Dense{Units: 10}}
	default:
		return nil, fmt.Errorf("unknown kind %q", s.Kind)
	}
	loss := &losses.SparseCategoricalCrossentropy{FromLogits: true}
	call := func(c *layers.Context, y *ops.Tensor) *ops.Tensor {
		for _, l := range stack {
			y = layers.Invoke(l, c, y)
		}
		return y
	}
	labels := ir.Type{DType: ir.Int32, Shape: ir.Shape{s.Input[0]}}
	w, err := compile(s.Kind, func(r *distribute.Replica, in []*ops.Tensor) []*ops.Tensor {
		y := call(contextOf(r, train), in[0])
		if !train {
			return []*ops.Tensor{y}
		}
		mean := losses.ComputeAverage(loss.PerExample(in[1], y), s.Input[0])
		var weights distribute.Variables
		for _, l := range stack {
			weights = append(weights, layers.TrainableWeights(l)...)
		}
		optimizer.Apply(r, ops.NewTape(r).Gradients(mean, weights))
		return []*ops.Tensor{mean}
	}, max(10, s.Rows), x, labels)
	if err != nil {
		return nil, err
	}
	passes := 1.0
	if train {
		passes = 3
		if err := w.smallLabels(labels); err != nil {
			return nil, err
		}
	}
	w.flops = passes * s.modelFLOPs()
	if s.Kind == "embedding" {
		w.bytes += 4 * float64(s.Input[0]*s.Input[1]*s.Filters) // rows that are looked up
		if train {
			w.bytes += 4 * 8 * float64(s.Rows*s.Filters) // the update reads and writes the table, its gradient and two slots
		}
	}
	return w, nil
}

// smallLabels fills the labels with numbers below 10.
func (w *work) smallLabels(t ir.Type) error {
	values := make([]float64, t.Shape.Size())
	for i := range values {
		values[i] = float64(i * 7 % 10)
	}
	a, err := kernels.FromFloat64s(t.DType, t.Shape, values)
	if err != nil {
		return err
	}
	return w.inst.Input(0, 1).Write(a.Data)
}

func (s *spec) modelFLOPs() float64 {
	flops, width := 0, s.Input[len(s.Input)-1]
	for _, next := range s.Widths {
		flops, width = flops+width*next, next
	}
	if s.Kind == "cnn" {
		flops = 26*26*32*9 + 5408*64 + 64*10
	}
	return 2 * float64(flops*s.Input[0])
}

// build compiles a spec for training or prediction.
func (s *spec) build(train bool) (*work, error) {
	switch s.Kind {
	case "mlp", "cnn", "embedding":
		return s.modelWork(train)
	}
	return s.layerWork(train)
}
