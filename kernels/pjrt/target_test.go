//go:build linux

package pjrt_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/pjrt"
	"github.com/gokeras/gokeras/kernels/stablehlo"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
)

// libtpu returns the file of libtpu, or skips the test.
func libtpu(t testing.TB) string {
	path := os.Getenv("GOKERAS_LIBTPU")
	if path == "" {
		t.Skip("GOKERAS_LIBTPU does not name libtpu.so (it is in the Python package libtpu), which compiles for TPUs that need not be here")
	}
	return path
}

// gpt is a small language model: what comes next, from what came before.
type gpt struct {
	Tokens     *layers.Embedding
	Norm       *layers.LayerNormalization
	Attention  *layers.MultiHeadAttention
	Second     *layers.LayerNormalization
	Wide, Back *layers.Dense
	Out        *layers.Dense
}

func newGPT() *gpt {
	return &gpt{
		Tokens: &layers.Embedding{InputDim: 16, OutputDim: 8}, Norm: &layers.LayerNormalization{}, Second: &layers.LayerNormalization{},
		// The bias of the keys has no gradient but rounding errors, which Adam would blow up to steps.
		Attention: &layers.MultiHeadAttention{NumHeads: 2, KeyDim: 4, UseCausalMask: true, NoBias: true},
		Wide:      &layers.Dense{Units: 32, Activation: "gelu"}, Back: &layers.Dense{Units: 8}, Out: &layers.Dense{Units: 16},
	}
}

func (m *gpt) Call(c *layers.Context, ids *ops.Tensor) *ops.Tensor {
	x := layers.Invoke(m.Tokens, c, ids)
	n := layers.Invoke(m.Norm, c, x)
	x = ops.Add(x, layers.Invoke(m.Attention, c, n, n))
	return layers.Invoke(m.Out, c, ops.Add(x, layers.Invoke(m.Back, c, layers.Invoke(m.Wide, c, layers.Invoke(m.Second, c, x)))))
}

// aheadModels are small networks of each kind, with a batch of 16 examples.
func aheadModels(t *testing.T) map[string]func(s distribute.Strategy) (*keras.Model, *data.ArraySource) {
	numbers := func(rows, columns int) [][]float32 {
		out := make([][]float32, rows)
		for i := range out {
			out[i] = make([]float32, columns)
		}
		return out
	}
	labels := make([]int32, 16)
	tokens := make([][]int32, 16)
	for i := range tokens {
		tokens[i] = make([]int32, 6)
	}
	stack := func(x any, input []int, list ...layers.Layer) func(distribute.Strategy) (*keras.Model, *data.ArraySource) {
		return func(s distribute.Strategy) (*keras.Model, *data.ArraySource) {
			m, err := keras.NewSequential(list, keras.InputShape(input...), distribute.Scope(s), keras.Seed(3))
			require.NoError(t, err)
			return m, data.Arrays(x, labels)
		}
	}
	images := make([][][][]float32, 16)
	for i := range images {
		images[i] = [][][]float32{}
		for range 8 {
			images[i] = append(images[i], numbers(8, 3))
		}
	}
	return map[string]func(distribute.Strategy) (*keras.Model, *data.ArraySource){
		"dense": stack(numbers(16, 16), []int{16}, &layers.Dense{Units: 128, Activation: "relu"}, &layers.Dropout{Rate: 0.5}, &layers.Dense{Units: 16}),
		"convolution": stack(images, []int{8, 8, 3}, &layers.Conv2D{Filters: 8, KernelSize: []int{3}, Activation: "relu"},
			&layers.BatchNormalization{Synchronized: true}, &layers.MaxPooling2D{}, &layers.Flatten{}, &layers.Dense{Units: 16}),
		"lstm": stack(tokens, []int{6}, &layers.Embedding{InputDim: 20, OutputDim: 8}, &layers.LSTM{Units: 8}, &layers.Dense{Units: 16}),
		"gpt": func(s distribute.Strategy) (*keras.Model, *data.ArraySource) {
			m, err := keras.NewModel(newGPT(), distribute.Scope(s), keras.Seed(3))
			require.NoError(t, err)
			return m, data.Arrays(tokens, tokens)
		},
	}
}

// aheadProgram is the training step of a model on as many replicas as a target has devices.
func aheadProgram(t *testing.T, build func(distribute.Strategy) (*keras.Model, *data.ArraySource), replicas int) *ir.Program {
	t.Helper()
	devices := make([]kernels.Device, replicas)
	for i := range devices {
		devices[i] = kernels.Device{Kind: "cpu", Index: i}
	}
	s, err := distribute.NewTPUStrategyOver(distribute.TPUOptions{Devices: devices})
	require.NoError(t, err)
	m, batch := build(s)
	require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "adam", Loss: &losses.SparseCategoricalCrossentropy{FromLogits: true}, Metrics: []string{"accuracy"}}))
	p, err := m.TrainingProgram(t.Context(), batch)
	require.NoError(t, err)
	return p
}

// Training steps compile for TPUs: with replicas and their sums, all weights and slots replaced in place, nothing asked
// of the host, and little memory.
func TestTargets(t *testing.T) {
	path := libtpu(t)
	type step struct{ model, target string }
	steps := []step{{"dense", "v4:2x2x1"}, {"dense", "v5e:2x2"}, {"convolution", "v5e:2x2"}} // the compiler takes longest for the others
	if !testing.Short() {
		steps = nil
		for _, target := range []string{"v4:2x2x1", "v5e:2x2", "v6e:2x2"} {
			for _, model := range []string{"dense", "convolution", "lstm", "gpt"} {
				steps = append(steps, step{model, target})
			}
		}
	}
	for _, c := range steps {
		t.Run(c.model+" "+c.target, func(t *testing.T) {
			target, err := pjrt.NewTarget(path, c.target)
			require.NoError(t, err)
			defer func() { require.NoError(t, target.Close()) }()
			require.NotEmpty(t, target.Model())
			p := aheadProgram(t, aheadModels(t)[c.model], target.Devices())
			module, err := stablehlo.Lower(p, stablehlo.Options{Replicas: target.Devices(), Donate: true})
			require.NoError(t, err)
			for _, word := range []string{"custom_call", "infeed", "outfeed", "stablehlo.send", "stablehlo.recv"} {
				require.NotContains(t, module.Text, word, "the step needs the host")
			}
			a, err := target.Compile(p)
			require.NoError(t, err)
			state, arguments := 0, 0
			for _, in := range p.Inputs {
				arguments += p.Type(in.Value).Bytes()
			}
			for _, out := range p.Outputs {
				if out.Alias >= 0 {
					state += p.Type(out.Value).Bytes()
				}
			}
			t.Logf("%d devices of %s: %+v; %d bytes of variables", target.Devices(), target.Model(), a, state)
			require.Greater(t, state, arguments/2)
			require.GreaterOrEqual(t, a.Aliased, int64(state), "every variable that the step replaces has the memory of its old value")
			require.GreaterOrEqual(t, a.Arguments, int64(arguments))
			require.LessOrEqual(t, a.Outputs-a.Aliased, int64(2<<10), "outputs beside the variables: the failure flag and the table of outputs")
			require.Greater(t, a.FLOPs, 0.0)
			require.Greater(t, a.Peak, int64(0))
			require.Less(t, a.Peak, int64(16<<20))
		})
	}
}

func TestTargetMistakes(t *testing.T) {
	_, err := pjrt.NewTarget("/nowhere/libtpu.so", "v5e:2x2")
	require.ErrorContains(t, err, "cannot be loaded")
	path := libtpu(t)
	_, err = pjrt.NewTarget(path, "v9:2x2")
	require.ErrorContains(t, err, `knows no devices "v9:2x2"`)
	target, err := pjrt.NewTarget(path, "v5e:2x2")
	require.NoError(t, err)
	defer func() { require.NoError(t, target.Close()) }()
	_, err = target.Compile(aheadProgram(t, aheadModels(t)["dense"], 2))
	require.ErrorContains(t, err, "2", "a step for two replicas on four devices")
}
