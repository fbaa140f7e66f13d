//go:build linux

package cuda

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/collective"
	"github.com/gokeras/gokeras/distribute/multiworker"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakedriver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakenccl"
	"github.com/gokeras/gokeras/kernels/cuda/internal/nccl"
	"github.com/gokeras/gokeras/kernels/cuda/internal/nvml"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/optimizers"
)

var (
	draws    = flag.Int("draws", 12, "how many jobs TestRandomReplicas draws")
	drawSeed = flag.Uint64("drawseed", 1, "seed of the first of them")
)

// randomJob is a network, a machine and a strategy, drawn at random.
type randomJob struct {
	*rand.Rand
	kind      string
	devices   int
	driver    *fakedriver.Fake
	library   *fakenccl.Library // nil: there is none
	network   uint64            // seed of the network
	optimizer uint64
	examples  int
	batch     int
	weighted  bool
	wire      ir.DType // what large sums travel as; Invalid: their own type
}

func (j *randomJob) one(in int) bool { return j.IntN(in) == 0 }

// machine makes a backend on a machine whose devices reach each other or not, are joined by NVLinks or not, and which
// has a library or not.
func (j *randomJob) machine(t *testing.T) string {
	j.devices = 2 + j.IntN(5)
	reach := j.IntN(4) // all, islands, none, pairs at random
	island := 2 + j.IntN(2)
	pairs := j.Uint64()
	apart := func(a, b int) bool {
		switch reach {
		case 1:
			return a/island != b/island
		case 2:
			return true
		case 3:
			return pairs>>((min(a, b)*8+max(a, b))%64)&1 == 0
		}
		return false
	}
	j.driver = fakedriver.New(fakedriver.Options{Devices: j.devices, NoPeers: apart})
	j.kind = fmt.Sprint("random", made.Add(1), "cuda")
	b := newBackend(j.kind, func() (driver.API, error) { return j.driver, nil })
	b.openNCCL = func() (nccl.API, error) { return nil, errors.New("there is no NCCL") }
	if !j.one(3) {
		j.library = fakenccl.New(fakenccl.NewWorld(), j.driver)
		b.openNCCL = func() (nccl.API, error) { return j.library, nil }
	}
	b.survey = func() (nvml.Machine, error) { return nvml.Machine{}, errors.New("there is no NVML") }
	links := j.one(2)
	if links {
		var m nvml.Machine
		for i := range j.devices {
			m.GPUs, m.Links = append(m.GPUs, nvml.GPU{Bus: nvml.BusOf(0, fakedriver.FirstBus+i, 0)}), append(m.Links, make([]nvml.Link, j.devices))
			for k := range j.devices {
				if i != k && !apart(i, k) {
					m.Links[i][k] = nvml.Link{NVLinks: 2, Level: nvml.System}
				}
			}
		}
		b.survey = func() (nvml.Machine, error) { return m, nil }
	}
	kernels.Register(b)
	t.Cleanup(func() {
		require.NoError(t, j.driver.Fault())
		if j.library != nil {
			require.NoError(t, j.library.Fault())
		}
	})
	return fmt.Sprintf("%d devices, reach %d (%d), NVLinks %v, NCCL %v", j.devices, reach, island, links, j.library != nil)
}

// layers draws a network without random numbers, whose statistics are of the whole batch. It is smooth: normalized
// batches of one example are 0, where rounding would decide about relu.
func (j *randomJob) layers() []layers.Layer {
	r := rand.New(rand.NewPCG(j.network, 1))
	var stack []layers.Layer
	if r.IntN(2) == 0 {
		stack = append(stack, &layers.Conv2D{Filters: 1 + r.IntN(3), KernelSize: []int{1 + r.IntN(3)}, Padding: "same", Strides: []int{2}, Activation: []string{"softplus", "tanh", ""}[r.IntN(3)]})
		if r.IntN(2) == 0 {
			stack = append(stack, &layers.BatchNormalization{Synchronized: true, Momentum: new(0.8)})
		}
		if r.IntN(2) == 0 {
			stack = append(stack, &layers.AveragePooling2D{PoolSize: []int{2}})
		}
	}
	stack = append(stack, &layers.Flatten{})
	for range r.IntN(3) {
		switch r.IntN(4) {
		case 0:
			stack = append(stack, &layers.BatchNormalization{Synchronized: true})
		case 1:
			stack = append(stack, &layers.LayerNormalization{})
		default:
			stack = append(stack, &layers.Dense{Units: []int{1, 3, 17, 64}[r.IntN(4)], Activation: []string{"tanh", "gelu", "sigmoid"}[r.IntN(3)], NoBias: r.IntN(3) == 0})
		}
	}
	return append(stack, &layers.Dense{Units: 3})
}

// rule draws an optimizer for a network. Where batches are normalized, gradients of what comes before are sums of large
// terms, which rules that divide by their size would enlarge.
func (j *randomJob) rule(stack []layers.Layer) optimizers.Optimizer {
	normalized := slices.ContainsFunc(stack, func(l layers.Layer) bool {
		_, yes := l.(*layers.BatchNormalization)
		return yes
	})
	r := rand.New(rand.NewPCG(j.optimizer, 2))
	var o optimizers.Options
	switch r.IntN(5) {
	case 0:
		o.GlobalClipNorm = new(0.5)
	case 1:
		o.ClipNorm = new(0.3)
	case 2:
		o.UseEMA = true
	case 3:
		o.GradientAccumulationSteps = 2
	}
	switch rule := r.IntN(4); {
	case normalized || rule == 0:
		return &optimizers.SGD{LearningRate: 0.05, Momentum: 0.9, Nesterov: r.IntN(2) == 0, Options: o}
	case rule == 1:
		return &optimizers.RMSprop{LearningRate: 0.003, Options: o}
	case rule == 2:
		return &optimizers.Adagrad{LearningRate: 0.03, Options: o}
	}
	return &optimizers.Adam{LearningRate: 0.003, AMSGrad: r.IntN(2) == 0, Options: o}
}

// fit trains and returns the weights, the logs, and what Evaluate says.
func (j *randomJob) fit(t testing.TB, s distribute.Strategy) ([][]float64, error) {
	stack := j.layers()
	model, err := keras.NewSequential(stack, keras.InputShape(8, 8, 1), distribute.Scope(s), keras.Seed(3))
	if err != nil {
		return nil, err
	}
	if err := model.Compile(keras.CompileConfig{
		Optimizer: j.rule(stack), Loss: &losses.SparseCategoricalCrossentropy{FromLogits: true},
	}); err != nil {
		return nil, err
	}
	x, y := digits()
	x, y = x[:j.examples], y[:j.examples]
	options := []keras.FitOption{keras.Epochs(2), keras.BatchSize(j.batch)}
	if j.weighted {
		options = append(options, keras.ClassWeight(map[int]float64{0: 1, 1: 0.25, 2: 3}))
	}
	history, err := model.Fit(t.Context(), data.Arrays(x, y), options...)
	if err != nil {
		return nil, err
	}
	weights, err := model.GetWeights()
	if err != nil {
		return nil, err
	}
	var out [][]float64
	for _, w := range weights {
		out = append(out, w.Float64s())
	}
	scores, err := model.Evaluate(t.Context(), data.Arrays(x, y), keras.BatchSize(j.batch))
	return append(out, history.Logs["loss"], []float64{scores["loss"]}), err
}

// names are so many devices, in any order.
func (j *randomJob) names(n int) (all []string) {
	for _, i := range j.Perm(j.devices)[:n] {
		all = append(all, fmt.Sprint(j.kind, ":", i))
	}
	return all
}

// mirrored draws the options of a strategy of one process.
func (j *randomJob) mirrored() (distribute.MirroredOptions, string) {
	o := distribute.MirroredOptions{Devices: j.names(max(1+j.IntN(j.devices), 1+j.IntN(j.devices))), ShardOptimizerState: j.one(2)}
	if j.one(2) {
		o.Communication.BytesPerPack = []int{1, 64, 4096}[j.IntN(3)]
	}
	switch packs := j.IntN(4); j.IntN(8) {
	case 0:
		o.CrossDeviceOps = distribute.HierarchicalCopyAllReduce{NumPacks: packs}
	case 1:
		o.CrossDeviceOps = distribute.ReductionToOneDevice{Device: o.Devices[j.IntN(len(o.Devices))]}
	case 2:
		o.CrossDeviceOps = distribute.RingAllReduce{NumPacks: packs}
	case 3, 4:
		n := distribute.NcclAllReduce{NumPacks: packs, Fallback: j.library == nil || j.one(2)}
		if j.one(2) {
			n.Wire = []ir.DType{ir.BFloat16, ir.Float16}[j.IntN(2)]
			j.wire = n.Wire
		}
		o.CrossDeviceOps = n
	}
	return o, fmt.Sprintf("%v, %T %+v, pieces %v, packs of %d", o.Devices, o.CrossDeviceOps, o.CrossDeviceOps, o.ShardOptimizerState, o.Communication.BytesPerPack)
}

// run draws a strategy and trains on it.
func (j *randomJob) run(t *testing.T) (results [][][]float64) {
	fitted := func(s distribute.Strategy, err error) {
		require.NoError(t, err)
		out, err := j.fit(t, s)
		require.NoError(t, err)
		results = append(results, out)
	}
	switch j.IntN(5) {
	case 0:
		o := distribute.CentralStorageOptions{ComputeDevices: j.names(max(1+j.IntN(j.devices), 1+j.IntN(j.devices)))}
		if j.one(2) {
			o.ParameterDevice = fmt.Sprint(j.kind, ":", j.IntN(j.devices))
		}
		t.Logf("central storage: %v, %v", o.ComputeDevices, o.ParameterDevice)
		fitted(distribute.NewCentralStorageStrategyWith(o))
	case 1, 2:
		o, text := j.mirrored()
		t.Log("mirrored: ", text)
		fitted(distribute.NewMirroredStrategyWith(o))
	default:
		return j.workers(t)
	}
	return results
}

// workers trains on workers of this process.
func (j *randomJob) workers(t *testing.T) [][][]float64 {
	n := 2 + j.IntN(min(3, j.devices-1))
	each := 1 + j.IntN(j.devices/n)
	names := j.names(n * each)
	o := multiworker.Options{Communication: collective.CommunicationOptions{Timeout: time.Minute, BytesPerPack: []int{0, 64, 4096}[j.IntN(3)]}, JoinTimeout: time.Minute}
	choices := []collective.Implementation{collective.Auto, collective.Ring, collective.NCCL}
	if j.library == nil {
		choices = choices[:2]
	}
	o.Communication.Implementation = choices[j.IntN(len(choices))]
	if o.Communication.Implementation != collective.NCCL && j.one(4) {
		o.CrossDeviceOps = []distribute.CrossDeviceOps{distribute.ReductionToOneDevice{}, distribute.HierarchicalCopyAllReduce{NumPacks: j.IntN(3)}, distribute.RingAllReduce{}}[j.IntN(3)]
	}
	if j.one(3) {
		j.wire = ir.BFloat16
		o.Communication.Wire = j.wire
	}
	if j.one(4) {
		o.Elastic = &distribute.Elastic{}
	}
	o.NoSharedMemory = j.one(2)
	t.Logf("%d workers with %d devices: %v, %+v, %T, elastic %v", n, each, names, o.Communication, o.CrossDeviceOps, o.Elastic != nil)
	results := make([][][]float64, n)
	devices := func(rank int) []string { return names[rank*each:][:each] }
	for rank, err := range fakeWorkersOn(t, n, o, devices, func(rank int, s *distribute.MultiWorkerMirroredStrategy) (err error) {
		if results[rank], err = j.fit(t, s); err != nil {
			distribute.FailTogether(s, err)
		}
		return err
	}) {
		require.NoError(t, err, "worker %d", rank)
	}
	return results
}

// Networks, machines and strategies drawn at random come to what one CPU comes to.
func TestRandomReplicas(t *testing.T) {
	usualShots, usualWindow, usualNarrow := twoShotBytes, windowBytes, narrowFrom
	defer func() { twoShotBytes, windowBytes, narrowFrom = usualShots, usualWindow, usualNarrow }()
	for k := range *draws {
		seed := *drawSeed + uint64(k)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			j := &randomJob{Rand: rand.New(rand.NewPCG(seed, 0))}
			t.Log(j.machine(t))
			j.network, j.optimizer, j.weighted = j.Uint64(), j.Uint64(), j.one(3)
			j.examples, j.batch = 1+j.IntN(13), 1+j.IntN(9)
			twoShotBytes, windowBytes = []int{1, 200, usualShots}[j.IntN(3)], []int{256, 1024, usualWindow}[j.IntN(3)]
			narrowFrom = []int{512, usualNarrow}[seed%2]
			t.Logf("%d examples in batches of %d, sums of %d bytes in shares, windows of %d", j.examples, j.batch, twoShotBytes, windowBytes)
			one, err := distribute.NewOneDeviceStrategy("cpu:0")
			require.NoError(t, err)
			want, err := j.fit(t, one)
			require.NoError(t, err)
			results, tolerance := j.run(t), 5e-4
			if j.wire != ir.Invalid {
				tolerance = 5e-3
			}
			for _, got := range results {
				require.True(t, slices.EqualFunc(want, got, func(a, b []float64) bool { return len(a) == len(b) }))
				for i, w := range want {
					require.InDeltaSlice(t, w, got[i], tolerance, "value %d", i)
				}
			}
		})
	}
}
