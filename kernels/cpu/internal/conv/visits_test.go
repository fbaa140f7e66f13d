package conv

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestVisits: if the weights exceed the near caches but an image does not, the weights are read once per image, by
// several workers in parts. With other weights, larger images, or moments, images are cut into rows for balance.
func TestVisits(t *testing.T) {
	for _, c := range []struct {
		side, channels, workers int
		gathers                 bool
		rows, columns           int // chunks
	}{{14, 512, 1, false, 1, 1}, {14, 512, 4, false, 1, 8}, {14, 512, 1, true, 7, 1}, {56, 192, 1, false, 5, 1}, {28, 48, 1, false, 7, 1}} {
		s := Shape{Batch: 1, In: [3]int{1, c.side, c.side}, InChannels: c.channels, OutChannels: c.channels, Kernel: [3]int{1, 3, 3}, Strides: [3]int{1, 2, 2}, PadLow: [3]int{0, 1, 1}, PadHigh: [3]int{0, 1, 1}}
		n := s.checked(ofForward)
		g := getCorrelation[float32]()
		g.forward(&n)
		g.gathers = c.gathers
		chunks, _ := g.cut(c.workers)
		assert.Equal(t, []int{c.rows, c.columns}, []int{g.rowChunks, g.colChunks}, "%+v", c)
		require.Equal(t, c.rows*c.columns, chunks)
		putCorrelation(g)
	}
}
