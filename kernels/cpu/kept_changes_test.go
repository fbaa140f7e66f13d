package cpu

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
)

// TestKeptWhileWeightsChange: programs for several batches that share weights, transformed or in 16 bits, predict at
// the same time. They read what was written last, while the weights are written or exchanged between runs. Run it with
// the race detector, too.
func TestKeptWhileWeightsChange(t *testing.T) {
	var lock sync.RWMutex // as a model has one for its variables
	shared := kernelBuffer(t, 1)
	next := kernelBuffer(t, 2)
	half := newBuffer(here, ir.Type{DType: ir.Float32, Shape: ir.Shape{75, 70}})
	values := [2][]byte{float32s(75 * 70), make([]byte, 4*75*70)}
	require.NoError(t, half.Write(values[0]))
	state := 0 // of both
	var readers, writer sync.WaitGroup
	stop := make(chan struct{})
	for _, batch := range []int{1, 2} {
		f, g := newTiled(t, batch, batch == 2, false, false), newHalfPredictor(t, 5*batch, ir.BFloat16)
		wantTiles := [2][]float32{f.run(kernelBuffer(t, 1)), f.run(kernelBuffer(t, 2))}
		var wantHalf [2][]byte
		for i := range wantHalf {
			b := newBuffer(here, half.typ)
			require.NoError(t, b.Write(values[i]))
			wantHalf[i] = append([]byte{}, g.run(b)...)
			b.Free()
		}
		readers.Go(func() {
			for range 60 {
				lock.RLock()
				at, tiles, bits := state, f.run(shared), append([]byte{}, g.run(half)...)
				lock.RUnlock()
				if !assert.Equal(t, wantTiles[at], tiles) || !assert.Equal(t, wantHalf[at], bits) {
					return
				}
			}
		})
	}
	writer.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			lock.Lock()
			state = 1 - state
			assert.NoError(t, shared.Exchange(next))
			assert.NoError(t, half.Write(values[state]))
			lock.Unlock()
		}
	})
	readers.Wait()
	close(stop)
	writer.Wait()
	shared.Free()
	half.Free()
	assert.Nil(t, shared.tiles.memory)
	assert.Nil(t, half.halves.each[0].in)
}
