//go:build linux

package cuda

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/applications"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
)

// zeros is an array that costs nothing to fill.
func zeros(d ir.DType, shape ...int) kernels.Array {
	return kernels.NewArray(ir.Type{DType: d, Shape: shape})
}

// transformerBlock is a block of GPT-2.
type transformerBlock struct {
	Norm, Second *layers.LayerNormalization
	Attention    *layers.MultiHeadAttention
	Wide, Back   *layers.Dense
}

func (b *transformerBlock) through(c *layers.Context, x *ops.Tensor) *ops.Tensor {
	n := layers.Invoke(b.Norm, c, x)
	x = ops.Add(x, layers.Invoke(b.Attention, c, n, n))
	return ops.Add(x, layers.Invoke(b.Back, c, layers.Invoke(b.Wide, c, layers.Invoke(b.Second, c, x))))
}

// languageModel is GPT-2.
type languageModel struct {
	Tokens, Places *layers.Embedding
	Blocks         []*transformerBlock
	Norm           *layers.LayerNormalization
	Out            *layers.Dense
}

func (m *languageModel) Call(c *layers.Context, ids *ops.Tensor) *ops.Tensor {
	x := ops.Add(layers.Invoke(m.Tokens, c, ids), layers.Invoke(m.Places, c, ops.Arange(ids, ir.Int32, ids.Dim(1))))
	for _, b := range m.Blocks {
		x = b.through(c, x)
	}
	return layers.Invoke(m.Out, c, layers.Invoke(m.Norm, c, x))
}

// gpt2 is GPT-2 with that many blocks: 12 of width 768 for a vocabulary of 50304 have 124 million parameters.
func gpt2(t testing.TB, s distribute.Strategy, policy string, blocks, heads, width, words, places int) *keras.Model {
	m := &languageModel{
		Tokens: &layers.Embedding{InputDim: words, OutputDim: width}, Places: &layers.Embedding{InputDim: places, OutputDim: width},
		Norm: &layers.LayerNormalization{}, Out: &layers.Dense{Units: words, NoBias: true},
	}
	for range blocks {
		m.Blocks = append(m.Blocks, &transformerBlock{
			Norm: &layers.LayerNormalization{}, Second: &layers.LayerNormalization{},
			Attention: &layers.MultiHeadAttention{NumHeads: heads, KeyDim: width / heads, UseCausalMask: true},
			Wide:      &layers.Dense{Units: 4 * width, Activation: "gelu"}, Back: &layers.Dense{Units: width},
		})
	}
	model, err := keras.NewModel(m, distribute.Scope(s), keras.DTypePolicy(policy))
	require.NoError(t, err)
	return model
}

// resnet20 is the network for images of 32 by 32 of He et al., 2016, section 4.2.
func resnet20(t testing.TB, s distribute.Strategy, policy string) *keras.Model {
	x := keras.Input(keras.Shape(32, 32, 3))
	conv := func(x *layers.KerasTensor, filters, kernel, stride int) *layers.KerasTensor {
		x = layers.Apply(&layers.Conv2D{Filters: filters, KernelSize: []int{kernel}, Strides: []int{stride}, Padding: "same", NoBias: true}, x)
		return layers.Apply(&layers.BatchNormalization{}, x)
	}
	y := layers.Apply(&layers.ReLU{}, conv(x, 16, 3, 1))
	for stage, filters := range []int{16, 32, 64} {
		for block := range 3 {
			stride := 1
			if stage > 0 && block == 0 {
				stride = 2
			}
			z := conv(layers.Apply(&layers.ReLU{}, conv(y, filters, 3, stride)), filters, 3, 1)
			if stride > 1 {
				y = conv(y, filters, 1, stride)
			}
			y = layers.Apply(&layers.ReLU{}, layers.Apply(&layers.Add{}, z, y))
		}
	}
	y = layers.Apply(&layers.Dense{Units: 10}, layers.Apply(&layers.GlobalAveragePooling2D{}, y))
	m, err := keras.NewFunctional(keras.Inputs(x), keras.Outputs(y), distribute.Scope(s), keras.DTypePolicy(policy))
	require.NoError(t, err)
	return m
}

func resnet50(t testing.TB, s distribute.Strategy, policy string) *keras.Model {
	m, err := applications.NewResNet50(applications.Options{ClassifierActivation: "linear"}, distribute.Scope(s), keras.DTypePolicy(policy))
	require.NoError(t, err)
	return m
}

// trainingProgram is a step of training with Adam, as a program.
func trainingProgram(t testing.TB, m *keras.Model, x, y kernels.Array) *ir.Program {
	require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "adam", Loss: &losses.SparseCategoricalCrossentropy{FromLogits: true}}))
	p, err := m.TrainingProgram(t.Context(), data.Arrays(x, y))
	require.NoError(t, err)
	return p
}
