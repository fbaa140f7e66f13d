package namespaces

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// collect lets all packets arrive and returns the first byte of each, in order, and when the last came.
func collect(w *wire, from time.Time) (order []byte, last time.Duration) {
	for now := from; ; {
		p, ok, next := w.due(now)
		switch {
		case ok:
			order, last = append(order, p.data[0]), now.Sub(from)
		case next.IsZero():
			return order, last
		default:
			now = next
		}
	}
}

func TestLink(t *testing.T) {
	begin := time.Unix(1000, 0)
	send := func(l Link, n int) (*wire, []byte, time.Duration) {
		w := newWire(2, 1)
		w.links[0][1] = l
		for i := range n {
			w.take(begin.Add(time.Duration(i)*time.Millisecond), 0, 1, []byte{byte(i)})
		}
		order, last := collect(w, begin)
		return w, order, last
	}
	_, order, last := send(Link{Delay: 20 * time.Millisecond}, 5)
	require.Equal(t, []byte{0, 1, 2, 3, 4}, order)
	require.Equal(t, 24*time.Millisecond, last)
	_, order, last = send(Link{Delay: 20 * time.Millisecond, Rate: 100}, 5) // 10 ms for a byte
	require.Equal(t, []byte{0, 1, 2, 3, 4}, order)
	require.Equal(t, 70*time.Millisecond, last)
	w, order, last := send(Link{Rate: 5}, 20)
	require.Equal(t, []byte{0, 1, 2, 3, 4, 5}, order, "what would wait for more than a second is lost")
	require.Equal(t, 1200*time.Millisecond, last)
	require.Equal(t, int64(14), w.counts.Lost)
	_, order, last = send(Link{Delay: 20 * time.Millisecond, Jitter: 10 * time.Millisecond}, 100)
	require.IsIncreasing(t, order, "jitter alone does not reorder")
	require.Greater(t, last, 119*time.Millisecond)
	require.Less(t, last, 130*time.Millisecond)
	w, order, _ = send(Link{Loss: 0.3}, 200)
	require.InDelta(t, 140, len(order), 30)
	require.Equal(t, Counts{Delivered: int64(len(order)), Lost: int64(200 - len(order))}, w.counts)
	w, order, _ = send(Link{Delay: 5 * time.Millisecond, Reorder: 0.2}, 100)
	require.Len(t, order, 100)
	require.False(t, slices.IsSorted(order))
	require.InDelta(t, 20, w.counts.Reordered, 15)
	w, order, _ = send(Link{Down: true}, 3)
	require.Empty(t, order)
	require.Equal(t, Counts{Cut: 3}, w.counts)

	w = newWire(2, 1)
	w.links[0][1] = Link{Delay: time.Second}
	w.take(begin, 0, 1, []byte{1})
	w.links[0][1].Down = true
	order, _ = collect(w, begin)
	require.Empty(t, order, "what is under way is lost too")
	for range maxQueued + 10 {
		w.take(begin, 1, 0, []byte{2})
	}
	require.Equal(t, int64(10), w.counts.Lost, "queues are bounded")
}
