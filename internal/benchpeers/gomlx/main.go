// Command gomlx measures GoMLX, with its backend in Go, on the first two workloads of ../README.md in the protocol of
// ../worker:
//
//	gomlx --threads N KEY...
//
// Keys are W1 (perceptron) and W2 (convolutional network) with sgd or adam: W1-sgd:go. It is a module of its own, so
// that the library does not depend on GoMLX.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/gomlx/compute/gobackend"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/layers"
	"github.com/gomlx/gomlx/ml/layers/activation"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train"
	"github.com/gomlx/gomlx/ml/train/loss"
	"github.com/gomlx/gomlx/ml/train/optimizer"
)

const (
	batch   = 64
	batches = 16 // different ones
)

func perceptron(scope *model.Scope, x *graph.Node) *graph.Node {
	x = activation.Relu(layers.DenseWithBias(scope.In("dense1"), x, 512))
	x = activation.Relu(layers.DenseWithBias(scope.In("dense2"), x, 512))
	return layers.DenseWithBias(scope.In("dense3"), x, 10)
}

func convolutional(scope *model.Scope, x *graph.Node) *graph.Node {
	x = activation.Relu(layers.Convolution(scope.In("conv"), x).Channels(32).KernelSize(3).NoPadding().Done())
	x = graph.MaxPool(x).Window(2).Done()
	x = graph.Reshape(x, x.Shape().Dimensions[0], -1)
	x = activation.Relu(layers.DenseWithBias(scope.In("dense1"), x, 64))
	return layers.DenseWithBias(scope.In("dense2"), x, 10)
}

// job trains one model.
type job struct {
	trainer *train.Trainer
	shape   []int
	x       [][]float32
	labels  [][]int32
	flops   float64 // of an example's training step
	steps   int
}

func newJob(key string) (j *job, err error) {
	name, variant, _ := strings.Cut(key, ":")
	work, rule, _ := strings.Cut(name, "-")
	if variant != "go" {
		return nil, fmt.Errorf("unknown key %q, expected for example W1-sgd:go", key)
	}
	j = &job{}
	var fn func(scope *model.Scope, x *graph.Node) *graph.Node
	switch work {
	case "W1":
		fn, j.shape, j.flops = perceptron, []int{batch, 784}, 3*2*(784*512+512*512+512*10)
	case "W2":
		fn, j.shape, j.flops = convolutional, []int{batch, 28, 28, 1}, 3*2*(26*26*32*9+5408*64+64*10)
	default:
		return nil, fmt.Errorf("unknown workload %q", work)
	}
	var opt optimizer.Interface
	switch rule {
	case "sgd":
		opt = optimizer.StochasticGradientDescent().WithDecay(false).WithLearningRate(0.01).Done()
	case "adam":
		opt = optimizer.Adam().LearningRate(1e-3).Done()
	default:
		return nil, fmt.Errorf("unknown optimizer %q", rule)
	}
	r := rand.New(rand.NewPCG(0, 0))
	for range batches {
		x, labels := make([]float32, batch*784), make([]int32, batch)
		for i := range x {
			x[i] = r.Float32()
		}
		for i := range labels {
			labels[i] = int32(r.IntN(10))
		}
		j.x, j.labels = append(j.x, x), append(j.labels, labels)
	}
	backend, err := gobackend.New("")
	if err != nil {
		return nil, err
	}
	j.trainer = train.NewTrainer(backend, model.NewStore(), fn, loss.SparseCategoricalCrossEntropyLogits, opt, nil, nil)
	return j, nil
}

// step trains on the next batch and returns the loss.
func (j *job) step() (float32, error) {
	k := j.steps % batches
	j.steps++
	metrics, err := j.trainer.TrainStep(train.Batch{
		Inputs: []*tensors.Tensor{tensors.FromFlatDataAndDimensions(j.x[k], j.shape...)},
		Labels: []*tensors.Tensor{tensors.FromFlatDataAndDimensions(j.labels[k], batch, 1)},
	})
	if err != nil {
		return 0, err
	}
	value := tensors.ToScalar[float32](metrics[0])
	for _, m := range metrics {
		if err := m.FinalizeAll(); err != nil {
			return 0, err
		}
	}
	return value, nil
}

func serve(in io.Reader, out io.Writer, keys []string) error {
	ready, failed, setup, jobs := []string{}, map[string]string{}, map[string]float64{}, map[string]*job{}
	for _, key := range keys {
		begin := time.Now()
		j, err := newJob(key)
		if err == nil {
			_, err = j.step()
		}
		if err != nil {
			failed[key] = err.Error()
			continue
		}
		jobs[key], setup[key] = j, time.Since(begin).Seconds()
		ready = append(ready, key)
	}
	reply := json.NewEncoder(out)
	if err := reply.Encode(map[string]any{"ready": ready, "failed": failed, "setup": setup, "rss": peakRSS()}); err != nil {
		return err
	}
	for lines := bufio.NewScanner(in); lines.Scan(); {
		var key string
		var secs float64
		if _, err := fmt.Sscan(lines.Text(), &key, &secs); err != nil || jobs[key] == nil {
			return fmt.Errorf("received %q, expected one of the keys %v and a number of seconds", lines.Text(), ready)
		}
		j, begin, busy, steps, last := jobs[key], time.Now(), processTime(), 0, float32(0)
		for time.Since(begin).Seconds() < secs {
			var err error
			if last, err = j.step(); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
			steps++
		}
		wall := time.Since(begin).Seconds()
		if err := reply.Encode(map[string]any{"key": key, "steps": steps, "wall": wall, "real": wall, "rate": float64(steps*batch) / wall,
			"cpu": (processTime() - busy) / wall, "flops": j.flops, "rss": peakRSS(), "loss": last}); err != nil {
			return err
		}
	}
	return nil
}

func main() {
	threads := flag.Int("threads", runtime.NumCPU(), "processors to use")
	flag.Parse()
	runtime.GOMAXPROCS(*threads)
	if err := serve(os.Stdin, os.Stdout, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "gomlx:", err)
		os.Exit(1)
	}
}
