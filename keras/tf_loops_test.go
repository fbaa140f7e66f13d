package keras_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/tfvectors"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/metrics"
	"github.com/gokeras/gokeras/optimizers"
)

func TestCustomLoopVectors(t *testing.T) {
	tfHandlers{
		"ctl.mean_vs_sum": meanVsSum, "ctl.seed_bce": guideLoop, "ctl.mlp_uneven": unevenLoop, "ctl.unbuilt_optimizer": unevenLoop,
		"ctl.make_numpy_dataset": makeNumpyDataset,
	}.run(t, "testdata/tf_custom_loop.json.gz")
}

func meanVsSum(t *testing.T, c *tfvectors.Case) {
	n := c.Replicas()
	s := tfStrategy(t, "Mirrored", n)
	x, y := tfArray(t, ir.Float32, c.Inputs["x"]), tfArray(t, ir.Float32, c.Inputs["y"])
	for name, want := range c.Map(t) {
		w := tfVariable(t, s, "w", 2.0)
		o := &optimizers.SGD{LearningRate: c.Setup["learning_rate"].(float64)}
		_, err := distribute.NewNestFunction(s, func(r *distribute.Replica, args ...any) any {
			tape := ops.NewTape(r)
			l := ops.Square(ops.Subtract(args[1].(*ops.Tensor), ops.Multiply(args[0].(*ops.Tensor), r.Read(w))))
			loss := map[string]func() *ops.Tensor{
				"MEAN_over_N": func() *ops.Tensor { return ops.DivideScalar(ops.Mean(l), float64(n)) },
				"MEAN":        func() *ops.Tensor { return ops.Mean(l) }, "SUM": func() *ops.Tensor { return ops.Sum(l) },
			}[name]()
			o.Apply(r, tape.Gradients(loss, distribute.Variables{w}))
			return nil
		}).Run(context.Background(), x, y)
		require.NoError(t, err)
		c.Close(t, name, want, tfValue(t, w))
	}
}

// guideLoop is the loop of the distributed-training guide: Dense(1) on 1,000 ones.
func guideLoop(t *testing.T, c *tfvectors.Case) {
	s := tfStrategy(t, "Mirrored", c.Replicas())
	m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 1}}, distribute.Scope(s), keras.InputShape(1))
	require.NoError(t, err)
	require.NoError(t, m.SetWeights(tfArrays(t, c.Inputs["initial_weights"])))
	optimizer := &optimizers.SGD{LearningRate: c.Setup["learning_rate"].(float64)}
	bce := &losses.BinaryCrossentropy{FromLogits: true}
	global := int(tfvectors.Number(t, c.Setup["global_batch"]))
	step := s.Function(func(r *distribute.Replica, in distribute.Batch) *ops.Tensor {
		tape := ops.NewTape(r)
		loss := losses.ComputeAverage(bce.PerExample(in.Y, m.Call(r.Training(), in.X)), global)
		optimizer.Apply(r, tape.Gradients(loss, m.TrainableVariables()))
		return loss
	})
	rows := int(tfvectors.Number(t, c.Inputs["rows"]))
	one := make([][]float32, rows)
	for i := range one {
		one[i] = []float32{1}
	}
	it := keras.DistributeDataset(s, data.Arrays(one, one).Loader(global, false, 0)).Iterator(context.Background(), 0)
	defer it.Close()
	var got []float64
	for range int(tfvectors.Number(t, c.Map(t)["steps"])) {
		batch, err := it.Next()
		require.NoError(t, err)
		perReplica, err := s.Run(context.Background(), step, batch)
		require.NoError(t, err)
		total, err := s.Reduce(distribute.Sum, perReplica)
		require.NoError(t, err)
		got = append(got, total.Element(0))
	}
	c.Close(t, "losses", c.Map(t)["losses"], got)
	for i, w := range c.Map(t)["weights"].([]any) {
		c.Close(t, fmt.Sprint("weight ", i), w, tfValue(t, m.Weights()[i]))
	}
	c.Close(t, "iterations", c.Map(t)["iterations"], tfValue(t, optimizer.Variables()[0]))
}

// unevenLoop: 14 rows in batches of 5, so that parts are short or empty. Optimizers need not be built before.
func unevenLoop(t *testing.T, c *tfvectors.Case) {
	want := c.Right()
	inputs := c.Inputs
	if list, ok := want.([]any); ok { // without a built optimizer: only losses, with its sibling's data
		want = map[string]any{"losses": list}
		for _, other := range tfvectors.Load(t, "testdata/tf_custom_loop.json.gz") {
			if other.ID == strings.Replace(c.ID, "unbuilt_optimizer", "mlp_uneven", 1) {
				inputs = other.Inputs
			}
		}
	}
	s := tfStrategy(t, "Mirrored", c.Replicas())
	m, _ := tfModel(t, "mlp", s)
	require.NoError(t, m.SetWeights(tfArrays(t, inputs["initial_weights"])))
	optimizer := &optimizers.Adam{LearningRate: 0.01}
	scce := &losses.SparseCategoricalCrossentropy{FromLogits: true}
	accuracy, mean := &metrics.SparseCategoricalAccuracy{}, &metrics.Mean{}
	global := int(tfvectors.Number(t, c.Setup["global_batch"]))
	step := s.Function(func(r *distribute.Replica, in distribute.Batch) *ops.Tensor {
		tape := ops.NewTape(r)
		p := m.Call(r.Training(), in.X)
		perExample := scce.PerExample(in.Y, p)
		loss := losses.ComputeAverage(perExample, global)
		accuracy.Update(in.Y, p, nil)
		mean.Update(perExample, perExample, nil)
		optimizer.Apply(r, tape.Gradients(loss, m.TrainableVariables()))
		return loss
	})
	var got [3][]float64
	weights := make([][]float64, 4)
	source := data.Arrays(tfDense(t, inputs["x"], false), tfDense(t, inputs["y"], true))
	for batch, err := range keras.DistributeDataset(s, source.Loader(global, false, 0)).Batches(context.Background(), 0) {
		require.NoError(t, err)
		perReplica, err := s.Run(context.Background(), step, batch)
		require.NoError(t, err)
		total, err := s.Reduce(distribute.Sum, perReplica)
		require.NoError(t, err)
		got[0] = append(got[0], total.Element(0))
		for i, metric := range []metrics.Metric{accuracy, mean} {
			result, err := metrics.ResultOf(metric)
			require.NoError(t, err)
			got[1+i] = append(got[1+i], result.Element(0))
		}
		for i, v := range m.Weights() {
			weights[i] = append(weights[i], tfValue(t, v)...)
		}
	}
	c.Within(t, "losses", tfvectors.Get(want, "losses"), got[0], 2e-5, 2e-4)
	if v := tfvectors.Get(want, "weights_each_step"); v != nil {
		for i, w := range v.([]any) {
			c.Close(t, fmt.Sprint("weight ", i), w, weights[i])
		}
		c.Close(t, "accuracy", tfvectors.Get(want, "running_accuracy"), got[1])
		c.Close(t, "mean", tfvectors.Get(want, "running_mean_loss"), got[2])
	}
}

// makeNumpyDataset was removed from TensorFlow, but is available here.
func makeNumpyDataset(t *testing.T, c *tfvectors.Case) {
	s := tfStrategy(t, "Mirrored", c.Replicas())
	ones := kernels.NewArray(ir.Type{DType: ir.Float32, Shape: ir.Shape{8, 1}})
	d, err := s.DistributeDataset(distribute.MakeNumpyDataset(s, distribute.HostBatch{X: []kernels.Array{ones}, Y: []kernels.Array{ones}}).Batch(4))
	require.NoError(t, err)
	n := 0
	for batch, err := range d.Batches(context.Background(), 0) {
		require.NoError(t, err)
		for _, part := range batch {
			require.Equal(t, 4/c.Replicas(), part.Examples())
		}
		n++
	}
	require.Equal(t, 2, n)
}

func TestLossScalingVectors(t *testing.T) {
	tfHandlers{
		"compute_average_loss.": averageLoss, "compute_average_loss.documented": documentedAverage, "loss_object.in_replica": lossInReplica,
		"loss_object.fit": lossInFit, "loss_object.regularizer": countedOnce, "loss_object.add_loss": countedOnce,
	}.run(t, "testdata/tf_loss_scaling.json.gz")
}

// onEach runs f on every replica with a value and returns the flattened results.
func onEach(t *testing.T, s distribute.Strategy, value any, f func(r *distribute.Replica, x *ops.Tensor) *ops.Tensor) ([]float64, error) {
	t.Helper()
	got, err := distribute.NewNestFunction(s, func(r *distribute.Replica, args ...any) any { return f(r, args[0].(*ops.Tensor)) }).Run(context.Background(), value)
	if err != nil {
		return nil, err
	}
	return flatValue(got), nil
}

func averageLoss(t *testing.T, c *tfvectors.Case) {
	s := tfStrategy(t, "Mirrored", c.Replicas())
	global := int(tfvectors.Number(t, c.Inputs["global_batch"]))
	x := tfPerReplica(t, c.Inputs["per_example"])
	average := func(f func(r *distribute.Replica, x *ops.Tensor) *ops.Tensor) []float64 {
		t.Helper()
		got, err := onEach(t, s, x, f)
		require.NoError(t, err)
		return got
	}
	fails := func(text string, f func(r *distribute.Replica, x *ops.Tensor) *ops.Tensor) {
		t.Helper()
		_, err := onEach(t, s, x, f)
		require.ErrorContains(t, err, text)
	}
	for name, want := range c.Map(t) {
		switch name {
		case "with_global_batch", "sum_over_replicas":
			got := average(func(_ *distribute.Replica, x *ops.Tensor) *ops.Tensor { return losses.ComputeAverage(x, global) })
			if name == "sum_over_replicas" {
				sum := 0.0
				for _, g := range got {
					sum += g
				}
				got = []float64{sum}
			}
			c.Close(t, name, want, got)
		case "default_global_batch":
			c.Close(t, name, want, average(func(r *distribute.Replica, x *ops.Tensor) *ops.Tensor {
				return losses.ComputeAverage(x, r.GlobalBatchSize())
			}))
		case "weights":
			c.Close(t, name, want, average(func(r *distribute.Replica, x *ops.Tensor) *ops.Tensor {
				w := ops.AddScalar(ops.MultiplyScalar(ops.Cast(r.ID(), ir.Float32), 0.25), 0.5)
				return losses.ComputeWeightedAverage(x, ops.BroadcastTo(w, x.Dim(0)), global)
			}))
		case "scalar_loss":
			fails("received a scalar", func(_ *distribute.Replica, x *ops.Tensor) *ops.Tensor {
				return losses.ComputeAverage(ops.Sum(x), global)
			})
		case "cross_replica":
			fails("was called in cross-replica context", func(r *distribute.Replica, x *ops.Tensor) *ops.Tensor {
				return r.MergeCall(func(*distribute.CrossReplica, ...*ops.Tensor) []*ops.Tensor {
					return []*ops.Tensor{losses.ComputeAverage(x, global)}
				})[0]
			})
		case "float_global_batch", "vector_global_batch": // its type is int
		case "int_loss":
			c.Close(t, name, want, average(func(_ *distribute.Replica, x *ops.Tensor) *ops.Tensor {
				return losses.ComputeAverage(ops.Cast(x, ir.Int32), global)
			}))
		case "rank2_loss":
			c.Close(t, name, want, average(func(_ *distribute.Replica, x *ops.Tensor) *ops.Tensor {
				return losses.ComputeAverage(ops.Stack(1, x, x), global)
			}))
		case "zero_global_batch_empty_loss":
			c.Close(t, name, want, average(func(_ *distribute.Replica, x *ops.Tensor) *ops.Tensor {
				return losses.ComputeAverage(ops.SliceAxis(x, 0, 0, 0), 0)
			}))
		case "scale_regularization_loss_scalar":
			c.Close(t, name, want, average(func(r *distribute.Replica, _ *ops.Tensor) *ops.Tensor {
				return losses.ScaleRegularization(ops.Full(r, ir.Float32, 3))
			}))
		case "no_strategy", "no_strategy_regularization":
			two := distribute.PerReplica{tfArray(t, ir.Float32, []any{1.0, 3.0})}
			got, err := onEach(t, distribute.Default(), two, func(r *distribute.Replica, x *ops.Tensor) *ops.Tensor {
				if name == "no_strategy" {
					return losses.ComputeAverage(x, r.GlobalBatchSize())
				}
				return losses.ScaleRegularization(x)
			})
			require.NoError(t, err)
			c.Close(t, name, want, got)
		case "negative_global_batch":
			fails("the global batch size is -1", func(_ *distribute.Replica, x *ops.Tensor) *ops.Tensor { return losses.ComputeAverage(x, -1) })
		case "zero_global_batch":
			c.Close(t, name, want, average(func(_ *distribute.Replica, x *ops.Tensor) *ops.Tensor { return losses.ComputeAverage(x, 0) }))
		case "scale_regularization", "scale_regularization_loss":
			c.Close(t, name, want, average(func(_ *distribute.Replica, x *ops.Tensor) *ops.Tensor { return losses.ScaleRegularization(x) }))
		case "cross_replica_regularization":
			fails("was called in cross-replica context", func(r *distribute.Replica, x *ops.Tensor) *ops.Tensor {
				return r.MergeCall(func(*distribute.CrossReplica, ...*ops.Tensor) []*ops.Tensor {
					return []*ops.Tensor{losses.ScaleRegularization(x)}
				})[0]
			})
		default:
			t.Errorf("%s: no test for %s: %v", c.ID, name, want)
		}
	}
}

func documentedAverage(t *testing.T, c *tfvectors.Case) {
	s := tfStrategy(t, "Mirrored", c.Replicas())
	got, err := onEach(t, s, tfPerReplica(t, c.Inputs["per_example"]), func(_ *distribute.Replica, x *ops.Tensor) *ops.Tensor {
		return losses.ComputeAverage(x, int(tfvectors.Number(t, c.Inputs["global_batch"])))
	})
	require.NoError(t, err)
	c.Close(t, "per_replica", c.Map(t)["per_replica"], got)
	c.Close(t, "sum", c.Map(t)["sum"], []float64{got[0] + got[1]})
}

// lossInReplica: every reduction may be used in replica code. Sums over the replicas are those of the joined batch;
// with reduction MeanWithSampleWeight the divisor is the sum of all replicas' weights, where Keras 3 takes each
// replica's own.
func lossInReplica(t *testing.T, c *tfvectors.Case) {
	s := tfStrategy(t, "Mirrored", c.Replicas())
	y, p, w := tfArray(t, ir.Float32, c.Inputs["y"]), tfPerReplica(t, c.Inputs["p"]), tfArray(t, ir.Float32, c.Inputs["sample_weight"])
	for full, want := range c.Map(t) {
		if tfvectors.IsError(want) {
			continue // Keras 2 rejects means
		}
		name, weighted := strings.CutSuffix(full, ".sample_weight")
		mse := &losses.MeanSquaredError{Reduction: losses.Reduction(name)}
		got, err := distribute.NewNestFunction(s, func(_ *distribute.Replica, args ...any) any {
			var weight *ops.Tensor
			if weighted {
				weight = args[2].(*ops.Tensor)
			}
			if name == "none" {
				return losses.Values(mse, args[0].(*ops.Tensor), args[1].(*ops.Tensor), weight)
			}
			return losses.Compute(mse, args[0].(*ops.Tensor), args[1].(*ops.Tensor), weight)
		}).Run(context.Background(), y, p, w)
		require.NoError(t, err, full)
		c.Within(t, full, flattened(want), flatValue(got), 1e-6, 1e-5)
	}
}

// lossInFit trains with a reduction, or with a loss function.
func lossInFit(t *testing.T, c *tfvectors.Case) {
	kind := strings.Split(c.ID, ".")[2]
	scce := &losses.SparseCategoricalCrossentropy{FromLogits: true}
	var loss losses.Loss = scce
	switch kind {
	case "function_per_example":
		loss = losses.Func("f", scce.PerExample)
	case "function_scalar":
		loss = losses.Func("f", func(y, p *ops.Tensor) *ops.Tensor { return ops.Mean(scce.PerExample(y, p)) })
	default:
		scce.Reduction = losses.Reduction(kind)
	}
	s := tfStrategy(t, "Mirrored", c.Replicas())
	m, _ := tfModel(t, "mlp", s)
	require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: &optimizers.SGD{LearningRate: 0.1}, Loss: loss}))
	require.NoError(t, m.SetWeights(tfArrays(t, c.Inputs["initial_weights"])))
	history, err := m.Fit(context.Background(), data.Arrays(tfDense(t, c.Inputs["x"], false), tfDense(t, c.Inputs["y"], true)),
		keras.BatchSize(int(tfvectors.Number(t, c.Setup["global_batch"]))), keras.Shuffle(false))
	require.NoError(t, err)
	want := c.Right()
	for i, w := range tfvectors.Get(want, "weights").([]any) {
		c.Within(t, fmt.Sprint("weight ", i), w, tfValue(t, m.Weights()[i]), 2e-5, 2e-4)
	}
	if kind != "none" { // a loss without reduction is trained and shown as the sum; Keras shows a mean
		c.Within(t, "loss", tfvectors.Get(want, "loss"), history.Logs["loss"], 2e-5, 2e-4)
	}
}

// shift is the layer x + v.
type shift struct {
	layers.Base
	AddsLoss bool
	v        *distribute.Variable
}

func (l *shift) Build(b *layers.Builder, _ []ir.Shape) {
	o := layers.WeightOptions{Initializer: "ones"}
	if !l.AddsLoss {
		o.Regularizer = valueOf{}
	}
	l.v = b.AddWeight("v", nil, o)
}

func (l *shift) Forward(c *layers.Context, in []*ops.Tensor) []*ops.Tensor {
	if l.AddsLoss {
		c.AddLoss(ops.MultiplyScalar(c.Read(l.v), 2))
	}
	return []*ops.Tensor{ops.Add(in[0], c.Read(l.v))}
}

// valueOf is a regularizer: the value itself.
type valueOf struct{}

func (valueOf) Penalty(w *ops.Tensor) *ops.Tensor { return ops.Sum(w) }

// countedOnce: losses of regularizers and layers count once, not once per replica.
func countedOnce(t *testing.T, c *tfvectors.Case) {
	s := tfStrategy(t, "Mirrored", c.Replicas())
	l := &shift{AddsLoss: strings.Contains(c.ID, "add_loss")}
	m, err := keras.NewSequential([]layers.Layer{l}, distribute.Scope(s), keras.InputShape(1))
	require.NoError(t, err)
	mean := losses.Func("mean", func(_, p *ops.Tensor) *ops.Tensor { return p })
	require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: &optimizers.SGD{LearningRate: 1.0}, Loss: mean}))
	x := ones(2 * c.Replicas())
	history, err := m.Fit(context.Background(), data.Arrays(column(x), column(x)), keras.BatchSize(len(x)), keras.Epochs(2))
	require.NoError(t, err)
	c.Within(t, "v", tfvectors.Get(c.Right(), "v"), tfValue(t, m.Weights()[0]), 1e-5, 1e-5)
	c.Within(t, "loss", tfvectors.Get(c.Right(), "loss"), history.Logs["loss"], 1e-5, 1e-5)
}

func column(x []float32) [][]float32 {
	out := make([][]float32, len(x))
	for i, v := range x {
		out[i] = []float32{v}
	}
	return out
}
