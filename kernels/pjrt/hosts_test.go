//go:build linux

package pjrt_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/multiworker"
	"github.com/gokeras/gokeras/distribute/tpu"
	"github.com/gokeras/gokeras/internal/ports"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/optimizers"
)

// These tests run the hosts of a TPU pod as processes: this test binary, started again, with the plugin of
// testdata/pod.c before the one for CPUs. A host plays a role, says what came of it and writes what the test looks at.

// hostRoles are what hosts do.
var hostRoles = map[string]func(ctx context.Context, s distribute.Strategy) (any, error){
	"train": func(ctx context.Context, s distribute.Strategy) (any, error) { return trainPod(ctx, s, nil) },
	"loop":  podLoop,
	"last": func(ctx context.Context, s distribute.Strategy) (any, error) { // the last host stops in the middle
		return trainPod(ctx, s, &callbacks.LambdaCallback{TrainBatchEnd: func(batch int, _ *callbacks.Logs) error {
			if os.Getenv("TPU_WORKER_ID") == os.Getenv("POD_LAST") && batch == 2 {
				fmt.Println("said: here")
				if os.Getenv("POD_ROLE_FREEZES") != "" {
					_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
				}
				os.Exit(7)
			}
			return nil
		}})
	},
	"backup": func(ctx context.Context, s distribute.Strategy) (any, error) {
		return trainPod(ctx, s, &callbacks.BackupAndRestore{BackupDir: os.Getenv("POD_BACKUP"), SaveFreq: 1}, &callbacks.LambdaCallback{TrainBatchEnd: func(batch int, _ *callbacks.Logs) error {
			if _, err := os.Stat(filepath.Join(os.Getenv("POD_BACKUP"), "died")); err != nil && batch == 1 && os.Getenv("TPU_WORKER_ID") == os.Getenv("POD_LAST") {
				_ = os.WriteFile(filepath.Join(os.Getenv("POD_BACKUP"), "died"), nil, 0o600)
				os.Exit(7)
			}
			return nil
		}})
	},
}

// podResult is what a host has after training.
type podResult struct {
	Weights     [][]float32
	Losses      []float64
	Scores      map[string]float64
	Predictions []float32
}

// trainPod trains with batches that do not divide among the replicas, measures and predicts.
func trainPod(ctx context.Context, s distribute.Strategy, list ...callbacks.Callback) (*podResult, error) {
	model, err := keras.NewSequential([]layers.Layer{
		&layers.Conv2D{Filters: 4, KernelSize: []int{3}, Activation: "relu"},
		&layers.MaxPooling2D{},
		&layers.BatchNormalization{Synchronized: true},
		&layers.Flatten{},
		&layers.Dense{Units: 16, Activation: "gelu", KernelRegularizer: "l2", ActivityRegularizer: "l2"},
		&layers.Dense{Units: 3},
	}, keras.InputShape(8, 8, 1), distribute.Scope(s), keras.Seed(3))
	if err != nil {
		return nil, err
	}
	if err := model.Compile(keras.CompileConfig{
		Optimizer: &optimizers.Adam{LearningRate: 0.01}, Loss: &losses.SparseCategoricalCrossentropy{FromLogits: true}, Metrics: []string{"accuracy"},
	}); err != nil {
		return nil, err
	}
	x, y := digits()
	options := []keras.FitOption{keras.Epochs(2), keras.BatchSize(7)}
	if len(list) > 0 && list[0] != nil {
		options = append(options, keras.Callbacks(list...))
	}
	history, err := model.Fit(ctx, data.Arrays(x, y), options...)
	if err != nil {
		weights, failed := model.GetWeights() // they can be read, or are lost with the other host: but nothing hangs
		fmt.Printf("said: %d weights after the failure, %v\n", len(weights), failed)
		return nil, err
	}
	r := &podResult{Losses: history.Logs["loss"]}
	if r.Scores, err = model.Evaluate(ctx, data.Arrays(x, y), keras.BatchSize(10)); err != nil {
		return nil, err
	}
	predictions, err := model.Predict(ctx, data.Arrays(x, nil), keras.BatchSize(10))
	if err != nil {
		return nil, err
	}
	r.Predictions = predictions.Elements().([]float32)
	weights, err := model.GetWeights()
	for _, w := range weights {
		r.Weights = append(r.Weights, w.Elements().([]float32))
	}
	if folder := os.Getenv("POD_SAVE"); folder != "" && err == nil {
		err = errors.Join(model.Save(filepath.Join(folder, "model.keras")), model.SaveWeights(filepath.Join(folder, "weights.safetensors")))
	}
	return r, err
}

// podLoop is a custom loop: sums over all replicas and over groups of them, and a batch that does not divide.
func podLoop(ctx context.Context, s distribute.Strategy) (any, error) {
	n := s.NumReplicasInSync()
	groups := [][]int{nil, nil}
	for i := range n {
		groups[i%2] = append(groups[i%2], i)
	}
	run := func(rows int) ([]float64, error) {
		values := make([]float64, rows)
		for i := range values {
			values[i] = float64(i + 1)
		}
		a, err := kernels.FromFloat64s(ir.Float32, ir.Shape{rows}, values)
		if err != nil {
			return nil, err
		}
		parts, err := distribute.SplitBatch(s, distribute.HostBatch{X: []kernels.Array{a}})
		if err != nil {
			return nil, err
		}
		out, err := s.Run(ctx, s.Function(func(r *distribute.Replica, b distribute.Batch) *ops.Tensor {
			x := b.X
			if cores, ok := s.(*tpu.Strategy); ok && cores.DeviceAssignment().NumCoresPerReplica() > 1 {
				x = cores.SplitToLogicalDevices(x, cores.DeviceAssignment().NumCoresPerReplica())
			}
			own := ops.Sum(x)
			sum := r.AllReduce(ir.Sum, own)[0]
			half := tpu.CrossReplicaSum(r, own, groups)
			return ops.Stack(0, sum, half, ops.Cast(r.ID(), ir.Float32))
		}), parts)
		if err != nil {
			return nil, err
		}
		all, err := s.Gather(out, 0)
		return all.Float64s(), err
	}
	out, err := run(2 * n)
	if err != nil {
		return nil, err
	}
	if _, err := run(2*n - 1); err == nil || !strings.Contains(err.Error(), "divide evenly") {
		return nil, fmt.Errorf("a batch that does not divide: %w", err)
	}
	return out, nil
}

// TestHostOfPod is the process of a host.
func TestHostOfPod(t *testing.T) {
	role := hostRoles[os.Getenv("POD_ROLE")]
	if role == nil {
		t.Skip("is started by the tests of pods, as processes of its own")
	}
	err := playHost(role)
	fmt.Printf("said: %v\n", strings.ReplaceAll(fmt.Sprint(err), "\n", " "))
	if err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

func playHost(role func(ctx context.Context, s distribute.Strategy) (any, error)) error {
	seconds, _ := strconv.Atoi(os.Getenv("POD_PATIENCE"))
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(seconds)*time.Second)
	defer cancel()
	resolver := &cluster.TPU{}
	if err := tpu.ConnectToCluster(ctx, resolver); err != nil {
		return err
	}
	join := multiworker.JoinHosts(multiworker.Options{JoinTimeout: 20 * time.Second, Deadline: 2 * time.Second})
	if os.Getenv("POD_UNJOINED") != "" {
		join = nil
	}
	if text := os.Getenv("POD_JOIN_SECONDS"); text != "" {
		n, _ := strconv.Atoi(text)
		join = multiworker.JoinHosts(multiworker.Options{JoinTimeout: time.Duration(n) * time.Second, Deadline: time.Second})
	}
	topology, err := tpu.InitializeSystem(ctx, tpu.SystemOptions{Resolver: resolver, DeviceKind: "xla", Join: join})
	if err != nil {
		return err
	}
	if again, err := tpu.InitializeSystem(ctx, tpu.SystemOptions{Resolver: resolver, DeviceKind: "xla", Join: join}); err != nil || again.String() != topology.String() {
		return fmt.Errorf("a second time: %v, %w", again, err)
	}
	s, err := podStrategy(ctx, resolver, topology)
	if err != nil {
		return err
	}
	ctx, cancel = context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	out, err := role(ctx, s)
	if err != nil {
		return err
	}
	text, err := json.Marshal(out)
	if err != nil {
		return err
	}
	if err := os.WriteFile(os.Getenv("POD_OUT"), text, 0o600); err != nil {
		return err
	}
	return s.Close()
}

// pod is hosts that run.
type pod struct {
	t        *testing.T
	commands []*exec.Cmd
	outputs  []*strings.Builder
	done     []chan error
	out      string
}

// startPod runs hosts with some devices each in a role; settings are environment variables.
func startPod(t *testing.T, hosts, devices int, role string, settings ...string) *pod {
	t.Helper()
	real := plugin(t)
	compiler, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("there is no gcc to build the plugin of a pod with")
	}
	p := &pod{t: t, out: t.TempDir()}
	path := filepath.Join(p.out, "pod.so")
	text, err := exec.Command(compiler, "-shared", "-fPIC", "-O1", "-o", path, "testdata/pod.c", "-lpthread", "-ldl").CombinedOutput()
	require.NoError(t, err, "%s", text)
	addresses, err := ports.Free(hosts)
	require.NoError(t, err)
	for i := range hosts {
		c := exec.Command(os.Args[0], "-test.run=^TestHostOfPod$", "-test.v")
		c.Env = append(append(os.Environ(), "POD_PLUGIN="+real, "GOKERAS_PJRT_PLUGIN="+path, fmt.Sprint("POD_DEVICES=", devices), "POD_ROLE="+role, "POD_PATIENCE=60",
			fmt.Sprint("POD_OUT=", filepath.Join(p.out, fmt.Sprint(i))), "TPU_WORKER_HOSTNAMES="+strings.Join(addresses, ","), fmt.Sprint("TPU_WORKER_ID=", i), fmt.Sprint("POD_LAST=", hosts-1), "GOMAXPROCS=2"), settings...)
		text := &strings.Builder{}
		c.Stdout, c.Stderr = text, text
		p.commands, p.outputs, p.done = append(p.commands, c), append(p.outputs, text), append(p.done, make(chan error, 1))
	}
	return p
}

func (p *pod) start(hosts ...int) {
	p.t.Helper()
	for _, i := range hosts {
		c, done := p.commands[i], p.done[i]
		require.NoError(p.t, c.Start())
		go func() { done <- c.Wait() }()
		p.t.Cleanup(func() { _ = c.Process.Kill() })
	}
}

// end waits for a host and returns what it said last.
func (p *pod) end(i int) (last string, err error) {
	p.t.Helper()
	select {
	case err = <-p.done[i]:
	case <-time.After(150 * time.Second):
		p.t.Fatalf("host %d hangs", i)
	}
	text := p.outputs[i].String()
	for line := range strings.Lines(text) {
		if said, ok := strings.CutPrefix(line, "said: "); ok {
			last = strings.TrimSpace(said)
		}
	}
	if last == "" {
		last = text
	}
	return last, err
}

// results waits for all hosts and returns what they wrote.
func results[T any](p *pod) []T {
	p.t.Helper()
	all := make([]T, len(p.commands))
	for i := range all {
		last, err := p.end(i)
		if err != nil { // the reason may be another host's
			for j := range all[i+1:] {
				other, _ := p.end(i + 1 + j)
				last += fmt.Sprintf("; host %d: %s", i+1+j, other)
			}
		}
		require.NoError(p.t, err, "host %d: %s", i, last)
		text, err := os.ReadFile(filepath.Join(p.out, fmt.Sprint(i)))
		require.NoError(p.t, err)
		require.NoError(p.t, json.Unmarshal(text, &all[i]))
	}
	return all
}

func (r *podResult) same(t *testing.T, want *podResult, tolerance float64) {
	t.Helper()
	require.Len(t, r.Weights, len(want.Weights))
	for i := range want.Weights {
		require.InDeltaSlice(t, want.Weights[i], r.Weights[i], tolerance, "weight %d", i)
	}
	require.InDeltaSlice(t, want.Losses, r.Losses, 1e-3)
	require.InDeltaSlice(t, want.Predictions, r.Predictions, 1e-3)
	for name, v := range want.Scores {
		require.InDelta(t, v, r.Scores[name], 1e-3, name)
	}
}

// Hosts that find each other through the plugin's key-value callbacks train to the weights of one device, with batches
// that do not divide among their replicas; all hosts have the same bits.
func TestPodTrains(t *testing.T) {
	one, err := distribute.NewOneDeviceStrategy("cpu:0")
	require.NoError(t, err)
	want, err := trainPod(t.Context(), one)
	require.NoError(t, err)
	shapes := [][2]int{{2, 1}, {2, 2}, {3, 1}, {4, 2}}
	if testing.Short() {
		shapes = shapes[1:2]
	}
	for _, shape := range shapes {
		t.Run(fmt.Sprint(shape[0], " hosts of ", shape[1], " devices"), func(t *testing.T) {
			p := startPod(t, shape[0], shape[1], "train")
			for i := range shape[0] {
				p.start(i)
			}
			all := results[*podResult](p)
			all[0].same(t, want, 2e-4)
			for _, other := range all[1:] {
				require.Equal(t, all[0].Weights, other.Weights)
				require.Equal(t, all[0].Losses, other.Losses)
			}
		})
	}
}

// A custom loop over two hosts with two devices each: sums of all replicas, of groups that span hosts, and the numbers
// of replicas host by host. Replicas of two cores, of a host or of both, divide their batch between them.
func TestPodLoop(t *testing.T) {
	for strategy, want := range map[string][]float64{
		"": {36, 14, 0, 36, 22, 1, 36, 14, 2, 36, 22, 3}, "pairs": {10, 3, 0, 10, 7, 1}, "across": {10, 3, 0, 10, 7, 1},
	} {
		t.Run(strategy, func(t *testing.T) {
			p := startPod(t, 2, 2, "loop", "POD_STRATEGY="+strategy)
			p.start(0, 1)
			for _, got := range results[[]float64](p) {
				require.Equal(t, want, got)
			}
		})
	}
}

// A host that does not come, does not open its devices, dies or freezes is an error that names it, on all others and in
// time, also where the devices themselves would wait for ever.
func TestPodLosesHost(t *testing.T) {
	t.Run("never comes", func(t *testing.T) {
		p := startPod(t, 3, 1, "train", "POD_JOIN_SECONDS=5")
		p.start(0, 2)
		for _, i := range []int{0, 2} {
			last, err := p.end(i)
			require.Error(t, err)
			require.Contains(t, last, "worker:1 (127.0.0.1:")
			require.Contains(t, last, "did not come")
		}
	})
	t.Run("never opens its devices", func(t *testing.T) {
		p := startPod(t, 2, 1, "train", "POD_ASLEEP=1", "POD_PATIENCE=4")
		p.start(0, 1)
		last, err := p.end(0)
		require.Error(t, err)
		require.Contains(t, last, "worker:1 (127.0.0.1:")
	})
	t.Run("cannot open its devices", func(t *testing.T) {
		p := startPod(t, 2, 1, "train")
		p.commands[1].Env = append(p.commands[1].Env, "POD_PLUGIN=/nowhere.so")
		p.start(0, 1)
		last, err := p.end(0)
		require.Error(t, err)
		require.Contains(t, last, "host 1 could not open its devices")
		require.Contains(t, last, "start the processes anew")
	})
	lost := map[string][]string{"dies": nil, "dies, and devices wait": {"POD_HANG=1"}, "freezes, and devices wait": {"POD_HANG=1", "POD_ROLE_FREEZES=1"}}
	if testing.Short() {
		lost = map[string][]string{"dies, and devices wait": lost["dies, and devices wait"]}
	}
	for name, settings := range lost {
		t.Run(name, func(t *testing.T) {
			p := startPod(t, 3, 1, "last", settings...)
			p.start(0, 1, 2)
			begun := time.Now()
			for _, i := range []int{0, 1} {
				last, err := p.end(i)
				require.Error(t, err)
				require.Contains(t, last, "worker:2 (127.0.0.1:")
			}
			require.Less(t, time.Since(begun), time.Minute)
			_ = p.commands[2].Process.Kill()
		})
	}
	t.Run("is not joined", func(t *testing.T) {
		p := startPod(t, 2, 1, "train", "POD_UNJOINED=1")
		p.start(0)
		last, err := p.end(0)
		require.Error(t, err)
		require.Contains(t, last, "the TPU has 2 hosts")
		require.Contains(t, last, "multiworker.JoinHosts")
	})
}

// Hosts that are started again after one was lost go on from the backup, to the weights of a run that nothing
// disturbed.
func TestPodResumes(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute: without -short only")
	}
	one, err := distribute.NewOneDeviceStrategy("cpu:0")
	require.NoError(t, err)
	want, err := trainPod(t.Context(), one)
	require.NoError(t, err)
	for _, strategy := range []string{"", "model,batch"} {
		t.Run(strategy, func(t *testing.T) {
			settings := []string{"POD_STRATEGY=" + strategy, "POD_BACKUP=" + t.TempDir()}
			p := startPod(t, 2, 1, "backup", settings...)
			p.start(0, 1)
			last, err := p.end(0)
			require.Error(t, err)
			require.Contains(t, last, "worker:1 (127.0.0.1:")
			_, err = p.end(1)
			require.Error(t, err)
			p = startPod(t, 2, 1, "backup", settings...)
			p.start(0, 1)
			for _, got := range results[*podResult](p) {
				for i := range want.Weights {
					require.InDeltaSlice(t, want.Weights[i], got.Weights[i], 2e-4, "weight %d", i)
				}
			}
		})
	}
}
