package collective

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/internal/fairclock"
)

// hurried gives workers a short deadline.
func hurried(stream bool) func(int, *Options) {
	return func(_ int, o *Options) {
		o.Deadline, o.NoSharedMemory = 1500*time.Millisecond, stream
	}
}

// A worker that does not see what the others do, though all live, does not keep them: the group ends, and the next one
// works.
func TestNobodyWaitsInVain(t *testing.T) {
	for name, stream := range map[string]bool{"shared": false, "stream": true} {
		t.Run(name, func(t *testing.T) {
			if !stream && runtime.GOOS != "linux" {
				t.Skip("memory is shared on Linux only")
			}
			t.Parallel()
			groups := join(t, 3, hurried(stream))
			noErrors(t, together(groups, func(_ int, g *Group) error { return g.Barrier(context.Background()) }))
			s := groups[1].session
			if stream {
				for rank, inbox := range s.in { // what comes is lost
					if rank != s.rank {
						go func() {
							select {
							case f := <-inbox:
								f.free()
							case <-s.over:
							}
						}()
					}
				}
			} else { // the memory of a process that is gone
				dead, _, err := newMapping()
				require.NoError(t, err)
				s.shared[2].close()
				s.shared[2] = dead
			}
			clock := fairclock.Start()
			defer clock.Stop()
			errs := together(groups, func(_ int, g *Group) error {
				for { // some get through the first
					if err := g.Barrier(context.Background()); err != nil {
						return err
					}
				}
			})
			require.Less(t, clock.Elapsed(), 5*time.Second)
			var member *MemberError
			var expelled *ExpelledError
			require.ErrorAs(t, errs[0], &member)
			require.ErrorAs(t, errs[1], &expelled)
			require.Regexp(t, `nothing came for it in collective [23]`, errs[1].Error()) // 3 where it was faster than what takes its messages
			require.ErrorAs(t, errs[2], &member)
			noErrors(t, together(groups, func(_ int, g *Group) error { return g.Regroup(context.Background(), Terms{}) }))
			noErrors(t, together(groups, func(_ int, g *Group) error { return g.Barrier(context.Background()) }))
		})
	}
}

// A worker that takes long over something of its own is waited for.
func TestSlowWorkerIsWaitedFor(t *testing.T) {
	for name, stream := range map[string]bool{"shared": false, "stream": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			groups := join(t, 3, hurried(stream))
			for range 2 {
				noErrors(t, together(groups, func(rank int, g *Group) error {
					if rank == 1 {
						time.Sleep(4 * time.Second)
					}
					return g.Barrier(context.Background())
				}))
			}
		})
	}
}
