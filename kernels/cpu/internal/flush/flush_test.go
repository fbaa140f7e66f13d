package flush

import (
	"math"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

//go:noinline
func multiply(a, b float32) float32 { return a * b }

//go:noinline
func multiply64(a, b float64) float64 { return a * b }

func TestMode(t *testing.T) {
	if !Supported {
		t.Skip("this processor has no mode that flushes denormals")
	}
	tiny, tiny64 := float32(0x1p-126), 0x1p-1022
	require.NotZero(t, multiply(tiny, 0.5))
	func() {
		defer EnterZero().Leave()
		require.Zero(t, multiply(tiny, 0.5), "results")
		require.Zero(t, multiply64(tiny64, 0.5))
		require.Zero(t, multiply(math.Float32frombits(1), 0x1p100), "operands")
		require.Equal(t, tiny, multiply(tiny*2, 0.5), "normal numbers")
		require.True(t, math.Signbit(float64(multiply(-tiny, 0.5))), "the sign stays")
		func() {
			defer Enter(Default).Leave()
			require.NotZero(t, multiply(tiny, 0.5))
		}()
		require.Zero(t, multiply(tiny, 0.5), "sections nest")
		rest := Rest()
		require.NotZero(t, multiply(tiny, 0.5))
		rest.End()
		require.Zero(t, multiply(tiny, 0.5))
	}()
	Rest().End()
	require.NotZero(t, multiply(tiny, 0.5))
	require.Equal(t, Default, Current())
}

// Threads that flush must not pass their mode on to goroutines that run elsewhere, or to new threads.
func TestModeStays(t *testing.T) {
	var flushing, others sync.WaitGroup
	stop := make(chan struct{})
	for i := range 4 {
		flushing.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				func() {
					defer EnterZero().Leave()
					for range 1000 {
						if multiply(0x1p-126, 0.5) != 0 && Supported {
							t.Error("a locked goroutine lost its mode")
							return
						}
						if i%2 == 0 {
							runtime.Gosched()
							continue
						}
						rest := Rest() // the goroutine may continue on another thread
						runtime.Gosched()
						if Current() != Default {
							t.Error("a resting goroutine has a mode")
						}
						rest.End()
						runtime.Gosched() // it stays on its thread now
					}
				}()
			}
		})
	}
	for range 64 {
		others.Go(func() {
			runtime.LockOSThread() // never unlocked: every goroutine needs a new thread, which ends with it
			for range 200 {
				if Current() != Default || multiply(0x1p-126, 0.5) == 0 {
					t.Error("the mode leaked")
					return
				}
				runtime.Gosched()
			}
		})
	}
	others.Wait()
	close(stop)
	flushing.Wait()
}

func BenchmarkSection(b *testing.B) {
	for b.Loop() {
		EnterZero().Leave()
	}
}
