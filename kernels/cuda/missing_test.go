//go:build linux

package cuda

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
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

// A fate is what happens to a worker.
type fate struct {
	At    place
	Step  int           // of the steps or calls at that place, from 1; 0: the first
	How   how           // what it does there
	After time.Duration // at anyTime: when, after its start
}

type place string

const (
	absent    place = "absent" // it is not started
	anyTime   place = "at any time"
	beforeFit place = "before Fit"
	inNCCL    place = "in NCCL"           // while it connects
	inCall    place = "in a call of NCCL" // of a loop
	inStep    place = "between two steps"
	inLoop    place = "in a loop of its own" // in which nothing but devices meets
)

type how string

const (
	stays   how = "stays" // forever, alive
	exits   how = "exits" // at once
	freezes how = "freezes"
	fails   how = "fails" // with an error of its own
)

var errFate = errors.New("this worker has had enough")

// meet does what is to happen to this worker at a place.
func (j *gpuJob) meet(at place, step int) error {
	index, err := new(cluster.TFConfig).TaskIndex()
	if f, there := j.Late[index]; err == nil && there && f.At == at && f.Step == step {
		time.Sleep(f.After)
	}
	f, there := j.Fates[index]
	if err != nil || !there || f.At != at || f.Step > 0 && f.Step != step {
		return nil
	}
	switch f.How {
	case stays:
		select {}
	case exits:
		os.Exit(1)
	case freezes:
		syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		time.Sleep(time.Hour) // until it is frozen
	}
	return errFate
}

// meetLater is meet at any time.
func (j *gpuJob) meetLater() {
	if index, err := new(cluster.TFConfig).TaskIndex(); err == nil && j.Fates[index].At == anyTime {
		time.AfterFunc(j.Fates[index].After, func() { _ = j.meet(anyTime, 0) })
	}
}

// loop is a loop of the program's own.
func (j *gpuJob) loop(s *distribute.MultiWorkerMirroredStrategy) error {
	f := s.Function(func(r *distribute.Replica, in distribute.Batch) *ops.Tensor {
		return r.AllReduce(ir.Sum, in.X)[0]
	})
	x := kernels.NewArray(ir.Type{DType: ir.Float32, Shape: ir.Shape{s.NumReplicasInSync(), 8}})
	for step := range jobSteps * j.Epochs {
		batch, err := distribute.SplitBatch(s, distribute.HostBatch{X: []kernels.Array{x}})
		if err != nil {
			return err
		}
		if _, err := s.Run(context.Background(), f, batch); err != nil {
			return err
		}
		if err := j.meet(inLoop, step+1); err != nil {
			distribute.FailTogether(s, err)
			return err
		}
		time.Sleep(j.Pace)
	}
	return errors.New("nobody is stuck")
}

// stuckLibrary does not come back from connecting.
type stuckLibrary struct {
	nccl.API
	job *gpuJob
}

func (l stuckLibrary) InitRank(c *nccl.Comm, ranks int, id nccl.ID, rank int) nccl.Result {
	_ = l.job.meet(inNCCL, 0)
	return l.API.InitRank(c, ranks, id, rank)
}

func (l stuckLibrary) AllReduce(from, to driver.Address, count int64, t nccl.DataType, op nccl.Op, c nccl.Comm, s driver.Handle) nccl.Result {
	_ = l.job.meet(inCall, int(calls.Add(1)))
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
		places := []place{absent, beforeFit, inNCCL, inCall, inStep, inLoop}
		r.Shuffle(len(places), func(i, k int) { places[i], places[k] = places[k], places[i] })
		for _, at := range places {
			if how != "NCCL" && (at == inNCCL || at == inCall || at == absent) {
				continue
			}
			if drawn++; *failures > 0 && drawn > 1 {
				break
			}
			t.Run(fmt.Sprint(how, ", ", at), func(t *testing.T) {
				job.Devices, job.Deadline, job.Timeout, job.Epochs, job.Loop = 1, deadline, timeout, 3, at == inLoop || at == inCall
				job.Fates = map[int]fate{1: {At: at, Step: map[place]int{inStep: 3, inLoop: 4, inCall: 3}[at], How: stays}}
				if at == absent {
					job.Join = timeout
				}
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
					} else {
						require.Contains(t, text, "worker:1 has never joined, so what it runs on is not known")
					}
				}
			})
		}
	}
}

// A worker never comes, and another one comes late, to a collective of their devices: it is not taken for the one that
// is missing when the first calls the roll, but answers it.
func TestLateWorkerIsNotMissing(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes: not with -short")
	}
	c := startCluster(t, 3, gpuJob{Devices: 1, Deadline: time.Second, Timeout: 3 * time.Second, Epochs: 3, Loop: true,
		Fates: map[int]fate{1: {At: inCall, Step: 2, How: stays}}, Late: map[int]fate{2: {At: inCall, Step: 2, After: 2500 * time.Millisecond}}})
	for i := range 3 {
		c.start(i)
	}
	for i, text := range c.failing(0, 2) {
		require.NoError(t, checkError(text, 2*i, c.job, map[int]bool{1: true}), text)
		require.Contains(t, text, "lost worker:1")
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
					require.Contains(t, text, "worker:1 runs on fakecuda:0, strategy made at cuda/elastic_test.go:")
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
