//go:build linux

package pjrt_test

import (
	"compress/gzip"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/pjrt"
	"github.com/gokeras/gokeras/kernels/pjrt/internal/capi"
	"github.com/gokeras/gokeras/kernels/pjrt/internal/hlo"
	"github.com/gokeras/gokeras/kernels/stablehlo"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
)

// twoBlocks is the language model whose step Keras and JAX have lowered.
type twoBlocks struct {
	Tokens     *layers.Embedding
	Norms      []*layers.LayerNormalization
	Attention  []*layers.MultiHeadAttention
	Wide, Back []*layers.Dense
	Last       *layers.LayerNormalization
	Out        *layers.Dense
}

func (m *twoBlocks) Call(c *layers.Context, ids *ops.Tensor) *ops.Tensor {
	x := layers.Invoke(m.Tokens, c, ids)
	for i := range m.Attention {
		n := layers.Invoke(m.Norms[2*i], c, x)
		x = ops.Add(x, layers.Invoke(m.Attention[i], c, n, n))
		n = layers.Invoke(m.Norms[2*i+1], c, x)
		x = ops.Add(x, layers.Invoke(m.Back[i], c, layers.Invoke(m.Wide[i], c, n)))
	}
	return layers.Invoke(m.Out, c, layers.Invoke(m.Last, c, x))
}

// jaxModels are the models of internal/vectors/gen/jax_steps.py.
func jaxModels(t *testing.T) map[string]func() (*keras.Model, *data.ArraySource) {
	stack := func(x, y data.Array, input []int, list ...layers.Layer) func() (*keras.Model, *data.ArraySource) {
		return func() (*keras.Model, *data.ArraySource) {
			m, err := keras.NewSequential(list, keras.InputShape(input...), distribute.Scope(oneCPU(t)))
			require.NoError(t, err)
			return m, data.Arrays(x, y)
		}
	}
	return map[string]func() (*keras.Model, *data.ArraySource){
		"mlp": stack(zeros(ir.Float32, 128, 256), zeros(ir.Int32, 128), []int{256}, &layers.Dense{Units: 1024, Activation: "relu"}, &layers.Dense{Units: 1024, Activation: "relu"}, &layers.Dense{Units: 16}),
		"cnn": stack(zeros(ir.Float32, 64, 32, 32, 3), zeros(ir.Int32, 64), []int{32, 32, 3}, &layers.Conv2D{Filters: 32, KernelSize: []int{3}, Padding: "same", Activation: "relu"},
			&layers.Conv2D{Filters: 64, KernelSize: []int{3}, Padding: "same", NoBias: true}, &layers.BatchNormalization{}, &layers.ReLU{}, &layers.MaxPooling2D{},
			&layers.Conv2D{Filters: 64, KernelSize: []int{3}, Strides: []int{2}, Activation: "relu"}, &layers.Flatten{}, &layers.Dense{Units: 16}),
		"lstm": stack(zeros(ir.Int32, 64, 32), zeros(ir.Int32, 64), []int{32}, &layers.Embedding{InputDim: 1000, OutputDim: 128}, &layers.LSTM{Units: 128}, &layers.Dense{Units: 16}),
		"gpt": func() (*keras.Model, *data.ArraySource) {
			net := &twoBlocks{Tokens: &layers.Embedding{InputDim: 512, OutputDim: 128}, Last: &layers.LayerNormalization{}, Out: &layers.Dense{Units: 512}}
			for range 2 {
				net.Norms = append(net.Norms, &layers.LayerNormalization{}, &layers.LayerNormalization{})
				net.Attention = append(net.Attention, &layers.MultiHeadAttention{NumHeads: 4, KeyDim: 32, UseCausalMask: true})
				net.Wide = append(net.Wide, &layers.Dense{Units: 512, Activation: "gelu"})
				net.Back = append(net.Back, &layers.Dense{Units: 128})
			}
			m, err := keras.NewModel(net, distribute.Scope(oneCPU(t)))
			require.NoError(t, err)
			return m, data.Arrays(zeros(ir.Int32, 16, 64), zeros(ir.Int32, 16, 64))
		},
	}
}

func oneCPU(t *testing.T) distribute.Strategy {
	s, err := distribute.NewOneDeviceStrategy("cpu:0")
	require.NoError(t, err)
	return s
}

// jaxStep is the module that JAX makes of a step.
func jaxStep(t *testing.T, name string) string {
	f, err := os.Open("testdata/jax/" + name + ".mlir.gz")
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	text, err := io.ReadAll(z)
	require.NoError(t, err)
	return string(text)
}

// ourStep is the module of the same step.
func ourStep(t *testing.T, name string) string {
	m, batch := jaxModels(t)[name]()
	require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "adam", Loss: &losses.SparseCategoricalCrossentropy{FromLogits: true}, Metrics: []string{"accuracy"}}))
	p, err := m.TrainingProgram(t.Context(), batch)
	require.NoError(t, err)
	module, err := stablehlo.Lower(p, stablehlo.Options{Donate: true})
	require.NoError(t, err)
	return module.Text
}

var opName = regexp.MustCompile(`(?:stablehlo|chlo)\.(\w+)`)

func counts(text string) map[string]int {
	n := map[string]int{}
	for _, m := range opName.FindAllStringSubmatch(text, -1) {
		n[m[1]]++
	}
	return n
}

// The text of a step has no more products, convolutions and transposes than what JAX makes of Keras's; attention alone
// computes its scores a second time for the gradient instead of keeping them. Float32 is multiplied as float32,
// as in JAX if it is asked to (which the recorded steps do); and all that the step replaces gives its memory.
func TestJAXText(t *testing.T) {
	for _, name := range []string{"mlp", "cnn", "lstm", "gpt"} {
		text := ourStep(t, name)
		ours, theirs := counts(text), counts(jaxStep(t, name))
		more := 0
		if name == "gpt" {
			more = 2 // blocks
		}
		require.LessOrEqual(t, ours["dot_general"], theirs["dot_general"]+more, name)
		require.Equal(t, theirs["convolution"], ours["convolution"], name)
		if name == "cnn" {
			require.Zero(t, ours["transpose"], "JAX has one, of the dense layer's kernel")
		}
		require.LessOrEqual(t, ours["transpose"], theirs["transpose"], name)
		require.LessOrEqual(t, ours["sqrt"]+ours["rsqrt"], theirs["sqrt"]+theirs["rsqrt"]+1, name)
		require.Equal(t, 2*(ours["dot_general"]+ours["convolution"]), strings.Count(text, "HIGHEST"), name)
		require.Equal(t, 2*(theirs["dot_general"]+theirs["convolution"]), strings.Count(jaxStep(t, name), "HIGHEST"), name)
		require.GreaterOrEqual(t, strings.Count(text, "tf.aliasing_output"), variables(t, name), name)
	}
}

// variables is the number of weights, slots and counters that a step replaces.
func variables(t *testing.T, name string) int {
	m, batch := jaxModels(t)[name]()
	require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "adam", Loss: &losses.SparseCategoricalCrossentropy{FromLogits: true}, Metrics: []string{"accuracy"}}))
	p, err := m.TrainingProgram(t.Context(), batch)
	require.NoError(t, err)
	trained, n := len(m.TrainableVariables()), 0
	for _, out := range p.Outputs {
		if out.Alias >= 0 {
			n++
		}
	}
	require.GreaterOrEqual(t, n, 3*trained, "weights, momenta and velocities")
	return n
}

// Compiled for a TPU, a step has the products and convolutions of what JAX makes of Keras's, to the operation; no more
// arithmetic in all, within 2 percent; and needs no more memory, within 10 percent. Of loops the compiler counts one
// round alone, and ours compute what they can before them, so the recurrent network is compared by its products in all
// rounds. The compiler takes a minute or more for all but the first model, so the others, and other generations, are
// compiled by make test-tpu-models.
func TestTargetJAX(t *testing.T) {
	path := libtpu(t)
	names, kinds := []string{"mlp"}, []string{"v5e:1x1"}
	if os.Getenv("GOKERAS_TPU_MODELS") != "" {
		names, kinds = append(names, "lstm", "gpt", "cnn"), append(kinds, "v6e:1x1", "v4:2x2x1")
	}
	target, err := pjrt.NewTarget(path, "v5e:1x1") // which tells libtpu that there is no TPU
	require.NoError(t, err)
	require.NoError(t, target.Close())
	plugin, err := capi.Open(path)
	require.NoError(t, err)
	for _, kind := range kinds {
		for _, name := range names {
			t.Run(name+" "+kind, func(t *testing.T) { compareWithJAX(t, plugin, name, kind) })
		}
	}
}

// compareWithJAX compiles our module of a step and JAX's for one device of a kind.
func compareWithJAX(t *testing.T, plugin *capi.Plugin, name, kind string) {
	target, err := plugin.NewTopology(kind)
	require.NoError(t, err)
	defer func() { require.NoError(t, target.Close()) }()
	var flops, bytes, peak, products []float64
	for _, text := range []string{ourStep(t, name), jaxStep(t, name)} {
		if name == "cnn" { // at the highest precision libtpu did not finish in three minutes of one processor, with neither module
			text = strings.ReplaceAll(text, "HIGHEST", "DEFAULT")
		}
		code, err := target.Compile([]byte(text), capi.CompileOptions{Replicas: 1})
		require.NoError(t, err)
		memory, err := code.Memory()
		require.NoError(t, err)
		costs, err := code.Costs()
		require.NoError(t, err)
		t.Logf("%.4g operations, %.4g bytes; %+v", costs["flops"], costs["bytes accessed"], memory)
		flops, bytes, peak = append(flops, costs["flops"]), append(bytes, costs["bytes accessed"]), append(peak, float64(memory.Peak))
		optimized, format, err := code.Optimized()
		require.NoError(t, err)
		once, inLoops, err := hlo.Products(optimized, format)
		require.NoError(t, err)
		products = append(products, once+32*inLoops) // the sentences of the recurrent network have 32 words
		require.NoError(t, code.Close())
	}
	require.Equal(t, products[1], products[0])
	if name != "lstm" {
		require.LessOrEqual(t, flops[0], 1.02*flops[1])
		require.LessOrEqual(t, bytes[0], 1.1*bytes[1])
	}
	require.LessOrEqual(t, peak[0], 1.1*peak[1])
}
