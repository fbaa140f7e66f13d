package namespaces

import (
	"container/heap"
	"math/rand/v2"
	"time"
)

// Link says how packets get from one host to another. The zero value delivers all packets immediately. The way back has
// its own Link.
type Link struct {
	Down    bool          // nothing arrives, also of what is under way
	Delay   time.Duration // of each packet
	Jitter  time.Duration // added to Delay: evenly distributed between 0 and this. Packets do not overtake each other for it
	Loss    float64       // share of packets that are lost
	Reorder float64       // share of packets that overtake those under way
	Rate    int           // bytes a second; what would wait longer than maxWait is lost. 0: no bound
}

// Counts are packets of a network.
type Counts struct{ Delivered, Lost, Reordered, Cut int64 }

// maxQueued limits the packets in flight; more are lost, as in a router.
const maxQueued = 1 << 14

// maxWait is how long packets wait for a link with a Rate.
const maxWait = time.Second

// packet is one under way.
type packet struct {
	at       time.Time
	order    int
	from, to int
	data     []byte
}

// wire decides when packets arrive. It has no clock and no goroutine.
type wire struct {
	links  [][]Link // from, to
	newest [][]time.Time
	free   [][]time.Time // when a link with a Rate has sent what waits for it
	queue  []packet
	order  int
	rng    *rand.Rand
	counts Counts
}

func newWire(hosts int, seed uint64) *wire {
	w := &wire{links: make([][]Link, hosts), newest: make([][]time.Time, hosts), free: make([][]time.Time, hosts), rng: rand.New(rand.NewPCG(seed, 77))}
	for i := range hosts {
		w.links[i], w.newest[i], w.free[i] = make([]Link, hosts), make([]time.Time, hosts), make([]time.Time, hosts)
	}
	return w
}

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (w *wire) Len() int { return len(w.queue) }

func (w *wire) Less(i, j int) bool {
	a, b := &w.queue[i], &w.queue[j]
	return a.at.Before(b.at) || a.at.Equal(b.at) && a.order < b.order
}

func (w *wire) Swap(i, j int) { w.queue[i], w.queue[j] = w.queue[j], w.queue[i] }

func (w *wire) Push(x any) { w.queue = append(w.queue, x.(packet)) }

func (w *wire) Pop() any {
	last := w.queue[len(w.queue)-1]
	w.queue[len(w.queue)-1] = packet{}
	w.queue = w.queue[:len(w.queue)-1]
	return last
}

// take accepts a packet that is sent now.
func (w *wire) take(now time.Time, from, to int, data []byte) {
	l := w.links[from][to]
	lost, overtakes, jitter := w.rng.Float64() < l.Loss, w.rng.Float64() < l.Reorder, time.Duration(w.rng.Float64()*float64(l.Jitter))
	switch {
	case l.Down:
		w.counts.Cut++
		return
	case lost || len(w.queue) >= maxQueued || l.Rate > 0 && w.free[from][to].Sub(now) > maxWait:
		w.counts.Lost++
		return
	}
	sent := now
	if l.Rate > 0 {
		if free := w.free[from][to]; free.After(now) {
			sent = free
		}
		sent = sent.Add(time.Duration(len(data)) * time.Second / time.Duration(l.Rate))
		w.free[from][to] = sent
	}
	at := sent.Add(l.Delay + jitter)
	if newest := &w.newest[from][to]; overtakes && newest.After(now) {
		w.counts.Reordered++
		at = now
	} else {
		if at.Before(*newest) {
			at = *newest
		}
		*newest = at
	}
	w.order++
	heap.Push(w, packet{at, w.order, from, to, data})
}

// due returns the next packet that has arrived by now; without one, when the next arrives, or a zero time.
func (w *wire) due(now time.Time) (packet, bool, time.Time) {
	for len(w.queue) > 0 {
		if w.queue[0].at.After(now) {
			return packet{}, false, w.queue[0].at
		}
		p := heap.Pop(w).(packet)
		if w.links[p.from][p.to].Down {
			w.counts.Cut++
			continue
		}
		w.counts.Delivered++
		return p, true, time.Time{}
	}
	return packet{}, false, time.Time{}
}
