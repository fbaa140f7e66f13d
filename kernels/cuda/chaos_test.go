//go:build linux

package cuda

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
)

var (
	faults   = flag.Int("faults", 3, "faults of each run of TestChaos")
	schedule = flag.Uint64("schedule", 1, "seed of the faults of TestChaos")
)

// lost waits until one of the others has said, since the line with number from, that workers are lost; a single one
// that is left says that it is.
func (c *gpuCluster) lost(victims []int, from int) {
	c.t.Helper()
	c.await(fmt.Sprintf("the loss of workers %v", victims), func() bool {
		return slices.ContainsFunc(c.log[from:], func(line string) bool {
			own := slices.ContainsFunc(victims, func(v int) bool { return strings.HasPrefix(line, fmt.Sprint(v, ": ")) })
			return !own && strings.Contains(line, "lost")
		})
	})
}

func (c *gpuCluster) lines() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.log)
}

func (c *gpuCluster) reachedSteps() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// harm does random things to the workers of a job until it nears its end, and returns how many.
func (c *gpuCluster) harm(rng *rand.Rand, most int) int {
	c.t.Helper()
	workers := len(c.lives)
	for done := range most {
		c.whole(c.reachedSteps() + 1 + rng.IntN(4))
		if c.reachedSteps() > c.job.Epochs*jobSteps-20 {
			return done
		}
		from, first := c.lines(), rng.IntN(workers)
		victims := []int{first}
		what := rng.IntN(5)
		if what == 3 && workers > 2 { // two at once
			victims = append(victims, (first+1+rng.IntN(workers-1))%workers)
		}
		c.t.Logf("after step %d: %s of %v", c.reachedSteps(), []string{"kill", "freeze", "pause", "kill", "kill twice"}[what], victims)
		switch what {
		case 1:
			c.signal(first, syscall.SIGSTOP)
			c.lost(victims, from)
			c.signal(first, syscall.SIGCONT)
		case 2: // too short for anybody to notice
			c.signal(first, syscall.SIGSTOP)
			c.signal(first, syscall.SIGCONT)
		default:
			for _, v := range victims {
				c.signal(v, syscall.SIGKILL)
			}
			c.lost(victims, from)
			for _, v := range victims {
				c.start(v)
			}
			if what == 4 { // again while it joins, or soon after
				time.Sleep(time.Duration(rng.IntN(400)) * time.Millisecond)
				c.signal(first, syscall.SIGKILL)
				c.start(first)
			}
		}
	}
	return most
}

// Workers with GPUs under random faults, through NCCL and through memory that they open to each other: no step is lost
// or done twice, and the bits are those of an undisturbed run. "make chaos" draws more.
func TestChaos(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes: not with -short")
	}
	for name, windows := range map[string]bool{"NCCL": false, "windows": true} {
		t.Run(name, func(t *testing.T) {
			job := gpuJob{Devices: 1, Elastic: &distribute.Elastic{}, Deadline: 2 * time.Second, Epochs: 8 + 3**faults, Windows: windows, Pace: 5 * time.Millisecond}
			const workers = 3
			run := func(pace time.Duration, harm func(c *gpuCluster)) []*outcome {
				job := job
				job.Pace = pace
				c := startCluster(t, workers, job)
				for i := range workers {
					c.start(i)
				}
				harm(c)
				return c.end()
			}
			want := run(0, func(*gpuCluster) {})
			got := run(job.Pace, func(c *gpuCluster) {
				n := c.harm(rand.New(rand.NewPCG(*schedule, uint64(*faults))), *faults)
				t.Logf("%d faults", n)
				require.NotZero(t, n)
			})
			for i, o := range got {
				require.Equal(t, float64(job.Epochs*jobSteps), o.Steps, "worker %d: steps lost or done twice", i)
				require.NotZero(t, o.Calls, "worker %d", i)
				require.Equal(t, want[i].Weights, o.Weights, "worker %d", i)
				require.Equal(t, want[i].Loss, o.Loss, "worker %d", i)
			}
		})
	}
}
