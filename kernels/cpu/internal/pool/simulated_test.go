package pool

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// burning computes for a while for each index.
type burning struct {
	each time.Duration
	at   []int
	pool *Pool // in which each chunk opens a region; nil for none
}

func (b *burning) Run(_, lo, hi int) {
	for i := lo; i < hi; i++ {
		b.at = append(b.at, i)
		if b.pool != nil {
			b.pool.Parallel(2, 1, &burning{each: b.each / 2})
			continue
		}
		for begin := ThreadTime(); ThreadTime()-begin < b.each; {
		}
	}
}

// TestSimulated: with four workers, eight equal chunks take the time of two, and nine that of three.
func TestSimulated(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the processor time of a thread is known on Linux alone")
	}
	p := Simulated(4)
	assert.Equal(t, 4, p.Size())
	assert.Equal(t, 4, p.Workers())
	assert.True(t, p.IsSimulated())
	for chunks, expected := range map[int]float64{8: 4, 9: 3, 3: 3, 1: 1} {
		task := &burning{each: 2 * time.Millisecond}
		got := p.Speedup(func() {
			task.at = task.at[:0]
			p.Parallel(chunks, 1, task)
		})
		assert.InDelta(t, expected, got, 0.25*expected, "%d chunks", chunks)
		require.Len(t, task.at, chunks)
		assert.IsIncreasing(t, append(task.at, chunks))
	}
	inside := p.Speedup(func() { p.Parallel(2, 1, &burning{each: 2 * time.Millisecond, pool: p}) })
	assert.InDelta(t, 2, inside, 0.5, "regions inside of chunks have no workers left")
	assert.Zero(t, New(3).Saved())
	assert.False(t, New(3).IsSimulated())
	var none *Pool
	assert.Zero(t, none.Saved())
}

// TestSimulatedVariable: the environment variable determines the pool of the process.
func TestSimulatedVariable(t *testing.T) {
	for value, expected := range map[string]int{"": 0, "12": 12, "x": 0, "-3": 0} {
		t.Setenv(SimulatedVariable, value)
		p := newShared(2)
		assert.Equal(t, expected > 0, p.IsSimulated(), value)
		if expected > 0 {
			assert.Equal(t, expected, p.Size())
		}
	}
}
