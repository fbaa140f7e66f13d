package keras_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/optimizers"
)

// transformer is one block of a transformer with a classifier on top.
type transformer struct {
	Attention    *layers.MultiHeadAttention
	Norm1, Norm2 *layers.LayerNormalization
	Wide, Narrow *layers.Dense
	Pool         *layers.GlobalAveragePooling1D
	Out          *layers.Dense
}

func (b *transformer) Call(c *layers.Context, x *ops.Tensor) *ops.Tensor {
	x = ops.Add(x, layers.Invoke(b.Attention, c, x, x))
	x = layers.Invoke(b.Norm1, c, x)
	x = ops.Add(x, layers.Invoke(b.Narrow, c, layers.Invoke(b.Wide, c, x)))
	return layers.Invoke(b.Out, c, layers.Invoke(b.Pool, c, layers.Invoke(b.Norm2, c, x)))
}

// strategyCase is a kind of model that every strategy must train alike.
type strategyCase struct {
	name  string
	input []int
	model func(t *testing.T, options ...keras.Option) *keras.Model
}

func strategyCases() []strategyCase {
	stack := func(list ...func() layers.Layer) func(*testing.T, ...keras.Option) *keras.Model {
		return func(t *testing.T, options ...keras.Option) *keras.Model {
			t.Helper()
			var made []layers.Layer
			for _, f := range list {
				made = append(made, f())
			}
			return sequential(t, options, made...)
		}
	}
	out := func() layers.Layer { return &layers.Dense{Units: 3} }
	return []strategyCase{
		{"mlp", []int{4}, stack(func() layers.Layer {
			return &layers.Dense{Units: 5, Activation: "tanh", KernelRegularizer: "l2", ActivityRegularizer: "l1"}
		}, out)},
		{"convolution with synchronized batch normalization", []int{5, 4, 2}, stack(
			func() layers.Layer {
				return &layers.Conv2D{Filters: 3, KernelSize: []int{3}, Padding: "same", Activation: "tanh"}
			},
			func() layers.Layer { return &layers.BatchNormalization{Synchronized: true} },
			func() layers.Layer { return &layers.Flatten{} }, out)},
		{"lstm", []int{4, 3}, stack(func() layers.Layer { return &layers.LSTM{Units: 4} }, out)},
		{"transformer", []int{4, 6}, func(t *testing.T, options ...keras.Option) *keras.Model {
			t.Helper()
			m, err := keras.NewModel(&transformer{
				// Without this, the bias of the keys would have only rounding errors as its gradient, which Adam would
				// magnify to full steps.
				Attention: &layers.MultiHeadAttention{NumHeads: 2, KeyDim: 3, NoBias: true}, Norm1: &layers.LayerNormalization{}, Norm2: &layers.LayerNormalization{},
				Wide: &layers.Dense{Units: 8, Activation: "gelu"}, Narrow: &layers.Dense{Units: 6}, Pool: &layers.GlobalAveragePooling1D{}, Out: &layers.Dense{Units: 3},
			}, options...)
			require.NoError(t, err)
			return m
		}},
	}
}

// namedStrategies are the ways to train on several replicas.
func namedStrategies(t testing.TB) map[string]distribute.Strategy {
	t.Helper()
	out := map[string]distribute.Strategy{}
	for _, n := range []int{2, 3, 4} {
		out[fmt.Sprint("mirrored ", n)] = tfStrategy(t, "Mirrored", n)
	}
	out["central 2"], out["one device"] = tfStrategy(t, "CentralStorage", 2), tfStrategy(t, "OneDevice", 1)
	var err error
	out["central 3, parameters elsewhere"], err = distribute.NewCentralStorageStrategyWith(distribute.CentralStorageOptions{ComputeDevices: tfDevices(3), ParameterDevice: "cpu:7"})
	require.NoError(t, err)
	out["a bucket for each gradient"], err = distribute.NewMirroredStrategyWith(distribute.MirroredOptions{
		Devices: tfDevices(3), Communication: distribute.CommunicationOptions{BytesPerPack: 1},
	})
	require.NoError(t, err)
	out["ring"], err = distribute.NewMirroredStrategyWith(distribute.MirroredOptions{
		Devices: tfDevices(3), CrossDeviceOps: distribute.RingAllReduce{NumPacks: 2}, Communication: distribute.CommunicationOptions{BytesPerPack: 100},
	})
	require.NoError(t, err)
	return out
}

// variant says how a case is trained.
type variant struct {
	name                      string
	optimizer                 func() optimizers.Optimizer
	examples, batch           int
	sampleWeight, classWeight bool
}

func variants() []variant {
	sgd := func() optimizers.Optimizer { return &optimizers.SGD{LearningRate: 0.02, Momentum: 0.9} }
	adam := func() optimizers.Optimizer {
		return &optimizers.Adam{LearningRate: 0.002, Options: optimizers.Options{GlobalClipNorm: new(0.5), WeightDecay: new(0.01)}}
	}
	return []variant{
		{"sgd, even", sgd, 24, 12, false, false}, {"adam with clip and decay, uneven", adam, 37, 8, false, false},
		{"sgd, empty parts, sample weights", sgd, 19, 3, true, false}, {"adam with clip and decay, class weights", adam, 30, 7, false, true},
	}
}

// train100 trains 100 steps and returns losses and weights.
func (sc strategyCase) train100(t *testing.T, s distribute.Strategy, v variant, dtype string) ([]float64, []kernels.Array) {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 5))
	values, labels, weights := make([]float64, v.examples*ir.Shape(sc.input).Size()), make([]int, v.examples), make([]float64, v.examples)
	for i := range values {
		values[i] = rng.NormFloat64()
	}
	for i := range labels {
		labels[i], weights[i] = rng.IntN(3), 2*rng.Float64()
	}
	var options []data.ArrayOption
	if v.sampleWeight {
		options = append(options, data.SampleWeight(weights))
	}
	x := data.Must(data.ArrayOf(values, append([]int{v.examples}, sc.input...)...))
	m := sc.model(t, distribute.Scope(s), keras.DTypePolicy(dtype), keras.Seed(11))
	require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: v.optimizer(), Loss: &losses.SparseCategoricalCrossentropy{FromLogits: true}, Metrics: []string{"accuracy"}}))
	steps := (v.examples + v.batch - 1) / v.batch
	fit := []keras.FitOption{keras.BatchSize(v.batch), keras.Epochs((100 + steps - 1) / steps)}
	if v.classWeight {
		fit = append(fit, keras.ClassWeight(map[int]float64{0: 0.5, 2: 1.7}))
	}
	history, err := m.Fit(context.Background(), data.Arrays(x, labels, options...), fit...)
	require.NoError(t, err)
	require.NoError(t, m.Weights().CheckMirrored())
	trained, err := m.GetWeights()
	require.NoError(t, err)
	scores, err := m.Evaluate(context.Background(), data.Arrays(x, labels), keras.BatchSize(v.batch))
	require.NoError(t, err)
	predicted, err := m.Predict(context.Background(), data.Arrays(x, nil), keras.BatchSize(v.batch))
	require.NoError(t, err)
	require.Equal(t, v.examples, predicted.Shape()[0])
	return append(history.Logs["loss"], scores["loss"], scores["accuracy"]), trained
}

// k replicas, under any strategy, train like one replica on the joined batch.
func TestStrategiesEqualOne(t *testing.T) {
	before := runtime.NumGoroutine() + runtime.GOMAXPROCS(0) - 1 // the processor pool's workers remain
	for _, sc := range strategyCases() {
		for _, v := range variants() {
			for dtype, tolerance := range map[string]float64{"float32": 1e-5, "float64": 1e-10} {
				t.Run(fmt.Sprintf("%s/%s/%s", sc.name, v.name, dtype), func(t *testing.T) {
					wantLoss, want := sc.train100(t, distribute.Default(), v, dtype)
					all := namedStrategies(t)
					if testing.Short() {
						all = map[string]distribute.Strategy{"mirrored": all["mirrored 3"], "central": all["central 2"]}
					}
					for name, s := range all {
						loss, weights := sc.train100(t, s, v, dtype)
						close64(t, name+": loss", wantLoss, loss, tolerance)
						for i := range weights {
							close64(t, fmt.Sprintf("%s: weight %d", name, i), want[i].Float64s(), weights[i].Float64s(), tolerance)
						}
					}
				})
			}
		}
	}
	for range 100 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d goroutines are left, %d before", runtime.NumGoroutine(), before)
}

// A loop with two models and two optimizers, as for a generative adversarial network: the generator's results go
// through the critic, and each has its own loss, in one step.
func TestTwoOptimizers(t *testing.T) {
	for dtype, tolerance := range map[string]float64{"float32": 1e-5, "float64": 1e-10} {
		t.Run(dtype, func(t *testing.T) { twoOptimizers(t, dtype, tolerance) })
	}
}

func twoOptimizers(t *testing.T, dtype string, tolerance float64) {
	train := func(s distribute.Strategy) ([]float64, []kernels.Array) {
		generator := sequential(t, []keras.Option{distribute.Scope(s), keras.InputShape(3), keras.DTypePolicy(dtype), keras.Seed(1), keras.Name("generator")},
			&layers.Dense{Units: 4, Activation: "tanh"}, &layers.Dense{Units: 2})
		critic := sequential(t, []keras.Option{distribute.Scope(s), keras.InputShape(2), keras.DTypePolicy(dtype), keras.Seed(2), keras.Name("critic")},
			&layers.Dense{Units: 4, Activation: "tanh"}, &layers.Dense{Units: 1})
		bce := &losses.BinaryCrossentropy{FromLogits: true}
		og := &optimizers.Adam{LearningRate: 0.002, Options: optimizers.Options{ClipNorm: new(0.1)}}
		oc := &optimizers.SGD{LearningRate: 0.02, Momentum: 0.5}
		step := s.Function(func(r *distribute.Replica, in distribute.Batch) *ops.Tensor {
			c := r.Training()
			c.Policy, _ = ops.ParseDTypePolicy(dtype)
			tape := ops.NewTape(r)
			fake := generator.Call(c, in.X)
			judgedFake, judgedReal := critic.Call(c, fake), critic.Call(c, in.Y)
			n := r.GlobalBatchSize()
			lossG := losses.ComputeAverage(bce.PerExample(ops.OnesLike(judgedFake), judgedFake), n)
			lossC := ops.Add(losses.ComputeAverage(bce.PerExample(ops.OnesLike(judgedReal), judgedReal), n),
				losses.ComputeAverage(bce.PerExample(ops.ZerosLike(judgedFake), judgedFake), n))
			gg, gc := tape.Gradients(lossG, generator.TrainableVariables()), tape.Gradients(lossC, critic.TrainableVariables())
			og.Apply(r, gg)
			oc.Apply(r, gc)
			return ops.Add(lossG, lossC)
		})
		rng := rand.New(rand.NewPCG(9, 9))
		noise, real := make([][]float64, 23), make([][]float64, 23)
		for i := range noise {
			noise[i], real[i] = []float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}, []float64{rng.Float64(), 1 + rng.Float64()}
		}
		d, err := s.DistributeDataset(keras.HostDataset(data.Arrays(noise, real).Loader(6, true, 4), map[string]ir.DType{"float32": ir.Float32, "float64": ir.Float64}[dtype]))
		require.NoError(t, err)
		var trace []float64
		for epoch := range 25 { // 4 batches each
			it := d.Iterator(context.Background(), epoch)
			last, done, err := it.Run(context.Background(), step, 100) // many steps in one call
			require.NoError(t, err)
			require.Equal(t, 4, done)
			total, err := s.Reduce(distribute.Sum, last)
			require.NoError(t, err)
			trace = append(trace, total.Element(0))
			it.Close()
		}
		a, err := generator.GetWeights()
		require.NoError(t, err)
		b, err := critic.GetWeights()
		require.NoError(t, err)
		return trace, append(a, b...)
	}
	wantLoss, want := train(distribute.Default())
	require.NotEqual(t, wantLoss[0], wantLoss[len(wantLoss)-1])
	for name, s := range namedStrategies(t) {
		loss, weights := train(s)
		close64(t, name+": loss", wantLoss, loss, tolerance)
		for i := range weights {
			close64(t, fmt.Sprintf("%s: weight %d", name, i), want[i].Float64s(), weights[i].Float64s(), tolerance)
		}
		again, same := train(s)
		require.Equal(t, loss, again, "%s: the same run has the same bits", name)
		require.Equal(t, weights, same, name)
	}
}

// A loop may end early; nothing is left running.
func TestEarlyBreak(t *testing.T) {
	before := runtime.NumGoroutine() + runtime.GOMAXPROCS(0) - 1 // the processor pool's workers remain
	s := tfStrategy(t, "Mirrored", 2)
	x := column(ones(100))
	n := 0
	for _, err := range keras.DistributeDataset(s, data.Arrays(x, x).Loader(5, true, 1)).Batches(context.Background(), 0) {
		require.NoError(t, err)
		if n++; n == 3 {
			break
		}
	}
	it := keras.DistributeDataset(s, data.Arrays(x, x).Loader(5, true, 1)).Iterator(context.Background(), 0)
	_, err := it.Next()
	require.NoError(t, err)
	it.Close()
	for range 100 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d goroutines are left, %d before", runtime.NumGoroutine(), before)
}

// A stateful recurrent layer keeps a state on each replica, under every strategy.
func TestStatefulUnderStrategies(t *testing.T) {
	predict := func(s distribute.Strategy) []float64 {
		m := sequential(t, []keras.Option{distribute.Scope(s), keras.Seed(5)}, &layers.LSTM{Units: 3, Stateful: true}, &layers.Dense{Units: 1})
		x := data.Must(data.ArrayOf(func() []float32 {
			v := make([]float32, 24)
			for i := range v {
				v[i] = float32(i%5) / 5
			}
			return v
		}(), 6, 2, 2))
		var out []float64
		for range 3 {
			y, err := m.Predict(context.Background(), data.Arrays(x, nil), keras.BatchSize(6))
			require.NoError(t, err)
			for _, v := range y.Elements().([]float32) {
				out = append(out, float64(v))
			}
		}
		return out
	}
	want := predict(distribute.Default())
	require.NotEqual(t, want[:6], want[6:12], "the state goes on")
	for name, s := range namedStrategies(t) {
		close64(t, name, want, predict(s), 1e-6)
	}
}
