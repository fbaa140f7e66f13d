//go:build linux

package fakenccl

import (
	"fmt"
	"sync"

	"github.com/gokeras/gokeras/kernels/cuda/internal/nccl"
)

// place is where ranks meet: a [World] of this process or of another one.
type place interface {
	// draw returns a number for an id that has not been drawn before.
	draw() uint32
	// join adds a rank to the communicator of an id. The text says what is wrong.
	join(id nccl.ID, ranks int) (wrong string)
	// counts returns how many ranks have joined, and how many have begun to finalize.
	counts(id nccl.ID) (joined, finalized int)
	finalize(id nccl.ID)
	// meet contributes a rank's part to a collective and waits for all parts. It returns early when over is closed and
	// wake is called.
	meet(id nccl.ID, p part, over <-chan struct{}) (all [][]byte, wrong string)
	send(id nccl.ID, from, to int, data []byte)
	receive(id nccl.ID, from, to int, over <-chan struct{}) []byte
	wake()
}

// part is a rank's contribution to a collective.
type part struct {
	Ranks, Rank int
	Step        int    // number of the collective
	Call        string // must be the same on all ranks
	Data        []byte
	Absent      bool // the rank waits for the others, but they do not see it
}

// World is what connects processes.
type World struct {
	mu      sync.Mutex
	changed sync.Cond
	drawn   uint32
	rings   map[nccl.ID]*ring
}

// NewWorld makes a world without processes.
func NewWorld() *World {
	w := &World{rings: map[nccl.ID]*ring{}}
	w.changed.L = &w.mu
	return w
}

// ring is the ranks connected by one id.
type ring struct {
	ranks     int
	joined    int
	finalized int
	meetings  map[int]*meeting
	boxes     map[[2]int][][]byte // messages sent, by sender and receiver
}

// meeting is one collective of a ring.
type meeting struct {
	call    string // the call of the first rank to arrive
	brought [][]byte
	came    int
	left    int
}

func (w *World) draw() uint32 {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drawn++
	return w.drawn
}

func (w *World) join(id nccl.ID, ranks int) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	g := w.rings[id]
	if g == nil {
		g = &ring{ranks: ranks, meetings: map[int]*meeting{}, boxes: map[[2]int][][]byte{}}
		w.rings[id] = g
	}
	if g.ranks != ranks {
		return fmt.Sprintf("a rank of %d comes to a ring of %d", ranks, g.ranks)
	}
	if g.joined++; g.joined > ranks {
		return fmt.Sprintf("more than %d ranks with one id", ranks)
	}
	return ""
}

func (w *World) counts(id nccl.ID) (joined, finalized int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	g := w.rings[id]
	return g.joined, g.finalized
}

func (w *World) finalize(id nccl.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rings[id].finalized++
}

func (w *World) wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.changed.Broadcast()
}

func (w *World) send(id nccl.ID, from, to int, data []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	g, box := w.rings[id], [2]int{from, to}
	g.boxes[box] = append(g.boxes[box], data)
	w.changed.Broadcast()
}

func (w *World) receive(id nccl.ID, from, to int, over <-chan struct{}) []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	g, box := w.rings[id], [2]int{from, to}
	for len(g.boxes[box]) == 0 {
		if isClosed(over) {
			return nil
		}
		w.changed.Wait()
	}
	data := g.boxes[box][0]
	g.boxes[box] = g.boxes[box][1:]
	return data
}

func (w *World) meet(id nccl.ID, p part, over <-chan struct{}) ([][]byte, string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	g := w.rings[id]
	m := g.meetings[p.Step]
	if m == nil {
		m = &meeting{call: p.Call, brought: make([][]byte, p.Ranks)}
		g.meetings[p.Step] = m
	}
	if p.Call != m.call {
		return nil, fmt.Sprintf("fakenccl: rank %d makes the call %s, others %s", p.Rank, p.Call, m.call)
	}
	if !p.Absent {
		m.brought[p.Rank] = p.Data
		m.came++
		w.changed.Broadcast()
	}
	for m.came < p.Ranks {
		if isClosed(over) {
			return nil, ""
		}
		w.changed.Wait()
	}
	if m.left++; m.left == p.Ranks {
		delete(g.meetings, p.Step)
	}
	return m.brought, ""
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
