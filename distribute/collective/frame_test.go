package collective

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/mem"

	"github.com/gokeras/gokeras/kernels/ir"
)

func TestFrame(t *testing.T) {
	out := frame{view: 1, sequence: 2, call: 3, round: 4, index: 5, payload: mem.SliceBuffer("payload of some length")}
	data, err := codec{}.Marshal(&out)
	require.NoError(t, err)
	flat := data.Materialize()
	for cut := range len(flat) { // however the network cuts it
		var in frame
		require.NoError(t, codec{}.Unmarshal(mem.BufferSlice{mem.SliceBuffer(flat[:cut]), mem.SliceBuffer(flat[cut:])}, &in))
		require.Equal(t, []any{out.view, out.sequence, out.call, out.round, out.index}, []any{in.view, in.sequence, in.call, in.round, in.index})
		payload := make([]byte, in.size())
		in.copyTo(payload)
		require.Equal(t, "payload of some length", string(payload))
		in.free()
	}
	var in frame
	require.ErrorIs(t, codec{}.Unmarshal(mem.BufferSlice{mem.SliceBuffer(flat[:headerSize-1])}, &in), errShortFrame)
	_, err = codec{}.Marshal(3)
	require.Error(t, err)
	require.Error(t, codec{}.Unmarshal(nil, 3))
}

func TestLending(t *testing.T) {
	l := newLending(new(loans))
	require.Nil(t, l.lend(nil))
	small := []byte{1}
	lent := l.lend(small)
	small[0] = 2
	require.Equal(t, byte(1), lent.ReadOnlyData()[0], "small data is copied")
	big := l.lend(make([]byte, 5000))
	done := make(chan struct{})
	go func() { l.wait(nil); close(done) }()
	select {
	case <-done:
		t.Fatal("the buffer is still lent")
	default:
	}
	big.Free()
	<-done
	l.lend(make([]byte, 5000)) // never given back
	over := make(chan struct{})
	close(over)
	l.wait(over)
}

func FuzzFrame(f *testing.F) {
	f.Add(make([]byte, 40), uint8(3))
	f.Add(make([]byte, longPayload+longHeader), uint8(45))
	f.Fuzz(func(t *testing.T, data []byte, cut uint8) {
		at := min(int(cut), len(data))
		var in frame
		if err := (codec{}).Unmarshal(mem.BufferSlice{mem.SliceBuffer(data[:at]), mem.SliceBuffer(data[at:])}, &in); err != nil {
			return
		}
		payload := make([]byte, in.size())
		in.copyTo(payload)
		require.Equal(t, data[headerBytes(len(data)):], payload)
	})
}

// Chunks cover the data without gaps, and those of large data end where lines of the cache end.
func TestChunks(t *testing.T) {
	for _, dtype := range []ir.DType{ir.Float32, ir.Float64, ir.Uint8} {
		for _, n := range []int{1, 2, 3, 7} {
			for _, count := range []int{0, 1, n - 1, n + 1, 1001, 100_003 * n, 1 << 20} {
				p := plan{dtype: dtype, n: n, count: count}
				at, least, most := 0, count*dtype.Size(), 0
				for c := range n {
					from, to := p.chunk(c)
					require.Equal(t, at, from)
					require.GreaterOrEqual(t, to, from)
					if from < to {
						require.Equal(t, c, p.chunkOf(from))
						require.Equal(t, c, p.chunkOf(to-1))
					}
					if count*dtype.Size() >= n*longPayload && c < n-1 {
						require.Zero(t, to%cacheLine)
					}
					at, least, most = to, min(least, to-from), max(most, to-from)
				}
				require.Equal(t, count*dtype.Size(), at)
				require.Less(t, most-least, 2*cacheLine)
			}
		}
	}
}

// The machine of the ring, without data: whatever the order in which segments are taken, all n workers end with every
// chunk complete, and each worker adds its part of a chunk exactly once, in ring order.
func TestRingMachine(t *testing.T) {
	type message struct {
		to   int
		s    segment
		sums [][]int // for each element, the ranks added so far
	}
	for n := 2; n <= 6; n++ {
		for _, count := range []int{1, 3, 7, 40, 41} {
			rings := make([]*ring, n)
			data := make([][][]int, n)
			var queue []message
			send := func(rank int, s segment) {
				from, to := rings[rank].span(rings[rank].outgoing(s.round), s.index)
				m := message{(rank + 1) % n, s, nil}
				for e := from / 4; e < to/4; e++ {
					m.sums = append(m.sums, append([]int(nil), data[rank][e]...))
				}
				queue = append(queue, m)
			}
			start := func(rank int) {
				for s, ok := rings[rank].next(); ok; s, ok = rings[rank].next() {
					send(rank, s)
				}
			}
			for rank := range n {
				rings[rank] = newRing(plan{dtype: ir.Float32, rank: rank, n: n, count: count}, 12)
				require.Equal(t, 4, rings[rank].dtype.Size())
				for range count {
					data[rank] = append(data[rank], []int{rank})
				}
			}
			for rank := range n {
				start(rank)
			}
			for turn := 0; len(queue) > 0; turn++ {
				at := (turn * 7919) % len(queue)
				m := queue[at]
				queue = append(queue[:at], queue[at+1:]...)
				r := rings[m.to]
				require.True(t, r.valid(m.s))
				from, to, add, complete, forward, onward := r.accept(m.s)
				require.Len(t, m.sums, (to-from)/4)
				for i, sum := range m.sums {
					e := from/4 + i
					if add {
						sum = append(sum, data[m.to][e]...)
					}
					data[m.to][e] = sum
					require.Equal(t, !add || complete, len(sum) == n)
				}
				if forward {
					send(m.to, onward)
				}
				start(m.to)
			}
			for rank := range n {
				require.True(t, rings[rank].done())
				for e, sum := range data[rank] {
					first := rings[rank].chunkOf(4 * e)
					for i, who := range sum {
						require.Equal(t, (first+i)%n, who, "n %d element %d: %v", n, e, sum)
					}
					require.Len(t, sum, n)
				}
			}
		}
	}
}
