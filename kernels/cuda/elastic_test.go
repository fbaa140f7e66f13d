//go:build linux

package cuda

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/collective"
	"github.com/gokeras/gokeras/distribute/multiworker"
	"github.com/gokeras/gokeras/internal/ports"
	"github.com/gokeras/gokeras/internal/tracing"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakedriver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakenccl"
	"github.com/gokeras/gokeras/kernels/cuda/internal/nccl"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/optimizers"
)

// These tests run workers as processes: this test binary, started again, with devices of its own. The workers' group is
// the real one; the world of package fakenccl, in which their devices meet, is served by the test.

// gpuJob says what the workers do.
type gpuJob struct {
	World    string // socket
	Devices  int    // of each worker
	Elastic  *distribute.Elastic
	Deadline time.Duration
	Epochs   int
	Windows  bool          // the workers are on one host, without NCCL
	Real     bool          // the workers meet on the GPU cuda:0
	Pace     time.Duration // of a step, at least: there shall be time for faults
	Ring     bool          // the workers meet in host memory
	Timeout  time.Duration // of what they wait for
	Fates    map[int]fate  // of workers that the others wait for in vain
	Late     map[int]fate  // what keeps workers for a while that nothing else happens to
	Captured bool          // NCCL takes part in graphs that span the devices of a worker
	Loop     bool          // they run a loop of the program's own
	Join     time.Duration // how long they wait to join; 0: a minute
	Close    bool          // a worker that fails leaves nothing running
	Trace    bool          // of the steps; gradients meet in small buckets
	Launched bool          // by keras launch, which says what devices of one machine the worker sees
}

const jobSteps = 4 // in an epoch

// outcome is what a worker ends with.
type outcome struct {
	Weights [][]float64
	Loss    []float64
	Steps   float64 // as the optimizer counts
	Calls   int     // all-reduces by the library, in this life; or memory of others that was opened
	Beside  int     // collectives that a trace shows beside kernels
	Read    int     // copies of the first kernel, or of its moments, to host memory, between the first step and the last
}

// kernelBytes is the size of the first kernel, which nothing else has.
const kernelBytes = 4 * 3 * 4

// work is a worker's life.
func (j *gpuJob) work() error {
	bus := os.Getpid()
	if j.Launched {
		var err error
		if bus, err = strconv.Atoi(os.Getenv("CUDA_VISIBLE_DEVICES")); err != nil {
			return err
		}
	}
	f := fakedriver.New(fakedriver.Options{Devices: j.Devices, Bus: bus})
	library, err := fakenccl.Dial("unix", j.World, f)
	if err != nil {
		return err
	}
	b := newBackend("fakecuda", func() (driver.API, error) { return f, nil })
	b.host = func() string { return fmt.Sprint("host", os.Getpid()) } // the fakes number their cards alike
	b.openNCCL = func() (nccl.API, error) { return library, nil }
	if j.Launched {
		b.host = func() string { return "one host" }
	}
	implementation := collective.NCCL
	if j.Windows {
		implementation = collective.Auto
		b.host = func() string { return "one host" }
		b.openNCCL = func() (nccl.API, error) { return nil, errors.New("there is no NCCL") }
	}
	kind := "fakecuda"
	if j.Real {
		kind, own.sharing, own.openNCCL = Kind, true, b.openNCCL
	}
	if j.Ring {
		implementation = collective.Ring
	}
	if len(j.Fates) > 0 && !j.Windows {
		b.openNCCL = func() (nccl.API, error) { return stuckLibrary{library, j}, nil }
	}
	kernels.Register(b)
	o := multiworker.Options{Elastic: j.Elastic, Deadline: j.Deadline, JoinTimeout: time.Minute, Observe: func(text string) { fmt.Println(text) },
		Communication: collective.CommunicationOptions{Implementation: implementation, Timeout: j.Timeout, Captured: j.Captured}}
	if j.Join > 0 {
		o.JoinTimeout = j.Join
	}
	if j.Trace {
		o.Communication.BytesPerPack = 32
	}
	j.meetLater()
	for i := range j.Devices {
		o.Devices = append(o.Devices, fmt.Sprint(kind, ":", i))
	}
	s, err := multiworker.NewStrategy(context.Background(), o)
	if err == nil {
		if err = j.train(s, f, library); err != nil && j.Close {
			_ = s.Close() // the first error is the one to report
		}
	}
	if err != nil && j.Close {
		err = errors.Join(err, nothingLeft())
	}
	return err
}

// train is what a worker does in a job.
func (j *gpuJob) train(s *distribute.MultiWorkerMirroredStrategy, f *fakedriver.Fake, library *fakenccl.Library) error {
	m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 3, Activation: "relu"}, &layers.Dense{Units: 2}}, distribute.Scope(s), keras.Seed(3), keras.InputShape(4))
	if err != nil {
		return err
	}
	if err := m.Compile(keras.CompileConfig{Optimizer: &optimizers.Adam{LearningRate: 0.01}, Loss: "mse", Metrics: []string{"mae"}}); err != nil {
		return err
	}
	if err := j.meet(beforeFit, 0); err != nil {
		return err
	}
	if j.Loop {
		return j.loop(s)
	}
	epoch, read := 0, -1
	told := &callbacks.LambdaCallback{
		EpochBegin: func(e int) error { epoch = e; return nil },
		TrainBatchEnd: func(batch int, _ *callbacks.Logs) error {
			fmt.Println("step", epoch*jobSteps+batch+1)
			if read < 0 {
				read = f.Downloads()[kernelBytes]
			}
			time.Sleep(j.Pace)
			return j.meet(inStep, epoch*jobSteps+batch+1)
		},
	}
	x, y := make([][]float32, 5*jobSteps-3), make([][]float32, 5*jobSteps-3) // the last batch leaves some without examples
	for i := range x {
		for k := range 4 {
			x[i] = append(x[i], float32((7*i+3*k)%11)/11)
		}
		y[i] = []float32{x[i][0] - x[i][2], x[i][1]}
	}
	ctx, slot := tracing.Context(context.Background())
	var trace *tracing.Recorder
	if j.Trace {
		if trace, err = slot.Start(100000); err != nil {
			return err
		}
	}
	h, err := m.Fit(ctx, data.Arrays(x, y), keras.BatchSize(5), keras.Epochs(j.Epochs), keras.Callbacks(told))
	if err != nil {
		return err
	}
	out := outcome{Read: f.Downloads()[kernelBytes] - read, Loss: h.Logs["loss"], Calls: library.Calls()["ncclAllReduce"]}
	switch {
	case j.Real:
		out.Calls = 1
	case j.Windows:
		out.Calls = f.Calls()["cuIpcOpenMemHandle_v2"]
	}
	if j.Trace {
		trace.Stop()
		steps, err := stepsOf(trace)
		if err != nil {
			return err
		}
		out.Beside = overlaps(steps)
	}
	weights, err := m.GetWeights()
	if err != nil {
		return err
	}
	for _, w := range weights {
		out.Weights = append(out.Weights, w.Float64s())
	}
	slots, err := m.OptimizerArrays()
	if err != nil {
		return err
	}
	out.Steps = slots[0].Element(0)
	text, err := json.Marshal(out)
	fmt.Println("outcome", string(text))
	for _, fault := range []error{err, f.Fault(), library.Fault()} {
		if fault != nil {
			return fault
		}
	}
	return s.Close()
}

// gpuCluster runs a job. The test is its launcher.
type gpuCluster struct {
	t    *testing.T
	job  gpuJob
	spec *cluster.Spec

	mu       sync.Mutex
	changed  sync.Cond
	lives    []*exec.Cmd
	reached  []int // the last step of each worker's life
	last     int   // of all
	outcomes []*outcome
	failures []string
	log      []string
	late     bool
}

func startCluster(t *testing.T, workers int, job gpuJob) *gpuCluster {
	t.Helper()
	job.World = filepath.Join(t.TempDir(), "world")
	l, err := net.Listen("unix", job.World)
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	go fakenccl.NewWorld().Serve(l)
	c := &gpuCluster{t: t, job: job, lives: make([]*exec.Cmd, workers), reached: make([]int, workers), outcomes: make([]*outcome, workers)}
	c.changed.L = &c.mu
	addresses, err := ports.Free(workers)
	require.NoError(t, err)
	c.spec, err = cluster.NewSpec(map[string][]string{cluster.Worker: addresses})
	require.NoError(t, err)
	return c
}

// start begins a life of a worker.
func (c *gpuCluster) start(worker int) {
	c.t.Helper()
	config, err := cluster.FormatTFConfig(c.spec, cluster.Task{Type: cluster.Worker, Index: worker})
	require.NoError(c.t, err)
	job, err := json.Marshal(c.job)
	require.NoError(c.t, err)
	p := exec.Command(os.Args[0])
	p.Env = append(os.Environ(), jobVariable+"="+string(job), cluster.TFConfigVariable+"="+config)
	out, err := p.StdoutPipe()
	require.NoError(c.t, err)
	p.Stderr = p.Stdout
	require.NoError(c.t, p.Start())
	c.mu.Lock()
	c.lives[worker], c.reached[worker] = p, 0
	c.mu.Unlock()
	over := make(chan struct{})
	go func() {
		c.listen(worker, out)
		p.Wait()
		close(over)
	}()
	c.t.Cleanup(func() {
		p.Process.Signal(syscall.SIGCONT)
		p.Process.Kill()
		<-over
	})
}

func (c *gpuCluster) listen(worker int, r io.Reader) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		text := lines.Text()
		c.mu.Lock()
		step := 0
		if _, err := fmt.Sscanf(text, "step %d", &step); err == nil {
			c.reached[worker], c.last = step, max(c.last, step)
		} else if rest, ok := strings.CutPrefix(text, "outcome "); ok {
			o := new(outcome)
			if err := json.Unmarshal([]byte(rest), o); err == nil {
				c.outcomes[worker] = o
			}
		} else {
			c.log = append(c.log, fmt.Sprint(worker, ": ", text))
			if strings.HasPrefix(text, "worker: ") {
				c.failures = append(c.failures, fmt.Sprint(worker, ": ", text))
			}
		}
		c.changed.Broadcast()
		c.mu.Unlock()
	}
}

// await waits until something holds that the workers have said, or one has failed.
func (c *gpuCluster) await(what string, holds func() bool) {
	c.t.Helper()
	late := time.AfterFunc(2*time.Minute, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.failures = append(c.failures, "waiting for "+what)
		c.changed.Broadcast()
	})
	defer late.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	for !holds() && len(c.failures) == 0 {
		c.changed.Wait()
	}
	require.Empty(c.t, c.failures, "the workers said:\n%s", strings.Join(c.log, "\n"))
}

// step waits for a step of any worker, and whole for one of each.
func (c *gpuCluster) step(n int) { c.await(fmt.Sprint("step ", n), func() bool { return c.last >= n }) }

func (c *gpuCluster) whole(n int) {
	c.await(fmt.Sprint("all in step ", n), func() bool {
		for i, at := range c.reached {
			if at < n && c.outcomes[i] == nil {
				return false
			}
		}
		return true
	})
}

func (c *gpuCluster) signal(worker int, s syscall.Signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	require.NoError(c.t, c.lives[worker].Process.Signal(s))
}

// said waits until a worker has said a line with the text.
func (c *gpuCluster) said(worker int, text string) {
	c.t.Helper()
	c.await(fmt.Sprintf("%q of worker %d", text, worker), func() bool {
		for _, line := range c.log {
			if strings.HasPrefix(line, fmt.Sprint(worker, ": ")) && strings.Contains(line, text) {
				return true
			}
		}
		return false
	})
}

// end returns what all workers end with.
func (c *gpuCluster) end() []*outcome {
	c.t.Helper()
	c.await("the end", func() bool {
		for _, o := range c.outcomes {
			if o == nil {
				return false
			}
		}
		return true
	})
	return c.outcomes
}

// The state stays in device memory when workers are lost: nobody copies a weight to the host where nobody is behind the
// others. Where a worker comes back, one of the others does so.
func TestRecoveryStaysOnDevices(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes: not with -short")
	}
	for how, windows := range map[string]bool{"NCCL": false, "windows": true} {
		for _, returns := range []bool{false, true} {
			t.Run(fmt.Sprint(how, ", returns: ", returns), func(t *testing.T) {
				c := startCluster(t, 3, gpuJob{Devices: 1, Elastic: &distribute.Elastic{Min: 1}, Epochs: 8, Deadline: 1500 * time.Millisecond, Windows: windows})
				for i := range 3 {
					c.start(i)
				}
				c.whole(3)
				c.signal(1, syscall.SIGKILL)
				c.said(0, "lost worker:1")
				c.step(c.last + 2)
				if returns {
					c.start(1)
				} else {
					c.outcomes[1] = new(outcome) // it does not count
				}
				read := 0
				for i, got := range c.end() {
					if i != 1 {
						require.Equal(t, float64(8*jobSteps), got.Steps)
						read += got.Read
					}
				}
				if returns {
					require.Positive(t, read, "the state of the worker that came back")
				} else {
					require.Zero(t, read)
				}
			})
		}
	}
}

// Workers with GPUs that are killed, frozen and started again, the first one among them, train through NCCL what they
// train unharmed, and so do those that meet in memory that they open to each other: the same bits where their number is
// kept, and every step once where it is not.
func TestElasticNCCL(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes: not with -short")
	}
	for name, job := range map[string]gpuJob{
		"kept":    {Devices: 1, Elastic: &distribute.Elastic{}, Epochs: 12},
		"fewer":   {Devices: 1, Elastic: &distribute.Elastic{Min: 1}, Epochs: 12},
		"of more": {Devices: 2, Elastic: &distribute.Elastic{}, Epochs: 6},
		"windows": {Devices: 1, Elastic: &distribute.Elastic{}, Epochs: 12, Windows: true},
	} {
		t.Run(name, func(t *testing.T) {
			const deadline = 1500 * time.Millisecond
			workers := 3
			if job.Devices > 1 {
				workers = 2
			}
			job.Deadline = deadline
			unbroken := startCluster(t, workers, job)
			for i := range workers {
				unbroken.start(i)
			}
			want := unbroken.end()
			job.Captured = job.Devices > 1 // the bits are the same
			c := startCluster(t, workers, job)
			for i := range workers {
				c.start(i)
			}
			c.whole(3)
			c.signal(1, syscall.SIGKILL)
			c.said(0, "lost worker:1")
			if name == "fewer" {
				c.step(8) // the others go on
			}
			c.start(1)
			c.whole(c.last + 2)
			c.signal(0, syscall.SIGKILL)
			c.said(1, "lost worker:0")
			c.start(0)
			c.whole(c.last + 2)
			c.signal(workers-1, syscall.SIGSTOP)
			c.said(0, fmt.Sprintf("lost worker:%d", workers-1))
			c.signal(workers-1, syscall.SIGCONT)
			for i, got := range c.end() {
				require.Equal(t, float64(job.Epochs*jobSteps), got.Steps, "worker %d: steps lost or done twice", i)
				require.NotZero(t, got.Calls, "worker %d", i)
				if name != "fewer" {
					require.Equal(t, want[i].Weights, got.Weights, "worker %d", i)
					require.Equal(t, want[i].Loss, got.Loss, "worker %d", i)
					continue
				}
				for k, w := range want[i].Weights {
					require.InDeltaSlice(t, w, got.Weights[k], 1e-4, "worker %d", i)
				}
			}
		})
	}
}
