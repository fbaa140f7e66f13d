package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
)

// halfPolicies are measured beside the default, float32.
var halfPolicies = []string{"mixed_bfloat16", "mixed_float16", "bfloat16", "float16"}

// policyWork is a model that is trained or predicts.
type policyWork struct {
	kind, name string
	job        func() (*job, error) // under the current policy
}

// policyKeys are the workloads that comparePolicies measures.
func policyKeys(keys []string) []policyWork {
	var list []policyWork
	for _, key := range keysOrAll(keys) {
		if !strings.HasPrefix(key, "W10") {
			list = append(list, policyWork{"workloads", key, func() (*job, error) { return newJob(key) }})
		}
	}
	return list
}

// drawnSmall are count networks of each kind that are drawn at random, each trained on 32 examples, and predicting one,
// eight and 32. Those of the usual kind are also trained on one example and on eight. Without kinds all of them are
// drawn.
func drawnSmall(first uint64, count int, kinds ...string) []policyWork {
	var list []policyWork
	for i := range uint64(count) {
		for kind, name := range smallKinds {
			if len(kinds) > 0 && !slices.Contains(kinds, name) {
				continue
			}
			number := (first+i)*uint64(len(smallKinds)) + uint64(kind)
			for _, key := range []string{"train", "1", "8", "32"} {
				list = append(list, policyWork{name + stepOf(key), fmt.Sprintf("%d %s", number, key),
					func() (*job, error) { return smallJob(number, key) }})
			}
		}
	}
	for i := range uint64(count) {
		if len(kinds) > 0 && !slices.Contains(kinds, usualKind) {
			break
		}
		for _, key := range []string{"train1", "train8", "train", "1", "8", "32"} {
			list = append(list, policyWork{usualKind + stepOf(key), fmt.Sprintf("%d %s", first+i, key), func() (*job, error) { return usualJob(first+i, key) }})
		}
	}
	return list
}

// stepOf says in words what step a key of smallJob is.
func stepOf(key string) string {
	if batch, trains := strings.CutPrefix(key, "train"); trains {
		return strings.TrimSuffix(" training "+batch, " ")
	}
	return " predict " + key
}

// smallKinds are the kinds of networks that drawSmall draws, in turn.
var smallKinds = []string{"dense", "convolutions", "recurrent", "attention", "layers", "larger"}

// drawSmall draws a network whose step takes milliseconds, single layers or one of those that draw makes; its kind is
// number modulo their number. The same number is the same network everywhere.
func drawSmall(number uint64) (drawn, error) {
	more := options(distribute.Default(), keras.Seed(number))
	switch smallKinds[number%uint64(len(smallKinds))] {
	case "larger":
		return draw(number/uint64(len(smallKinds)), more...)
	case "layers":
		d := drawer{rand.New(rand.NewPCG(number, 17))}
		inputs, y := d.oneLayer()
		m, err := keras.NewFunctional(keras.Inputs(inputs...), keras.Outputs(y), more...)
		return drawn{m, pick(d, "sgd", "mom", "adam"), whatIs(inputs, y)}, err
	}
	d := drawer{rand.New(rand.NewPCG(number, 17))}
	width := func(low, high int) int { return pick(d, 1, 4, 8, 16)*d.between(low, high)/8 + 1 }
	var input, x *layers.KerasTensor
	switch smallKinds[number%uint64(len(smallKinds))] {
	case "dense":
		input = keras.Input(keras.Shape(d.between(4, 1000)))
		x = input
		for range d.between(1, 4) {
			x = d.normalized(layers.Apply(&layers.Dense{Units: width(8, 400), Activation: d.activation()}, x), 0.2)
		}
	case "convolutions":
		size := d.between(8, 40)
		input = keras.Input(keras.Shape(size, size, pick(d, 1, 3, 4, 8)))
		x = d.smallImages(input, size, width)
	case "recurrent":
		input = keras.Input(keras.Shape(d.between(4, 48), width(4, 64)))
		x = input
		for range d.between(1, 2) {
			units := width(4, 96)
			x = layers.Apply(pick[layers.Layer](d, &layers.LSTM{Units: units, ReturnSequences: true}, &layers.GRU{Units: units, ReturnSequences: true},
				&layers.Bidirectional{Layer: &layers.LSTM{Units: units, ReturnSequences: true}}), x)
		}
		x = layers.Apply(&layers.GlobalAveragePooling1D{}, x)
	default:
		heads, size := pick(d, 1, 2, 4, 8), 4*d.between(1, 16)
		input = keras.Input(keras.Shape(d.between(8, 100), width(8, 64)))
		x = layers.Apply(&layers.Dense{Units: heads * size}, input)
		for range d.between(1, 2) {
			y := layers.Apply(&layers.LayerNormalization{}, x)
			x = layers.Apply(&layers.Add{}, x, layers.Apply(&layers.MultiHeadAttention{NumHeads: heads, KeyDim: size, UseCausalMask: d.IntN(2) == 0}, y, y))
			y = layers.Apply(&layers.Dense{Units: width(16, 256), Activation: d.activation()}, layers.Apply(&layers.LayerNormalization{}, x))
			x = layers.Apply(&layers.Add{}, x, layers.Apply(&layers.Dense{Units: heads * size}, y))
		}
		x = layers.Apply(&layers.GlobalAveragePooling1D{}, x)
	}
	m, err := keras.NewFunctional(keras.Inputs(input), keras.Outputs(layers.Apply(&layers.Dense{Units: d.between(1, 20)}, x)), more...)
	return drawn{model: m, optimizer: pick(d, "sgd", "mom", "adam", "adamw", "rmsprop")}, err
}

// smallImages draws layers over images of a size.
func (d drawer) smallImages(x *layers.KerasTensor, size int, width func(low, high int) int) *layers.KerasTensor {
	for range d.between(1, 4) {
		kernel, activation := pick(d, 1, 3, 3, 5), d.activation()
		switch d.IntN(5) {
		case 0:
			x = layers.Apply(&layers.DepthwiseConv2D{KernelSize: []int{3}, Padding: "same", Activation: activation}, x)
		case 1:
			x = layers.Apply(&layers.Conv2D{Filters: width(4, 32), KernelSize: []int{kernel}, Strides: []int{2}, Padding: "same", Activation: activation}, x)
			size = (size + 1) / 2
		default:
			x = layers.Apply(&layers.Conv2D{Filters: width(4, 32), KernelSize: []int{kernel}, Padding: "same", Activation: activation}, x)
		}
		x = d.normalized(x, 0.3)
		if size >= 4 && d.IntN(2) == 0 {
			x = pick(d, func() *layers.KerasTensor { return layers.Apply(&layers.MaxPooling2D{PoolSize: []int{2}}, x) }, func() *layers.KerasTensor { return layers.Apply(&layers.AveragePooling2D{PoolSize: []int{2}}, x) })()
			size /= 2
		}
	}
	return layers.Apply(pick[layers.Layer](d, &layers.GlobalAveragePooling2D{}, &layers.Flatten{}), x)
}

// smallJob trains a network that drawSmall draws, or predicts; see job.
func smallJob(number uint64, key string) (*job, error) {
	d, err := drawSmall(number)
	if err != nil {
		return nil, err
	}
	return d.job(key)
}

// usualJob is smallJob for those of drawUsual.
func usualJob(number uint64, key string) (*job, error) {
	d, err := drawUsual(number)
	if err != nil {
		return nil, err
	}
	return d.job(key)
}

// job trains the network with the mean squared error on as many examples as the key says after "train", or 32, or
// predicts as many as it says.
func (d drawn) job(key string) (*job, error) {
	size, trains := strings.CutPrefix(key, "train")
	batch, err := strconv.Atoi(size)
	if err != nil {
		batch = 32
	}
	inputs, err := inputsFor(d.model, batch)
	if err != nil {
		return nil, err
	}
	x := data.Arrays(inputs, nil)
	y, err := d.model.PredictAll(runs, x, keras.BatchSize(batch))
	if err != nil {
		return nil, err
	}
	step := func() error { return d.model.PredictOnBatchInto(runs, x, y...) }
	if trains {
		opt, err := optimizer(d.optimizer)
		if err != nil {
			return nil, err
		}
		if err := d.model.Compile(keras.CompileConfig{Optimizer: opt, Loss: &losses.MeanSquaredError{}}); err != nil {
			return nil, err
		}
		examples := data.Arrays(inputs, y)
		step = func() error { _, err := d.model.TrainOnBatch(runs, examples); return err }
	}
	j := &job{key: key, work: &workload{units: 1}, batch: batch, units: float64(batch), what: d.what}
	j.run = func() (int, float64, error) {
		begin := processTime()
		err := step()
		return 1, processTime() - begin, err
	}
	return j, nil
}

// comparePolicies measures the processor time of steps under each policy, or in each mode, in turns, prints the least
// of each, how many times as long as in float32 that is, and how those ratios are distributed.
func comparePolicies(w io.Writer, works []policyWork, policies []string, secs float64, rounds int) error {
	fmt.Fprintf(w, "| network | step | float32 us | %s |\n|---|---|---%s|\n", strings.Join(policies, " | "), strings.Repeat("|---", len(policies)))
	ratios := map[string][]float64{}
	var order []string
	for _, work := range works {
		times, what, err := work.underPolicies(policies, secs, rounds)
		if err != nil {
			return fmt.Errorf("%s %s: %w", work.kind, work.name, err)
		}
		fmt.Fprintf(w, "| %s | %s | %.1f |", work.kind, strings.TrimSpace(work.name+" "+what), times[0]*1e6)
		for i, policy := range policies {
			if times[1+i] == 0 {
				fmt.Fprint(w, " |")
				continue
			}
			ratio, kind := times[1+i]/times[0], work.kind+" | "+policy
			fmt.Fprintf(w, " %.2f |", ratio)
			if ratios[kind] == nil {
				order = append(order, kind)
			}
			ratios[kind] = append(ratios[kind], ratio)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "\n| kind | policy | of | least | median | last tenth | most |\n|---|---|---|---|---|---|---|\n")
	for _, kind := range order {
		x := ratios[kind]
		slices.Sort(x)
		fmt.Fprintf(w, "| %s | %d | %.2f | %.2f | %.2f | %.2f |\n", kind, len(x), x[0], x[len(x)/2], x[len(x)*9/10], x[len(x)-1])
	}
	return nil
}

// underPolicies returns the least processor time of a step in float32 and under each policy, 0 where a network does not
// have it, and what it is of.
func (work *policyWork) underPolicies(policies []string, secs float64, rounds int) ([]float64, string, error) {
	defer func(before string) { policy = before }(policy)
	times := make([]float64, 1+len(policies))
	jobs := make([]*job, len(times))
	for round := range rounds {
		for i, name := range append([]string{""}, policies...) {
			if policy = name; round == 0 {
				j, err := work.job()
				if errors.Is(err, errNoMode) && i > 0 {
					continue
				}
				if err != nil {
					return nil, "", err
				}
				for range 3 { // compiles, and keeps what is kept
					if _, _, err := j.run(); err != nil {
						return nil, "", err
					}
				}
				jobs[i] = j
			}
			if jobs[i] == nil {
				continue
			}
			m, err := jobs[i].measure(secs)
			if err != nil {
				return nil, "", err
			}
			times[i] = least(times[i], m.CPU*m.Real/float64(m.Steps))
		}
	}
	return times, jobs[0].what, nil
}
