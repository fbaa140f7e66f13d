//go:build linux

package cuda

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/nccl"
	"github.com/gokeras/gokeras/kernels/ir"
)

// stuckAt is where worker 1 of a job stays forever, alive.
type stuckAt string

const (
	absent    stuckAt = "absent" // it is not started
	beforeFit stuckAt = "before Fit"
	inNCCL    stuckAt = "in NCCL"
	inCall    stuckAt = "in a call of NCCL" // of such a loop
	inStep    stuckAt = "between two steps"
	inLoop    stuckAt = "in a loop of its own" // in which nothing but devices meets
)

// stick stays here if this is worker 1, and the place the one where it shall.
func (j *gpuJob) stick(at stuckAt) {
	if index, err := new(cluster.TFConfig).TaskIndex(); j.Stuck == at && err == nil && index == 1 {
		select {}
	}
}

// loop is a loop of the program's own.
func (j *gpuJob) loop(s *distribute.MultiWorkerMirroredStrategy) error {
	f := s.Function(func(r *distribute.Replica, in distribute.Batch) *ops.Tensor {
		return r.AllReduce(ir.Sum, in.X)[0]
	})
	x := kernels.NewArray(ir.Type{DType: ir.Float32, Shape: ir.Shape{s.NumReplicasInSync(), 8}})
	for step := range 6 {
		batch, err := distribute.SplitBatch(s, distribute.HostBatch{X: []kernels.Array{x}})
		if err != nil {
			return err
		}
		if _, err := s.Run(context.Background(), f, batch); err != nil {
			return err
		}
		if step == 3 {
			j.stick(inLoop)
		}
	}
	return errors.New("nobody is stuck")
}

// stuckLibrary does not come back from connecting.
type stuckLibrary struct {
	nccl.API
	job *gpuJob
}

func (l stuckLibrary) InitRank(c *nccl.Comm, ranks int, id nccl.ID, rank int) nccl.Result {
	l.job.stick(inNCCL)
	return l.API.InitRank(c, ranks, id, rank)
}

func (l stuckLibrary) AllReduce(from, to driver.Address, count int64, t nccl.DataType, op nccl.Op, c nccl.Comm, s driver.Handle) nccl.Result {
	if calls.Add(1) == 3 {
		l.job.stick(inCall)
	}
	return l.API.AllReduce(from, to, count, t, op, c, s)
}

var calls atomic.Int64 // of AllReduce

// A worker that never comes, though it is alive: all the others get an error that names it, within the timeout and what
// it takes to agree on who is missing, wherever it stays and however values meet: at one place each way, with -failures
// 0 at all of them.
func TestWorkerNeverComes(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes: not with -short")
	}
	const timeout, deadline = 2 * time.Second, time.Second
	jobs := map[string]gpuJob{"NCCL": {}, "windows": {Windows: true}, "ring": {Ring: true}}
	r := rand.New(rand.NewPCG(*drawSeed, 11))
	for _, how := range slices.Sorted(maps.Keys(jobs)) {
		job, drawn := jobs[how], 0
		places := []stuckAt{absent, beforeFit, inNCCL, inCall, inStep, inLoop}
		r.Shuffle(len(places), func(i, k int) { places[i], places[k] = places[k], places[i] })
		for _, at := range places {
			if how != "NCCL" && (at == inNCCL || at == inCall || at == absent) {
				continue
			}
			if drawn++; *failures > 0 && drawn > 1 {
				break
			}
			t.Run(fmt.Sprint(how, ", ", at), func(t *testing.T) {
				job.Devices, job.Deadline, job.Timeout, job.Epochs, job.Stuck = 1, deadline, timeout, 3, at
				c := startCluster(t, 3, job)
				for i := range 3 {
					if i != 1 || at != absent {
						c.start(i)
					}
				}
				failed := c.failing(0, 2)
				t.Log(strings.Join(failed, "\n"))
				for _, text := range failed {
					require.Contains(t, text, "worker:1 (127.0.0.1:")
					if at != absent {
						require.Contains(t, text, "worker:1 runs on fakecuda:0, strategy made at cuda/elastic_test.go:")
					}
				}
			})
		}
	}
}

// A worker that is killed or frozen in the middle of a step: all the others get an error that names it, with its
// device and site.
func TestWorkerKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes: not with -short")
	}
	for how, job := range map[string]gpuJob{"NCCL": {}, "windows": {Windows: true}, "ring": {Ring: true}} {
		for name, signal := range map[string]syscall.Signal{"killed": syscall.SIGKILL, "frozen": syscall.SIGSTOP} {
			t.Run(how+", "+name, func(t *testing.T) {
				job.Devices, job.Deadline, job.Epochs, job.Pace = 1, time.Second, 500, time.Millisecond
				c := startCluster(t, 3, job)
				for i := range 3 {
					c.start(i)
				}
				c.whole(6)
				c.signal(1, signal)
				for _, text := range c.failing(0, 2) {
					require.Contains(t, text, "worker:1 (127.0.0.1:")
					if strings.Contains(text, "lost worker:1") { // a process that ends at once leaves the third one alone
						require.Contains(t, text, "worker:1 runs on fakecuda:0, strategy made at cuda/elastic_test.go:")
					}
				}
			})
		}
	}
}

// failing waits until these workers have failed, and returns what they said.
func (c *gpuCluster) failing(workers ...int) (texts []string) {
	c.t.Helper()
	late := time.AfterFunc(time.Minute, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.log = append(c.log, "it takes too long")
		c.late = true
		c.changed.Broadcast()
	})
	defer late.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		texts = nil
		for _, w := range workers {
			for _, line := range c.failures {
				if strings.HasPrefix(line, fmt.Sprint(w, ": ")) {
					texts = append(texts, line)
					break
				}
			}
		}
		if len(texts) == len(workers) || c.late {
			break
		}
		c.changed.Wait()
	}
	require.Len(c.t, texts, len(workers), "the workers said:\n%s", strings.Join(c.log, "\n"))
	return texts
}
