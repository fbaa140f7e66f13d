package main

import (
	"flag"
	"fmt"
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

// chaosFlags are those of a task in TestChaos; kind is "asynchronous N" or "synchronous N", with the number of epochs,
// and "2 copies" after it where each variable lies on two servers. There are more examples than pairs of users and
// items, so that the noise is not learnt by heart and the loss has a floor.
func chaosFlags(kind, output string) flags {
	words := strings.Fields(kind)
	epochs, err := strconv.Atoi(words[1])
	if err != nil {
		panic(err)
	}
	f := flags{users: 300, items: 100, examples: 200_000, epochs: epochs, steps: 20, batch: 64, noise: 0.1, synchronous: words[0] == "synchronous", deadline: time.Second, output: output,
		fit: []keras.FitOption{keras.Callbacks(&progress{path: filepath.Join(filepath.Dir(output), "progress")})}}
	if len(words) > 2 { // a server that is only slow on a busy machine must not count as lost when the other one is killed
		f.replicas, f.deadline = 2, 5*time.Second
	}
	return f
}

// progress notes the epochs that the coordinator has come to.
type progress struct {
	callbacks.Base
	path string
}

// OnEpochEnd replaces the note.
func (p *progress) OnEpochEnd(epoch int, logs *callbacks.Logs) error {
	if err := os.WriteFile(p.path+".new", []byte(strconv.Itoa(epoch+1)), 0o644); err != nil {
		return err
	}
	return os.Rename(p.path+".new", p.path)
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

func startChaos(t *testing.T, kind string) *chaos {
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

// fault lets something happen to a task: it is killed and started again, or stopped for some time, which is longer than
// the deadline or not.
func (c *chaos) fault(r *rand.Rand) string {
	names := []string{"worker:0", "worker:1", "worker:2", "worker:0", "worker:1", "worker:2", "ps:0", "ps:1", "chief:0"}
	if c.replicas == 2 {
		names = []string{"worker:0", "worker:1", "worker:2", "ps:0", "ps:1", "ps:2", "ps:0", "ps:1", "ps:2", "chief:0", "chief:0"}
	}
	name := names[r.IntN(len(names))]
	p := c.tasks[name]
	if c.replicas == 2 && p.Type == cluster.ParameterServer {
		c.doubled()
	}
	if r.IntN(4) == 0 {
		d := time.Duration(1+r.IntN(1500)) * c.deadline / 1000
		require.NoError(c.t, p.command.Process.Signal(syscall.SIGSTOP), "%s has ended: %s", name, p.out.String())
		time.AfterFunc(d, func() { _ = p.command.Process.Signal(syscall.SIGCONT) }) // it may have been killed
		return fmt.Sprint(name, " stopped for ", d)
	}
	require.NoError(c.t, p.command.Process.Kill(), "%s has ended: %s", name, p.out.String())
	_ = p.command.Wait() // it was killed
	c.tasks[name] = start(c.t, c.spec, p.Task, c.dir, c.kind)
	return name + " killed"
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

// TestChaos trains the recommender while its processes are killed and stopped, hundreds of times. The job never hangs,
// and learns what an unbroken run learns: asynchronous training as well, synchronous training with the same bits. With
// two copies of each variable nothing is on disk; then a server is killed or stopped when the copies are complete,
// whichever they are.
func TestChaos(t *testing.T) {
	if *faults == 0 || runtime.GOOS != "linux" {
		t.Skip("on Linux, with -faults: see make chaos-ps")
	}
	for name, n := range map[string]int{"asynchronous": *faults, "synchronous": *faults / 4, "asynchronous 2 copies": *faults / 4, "synchronous 2 copies": *faults / 4} {
		t.Run(name, func(t *testing.T) {
			epochs := 100 + 4*n // more than pass during the faults
			first, rest, _ := strings.Cut(name, " ")
			kind := fmt.Sprint(first, " ", epochs, " ", rest)
			whole := startChaos(t, kind).end()
			c := startChaos(t, kind)
			c.await(0, "the start")
			r := rand.New(rand.NewPCG(uint64(n), 3))
			counts := map[string]int{}
			for i := range n {
				epoch := c.epoch()
				what := c.fault(r)
				counts[strings.Join(strings.Fields(what)[:2], " ")]++
				if r.IntN(4) > 0 { // otherwise the next one comes at once
					c.await(epoch, fmt.Sprintf("fault %d, %s", i, what))
				}
				time.Sleep(time.Duration(r.IntN(40)) * time.Millisecond)
			}
			require.Less(t, c.epoch(), epochs, "the job was over before the faults were")
			t.Logf("%d faults until epoch %d of %d: %v", n, c.epoch(), epochs, counts)
			broken := c.end()
			require.EqualValues(t, epochs*c.steps, iterations(t, broken), "steps are lost, or made twice")
			if strings.HasPrefix(kind, "synchronous") {
				for i, v := range whole.Weights() {
					want, err := v.Value()
					require.NoError(t, err)
					got, err := broken.Weights()[i].Value()
					require.NoError(t, err)
					require.Equal(t, want.Data, got.Data, v.Path())
				}
				return
			}
			f := chaosFlags(kind, "")
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
