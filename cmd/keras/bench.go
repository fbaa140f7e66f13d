package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels/cpu"
)

// benchFlags are the flags of bench and profile.
type benchFlags struct {
	mode               string
	batchSize, threads int
	seconds            float64
	asJSON             bool
	on                 modelFlags // where it runs
}

func (f *benchFlags) register(c *cobra.Command) {
	s := c.Flags()
	s.StringVar(&f.mode, "mode", "", "train or predict (default train for a compiled model)")
	s.IntVar(&f.batchSize, "batch-size", 32, "examples in a batch")
	s.IntVar(&f.threads, "threads", 0, "processors to use (default all)")
	s.Float64Var(&f.seconds, "seconds", 2, "how long to measure")
	s.BoolVar(&f.asJSON, "json", false, "print one JSON object")
	f.on.registerDevices(s, "default, mirrored, central or tpu")
}

// prepare checks the flags and loads the model.
func (f *benchFlags) prepare(path string) (*keras.Model, error) {
	if f.mode != "" && f.mode != "train" && f.mode != "predict" {
		return nil, usagef("--mode %q: unknown; expected train or predict", f.mode)
	}
	if f.batchSize < 1 || f.threads < 0 || !(f.seconds > 0) {
		return nil, usagef("--batch-size %d, --threads %d, --seconds %v: expected positive numbers", f.batchSize, f.threads, f.seconds)
	}
	if f.threads > 0 {
		runtime.GOMAXPROCS(f.threads)
	}
	m, err := f.on.load(path)
	if err != nil {
		return nil, err
	}
	if f.mode == "" {
		f.mode = "predict"
		if m.Optimizer() != nil {
			f.mode = "train"
		}
	}
	return m, nil
}

// benchmark is the output of bench.
type benchmark struct {
	Mode              string  `json:"mode"`
	BatchSize         int     `json:"batch_size"`
	Threads           int     `json:"threads"`
	ExamplesPerSecond float64 `json:"examples_per_second"`
	StepsPerSecond    float64 `json:"steps_per_second"`
	P50               float64 `json:"p50_us"`
	P99               float64 `json:"p99_us"`
	GFLOPs            float64 `json:"gflops"` // per second
	PercentOfPeak     float64 `json:"percent_of_peak"`
	AllocsPerStep     float64 `json:"allocs_per_step"`
	RSS               int64   `json:"rss_bytes"`
}

func newBench() *cobra.Command {
	var f benchFlags
	c := &cobra.Command{
		Use:   "bench MODEL",
		Short: "Measure how fast a model trains or predicts",
		Long: "Measure how fast a model trains or predicts, on made-up data of its input shapes: steps and examples a second, the median and the\n" +
			"99th percentile of a step in microseconds, the arithmetic of matrix products and convolutions against the peak of this machine,\n" +
			"measured in the same run, allocations in a step, and the memory of the process.",
		Example: "  keras bench model.keras\n  keras bench model.keras --mode predict --batch-size 1 --threads 1 --seconds 5 --json\n  keras bench model.keras --strategy mirrored --devices cpu:0,cpu:1",
		Args:    exactly("MODEL"),
		RunE: func(c *cobra.Command, args []string) error {
			m, err := f.prepare(args[0])
			if err != nil {
				return err
			}
			b, err := f.measure(c.Context(), m, args[0])
			if err != nil {
				return err
			}
			return b.print(c.OutOrStdout(), f.asJSON)
		},
	}
	f.register(c)
	return c
}

func (b *benchmark) print(w io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(b)
	}
	peak := ""
	if b.PercentOfPeak > 0 { // of other devices nobody measures it
		peak = fmt.Sprintf(", %.0f %% of the peak of this machine", b.PercentOfPeak)
	}
	_, err := fmt.Fprintf(w, "%s, batch %d, %d threads: %.1f examples/s, %.1f steps/s\nstep: median %.0f µs, 99th percentile %.0f µs, %.2f allocations\n"+
		"arithmetic: %.2f GFLOP/s%s\nmemory: %.1f MB\n", b.Mode, b.BatchSize, b.Threads, b.ExamplesPerSecond, b.StepsPerSecond, b.P50, b.P99,
		b.AllocsPerStep, b.GFLOPs, peak, float64(b.RSS)/1e6)
	return err
}

func (f *benchFlags) measure(ctx context.Context, m *keras.Model, path string) (*benchmark, error) {
	batch, err := newSynthetic(ctx, m, f.batchSize, f.mode == "train")
	if err != nil {
		return nil, err
	}
	clock := newClock(time.Duration(f.seconds * float64(time.Second)))
	run := predictFor
	if f.mode == "train" {
		run = trainFor
	}
	if err := run(ctx, m, batch, clock); err != nil {
		return nil, err
	}
	b := &benchmark{Mode: f.mode, BatchSize: f.batchSize, Threads: runtime.GOMAXPROCS(0), RSS: peakMemory()}
	clock.report(b)
	flops, err := f.count(ctx, path, batch)
	if err != nil {
		return nil, err
	}
	b.GFLOPs = flops * b.StepsPerSecond / 1e9
	if m.Strategy().Devices()[0].Kind == "cpu" {
		b.PercentOfPeak = 100 * b.GFLOPs * 1e9 / cpu.MeasurePeak(200*time.Millisecond)
	}
	return b, nil
}

// count returns the floating-point operations of a step: it runs one step of a second copy of the model under the
// profiler.
func (f *benchFlags) count(ctx context.Context, path string, batch *synthetic) (float64, error) {
	m, err := loadModel(path)
	if err != nil {
		return 0, err
	}
	ctx = cpu.Measurable(ctx)
	measurement, err := cpu.StartMeasurement(ctx)
	if err != nil {
		return 0, err
	}
	defer measurement.Stop()
	if err := f.steps(ctx, m, batch, 1); err != nil {
		return 0, err
	}
	flops := 0.0
	for _, p := range measurement.Stop() {
		for _, op := range p.Ops {
			flops += float64(op.FLOPs) * float64(op.Calls)
		}
	}
	return flops, nil
}

// steps runs a number of steps.
func (f *benchFlags) steps(ctx context.Context, m *keras.Model, batch *synthetic, n int) error {
	if f.mode == "train" {
		_, err := m.Fit(ctx, batch, keras.StepsPerEpoch(n))
		return err
	}
	for range n {
		if _, err := m.PredictAll(ctx, data.Arrays(batch.batch.X, nil), keras.BatchSize(batch.batch.Size())); err != nil {
			return err
		}
	}
	return nil
}

// warmUp is the number of steps before measuring starts.
const warmUp = 3

// clock notes when steps end.
type clock struct {
	limit time.Duration
	stop  func()

	begin, last time.Time
	seen        int
	times       []float64 // seconds
	memory      runtime.MemStats
	mallocs     uint64 // at the beginning, and then of all steps
}

func newClock(limit time.Duration) *clock {
	return &clock{limit: limit, times: make([]float64, 0, 1<<20)}
}

// tick notes the end of a step, and requests a stop when the time is over.
func (c *clock) tick() {
	now := time.Now()
	c.seen++
	switch {
	case c.seen == warmUp:
		runtime.ReadMemStats(&c.memory)
		c.mallocs = c.memory.Mallocs
		now = time.Now()
		c.begin = now
	case c.seen > warmUp && len(c.times) < cap(c.times):
		c.times = append(c.times, now.Sub(c.last).Seconds())
		if now.Sub(c.begin) > c.limit {
			runtime.ReadMemStats(&c.memory)
			c.mallocs = c.memory.Mallocs - c.mallocs
			c.stop()
		}
	}
	c.last = now
}

func (c *clock) report(b *benchmark) {
	n := float64(len(c.times))
	b.StepsPerSecond = n / c.last.Sub(c.begin).Seconds()
	b.ExamplesPerSecond = b.StepsPerSecond * float64(b.BatchSize)
	b.AllocsPerStep = float64(c.mallocs) / n
	slices.Sort(c.times)
	b.P50, b.P99 = 1e6*c.times[len(c.times)/2], 1e6*c.times[len(c.times)*99/100]
}

func trainFor(ctx context.Context, m *keras.Model, batch *synthetic, c *clock) error {
	c.stop = m.Stop
	batch.tick = c.tick
	defer func() { batch.tick = nil }()
	_, err := m.Fit(ctx, batch, keras.StepsPerEpoch(1<<40))
	return err
}

func predictFor(ctx context.Context, m *keras.Model, batch *synthetic, c *clock) error {
	done := errors.New("done")
	var stopped error
	c.stop = func() { stopped = done }
	source := data.Arrays(batch.batch.X, nil)
	into, err := m.PredictAll(ctx, source, keras.BatchSize(batch.batch.Size()))
	if err != nil {
		return err
	}
	for stopped == nil {
		if err := m.PredictOnBatchInto(ctx, source, into...); err != nil {
			return err
		}
		c.tick()
	}
	return nil
}
