package fairclock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A clock goes on while nothing happens, is never ahead of the time, and stops.
func TestClock(t *testing.T) {
	began, c := time.Now(), Start()
	for c.Elapsed() < 50*time.Millisecond {
		time.Sleep(time.Millisecond)
		require.Less(t, time.Since(began), time.Minute, "the clock stands still")
	}
	require.GreaterOrEqual(t, time.Since(began), c.Elapsed())
	c.Stop()
	c.Stop()
	time.Sleep(2 * tick) // a tick under way
	stopped := c.Elapsed()
	time.Sleep(10 * tick)
	require.Equal(t, stopped, c.Elapsed())
}

// recorder is a test that notes that it failed.
type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Helper() {}

func (r *recorder) Fatalf(string, ...any) {
	r.failed = true
	panic(r)
}

// What comes is handed on; what does not come fails the test.
func TestReceive(t *testing.T) {
	c := Start()
	defer c.Stop()
	values := make(chan int)
	go func() { values <- 7 }()
	require.Equal(t, 7, Receive(t, c, time.Minute, values, "the value"))
	r := &recorder{TB: t}
	require.Panics(t, func() { Receive(r, c, 10*tick, values, "another value") })
	require.True(t, r.failed)
}
