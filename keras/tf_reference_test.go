package keras_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/tfvectors"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/optimizers"
)

// referenceCases are cases of TensorFlow's and Keras's own tests that were not recorded; the others are in the files.
var referenceCases = map[int]func(t *testing.T){17: noResolver, 47: inputSizes, 50: unequalInput, 60: epochIterator, 61: kerasThreeSteps}

// TestReferenceCases runs the cases that no recorded one covers, and checks that every single-machine case is covered.
func TestReferenceCases(t *testing.T) {
	covered := map[int]bool{}
	for _, file := range []string{"custom_loop", "loss_scaling", "random", "metrics", "optimizers", "batch_norm", "fit", "fit_loop", "checkpoint",
		"../../distribute/testdata/tf_context", "../../distribute/testdata/tf_variables", "../../distribute/testdata/tf_reduce_gather", "../../distribute/testdata/tf_input"} {
		path := "testdata/tf_" + file + ".json.gz"
		if file[0] == '.' {
			path = "testdata/" + file + ".json.gz"
		}
		for _, c := range tfvectors.Load(t, path) {
			for _, n := range c.ReferenceCases {
				covered[n] = true
			}
		}
	}
	for n, run := range referenceCases {
		if run != nil {
			t.Run(fmt.Sprint("case ", n), run)
			covered[n] = true
		}
	}
	elsewhere := []int{13, 14, 15, 16, 32, 38, 56, 59} // several workers, parameter servers, or the name of an algorithm
	for n := 1; n <= 62; n++ {
		require.True(t, covered[n] || slices.Contains(elsewhere, n), "case %d is executed nowhere", n)
	}
}

// Case 17: local strategies have no cluster.
func noResolver(t *testing.T) {
	for _, name := range []string{"Mirrored", "CentralStorage"} {
		e := tfStrategy(t, name, 2).Extended()
		require.False(t, e.BetweenGraph())
		require.True(t, e.ShouldInit() && e.ShouldCheckpoint() && e.ShouldSaveSummary())
	}
}

// Case 47: the batch sizes that follow from the numbers of examples and steps. (63 examples in 2 steps are 32 and 31;
// TensorFlow requires that they divide evenly.)
func inputSizes(t *testing.T) {
	for _, c := range []struct{ examples, steps, batches int }{
		{64, 0, 2}, {20, 0, 1}, {64, 2, 2}, {63, 3, 3}, {63, 2, 2},
	} {
		m := sequential(t, []keras.Option{distribute.Scope(tfStrategy(t, "Mirrored", 2))}, &layers.Dense{Units: 1})
		require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "sgd", Loss: "mse"}))
		x := column(ones(c.examples))
		options := []keras.FitOption{keras.Shuffle(false)}
		if c.steps > 0 {
			options = append(options, keras.StepsPerEpoch(c.steps))
		}
		b := &batchNumbers{}
		_, err := m.Fit(context.Background(), data.Arrays(x, x), append(options, keras.Callbacks(b))...)
		require.NoError(t, err)
		require.Len(t, b.end, c.batches)
	}
}

// Case 50: gradients 0.5 and 1.0 of two replicas under central storage, Adam with both decays 0.2 and learning rate
// 0.01.
func unequalInput(t *testing.T) {
	s := tfStrategy(t, "CentralStorage", 2)
	v := tfVariable(t, s, "v", 2.0)
	o := &optimizers.Adam{LearningRate: 0.01, Beta1: new(0.2), Beta2: new(0.2)}
	f := applied(s, o, distribute.Variables{v})
	gradients := distribute.PerReplica{tfArray(t, ir.Float32, 0.5), tfArray(t, ir.Float32, 1.0)}
	for i, want := range [][3]float64{{1.99, 1.2, 1.8}, {1.98, 1.44, 2.16}} {
		_, err := f.Run(context.Background(), gradients)
		require.NoError(t, err)
		slots := o.Variables()[2:] // after iteration and learning rate
		require.InDelta(t, want[0], tfValue(t, v)[0], 1e-6, i)
		require.InDelta(t, want[1], tfValue(t, slots[0])[0], 1e-6)
		require.InDelta(t, want[2], tfValue(t, slots[1])[0], 1e-6)
	}
}

// Case 60: 100 examples in batches of 16 on two replicas are 6 steps of 8 and 8, then one of 2 and 2.
func epochIterator(t *testing.T) {
	s := tfStrategy(t, "Mirrored", 2)
	x := column(ones(100))
	var sizes [][2]int
	for b, err := range keras.DistributeDataset(s, data.Arrays(x, x).Loader(16, false, 0)).Batches(context.Background(), 0) {
		require.NoError(t, err)
		sizes = append(sizes, [2]int{b[0].Examples(), b[1].Examples()})
	}
	require.Equal(t, [][2]int{{8, 8}, {8, 8}, {8, 8}, {8, 8}, {8, 8}, {8, 8}, {2, 2}}, sizes)
}

// Case 61: SGD with learning rate 0.5 and momentum 0.06 on two replicas, and weight decay through three steps with
// gradient 0.
func kerasThreeSteps(t *testing.T) {
	s := tfStrategy(t, "Mirrored", 2)
	v := tfVariable(t, s, "v", []any{1.0, 2.0, 3.0, 4.0})
	_, err := applied(s, &optimizers.SGD{LearningRate: 0.5, Momentum: 0.06}, distribute.Variables{v}).Run(context.Background(), tfArray(t, ir.Float32, []any{1.0, 6.0, 7.0, 2.0}))
	require.NoError(t, err)
	require.InDeltaSlice(t, []float64{0, -4, -4, 2}, tfValue(t, v), 1e-6)

	w := tfVariable(t, s, "w", 2.0)
	for range 3 {
		o := &optimizers.SGD{LearningRate: 1.0, Options: optimizers.Options{WeightDecay: new(0.004)}}
		_, err := applied(s, o, distribute.Variables{w}).Run(context.Background(), tfArray(t, ir.Float32, 0.0))
		require.NoError(t, err)
	}
	require.InDelta(t, 1.9760959, tfValue(t, w)[0], 1e-6)
}

// Data that cannot be distributed cause an error at the first batch, or at once if a function creates them.
func TestDistributeDatasetMistakes(t *testing.T) {
	s := tfStrategy(t, "Mirrored", 2)
	x := column(ones(4))
	loader := data.Arrays(x, x).Loader(2, false, 0)
	for text, d := range map[string]*keras.DistributedDataset{
		"the data are nil": keras.DistributeDataset(s, nil),
		"only supported by DistributeDatasetsFromFunction": keras.DistributeDataset(s, loader, distribute.InputOptions{ReplicationMode: distribute.PerReplicaInput}),
	} {
		_, err := d.Iterator(context.Background(), 0).Next()
		require.ErrorContains(t, err, text)
	}
	_, err := keras.DistributeDatasetsFromFunction(s, func(distribute.InputContext) (data.Dataset, error) { return nil, nil })
	require.ErrorContains(t, err, "the function returned no dataset for pipeline 0")
	d, err := keras.DistributeDatasetsFromFunction(s, func(distribute.InputContext) (data.Dataset, error) { return loader, nil })
	require.NoError(t, err)
	n := 0
	for b, err := range d.Batches(context.Background(), 0) {
		require.NoError(t, err)
		require.Equal(t, 2, b[0].Examples()+b[1].Examples()-2, "each replica takes a batch")
		n++
	}
	require.Equal(t, 1, n)
}
