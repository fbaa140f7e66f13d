package layers_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/internal/vectors"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu"
	"github.com/gokeras/gokeras/layers"
)

// typedPolicies are the policies under which every layer is compared with Keras.
var typedPolicies = []string{"float32", "float64", "float16", "bfloat16", "mixed_float16", "mixed_bfloat16"}

// withoutTypes are layers for which layer_types has no case, or not for every policy, and why.
var withoutTypes = map[string]string{
	"Bidirectional": scanned, "ConvLSTM1D": scanned, "ConvLSTM2D": scanned, "ConvLSTM3D": scanned, "GRU": scanned, "LSTM": scanned, "RNN": scanned, "SimpleRNN": scanned,
	"Conv1DTranspose": convolved, "Conv2DTranspose": convolved, "Conv3DTranspose": convolved, "DepthwiseConv1D": convolved, "DepthwiseConv2D": convolved,
	"SeparableConv1D": convolved, "SeparableConv2D": convolved, "STFTSpectrogram": "JAX has no Fourier transform of bfloat16",
	"GRUCell": cells, "LSTMCell": cells, "SimpleRNNCell": cells, "StackedRNNCells": cells,
	"HashedCrossing": tables, "Hashing": tables, "IntegerLookup": tables, "StringLookup": tables, "TextVectorization": tables,
	"InputLayer": "computes nothing", "Wrapper": "computes nothing", "MaxNumBoundingBoxes": "changes nothing without boxes",
}

const (
	scanned   = "Keras on JAX refuses half precision: the states of the loop change their type; a GRU's also in mixed precision"
	convolved = "Keras on JAX refuses half precision: it gives the convolution images of float32 with a kernel of the policy's type"
	cells     = "is called with states; the layers around it are here"
	tables    = "looks up outside of the program; lookup_types_test.go has its types"
)

// differentTypes are cases whose results differ from Keras's, and why.
var differentTypes = map[string]string{
	"ContrastLimitedAdaptiveHistogramEqualization/float64": inFloat32, "MelSpectrogram/float64": inFloat32,
	"SpatialDropout1D/mixed_float16": readAsFloat32, "SpatialDropout2D/mixed_float16": readAsFloat32, "SpatialDropout3D/mixed_float16": readAsFloat32,
	"SpatialDropout1D/mixed_bfloat16": readAsFloat32, "SpatialDropout2D/mixed_bfloat16": readAsFloat32, "SpatialDropout3D/mixed_bfloat16": readAsFloat32,
}

const (
	inFloat32     = "Keras works parts of it out in float32, whatever the policy: it is off by parts in ten millions"
	readAsFloat32 = "Keras writes float32, the type of variables, as the policy into the configuration: a layer that Keras reads from it computes in float32, too"
)

// differentGradients are cases in which only gradients differ from Keras's, and why.
var differentGradients = map[string]string{"AutoContrast/float16": clipped, "AutoContrast/mixed_float16": clipped}

// The lightest pixels of a channel are scaled to 255, where the gradient of clipping is 1 below, 1/2 at and 0 above.
// The gradient of two of 40 pixels is 94.24 if rounding in float32, in which float16 is computed here, gives 255 +
// 2^-16, and 55.43 if it gives 255, as in Keras's float16 and float64. All of Keras's gradients are exact for one of
// the three cases.
const clipped = "the gradient of the lightest pixels is a matter of rounding"

// TestLayerTypes compares the results of every layer, their types and their gradients with Keras under every dtype
// policy, on the CPU.
func TestLayerTypes(t *testing.T) {
	seen := map[string][]string{}
	for _, c := range vectors.Load(t, "layer_types").Cases {
		seen[c.Class] = append(seen[c.Class], c.DType)
		t.Run(c.Name, func(t *testing.T) {
			if why := differentTypes[c.Name]; why != "" {
				t.Skip(why)
			}
			if why := differentGradients[c.Name]; why != "" {
				t.Log(why)
				c.Gradients = nil
			}
			newKerasCase(t, c).checkTypes()
		})
	}
	for _, class := range layers.ClassNames() {
		if strings.Contains(class, ">") {
			continue
		}
		all := true
		for _, p := range typedPolicies {
			all = all && slices.Contains(seen[class], p)
		}
		assert.True(t, all != (withoutTypes[class] != ""), "%s has cases under %v: record it with layer_types.py, or say in withoutTypes why not", class, seen[class])
	}
}

// checkTypes compares results and gradients, computed on the CPU, and the types of both.
func (k *kerasCase) checkTypes() {
	k.build()
	outputs, objective, _, weights := k.trace()
	var sources []*ops.Tensor
	for _, g := range k.c.Gradients {
		x := k.inputs[g.Name]
		if x == nil {
			x = weights[g.Name]
		}
		require.NotNil(k, x, "no input and no weight %s", g.Name)
		sources = append(sources, x)
	}
	require.Len(k, outputs, len(k.c.Outputs))
	results, want := slices.Clone(outputs), slices.Clone(k.c.Outputs)
	if len(sources) > 0 {
		for i, g := range ops.Grad(objective, sources...) {
			if g == nil {
				g = ops.ZerosLike(sources[i])
			}
			results, want = append(results, g), append(want, k.c.Gradients[i])
		}
	}
	for i, got := range k.runOnCPU(results) {
		name := want[i].Name
		if i >= len(outputs) {
			name = "gradient " + name
		}
		assert.Equal(k, want[i].DType, got.Type.DType.String(), "type of %s", name)
		k.c.Close(k, name, got.Float64s(), got.Type.Shape, want[i])
	}
}

// runOnCPU computes results as a program of the CPU backend.
func (k *kerasCase) runOnCPU(results []*ops.Tensor) []kernels.Array {
	g := k.replica.Graph()
	p := g.Program()
	for _, r := range results {
		p.AddOutput("", ops.In(g, r))
	}
	device := kernels.Device{Kind: cpu.Kind}
	e, err := kernels.Load(cpu.Backend{}, p, device)
	require.NoError(k, err)
	defer e.Close()
	var from, to []kernels.Buffer
	for i, in := range p.Inputs {
		var a vectors.Array
		if i < len(k.order) {
			a = k.c.Input(k, k.order[i])
		} else {
			a = k.c.Weight(k, in.Name)
		}
		t := p.Type(in.Value)
		require.Equal(k, a.DType, t.DType.String(), "type of %s", in.Name)
		v, err := kernels.FromFloat64s(t.DType, t.Shape, a.Data)
		require.NoError(k, err)
		b, err := cpu.Backend{}.NewBuffer(device, t)
		require.NoError(k, err)
		defer b.Free()
		require.NoError(k, b.Write(v.Data))
		from = append(from, b)
	}
	for _, o := range p.Outputs {
		b, err := cpu.Backend{}.NewBuffer(device, p.Type(o.Value))
		require.NoError(k, err)
		defer b.Free()
		to = append(to, b)
	}
	require.NoError(k, e.Run(k.Context(), from, to))
	out := make([]kernels.Array, len(to))
	for i, b := range to {
		out[i] = kernels.Array{Type: b.Type(), Data: make([]byte, b.Type().Bytes())}
		require.NoError(k, b.Read(out[i].Data))
	}
	return out
}
