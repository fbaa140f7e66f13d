package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/cluster/clustertest"
	"github.com/gokeras/gokeras/internal/fairclock"
	"github.com/gokeras/gokeras/keras"
)

// faults is the number of faults of TestChaos.
var faults = flag.Int("faults", 0, "faults in TestChaos; 0: it is not run")

// chaosFlags are those of a task in TestChaos; kind is "asynchronous N" or "synchronous N", with the number of epochs. There are more examples than
// pairs of users and items, so that the noise is not learnt by heart and the loss has a floor.
func chaosFlags(kind, output string) flags {
	word, count, _ := strings.Cut(kind, " ")
	epochs, err := strconv.Atoi(count)
	if err != nil {
		panic(err)
	}
	return flags{users: 300, items: 100, examples: 200_000, epochs: epochs, steps: 20, batch: 64, noise: 0.1, synchronous: word == "synchronous", deadline: time.Second, output: output,
		fit: []keras.FitOption{keras.Callbacks(&progress{path: filepath.Join(filepath.Dir(output), "progress")})}}
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
	t     *testing.T
	spec  *cluster.Spec
	dir   string
	kind  string
	tasks map[string]*task
}

func startChaos(t *testing.T, kind string) *chaos {
	c := &chaos{t: t, spec: clustertest.Jobs(t, map[string]int{"chief": 1, "ps": 2, "worker": 3}), dir: t.TempDir(), kind: kind, tasks: map[string]*task{}}
	for job, n := range map[string]int{"chief": 1, "ps": 2, "worker": 3} {
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
			for name, p := range c.tasks {
				_ = p.command.Process.Signal(syscall.SIGQUIT)
				_ = p.command.Wait() // it has been told to end
				c.t.Logf("%s: %s", name, p.out.String())
			}
			c.t.Fatalf("%s: the job hangs after epoch %d", what, after)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// fault lets something happen to a task: it is killed and started again, or stopped for some time, which is longer than the deadline or not.
func (c *chaos) fault(r *rand.Rand) string {
	name := []string{"worker:0", "worker:1", "worker:2", "worker:0", "worker:1", "worker:2", "ps:0", "ps:1", "chief:0"}[r.IntN(9)]
	p := c.tasks[name]
	if r.IntN(4) == 0 {
		d := time.Duration(1+r.IntN(1500)) * time.Millisecond
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

// TestChaos trains the recommender while its processes are killed and stopped, hundreds of times. The job never hangs, and learns what an unbroken run
// learns: asynchronous training as well, synchronous training with the same bits.
func TestChaos(t *testing.T) {
	if *faults == 0 || runtime.GOOS != "linux" {
		t.Skip("on Linux, with -faults: see make chaos-ps")
	}
	for kind, n := range map[string]int{"asynchronous": *faults, "synchronous": *faults / 4} {
		t.Run(kind, func(t *testing.T) {
			epochs := 100 + 4*n // more than pass during the faults
			kind := fmt.Sprint(kind, " ", epochs)
			whole := startChaos(t, kind).end()
			c := startChaos(t, kind)
			c.await(0, "the start")
			r := rand.New(rand.NewPCG(uint64(n), 3))
			counts := map[string]int{}
			for i := range n {
				epoch := c.epoch()
				what := c.fault(r)
				counts[strings.Fields(what)[0]+" "+strings.Fields(what)[1]]++
				if r.IntN(4) > 0 { // otherwise the next one comes at once
					c.await(epoch, fmt.Sprintf("fault %d, %s", i, what))
				}
				time.Sleep(time.Duration(r.IntN(40)) * time.Millisecond)
			}
			require.Less(t, c.epoch(), epochs, "the job was over before the faults were")
			t.Logf("%d faults until epoch %d of %d: %v", n, c.epoch(), epochs, counts)
			broken := c.end()
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
