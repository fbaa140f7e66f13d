package keras_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/optimizers"
)

const sharedWidth = 256

// sharedDropout is a model that calls one Dropout layer twice: drop(v·x) and drop(w·x), with elementwise weights.
func sharedDropout(t *testing.T, options ...keras.Option) *keras.Model {
	t.Helper()
	in := keras.Input(keras.Shape(sharedWidth), keras.InputName("x"))
	scale := func(name string) *layers.EinsumDense {
		return &layers.EinsumDense{Name: name, Equation: "ab,b->ab", OutputShape: []int{sharedWidth}, KernelInitializer: "random_normal"}
	}
	drop := &layers.Dropout{Name: "drop", Rate: 0.75}
	one, two := layers.Apply(drop, layers.Apply(scale("v"), in)), layers.Apply(drop, layers.Apply(scale("w"), in))
	m, err := keras.NewFunctional(keras.Inputs(in), keras.Outputs(layers.Apply(&layers.Add{Name: "sum"}, one, two)), options...)
	require.NoError(t, err)
	return m
}

// sharedDropoutStep trains one step on examples of ones, with the sum of the result as the loss. Then the gradients are
// the masks divided by the kept fraction, summed over the examples. As everything is linear, the loss is the product of
// gradients and weights if, and only if, the backward pass multiplies each branch by the mask that the forward pass
// drew for it.
func sharedDropoutStep(t *testing.T, m *keras.Model, examples int) (masks [2][]float64) {
	t.Helper()
	before, err := m.GetWeights()
	require.NoError(t, err)
	require.Len(t, before, 2)
	ones := data.Must(data.Zeros[float32](examples, sharedWidth))
	ones.Fill(1)
	logs, err := m.TrainOnBatch(t.Context(), data.Arrays(ones, data.Must(data.Zeros[float32](examples, sharedWidth))))
	require.NoError(t, err)
	after, err := m.GetWeights()
	require.NoError(t, err)
	product := 0.0
	for i := range masks {
		old, new := before[i].Elements().([]float32), after[i].Elements().([]float32)
		for j := range old {
			gradient := float64(old[j]) - float64(new[j]) // the learning rate is 1
			product += gradient * float64(old[j])
			masks[i] = append(masks[i], gradient)
		}
	}
	require.InDelta(t, logs["loss"], product, 1e-4*max(1, product, -product), "the backward pass used other masks than the forward pass")
	return masks
}

func compileSharedDropout(t *testing.T, m *keras.Model) {
	t.Helper()
	sum := losses.Func("sum", func(_, y *ops.Tensor) *ops.Tensor { return ops.Sum(ops.Cast(y, ir.Float32), 1) })
	require.NoError(t, m.Compile(keras.CompileConfig{Loss: sum, Optimizer: &optimizers.SGD{LearningRate: 1.0}}))
}

// twoMasks requires that values are 0 or 1 divided by the kept fraction, about as often as the rate says, and that the
// two calls draw different ones.
func twoMasks(t *testing.T, masks [2][]float64) {
	t.Helper()
	differ := 0
	for i, mask := range masks {
		kept := 0
		for j, v := range mask {
			if v > 2 {
				kept++
				require.InDelta(t, 4, v, 1e-5)
			} else {
				require.InDelta(t, 0, v, 1e-5)
			}
			if i == 1 && (v > 2) != (masks[0][j] > 2) {
				differ++
			}
		}
		require.InDelta(t, sharedWidth/4, kept, 40, "five standard deviations and more")
	}
	require.InDelta(t, sharedWidth*2*0.25*0.75, differ, 45, "independent masks differ in 2·p·(1-p) of the places")
}

// TestSharedDropout: a Dropout layer that is called twice in a model draws two different masks, new ones in each step,
// and the backward pass uses each in the right place; so does a model that was read from a file.
func TestSharedDropout(t *testing.T) {
	m := sharedDropout(t)
	compileSharedDropout(t, m)
	first := sharedDropoutStep(t, m, 1)
	twoMasks(t, first)
	second := sharedDropoutStep(t, m, 1)
	twoMasks(t, second)
	require.NotEqual(t, first, second, "two steps draw the same masks")
	twoMasks(t, [2][]float64{first[0], second[0]}) // and independent of each other

	path := filepath.Join(t.TempDir(), "shared.keras")
	plain := sharedDropout(t)
	require.NoError(t, plain.Save(path))
	read, err := keras.LoadModel(path)
	require.NoError(t, err)
	require.Len(t, read.Layers(), len(plain.Layers()), "one Dropout layer, called twice")
	compileSharedDropout(t, read)
	for range 2 {
		twoMasks(t, sharedDropoutStep(t, read, 1))
	}
}

// TestSharedDropoutOnReplicas: each of two replicas draws its own masks, for each call of the layer, unless
// SameRandomNumbers asks for the same ones.
func TestSharedDropoutOnReplicas(t *testing.T) {
	for _, same := range []bool{false, true} {
		strategy, err := distribute.NewMirroredStrategyWith(distribute.MirroredOptions{Devices: tfDevices(2), SameRandomNumbers: same})
		require.NoError(t, err)
		m := sharedDropout(t, distribute.Scope(strategy))
		compileSharedDropout(t, m)
		masks := sharedDropoutStep(t, m, 2)
		require.NotEqual(t, masks[0], masks[1])
		half := 0 // elements that exactly one of the replicas keeps
		for _, mask := range masks {
			for _, v := range mask {
				require.Contains(t, []int{0, 2, 4}, int(v+0.5), v)
				if int(v+0.5) == 2 { // half of the mean over two examples
					half++
				}
			}
		}
		if same {
			require.Zero(t, half, "the replicas draw different masks")
			twoMasks(t, masks)
		} else {
			require.InDelta(t, 2*sharedWidth*2*0.25*0.75, half, 60, "masks of two replicas are not independent")
		}
	}
}
