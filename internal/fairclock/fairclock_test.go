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
