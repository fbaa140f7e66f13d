package main

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
)

// job runs the steps of one key.
type job struct {
	key   string
	what  string // more about it
	work  *workload
	batch int     // of all replicas, where it trains
	units float64 // of a step
	flops float64 // of one example
	run   func() (steps int, seconds float64, err error)
	times []float64 // of single steps in seconds, where latency is what is asked
	lat   bool
	first [2]float64 // seconds and processor time of the first run, which compiles
	least float64    // processor time of the fastest step, where the job knows it
}

// measurement is the answer to one line of the protocol.
type measurement struct {
	Key         string  `json:"key"`
	Steps       int     `json:"steps"`
	Wall        float64 `json:"wall"` // seconds in steps
	Real        float64 `json:"real"` // seconds in all
	Rate        float64 `json:"rate"`
	CPU         float64 `json:"cpu"`
	P50         float64 `json:"p50,omitempty"`
	P99         float64 `json:"p99,omitempty"`
	FLOPs       float64 `json:"flops"` // of one unit
	RSS         float64 `json:"rss"`
	Peak        float64 `json:"peak"`
	Allocations float64 `json:"allocations"`     // of Go's heap, in a step
	Least       float64 `json:"least,omitempty"` // processor time of the fastest step in seconds
}

// newJob parses a key and builds its model, for one replica.
func newJob(key string) (*job, error) {
	if device == "" {
		return newJobUnder(key, distribute.Default())
	}
	s, err := distribute.NewOneDeviceStrategy(device)
	if err != nil {
		return nil, err
	}
	return newJobUnder(key, s)
}

// newJobUnder builds the model under a strategy. Training has as many examples for each replica as it has on one.
func newJobUnder(key string, s distribute.Strategy) (*job, error) {
	if key == "dispatch:launch" {
		name := device
		if name == "" {
			name = "cpu:0"
		}
		return newDispatch(name)
	}
	if strings.Contains(key, "@b") {
		return newModelJob(key)
	}
	if j, err := newProduct(key); j != nil || err != nil {
		return j, err
	}
	defer func(before string) { policy = before }(policy)
	whole := key
	if before, dtype, ok := strings.Cut(key, "+"); ok {
		key, policy = before, dtype
	}
	name, variant, ok := strings.Cut(key, ":")
	work, kind, ok2 := strings.Cut(name, "-")
	w := workloads[work]
	if number, err := strconv.ParseUint(kind, 10, 32); work == "small" && err == nil {
		return smallJob(number, variant)
	} else if work == usualKind && err == nil {
		return usualJob(number, variant)
	} else if work == quantizedKind && err == nil {
		return quantizedJob(number, variant)
	} else if layer, ok := strings.CutPrefix(name, updatesKind+"-"); ok {
		return updatesJob(layer, variant)
	} else if number, err := strconv.ParseUint(strings.TrimPrefix(name, quantizedLayerKind+"-"), 10, 32); err == nil {
		return quantizedLayerJob(number, variant)
	}
	if !ok || !ok2 || w == nil {
		return nil, fmt.Errorf("unknown key %q, expected for example W1-sgd:fit or W1-b1:predict", key)
	}
	m, err := w.model(s)
	if err != nil {
		return nil, err
	}
	j := &job{key: whole, work: w}
	if batch, err := strconv.Atoi(strings.TrimPrefix(kind, "b")); err == nil && variant == "predict" {
		return j, j.predict(m, batch)
	}
	opt, err := optimizer(kind)
	if err != nil {
		return nil, fmt.Errorf("key %q: %w", key, err)
	}
	if err := m.Compile(keras.CompileConfig{Optimizer: opt, Loss: w.loss()}); err != nil {
		return nil, err
	}
	j.batch = w.batch * s.NumReplicasInSync()
	j.units, j.flops = float64(j.batch)*w.units, 3*w.flops
	switch variant {
	case "fit":
		j.fit(m)
	case "batch":
		j.onBatch(m)
	default:
		return nil, fmt.Errorf("unknown variant %q of key %q, expected fit, batch or predict", variant, key)
	}
	return j, nil
}

func source() *rand.Rand { return rand.New(rand.NewPCG(0, 0)) }

// fit measures epochs of Fit between their hooks: what Fit does once a call is left out, as for the other frameworks.
func (j *job) fit(m *keras.Model) {
	x, y := j.work.data(source(), j.batch*j.work.steps)
	source := data.Arrays(x, y)
	var begin time.Time
	var seconds float64
	clock := &callbacks.LambdaCallback{
		EpochBegin: func(int) error { begin = time.Now(); return nil },
		EpochEnd:   func(int, *callbacks.Logs) error { seconds = time.Since(begin).Seconds(); return nil },
	}
	j.run = func() (int, float64, error) {
		_, err := m.Fit(runs, source, keras.BatchSize(j.batch), keras.Callbacks(clock))
		return j.work.steps, seconds, err
	}
}

// onBatch measures TrainOnBatch.
func (j *job) onBatch(m *keras.Model) {
	x, y := j.work.data(source(), j.batch)
	source := data.Arrays(x, y)
	j.run = func() (int, float64, error) {
		begin := time.Now()
		_, err := m.TrainOnBatch(runs, source)
		return 1, time.Since(begin).Seconds(), err
	}
}

// predict measures PredictOnBatch.
func (j *job) predict(m *keras.Model, batch int) error {
	x, _ := j.work.data(source(), batch)
	j.units, j.flops, j.lat = float64(batch)*j.work.units, j.work.flops, true
	j.run = func() (int, float64, error) {
		begin := time.Now()
		y, err := m.PredictOnBatch(runs, data.Arrays(x, nil))
		if err == nil && y.Shape()[0] != batch {
			err = fmt.Errorf("the result has shape %v, expected %d examples", y.Shape(), batch)
		}
		return 1, time.Since(begin).Seconds(), err
	}
	return nil
}

// measure runs steps for at least the given time.
func (j *job) measure(secs float64) (*measurement, error) {
	m := &measurement{Key: j.key}
	j.times, j.least = j.times[:0], 0
	busy, begin, heap := processTime(), time.Now(), allocations()
	for m.Wall < secs {
		steps, seconds, err := j.run()
		if err != nil {
			return nil, err
		}
		m.Steps, m.Wall = m.Steps+steps, m.Wall+seconds
		if j.lat {
			j.times = append(j.times, seconds)
		}
	}
	m.Allocations = float64(allocations()-heap) / float64(m.Steps)
	m.Real = time.Since(begin).Seconds()
	m.CPU = (processTime() - busy) / m.Real
	m.Rate = float64(m.Steps) * j.units / m.Wall
	m.FLOPs = j.flops / j.work.units
	m.RSS, m.Least = peakRSS(), j.least
	if j.lat {
		slices.Sort(j.times)
		at := func(q int) float64 { return j.times[len(j.times)*q/100] * 1e6 }
		m.P50, m.P99 = at(50), at(99)
	}
	return m, nil
}

func allocations() uint64 {
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.Mallocs
}
