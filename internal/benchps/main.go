// Benchps measures parameter servers as jobs of real processes: it starts itself as two servers and some workers, and
// coordinates. It prints what its twin tensorflow_servers.py prints, so that both can be compared: closures a second
// and the processor time of all processes together.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/coordinator"
	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/distribute/parameterserver"
	"github.com/gokeras/gokeras/distribute/partitioners"
	"github.com/gokeras/gokeras/internal/ports"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/optimizers"
)

var (
	kind    = flag.String("kind", "dense", "dense: an MLP of 10 MB; fit: the same in one process, without servers; embedding: look-ups in a table; dynamic: the same in one that grows; closure: closures that do nothing")
	workers = flag.Int("workers", 3, "number of workers")
	seconds = flag.Float64("seconds", 10, "how long to measure")
	rows    = flag.Int("rows", 10_000_000, "of the embedding")
	batch   = flag.Int("batch", 32, "of the MLP")
	flight  = flag.Int("in-flight", 0, "closures that a worker has at a time; 0: 8 of those that do nothing, else as many as usual")
	log     = flag.Bool("log", false, "servers keep a log of updates, which TensorFlow's do not")
	profile = flag.String("profile", "", "folder for a processor profile of each process")
)

func main() {
	flag.Parse()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	ctx := context.Background()
	if *kind == "fit" {
		return train(ctx, distribute.Default())
	}
	if os.Getenv("TF_CONFIG") == "" {
		return start(ctx)
	}
	stop, err := profiled()
	if err != nil {
		return err
	}
	defer stop()
	o := parameterserver.Options{VariablePartitioner: partitioners.FixedShards{Shards: 2}}
	if o.InFlight = *flight; o.InFlight == 0 && *kind == "closure" {
		o.InFlight = 8
	}
	return parameterserver.RunStrategy(ctx, o, map[string]func(context.Context, *distribute.ParameterServerStrategy) error{
		"dense": dense, "embedding": embedding, "dynamic": embedding, "closure": closure}[*kind])
}

// profiled begins the profile of this process, if one is wanted.
func profiled() (stop func(), err error) {
	if *profile == "" {
		return func() {}, nil
	}
	var own struct {
		Task struct {
			Type  string
			Index int
		}
	}
	if err := json.Unmarshal([]byte(os.Getenv("TF_CONFIG")), &own); err != nil {
		return nil, err
	}
	f, err := os.Create(filepath.Join(*profile, fmt.Sprintf("%s-%s-%d.pprof", *kind, own.Task.Type, own.Task.Index)))
	if err == nil {
		err = pprof.StartCPUProfile(f)
	}
	return pprof.StopCPUProfile, err
}

// start runs all processes of a job and waits for them.
func start(ctx context.Context) error {
	jobs := map[string][]string{}
	for job, n := range map[string]int{"ps": 2, "worker": *workers, "chief": 1} {
		var err error
		if jobs[job], err = ports.Free(n); err != nil {
			return err
		}
	}
	directory := ""
	if *log {
		var err error
		if directory, err = os.MkdirTemp("", "benchps"); err != nil {
			return err
		}
		defer os.RemoveAll(directory)
	}
	var all []*exec.Cmd
	var pids []string
	for _, job := range []string{"ps", "worker", "chief"} {
		for i := range jobs[job] {
			text, err := json.Marshal(map[string]any{"cluster": jobs, "task": map[string]any{"type": job, "index": i}})
			if err != nil {
				return err
			}
			c := exec.CommandContext(ctx, os.Args[0], os.Args[1:]...)
			c.Env = append(os.Environ(), "TF_CONFIG="+string(text), parameterserver.DirectoryVariable+"="+directory, "BENCHPS_PIDS="+strings.Join(pids, " "))
			c.Stdout, c.Stderr = os.Stdout, os.Stderr
			if err := c.Start(); err != nil {
				return err
			}
			all, pids = append(all, c), append(pids, strconv.Itoa(c.Process.Pid))
		}
	}
	var err error
	for _, c := range all {
		err = errors.Join(err, c.Wait())
	}
	return err
}

// stopwatch measures time, and the processor time of all processes of the job.
type stopwatch struct {
	began time.Time
	cpu   float64
}

func begin() stopwatch { return stopwatch{time.Now(), processorSeconds()} }

func (s stopwatch) report(closures, examples int, more map[string]any) error {
	d := time.Since(s.began).Seconds()
	out := map[string]any{"ours": *kind, "closures": closures, "seconds": d, "per_second": float64(closures*examples) / d, "ms_per_closure": 1000 * d / float64(closures),
		"cpu_ms_per_closure": 1000 * (processorSeconds() - s.cpu) / float64(closures)}
	if *log {
		out["log"] = true
	}
	for k, v := range more {
		out[k] = v
	}
	text, err := json.Marshal(out)
	fmt.Println(string(text))
	return err
}

// processorSeconds is what the processes of the job have used.
func processorSeconds() float64 {
	ticks := 0
	for _, pid := range append(strings.Fields(os.Getenv("BENCHPS_PIDS")), "self") {
		b, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil {
			return math.NaN()
		}
		_, rest, _ := strings.Cut(string(b), ") ")
		fields := strings.Fields(rest)
		for _, f := range fields[11:13] {
			n, _ := strconv.Atoi(f) // the kernel's own format
			ticks += n
		}
	}
	return float64(ticks) / 100
}

// measured receives the ends of epochs; the first one warms up.
type measured struct {
	callbacks.Base
	s     stopwatch
	steps int
}

// OnEpochEnd starts the stopwatch, or stops training when the time is over.
func (m *measured) OnEpochEnd(epoch int, logs *callbacks.Logs) error {
	if epoch == 0 {
		m.s = begin()
	} else {
		m.steps += stepsPerEpoch
	}
	return logs.Err()
}

const stepsPerEpoch = 60

func dense(ctx context.Context, s *distribute.ParameterServerStrategy) error { return train(ctx, s) }

// train trains the MLP on batches of ones.
func train(ctx context.Context, s distribute.Strategy) error {
	const width = 1140
	model, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: width, Activation: "relu", NoBias: true}, &layers.Dense{Units: width, NoBias: true}},
		keras.InputShape(width), distribute.Scope(s))
	if err != nil {
		return err
	}
	if err := model.Compile(keras.CompileConfig{Optimizer: &optimizers.SGD{LearningRate: 1e-4}, Loss: "mse"}); err != nil {
		return err
	}
	server, served := s.(*distribute.ParameterServerStrategy)
	examples := *batch
	if !served {
		examples *= stepsPerEpoch // workers begin again when their data end
	}
	x, y := make([]float32, examples*width), make([]float32, examples*width)
	for i := range x {
		x[i] = 1
	}
	src := data.Arrays(data.Must(data.ArrayOf(x, examples, width)), data.Must(data.ArrayOf(y, examples, width)))
	m := &measured{}
	epochs := 1 + int(*seconds)
	if _, err := model.Fit(ctx, src, keras.BatchSize(*batch), keras.StepsPerEpoch(stepsPerEpoch), keras.Epochs(epochs), keras.Shuffle(false), keras.Callbacks(m), keras.Verbose(0)); err != nil {
		return err
	}
	if !served || server.IsCoordinator() {
		return m.s.report(m.steps, 1, map[string]any{"batch": *batch})
	}
	return nil
}

// zipf draws numbers as numpy.random.Generator.zipf does.
func zipf(r *rand.Rand, a float64) int64 {
	b := math.Pow(2, a-1)
	for {
		u, v := 1-r.Float64(), r.Float64()
		x := math.Floor(math.Pow(u, -1/(a-1)))
		if x > math.MaxInt64/2 || x < 1 {
			continue
		}
		t := math.Pow(1+1/x, a-1)
		if v*x*(t-1)/(b-1) <= t/b {
			return int64(x)
		}
	}
}

// lookups draws batches of n ids, few of which come often, and says how many different ones each has.
func lookups(n int) (batches [8][]int64, different [8]int) {
	r := rand.New(rand.NewPCG(1, 1))
	for i := range batches {
		for range n {
			batches[i] = append(batches[i], zipf(r, 1.2)%int64(*rows))
		}
		distinct, _ := parameters.Distinct(batches[i])
		different[i] = len(distinct)
	}
	return batches, different
}

func embedding(ctx context.Context, s *distribute.ParameterServerStrategy) error {
	const width, batch, fields = 32, 4096, 26
	c, err := coordinator.New(s)
	if err != nil {
		return err
	}
	spec := coordinator.VariableSpec{Name: "table", Shape: ir.Shape{*rows, width}, Rule: parameters.Rule{Kind: parameters.SGD}, Init: parameters.Init{Kind: parameters.Uniform, A: -0.05, B: 0.05}}
	if *kind == "dynamic" {
		spec.Shape, spec.Dynamic = ir.Shape{width}, true
	}
	table, err := c.Variable(ctx, spec)
	if err != nil {
		return err
	}
	batches, different := lookups(batch * fields)
	var next atomic.Int64
	loss := c.RowLoss("loss", func(_ *distribute.Replica, e *ops.Tensor, _ []*ops.Tensor) *ops.Tensor {
		return ops.Add(ops.Sum(ops.Multiply(e, e)), ops.Sum(e))
	})
	loss.GradientOnly = true // TensorFlow drops the value as well, which nobody reads
	step := c.Function("step", func(cl *coordinator.Closure) (any, error) {
		n := int(next.Add(1)) % len(batches)
		_, err := cl.MinimizeRows(table, 0.01, batches[n], fields, loss)
		return different[n], err
	})
	if !c.Coordinates() {
		return c.Serve(ctx)
	}
	distinct := 0
	steps := func(n int) error {
		var all []*coordinator.RemoteValue
		for range n {
			v, err := c.Schedule(ctx, step)
			if err != nil {
				return err
			}
			all = append(all, v)
		}
		for _, v := range all {
			got, err := v.Fetch(ctx)
			if err != nil {
				return err
			}
			distinct += got.(int)
		}
		return nil
	}
	if err := steps(4 * *workers); err != nil {
		return err
	}
	watch, n := begin(), 0
	distinct = 0
	for time.Since(watch.began).Seconds() < *seconds {
		if err := steps(10 * *workers); err != nil {
			return err
		}
		n += 10 * *workers
	}
	return watch.report(n, batch, map[string]any{"distinct_per_closure": distinct / n, "servers_rss_per_table": serverMemory() / float64(4**rows*width)})
}

// serverMemory is the resident memory of the two servers, without that which workers lend them.
func serverMemory() float64 {
	total := 0
	for _, pid := range strings.Fields(os.Getenv("BENCHPS_PIDS"))[:2] {
		b, err := os.ReadFile("/proc/" + pid + "/status")
		if err != nil {
			return math.NaN()
		}
		for line := range strings.Lines(string(b)) {
			if name, rest, _ := strings.Cut(line, ":"); name == "RssAnon" || name == "RssFile" {
				kilobytes, _ := strconv.Atoi(strings.Fields(rest)[0]) // the kernel's own format
				total += kilobytes << 10
			}
		}
	}
	return float64(total)
}

func closure(ctx context.Context, s *distribute.ParameterServerStrategy) error {
	c, err := coordinator.New(s)
	if err != nil {
		return err
	}
	nothing := c.Function("nothing", func(*coordinator.Closure) (any, error) { return 0, nil })
	if !c.Coordinates() {
		return c.Serve(ctx)
	}
	steps := func(n int) error {
		for range n {
			if _, err := c.Schedule(ctx, nothing); err != nil {
				return err
			}
		}
		return c.Join(ctx)
	}
	if err := steps(50); err != nil {
		return err
	}
	watch, n := begin(), 0
	for time.Since(watch.began).Seconds() < *seconds/3 {
		if err := steps(1000); err != nil {
			return err
		}
		n += 1000
	}
	return watch.report(n, 1, nil)
}
