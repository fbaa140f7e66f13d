package applications

import (
	"fmt"

	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// symbol is a tensor of a model under construction.
type symbol = *layers.KerasTensor

// network builds one model. It holds what the model's layers have in common, so that the functions of the families read
// like the tables in the papers.
type network struct {
	options Options
	extra   []keras.Option
	input   symbol
	shape   []int

	axis        int      // of the channels, as the family writes it: 3 or -1
	epsilon     *float64 // of batch normalizations
	momentum    *float64
	unscaled    bool // batch normalizations have no gamma
	initializer any  // of convolutions
}

// begin checks the options and creates the input.
func begin(o Options, extra []keras.Option, s sizes) (*network, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	shape, err := o.inputShape(s)
	if err != nil {
		return nil, err
	}
	return start(o, extra, shape)
}

// start is begin for options that were checked already.
func start(o Options, extra []keras.Option, shape []int) (*network, error) {
	if !o.NoTop {
		if err := o.checkActivation(); err != nil {
			return nil, err
		}
	}
	n := &network{options: o, extra: extra, shape: shape, axis: 3, input: o.InputTensor}
	if o.first() {
		n.axis = 1
	}
	if n.input == nil {
		n.input = keras.Input(keras.Shape(shape...))
	} else if err := n.input.Err(); err != nil {
		return nil, err
	} else if len(n.input.Shape()) != 4 {
		return nil, fmt.Errorf("InputTensor must have the shape (batch, height, width, channels), received %v", n.input)
	}
	return n, nil
}

// lastAxis writes the channels' axis as -1 in configurations, as some families do.
func (n *network) lastAxis() {
	if !n.options.first() {
		n.axis = -1
	}
}

// channels returns the number of channels of a tensor.
func (n *network) channels(x symbol) int {
	s := x.Shape()
	if len(s) != 4 { // an earlier mistake
		return 1
	}
	if n.options.first() {
		return s[1]
	}
	return s[3]
}

// conv holds the options of a convolution besides its name, filters and window.
type conv struct {
	stride     int // 0 is 1
	same       bool
	noBias     bool
	activation any
	window     []int // instead of a square one
	groups     int
}

func (c conv) padding() layers.Padding {
	if c.same {
		return layers.Same
	}
	return layers.Valid
}

func (n *network) conv(x symbol, name string, filters, size int, c conv) symbol {
	window := c.window
	if window == nil {
		window = []int{size, size}
	}
	return layers.Apply(&layers.Conv2D{Name: name, Filters: filters, KernelSize: window, Strides: square(c.stride), Padding: c.padding(),
		NoBias: c.noBias, Activation: c.activation, Groups: c.groups, KernelInitializer: n.initializer, DataFormat: n.options.DataFormat}, x)
}

func (n *network) depthwise(x symbol, name string, size int, c conv) symbol {
	return layers.Apply(&layers.DepthwiseConv2D{Name: name, KernelSize: square(size), Strides: square(c.stride), Padding: c.padding(),
		NoBias: c.noBias, DepthwiseInitializer: n.initializer, DataFormat: n.options.DataFormat}, x)
}

func square(size int) []int {
	if size == 0 {
		return nil
	}
	return []int{size, size}
}

func (n *network) norm(x symbol, name string) symbol {
	return layers.Apply(&layers.BatchNormalization{Name: name, Axis: n.axis, Epsilon: n.epsilon, Momentum: n.momentum, NoScale: n.unscaled}, x)
}

func (n *network) activation(x symbol, name string, activation any) symbol {
	return layers.Apply(&layers.Activation{Name: name, Activation: activation}, x)
}

// relu is an Activation layer.
func (n *network) relu(x symbol, name string) symbol { return n.activation(x, name, "relu") }

// relu6 is a ReLU layer with the maximum 6.
func (n *network) relu6(x symbol, name string) symbol {
	return layers.Apply(&layers.ReLU{Name: name, MaxValue: new(6.0)}, x)
}

func (n *network) pad(x symbol, name string, amounts [][]int) symbol {
	return layers.Apply(&layers.ZeroPadding2D{Name: name, Padding: amounts, DataFormat: n.options.DataFormat}, x)
}

// around returns the padding for equal amounts on all sides.
func around(amount int) [][]int { return [][]int{{amount, amount}, {amount, amount}} }

// correctPad returns the explicit padding before an unpadded convolution of stride 2 that puts its windows where "same"
// puts them in an image of even size.
func (n *network) correctPad(x symbol, size int) [][]int {
	s := x.Shape()
	if len(s) != 4 {
		return around(1)
	}
	height, width := s[1], s[2]
	if n.options.first() {
		height, width = s[2], s[3]
	}
	less := []int{1, 1}
	if height != layers.Unknown {
		less = []int{1 - height%2, 1 - width%2}
	}
	half := size / 2
	return [][]int{{half - less[0], half}, {half - less[1], half}}
}

// pool holds the options of a pooling layer.
type pool struct {
	size, stride int
	same         bool
}

func (n *network) maxPool(x symbol, name string, p pool) symbol {
	return layers.Apply(&layers.MaxPooling2D{Name: name, PoolSize: square(p.size), Strides: square(p.stride), Padding: conv{same: p.same}.padding(), DataFormat: n.options.DataFormat}, x)
}

func (n *network) averagePool(x symbol, name string, p pool) symbol {
	return layers.Apply(&layers.AveragePooling2D{Name: name, PoolSize: square(p.size), Strides: square(p.stride), Padding: conv{same: p.same}.padding(), DataFormat: n.options.DataFormat}, x)
}

func (n *network) globalAverage(x symbol, name string) symbol {
	return layers.Apply(&layers.GlobalAveragePooling2D{Name: name, DataFormat: n.options.DataFormat}, x)
}

func (n *network) globalMax(x symbol, name string) symbol {
	return layers.Apply(&layers.GlobalMaxPooling2D{Name: name, DataFormat: n.options.DataFormat}, x)
}

// globalPool ends a model without top. average and most are the names of the layers; "" lets the model choose.
func (n *network) globalPool(x symbol, average, most string) symbol {
	switch n.options.Pooling {
	case "avg":
		return n.globalAverage(x, average)
	case "max":
		return n.globalMax(x, most)
	}
	return x
}

func (n *network) add(name string, terms ...symbol) symbol {
	return layers.Apply(&layers.Add{Name: name}, terms...)
}

func (n *network) concatenate(name string, parts ...symbol) symbol {
	return layers.Apply(&layers.Concatenate{Name: name, Axis: new(n.axis)}, parts...)
}

// classify is the Dense layer at the end of most tops.
func (n *network) classify(x symbol) symbol {
	return layers.Apply(&layers.Dense{Name: "predictions", Units: n.options.classes(), Activation: n.options.activation()}, x)
}

// finish creates the model and loads its weights. file is the file of the ImageNet weights.
func (n *network) finish(output symbol, name string, file published) (*keras.Model, error) {
	if n.options.Name != "" {
		name = n.options.Name
	}
	m, err := keras.NewFunctional(keras.Inputs(sources(n.input)...), keras.Outputs(output), append([]keras.Option{keras.Name(name)}, n.extra...)...)
	if err != nil {
		return nil, err
	}
	path := n.options.Weights
	if path == "" {
		return m, nil
	}
	if path == ImageNet {
		if path, err = n.options.Files.find(file); err != nil {
			return nil, err
		}
	}
	if err := m.LoadWeights(path); err != nil {
		return nil, err
	}
	return m, nil
}

// sources returns the inputs that a tensor is computed from, in the order in which they are found.
func sources(x symbol) []symbol {
	var inputs []symbol
	seen := map[*layers.Node]bool{}
	pending := []symbol{x}
	for len(pending) > 0 {
		t := pending[0]
		pending = pending[1:]
		node, _ := t.Node()
		if seen[node] {
			continue
		}
		seen[node] = true
		if node.Layer == nil {
			inputs = append(inputs, t)
		}
		pending = append(pending, node.Inputs...)
	}
	return inputs
}

// failed adds the model's name to an error.
func failed(name string, err error) error { return fmt.Errorf("applications: %s: %w", name, err) }
