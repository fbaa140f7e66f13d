package layers_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/vectors"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// replicaCase is one case of testdata/batch_normalization_replicas.json; its "about" says where the numbers come from.
type replicaCase struct {
	Name           string
	Synchronized   bool
	X              [][][]float64
	Output         [][]float64
	GradientInput  [][]float64 `json:"gradient_input"`
	GradientGamma  []float64   `json:"gradient_gamma"`
	MovingMean     []float64   `json:"moving_mean"`
	MovingVariance []float64   `json:"moving_variance"`
}

// TestBatchNormalizationReplicas compares two training steps on several logical CPUs with TensorFlow: results,
// gradients and moving statistics, with parts of the batch that differ in size or are empty.
func TestBatchNormalizationReplicas(t *testing.T) {
	text, err := os.ReadFile("testdata/batch_normalization_replicas.json")
	require.NoError(t, err)
	var file struct {
		Tolerance float64
		Cases     []replicaCase
	}
	require.NoError(t, json.Unmarshal(text, &file))
	require.Len(t, file.Cases, 12)
	for _, c := range file.Cases {
		t.Run(c.Name, func(t *testing.T) {
			l := &layers.BatchNormalization{Momentum: new(0.9), Synchronized: c.Synchronized}
			y, dx, dGamma := trainReplicas(t, l, c.X, 2)
			near := func(what string, got, want []float64) {
				vectors.AllClose(t, what, got, vectors.Array{Shape: []int{len(want)}, Data: want}, file.Tolerance, file.Tolerance)
			}
			near("output", y, slices.Concat(c.Output...))
			near("gradient of x", dx, slices.Concat(c.GradientInput...))
			near("gradient of gamma", dGamma, c.GradientGamma)
			for _, v := range layers.NonTrainableWeights(l) {
				value, err := v.Value()
				require.NoError(t, err)
				want := c.MovingMean
				if v.Name() == "moving_variance" {
					want = c.MovingVariance
				}
				near(v.Name(), value.Float64s(), want)
				sameOnAllReplicas(t, v, len(c.X))
			}
		})
	}
}

// sameOnAllReplicas: the copies of a mirrored variable are equal, bit for bit.
func sameOnAllReplicas(t *testing.T, v *distribute.Variable, replicas int) {
	t.Helper()
	var first []byte
	for i := range replicas {
		b, err := v.Buffer(i)
		require.NoError(t, err)
		data := make([]byte, v.Type().Bytes())
		require.NoError(t, b.Read(data))
		if i == 0 {
			first = data
		}
		assert.Equal(t, first, data, "copy %d of %s", i, v.Path())
	}
}

// trainReplicas calls the layer in training on one logical CPU for each part of the batch, steps times, and returns the
// results and the gradients of L = Σ y³ of the last step: of x in replica order, and of gamma summed over the replicas.
func trainReplicas(t *testing.T, l layers.Layer, parts [][][]float64, steps int) (y, dx, dGamma []float64) {
	t.Helper()
	devices := make([]string, len(parts))
	types, sizes := make([][]ir.Type, len(parts)), make([]int, len(parts))
	for i, p := range parts {
		devices[i] = fmt.Sprintf("cpu:%d", i)
		types[i], sizes[i] = []ir.Type{{DType: ir.Float32, Shape: ir.Shape{len(p), 2}}}, len(p)
	}
	strategy, err := distribute.NewMirroredStrategy(devices...)
	require.NoError(t, err)
	f := distribute.NewFunction(strategy, "train", func(r *distribute.Replica, in []*ops.Tensor) []*ops.Tensor {
		out := layers.Invoke(l, r.Training(), in[0])
		objective := ops.Sum(ops.PowerScalar(out, 3))
		gamma := r.Read(layers.TrainableWeights(l)[0])
		return append([]*ops.Tensor{out}, ops.Grad(objective, in[0], gamma)...)
	})
	defer f.Close()
	inst, err := f.Acquire(types, sizes)
	require.NoError(t, err)
	defer f.Release(inst)
	for i, p := range parts {
		x, err := kernels.FromFloat64s(ir.Float32, types[i][0].Shape, slices.Concat(p...))
		require.NoError(t, err)
		require.NoError(t, inst.Input(i, 0).Write(x.Data))
	}
	for step := range steps {
		require.NoError(t, inst.Run(t.Context(), 1, uint32(step)))
	}
	dGamma = make([]float64, 2)
	for i := range parts {
		read := func(k int) []float64 {
			b := inst.Output(i, k)
			a := kernels.NewArray(b.Type())
			require.NoError(t, b.Read(a.Data))
			return a.Float64s()
		}
		y, dx = append(y, read(0)...), append(dx, read(1)...)
		for j, g := range read(2) {
			dGamma[j] += g
		}
	}
	return y, dx, dGamma
}

// TestBatchNormalizationJoinedBatch: synchronized replicas compute the same as one replica on the joined batch, even
// far from zero, where the difference of E[x²] and mean² would lose most digits.
func TestBatchNormalizationJoinedBatch(t *testing.T) {
	parts := [][][]float64{{{100.1, 1}, {100.3, -2}, {100.2, 5}}, {}, {{100.5, 3}}}
	one, dxOne, dOne := trainReplicas(t, &layers.BatchNormalization{}, [][][]float64{slices.Concat(parts...)}, 1)
	many, dxMany, dMany := trainReplicas(t, &layers.BatchNormalization{Synchronized: true}, parts, 1)
	near := func(what string, got, want []float64) {
		vectors.AllClose(t, what, got, vectors.Array{Shape: []int{len(want)}, Data: want}, 2e-3, 2e-3)
	}
	near("output", many, one)
	near("gradient of x", dxMany, dxOne)
	near("gradient of gamma", dMany, dOne)
}

// TestBatchNormalizationMasked: masked steps affect neither the statistics nor, through them, other steps.
func TestBatchNormalizationMasked(t *testing.T) {
	x := float32s([]int{2, 3, 1}, 1, 50, 3, 5, 7, -90)
	masks := []opstest.Array{opstest.Bools([]int{2, 3}, 1, 0, 1, 1, 1, 0)}
	l := &layers.BatchNormalization{Momentum: new(0.0)}
	a := layerCall{layer: l, training: true, inputs: []opstest.Array{x}, masks: masks}.run(t)
	assert.InDelta(t, 4, a.after["moving_mean"].F[0], 1e-5)
	assert.InDelta(t, 5, a.after["moving_variance"].F[0], 1e-5)
	require.NotNil(t, a.mask)
	assert.Equal(t, masks[0].F, a.mask.F)
}

// TestBatchNormalizationFrozen: a frozen layer uses and keeps the moving statistics in training too.
func TestBatchNormalizationFrozen(t *testing.T) {
	l := &layers.BatchNormalization{Frozen: true}
	a := invoke(t, l, true, float32s([]int{2, 1}, 3, 5))
	assert.InDelta(t, 3, a.outputs[0].F[0], 0.01)
	assert.Equal(t, []float64{0}, a.after["moving_mean"].F)
	assert.Equal(t, []float64{1}, a.after["moving_variance"].F)
}
