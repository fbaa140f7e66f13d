//go:build linux

package cuda

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/lower"
	"github.com/gokeras/gokeras/kernels/ir"
)

// A collective through windows takes as many rounds as the values need; see [windows]. Numbers are combined in the
// order of the ranks, as between replicas of one process, so the bits are the same. In small all-reduces every rank
// computes all sums. In large ones each computes an equal share and puts it into its window, and all wait again before
// they fetch the shares. Values that are not combined element by element are first copied to the rank's own memory.

// windowRound is what fits into a window at once.
type windowRound struct {
	pieces []windowPiece
	shares bool // each rank computes a share
}

// windowPiece is a stretch of a value.
type windowPiece struct {
	value     int
	low, high int      // bytes of the operand
	at        int64    // where it lies in a half, after the flag
	unit      int      // bytes of an element
	program   *session // of this rank; nil where it only copies, or its share is empty

	// If a sum travels in a narrower type, low, high and unit are those of this type.
	before, after *session // to the type and back; nil: it travels in its own type
	fetched       int64    // scratch memory for the shares of all ranks
}

// place is how far the piece is from the beginning of its value.
func (p *windowPiece) place() driver.Address {
	if p.before != nil {
		return driver.Address(p.low / p.unit * ir.Float32.Size())
	}
	return driver.Address(p.low)
}

// windowValue is a value that is copied to the rank's own memory.
type windowValue struct {
	operand int // bytes of each rank's operand
	slots   int64
	program *session // combines the copies; nil: they are already where they belong
}

// plan determines how a replica does a collective.
func (w *windows) plan(g *group, replica int, step *lower.Step) (*combining, error) {
	n := len(w.peers)
	if step.Attrs.Replicas != n {
		return nil, fmt.Errorf("cuda: %s: %v was compiled for %d replicas, the communicator has %d", step.Scope, step.Op, step.Attrs.Replicas, n)
	}
	operands := step.Values[:len(step.Values)/2]
	c := &combining{needs: flagSlot, window: make([]windowValue, len(operands))}
	var err error
	if c.flags, err = g.session(replica, "flags of windows", func() (*ir.Program, error) { return pickFlag(n + 1) }); err != nil {
		return nil, err
	}
	narrow := g.narrowing(step)
	c.rounds = roundsOf(operands, narrow)
	if step.Op == ir.AllReduce {
		return c, w.planSums(g, replica, c, step, narrow)
	}
	for k, v := range operands {
		m := &c.window[k]
		m.operand = v.Type.Bytes()
		a, t := step.Attrs, v.Type
		whole := a.Axis == 0 || t.Shape[:min(a.Axis, len(t.Shape))].Size() == 1 // parts lie one after the other
		if m.operand == 0 || step.Op == ir.CollectiveBroadcast || step.Op == ir.AllGather && whole {
			continue
		}
		m.slots = c.needs
		c.needs += int64(rounded(n * m.operand))
		key := fmt.Sprint("gathered ", step.Op, a.Kind, a.Axis, a.Root)
		err := g.helper(replica, &m.program, key, t, func(t ir.Type) (*ir.Program, error) { return combine(step.Op, a, t, n, w.rank) })
		if err != nil {
			return nil, err
		}
	}
	return c, nil
}

// roundsOf divides values into rounds. Those of float32 travel as narrow, unless that is Invalid.
func roundsOf(operands []lower.Region, narrow ir.DType) []windowRound {
	rounds := make([]windowRound, 1)
	at := 0
	for k, v := range operands {
		unit := v.Type.DType.Size()
		if v.Type.DType == ir.Float32 && narrow != ir.Invalid {
			unit = narrow.Size()
		}
		bytes := v.Type.Shape.Size() * unit
		for low := 0; low < bytes; {
			if at >= windowBytes {
				rounds, at = append(rounds, windowRound{}), 0
			}
			high := min(bytes, low+windowBytes-at)
			last := &rounds[len(rounds)-1]
			last.pieces = append(last.pieces, windowPiece{value: k, low: low, high: high, at: int64(at), unit: unit})
			at += rounded(high - low)
			low = high
		}
	}
	return rounds
}

// planSums makes the programs of an all-reduce.
func (w *windows) planSums(g *group, replica int, c *combining, step *lower.Step, narrow ir.DType) error {
	n, a := len(w.peers), step.Attrs
	for i := range c.rounds {
		r := &c.rounds[i]
		total := 0
		for _, p := range r.pieces {
			total += p.high - p.low
		}
		r.shares = g.inShares(total)
		for k := range r.pieces {
			p := &r.pieces[k]
			low, high := 0, p.high-p.low
			if r.shares {
				low, high = p.share(w.rank, n)
			}
			t := ir.Type{DType: step.Values[p.value].Type.DType, Shape: ir.Shape{(high - low) / p.unit}}
			if t.DType == ir.Float32 && narrow != ir.Invalid {
				if err := g.planNarrow(replica, &p.before, &p.after, narrow, (p.high-p.low)/p.unit); err != nil {
					return err
				}
				t.DType = narrow
				p.fetched = c.needs
				c.needs += int64(rounded(p.high - p.low))
			}
			if low == high {
				continue
			}
			err := g.helper(replica, &p.program, fmt.Sprint("window ", a.Kind), t, func(t ir.Type) (*ir.Program, error) { return combine(ir.AllReduce, a, t, n, 0) })
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// share is the part of a piece that a rank computes.
func (p *windowPiece) share(rank, ranks int) (low, high int) {
	return share(rank, ranks, (p.high-p.low)/p.unit, p.unit)
}

// collect does the collective at which the replica has arrived.
func (w *windows) collect(g *group) (int, error) {
	d := w.device
	if err := d.Enter(); err != nil {
		return 0, err
	}
	defer d.Leave()
	c, lane := g.of(0), g.lanes[0]
	for i := range c.rounds {
		last := i == len(c.rounds)-1
		half := driver.Address(w.headBytes() + int64(w.half)*halfBytes())
		if err := w.round(g, c, &c.rounds[i], half, last); err != nil {
			return 0, err
		}
		if last {
			c.flags.begin(lane)
			c.flags.inputs = append(c.flags.inputs, w.peers[w.rank]+driver.Address(w.deadAt()))
			for _, window := range w.peers {
				c.flags.inputs = append(c.flags.inputs, window+half)
			}
			if err := c.flags.small(g.outcomeOf(0)); err != nil {
				return 0, err
			}
		}
		w.half = 1 - w.half
		w.rounds++
	}
	for k := range c.window {
		m := &c.window[k]
		if m.program == nil {
			continue
		}
		m.program.begin(lane)
		for q := range w.peers {
			m.program.inputs = append(m.program.inputs, g.areas[0].scratch+driver.Address(m.slots)+driver.Address(q*m.operand))
		}
		if err := m.program.small(g.result(0, k)); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

// round copies values into the window and fetches those of the others. The last one includes the failure flag.
func (w *windows) round(g *group, c *combining, r *windowRound, half driver.Address, last bool) error {
	d, lane, step := w.device, g.lanes[0], g.steps[0]
	if last {
		if err := d.Err(d.API.CopyOnDevice(w.peers[w.rank]+half, g.flags[0], lower.FlagBytes, lane), "cuMemcpyDtoDAsync_v2"); err != nil {
			return err
		}
	}
	data := half + flagSlot
	results := data + driver.Address(windowBytes)
	for i := range r.pieces {
		p := &r.pieces[i]
		if step.Op == ir.CollectiveBroadcast && w.rank != step.Attrs.Root {
			continue
		}
		from, to := g.operand(0, p.value)+p.place(), w.peers[w.rank]+data+driver.Address(p.at)
		var err error
		if p.before != nil {
			err = p.before.from(lane, from, to)
		} else {
			err = w.copy(to, from, p.high-p.low, lane)
		}
		if err != nil {
			return err
		}
	}
	if err := w.meet(lane); err != nil {
		return err
	}
	if step.Op != ir.AllReduce {
		return w.fetch(g, c, r, data)
	}
	for i := range r.pieces {
		if err := w.combine(g, r, &r.pieces[i], data, results); err != nil {
			return err
		}
	}
	if !r.shares {
		return nil
	}
	if err := w.meet(lane); err != nil {
		return err
	}
	for i := range r.pieces {
		p := &r.pieces[i]
		whole := g.result(0, p.value) + p.place()
		if p.after != nil {
			whole = g.areas[0].scratch + driver.Address(p.fetched)
		}
		for q, window := range w.peers {
			low, high := p.share(q, len(w.peers))
			if err := w.copy(whole+driver.Address(low), window+results+driver.Address(p.at)+driver.Address(low), high-low, lane); err != nil {
				return err
			}
		}
		if p.after != nil {
			if err := p.after.from(lane, whole, g.result(0, p.value)+p.place()); err != nil {
				return err
			}
		}
	}
	return nil
}

// combine computes the sums of a piece, or this rank's share of them.
func (w *windows) combine(g *group, r *windowRound, p *windowPiece, data, results driver.Address) error {
	if p.program == nil {
		return nil
	}
	low, to := 0, g.result(0, p.value)+p.place()
	if p.after != nil {
		to = g.areas[0].scratch + driver.Address(p.fetched)
	}
	if r.shares {
		low, _ = p.share(w.rank, len(w.peers))
		to = w.peers[w.rank] + results + driver.Address(p.at) + driver.Address(low)
	}
	p.program.begin(g.lanes[0])
	for _, window := range w.peers {
		p.program.inputs = append(p.program.inputs, window+data+driver.Address(p.at)+driver.Address(low))
	}
	if err := p.program.small(to); err != nil || r.shares || p.after == nil {
		return err
	}
	return p.after.from(g.lanes[0], to, g.result(0, p.value)+p.place())
}

// fetch copies the values of the others.
func (w *windows) fetch(g *group, c *combining, r *windowRound, data driver.Address) error {
	step := g.steps[0]
	for i := range r.pieces {
		p := &r.pieces[i]
		m := &c.window[p.value]
		for q, window := range w.peers {
			to := g.result(0, p.value) + driver.Address(p.low)
			switch {
			case m.program != nil:
				to = g.areas[0].scratch + driver.Address(m.slots) + driver.Address(q*m.operand+p.low)
			case step.Op == ir.AllGather:
				to += driver.Address(q * m.operand)
			case q != step.Attrs.Root:
				continue
			}
			if err := w.copy(to, window+data+driver.Address(p.at), p.high-p.low, g.lanes[0]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *windows) copy(to, from driver.Address, bytes int, lane driver.Handle) error {
	if bytes == 0 {
		return nil
	}
	return w.device.Err(w.device.API.CopyOnDevice(to, from, int64(bytes), lane), "cuMemcpyDtoDAsync_v2")
}
