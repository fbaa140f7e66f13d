package main

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/cluster/clustertest"
	"github.com/gokeras/gokeras/distribute/parameterserver"
	"github.com/gokeras/gokeras/internal/fairclock"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/optimizers"
)

// faults is the number of faults of TestChaos.
var faults = flag.Int("faults", 0, "faults in TestChaos; 0: it is not run")

// schedule is the seed of the faults of TestChaos and TestFaultTimes.
var schedule = flag.Uint64("schedule", 1, "seed of the faults of TestChaos and TestFaultTimes")

// chaosFlags are those of a task in TestChaos. kind says how gradients are applied and for how many epochs,
// "synchronous 100"; "copies" after it: each variable lies on two servers; "dynamic": the table of users grows;
// "count": steps are counted. There are more examples than pairs of users and items, so that the noise is not learnt by
// heart and the loss has a floor.
func chaosFlags(kind, output string) flags {
	words := strings.Fields(kind)
	epochs, err := strconv.Atoi(words[1])
	if err != nil {
		panic(err)
	}
	f := flags{users: 300, items: 100, examples: 200_000, epochs: epochs, steps: 20, batch: 64, noise: 0.1, synchronous: words[0] == "synchronous", deadline: time.Second, output: output,
		logBytes: 40_000, // some steps: servers are killed in the midst of snapshots too
		fit:      []keras.FitOption{keras.Callbacks(&progress{directory: filepath.Dir(output)}), keras.Verbose(0)}}
	if slices.Contains(words, "copies") { // a server that is only slow on a busy machine must not count as lost when the other one is killed
		f.replicas, f.deadline = 2, 5*time.Second
	}
	f.dynamic = slices.Contains(words, "dynamic")
	if slices.Contains(words, "count") {
		f.deadline = faultDeadline
		f.fit = append(f.fit, keras.Callbacks(&counter{path: filepath.Join(filepath.Dir(output), "steps"), steps: f.steps}))
	}
	return f
}

// forever is more epochs than pass during the faults.
const forever = 1_000_000

// progress notes the epochs that the coordinator has come to, and ends training when it is told that this is enough.
type progress struct {
	callbacks.Base
	directory string
}

// OnEpochEnd replaces the note.
func (p *progress) OnEpochEnd(epoch int, logs *callbacks.Logs) error {
	path := filepath.Join(p.directory, "progress")
	if err := os.WriteFile(path+".new", []byte(strconv.Itoa(epoch+1)), 0o644); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(p.directory, "enough")); err == nil {
		p.Model().Stop()
	}
	return os.Rename(path+".new", path)
}

// chaos is a job of real processes.
type chaos struct {
	flags
	t     *testing.T
	spec  *cluster.Spec
	dir   string
	kind  string
	tasks map[string]*task
}

func startChaos(t *testing.T, mode string, epochs int) *chaos {
	first, rest, _ := strings.Cut(mode, " ")
	kind := strings.TrimSpace(fmt.Sprint(first, " ", epochs, " ", rest))
	c := &chaos{flags: chaosFlags(kind, ""), t: t, dir: t.TempDir(), kind: kind, tasks: map[string]*task{}}
	jobs := map[string]int{"chief": 1, "ps": 2, "worker": 3}
	if c.replicas == 2 {
		jobs["ps"] = 3 // so that the two copies of one are not those of the others
	}
	c.spec = clustertest.Jobs(t, jobs)
	for job, n := range jobs {
		for i := range n {
			name := cluster.Task{Type: job, Index: i}
			c.tasks[name.String()] = start(t, c.spec, name, c.dir, kind)
		}
	}
	return c
}

// epoch is how many epochs have ended.
func (c *chaos) epoch() int {
	text, _ := os.ReadFile(filepath.Join(c.dir, "progress")) // none yet
	n, _ := strconv.Atoi(string(text))
	return n
}

// await waits for the end of another epoch.
func (c *chaos) await(after int, what string) {
	clock := fairclock.Start()
	defer clock.Stop()
	for c.epoch() <= after {
		if clock.Elapsed() > time.Minute {
			c.dump()
			c.t.Fatalf("%s: the job hangs after epoch %d", what, after)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// dump logs what all tasks do.
func (c *chaos) dump() {
	for name, p := range c.tasks {
		_ = p.command.Process.Signal(syscall.SIGQUIT)
		_ = p.command.Wait() // it has been told to end
		c.t.Logf("%s: %s", name, p.out.String())
	}
}

// doubled waits until everything has two copies: the loss of both is the end of a job.
func (c *chaos) doubled() {
	clock := fairclock.Start()
	defer clock.Stop()
	o := parameterserver.Options{Resolver: &cluster.Simple{Cluster: c.spec, Task: &cluster.Task{Type: cluster.Chief}}, Replicas: c.replicas, Deadline: c.deadline}
	for {
		copies, err := parameterserver.FindCopies(c.t.Context(), o)
		require.NoError(c.t, err)
		if !slices.ContainsFunc(copies, func(one parameterserver.Copies) bool { return !one.Complete }) {
			return
		}
		if clock.Elapsed() > 2*time.Minute {
			c.dump()
			c.t.Fatalf("copies are not complete: %+v", copies)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// fault lets something happen to a task, or to several at once: they are killed and started again, or stopped for some
// time, which is longer than the deadline or not.
func (c *chaos) fault(r *rand.Rand) string {
	names := []string{"worker:0", "worker:1", "worker:2", "worker:0", "worker:1", "worker:2", "ps:0", "ps:1", "chief:0"}
	if c.replicas == 2 {
		names = []string{"worker:0", "worker:1", "worker:2", "ps:0", "ps:1", "ps:2", "ps:0", "ps:1", "ps:2", "chief:0", "chief:0"}
	}
	victims := []string{names[r.IntN(len(names))]}
	if r.IntN(5) == 0 {
		victims = c.several(r)
	}
	server := func(name string) bool { return strings.HasPrefix(name, "ps") }
	if c.replicas == 2 && slices.ContainsFunc(victims, server) {
		c.doubled()
	}
	stopped, d := r.IntN(4) == 0, time.Duration(1+r.IntN(1500))*c.deadline/1000
	for _, name := range victims {
		if p := c.tasks[name]; stopped {
			require.NoError(c.t, p.command.Process.Signal(syscall.SIGSTOP), "%s has ended: %s", name, p.out.String())
			time.AfterFunc(d, func() { _ = p.command.Process.Signal(syscall.SIGCONT) }) // it may have been killed
		} else {
			require.NoError(c.t, p.command.Process.Kill(), "%s has ended: %s", name, p.out.String())
		}
	}
	if stopped {
		return fmt.Sprint(strings.Join(victims, "+"), " stopped for ", d)
	}
	for _, name := range victims {
		p := c.tasks[name]
		_ = p.command.Wait() // it was killed
		c.tasks[name] = start(c.t, c.spec, p.Task, c.dir, c.kind)
	}
	return strings.Join(victims, "+") + " killed"
}

// several chooses tasks, of the servers with copies one at most.
func (c *chaos) several(r *rand.Rand) []string {
	all := slices.Sorted(maps.Keys(c.tasks))
	r.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
	if c.replicas == 2 {
		one := false
		all = slices.DeleteFunc(all, func(name string) bool {
			other := strings.HasPrefix(name, "ps") && one
			one = one || strings.HasPrefix(name, "ps")
			return other
		})
	}
	return all[:2+r.IntN(len(all)-1)]
}

// end waits for all and returns the trained model.
func (c *chaos) end() *keras.Model {
	for name, p := range c.tasks {
		ended := make(chan error, 1)
		go func() { ended <- p.command.Wait() }()
		select {
		case err := <-ended:
			require.NoError(c.t, err, "%s: %s", name, p.out.String())
		case <-time.After(30 * time.Minute):
			c.t.Fatalf("%s does not end: %s", name, p.out.String())
		}
	}
	m, err := keras.LoadModel(filepath.Join(c.dir, "model.keras"))
	require.NoError(c.t, err)
	return m
}

// iterations is how many steps the optimizer has made.
func iterations(t *testing.T, m *keras.Model) int64 {
	n, err := m.Optimizer().(*optimizers.Adam).Iterations().Value()
	require.NoError(t, err)
	return int64(n.Float64s()[0])
}

// modes are the jobs of TestChaos. All but the first two suffer a quarter of the faults.
var modes = []string{"asynchronous", "synchronous", "asynchronous copies", "synchronous copies", "asynchronous dynamic copies", "synchronous dynamic copies"}

// leastEpochs is how long an asynchronous job lasts at least, so that it has learnt what there is to learn.
const leastEpochs = 200

// TestChaos trains the recommender while its processes are killed and stopped, hundreds of times. The job never hangs,
// and learns what a job of as many steps learns without faults: asynchronous training as well, synchronous training
// with the same bits. With two copies of each variable nothing is on disk; then a server is killed or stopped when the
// copies are complete, whichever they are.
func TestChaos(t *testing.T) {
	if *faults == 0 || runtime.GOOS != "linux" {
		t.Skip("on Linux, with -faults: see make chaos-ps")
	}
	for i, mode := range modes {
		t.Run(mode, func(t *testing.T) {
			n, began := *faults, time.Now()
			if i > 1 {
				n /= 4
			}
			c := startChaos(t, mode, forever)
			c.await(0, "the start")
			c.suffer(rand.New(rand.NewPCG(*schedule, 3)), n)
			t.Logf("%d faults until epoch %d, in %v", n, c.epoch(), time.Since(began).Round(time.Second))
			for !c.synchronous && c.epoch() < leastEpochs {
				c.await(c.epoch(), "after the faults")
			}
			require.NoError(t, os.WriteFile(filepath.Join(c.dir, "enough"), nil, 0o644))
			broken := c.end()
			epochs := c.epoch()
			require.EqualValues(t, epochs*c.steps, iterations(t, broken), "steps are lost, or made twice")
			whole := startChaos(t, mode, epochs).end()
			require.EqualValues(t, epochs*c.steps, iterations(t, whole))
			t.Logf("%d epochs with faults, and without, in %v", epochs, time.Since(began).Round(time.Second))
			if strings.HasPrefix(mode, "synchronous") {
				equalWeights(t, whole, broken)
			}
			f := chaosFlags(c.kind, "")
			loss := func(m *keras.Model) float64 {
				scores, err := m.Evaluate(t.Context(), examples(f), keras.BatchSize(1000))
				require.NoError(t, err)
				return scores["loss"]
			}
			a, b := loss(whole), loss(broken)
			t.Logf("loss %.4f without faults, %.4f with", a, b)
			require.InDelta(t, a, b, 0.05*a)
		})
	}
}

// suffer lets n faults happen.
func (c *chaos) suffer(r *rand.Rand, n int) {
	counts := map[string]int{}
	var slowest time.Duration
	for i := range n {
		epoch, before := c.epoch(), time.Now()
		what := c.fault(r)
		counts[strings.Join(strings.Fields(what)[:2], " ")]++
		if r.IntN(4) > 0 { // otherwise the next one comes at once
			c.await(epoch, fmt.Sprintf("fault %d, %s", i, what))
			took := time.Since(before)
			slowest = max(slowest, took)
			c.t.Logf("fault %d, %s: the next epoch ended after %v", i, what, took.Round(time.Millisecond))
		}
		time.Sleep(time.Duration(r.IntN(40)) * time.Millisecond)
	}
	c.t.Logf("%v; the next epoch ended within %v", counts, slowest.Round(time.Millisecond))
}

// equalWeights requires the same bits.
func equalWeights(t *testing.T, a, b *keras.Model) {
	t.Helper()
	for i, v := range a.Weights() {
		want, err := v.Value()
		require.NoError(t, err)
		got, err := b.Weights()[i].Value()
		require.NoError(t, err)
		require.Equal(t, want.Data, got.Data, v.Path())
	}
}
