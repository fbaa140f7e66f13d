package randomnets

import (
	"fmt"
	"math/rand/v2"

	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/layers/constraints"
	"github.com/gokeras/gokeras/layers/initializers"
	"github.com/gokeras/gokeras/layers/regularizers"
)

// nester draws layers inside of layers and models, as Nested in randomnested.py does.
type nester struct{ *rand.Rand }

func (n nester) chance(p float64) bool { return n.Float64() < p }

func oneOf[T any](n nester, of ...T) T { return of[n.IntN(len(of))] }

func (n nester) name() string {
	if n.chance(0.3) {
		return oneOf(n, "same", "other", "inner")
	}
	return ""
}

func (n nester) policy() string {
	if n.chance(0.1) {
		return oneOf(n, "mixed_bfloat16", "float64", "float32", "mixed_float16")
	}
	return ""
}

// of is one of the values, or none of them.
func (n nester) of(values ...any) any {
	if n.chance(0.75) {
		return nil
	}
	return oneOf(n, values...)
}

func (n nester) regularizer() any {
	return n.of("l2", &regularizers.L1L2{L1: 0.01, L2: 0.02}, &Ring{0.02}, &regularizers.OrthogonalRegularizer{Factor: new(0.1)})
}

func (n nester) constraint() any {
	return n.of("unit_norm", &constraints.MaxNorm{MaxValue: new(0.7), Axis: []int{0}}, &constraints.MinMaxNorm{MinValue: 0.1, MaxValue: new(0.8), Rate: new(0.5)}, "non_neg", &Tame{})
}

func (n nester) start() any {
	return n.of("he_normal", &initializers.Orthogonal{Gain: new(0.5), Seed: new(1)}, &Stairs{0.2}, &initializers.VarianceScaling{Scale: 2, Mode: initializers.FanAvg, Distribution: initializers.UniformDistribution})
}

func (n nester) cell() layers.RNNCell {
	units := 2 + n.IntN(2)
	switch n.IntN(3) {
	case 0:
		return &layers.LSTMCell{Units: units, Name: n.name(), DType: n.policy(), Frozen: n.chance(0.1), KernelRegularizer: n.regularizer(), KernelConstraint: n.constraint(), NoBias: n.chance(0.1)}
	case 1:
		return &layers.GRUCell{Units: units, Name: n.name(), KernelInitializer: n.start(), RecurrentRegularizer: n.regularizer()}
	}
	return &layers.SimpleRNNCell{Units: units, Name: n.name(), Frozen: n.chance(0.1), KernelConstraint: n.constraint()}
}

func (n nester) cells(depth int) layers.RNNCell {
	if depth == 0 || n.chance(0.3) {
		return n.cell()
	}
	stack := &layers.StackedRNNCells{}
	for range 1 + n.IntN(3) {
		if n.chance(0.2) {
			stack.Cells = append(stack.Cells, n.cells(depth-1))
		} else {
			stack.Cells = append(stack.Cells, n.cell())
		}
	}
	return stack
}

func (n nester) recurrent() layers.Layer {
	sequences := n.chance(0.5)
	var one layers.Layer = &layers.RNN{Cell: n.cells(2), ReturnSequences: sequences, GoBackwards: n.chance(0.2)}
	switch n.IntN(4) {
	case 0:
		one = &layers.LSTM{Units: 3, ReturnSequences: sequences, Name: n.name(), DType: n.policy(), KernelRegularizer: n.regularizer()}
	case 1:
		one = &layers.GRU{Units: 2, ReturnSequences: sequences, KernelConstraint: n.constraint(), Frozen: n.chance(0.1)}
	}
	if n.chance(0.4) {
		one = &layers.Bidirectional{Layer: one, MergeMode: oneOf[layers.MergeMode](n, "concat", "sum", "mul", "ave"), Frozen: n.chance(0.2)}
	}
	return one
}

func (n nester) plain() layers.Layer {
	switch n.IntN(7) {
	case 0:
		return &layers.LayerNormalization{Name: n.name(), DType: n.policy()}
	case 1:
		return &layers.BatchNormalization{Name: n.name(), Frozen: n.chance(0.2)}
	case 2:
		return &layers.Activation{Activation: oneOf(n, "relu", "softplus")}
	case 3:
		return &layers.SpectralNormalization{Layer: &layers.Dense{Units: 3}}
	case 4:
		return &layers.Dropout{Rate: 1e-7}
	}
	return &layers.Dense{Units: 2 + n.IntN(3), Activation: oneOf(n, "linear", "tanh", "gelu"), Name: n.name(), DType: n.policy(), Frozen: n.chance(0.1),
		KernelRegularizer: n.regularizer(), KernelConstraint: n.constraint(), KernelInitializer: n.start(), BiasRegularizer: n.of("l1")}
}

// layer draws a layer or model for an input of that shape without its batch.
func (n nester) layer(shape []int, depth int) layers.Layer {
	kind := n.IntN(10)
	switch {
	case depth > 0 && kind < 2:
		if m := n.model(shape, depth-1); m != nil {
			return m
		}
	case depth > 0 && kind < 3:
		return &Scaled{Layer: n.layer(shape, depth-1), Factor: oneOf(n, 0.5, 2), Frozen: n.chance(0.2)}
	case depth > 0 && kind < 5 && len(shape) > 1:
		return &layers.TimeDistributed{Layer: n.layer(shape[1:], depth-1), Frozen: n.chance(0.2)}
	case kind < 8 && len(shape) == 2:
		return n.recurrent()
	case kind < 8 && len(shape) == 3:
		return &layers.Conv2D{Filters: 3, KernelSize: []int{2, 2}, Padding: "same", Name: n.name(), KernelConstraint: n.constraint()}
	}
	return n.plain()
}

// model draws a model; nil if what was drawn does not fit.
func (n nester) model(shape []int, depth int) *keras.Model {
	in := keras.Input(keras.Shape(shape...))
	x, used := in, map[layers.Layer]string{}
	for range 1 + n.IntN(3) {
		var l layers.Layer
		for before, fits := range used { // in no order, but there is one at most
			if fits == x.String() && n.chance(0.5) {
				l = before
			}
		}
		if l == nil {
			l = n.layer(x.Shape()[1:], depth)
			used = map[layers.Layer]string{l: x.String()}
		}
		y := layers.Apply(l, x)
		if y.Err() != nil {
			return nil
		}
		if y.String() == x.String() && n.chance(0.3) {
			y = layers.Apply(&layers.Add{}, x, y)
		}
		x = y
	}
	var options []keras.Option
	if n.chance(0.3) {
		options = append(options, keras.Name(oneOf(n, "same", "block")))
	}
	m, err := keras.NewFunctional(keras.Inputs(in), keras.Outputs(x), options...)
	if err != nil {
		return nil
	}
	if n.chance(0.15) {
		m.SetTrainable(false)
	}
	return m
}

// network draws a model that has something to train, and examples for it.
func (n nester) network() (*keras.Model, typed) {
	for {
		shape := oneOf(n, []int{4}, []int{3, 4}, []int{3, 4}, []int{2, 3, 4}, []int{2, 2, 3, 4})
		m := n.model(shape, 3)
		if m == nil || len(m.TrainableVariables()) == 0 || m.CountParams() > 3000 {
			continue
		}
		return m, n.numbers("float32", append([]int{3}, shape...))
	}
}

func (n nester) numbers(dtype string, shape []int) typed {
	a := typed{DType: dtype, Shape: shape, Data: make([]*float64, ir.Shape(shape).Size())}
	for i := range a.Data {
		v := float64(float32(n.NormFloat64() * 0.7))
		a.Data[i] = &v
	}
	return a
}

func (a typed) String() string { return fmt.Sprintf("%s%v", a.DType, a.Shape) }
