package pool

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Programs that run at the same time have the processors for themselves.
func TestProgramsKeepTheirProcessors(t *testing.T) {
	p := newPool(t, 3)
	for i, workers := range []int{3, 2, 1, 1} {
		p.Enter()
		assert.Equal(t, workers, p.Workers(), "%d programs", i+1)
	}
	p.Parallel(100, 1, taskFunc(func(worker, _, _ int) { assert.Zero(t, worker) }))
	for range 4 {
		p.Leave()
	}
	assert.Equal(t, 3, p.Workers())
	var none *Pool
	none.Enter()
	none.Leave()
}

// A worker that computes for one program takes no more chunks once others need its processor, and then sleeps.
func TestWorkersMakeWay(t *testing.T) {
	p := newPool(t, 2)
	p.Enter()
	defer p.Leave()
	var helped atomic.Int32
	begun := make(chan struct{})
	p.Parallel(50, 1, taskFunc(func(worker, _, _ int) {
		if worker == 0 {
			<-begun
			time.Sleep(100 * time.Microsecond)
		} else if helped.Add(1) == 1 {
			p.Enter()
			close(begun)
		}
	}))
	assert.EqualValues(t, 1, helped.Load())
	require.Eventually(t, func() bool { return p.workers[0].asleep.Load() }, 10*time.Second, 50*time.Microsecond)
	p.Leave()
	// The next region wakes it.
	var both sync.WaitGroup
	both.Add(2)
	p.Parallel(2, 1, taskFunc(func(int, int, int) { both.Done(); both.Wait() }))
}
