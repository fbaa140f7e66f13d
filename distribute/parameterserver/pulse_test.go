package parameterserver

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestPulse: who was stopped itself waits for another deadline before it blames others, once.
func TestPulse(t *testing.T) {
	const deadline = 800 * time.Millisecond
	for name, c := range map[string]struct {
		stop  bool // for longer than the deadline, in the midst of it
		heard bool // what came meanwhile is read at once
		after time.Duration
	}{
		"silent":                    {after: deadline},
		"stopped":                   {stop: true, after: 2 * deadline},
		"stopped, then heard":       {stop: true, heard: true, after: 0},
		"heard, but nothing is new": {heard: true, after: 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, now := pulse{}, time.Now()
				p.beat(now, deadline/2)
				called := make(chan time.Time, 1)
				s := p.silence(deadline, func() { called <- time.Now() })
				beat := func() { p.beat(time.Now(), deadline/2) }
				for range beatsPerDeadline - 1 {
					time.Sleep(deadline / beatsPerDeadline)
					if !c.stop {
						beat()
					}
				}
				if c.stop { // the timer ends before the first beat after the stop
					time.Sleep(deadline/beatsPerDeadline + time.Millisecond)
					beat()
				}
				if c.heard {
					s.heard()
					time.Sleep(deadline / 2)
					require.Empty(t, called)
					s.timer.Stop()
					return
				}
				require.WithinDuration(t, now.Add(c.after), <-called, 2*time.Millisecond)
			})
		})
	}
}

// TestPulseRuns: the pulse of a process that goes on tells of no stop, and ends with its context.
func TestPulseRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		p, gaps := pulse{}, 0
		go func() {
			time.Sleep(10 * time.Second)
			cancel()
		}()
		p.run(ctx, time.Second, func(time.Duration) { gaps++ })
		require.Zero(t, gaps)
		require.False(t, p.stopped(time.Now(), time.Second))
		time.Sleep(time.Minute)
		require.True(t, p.stopped(time.Now(), time.Second))
		require.Equal(t, time.Minute, p.beat(time.Now(), time.Second/2))
	})
}
