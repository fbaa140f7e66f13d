//go:build linux

package cuda

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/lower"
	"github.com/gokeras/gokeras/kernels/ir"
)

// In a collective, all wait for all; each replica runs a small program that reads the operands of all, in replica
// order, and writes its result; then all wait again. Small all-reduces are done in one such go, in which every replica
// computes all sums. In large ones each computes an equal share, and the shares are copied to all. If a device does not
// reach another one's memory, the values go through host memory.

// twoShotBytes is the size from which on the values of an all-reduce count as large, if that is not measured.
var twoShotBytes = 256 << 10

// inShares reports whether all-reduces of this size are done in shares.
func (g *group) inShares(bytes int) bool {
	if g.choice != nil {
		return bytes >= g.choice.shares
	}
	return bytes >= twoShotBytes
}

// combining is what one replica does in a collective.
type combining struct {
	values []combined
	shares bool // each replica computes a share
	flags  *session
	needs  int64         // bytes of scratch memory
	pinned int           // bytes of host memory
	linked []linkedValue // if NCCL combines
	packs  []pack        // of these values, those that travel together
	rounds []windowRound // if windows do
	window []windowValue
	relay  *relay // if the all-reduce is arranged
}

// combined is one value of a collective.
type combined struct {
	program   *session // of this replica; nil if its share is empty
	operand   int      // bytes of each replica's operand
	unit      int      // bytes of an element
	length    int      // elements, where they are shared out
	low, high int      // bytes of the share of this replica
	scratch   int64    // where the operands of the others lie, in slots of the share's size
	pinned    int      // where the operand lies in host memory; the result as far behind all operands

	// If a sum travels in a narrower type, the lengths above are those of this type.
	before, after  *session // to the type and back; nil: its own type
	travels, whole int64    // scratch: the operand and the result as they travel
}

// share returns the bytes of a replica's share of n elements.
func share(replica, replicas, n, unit int) (low, high int) {
	size := (n + replicas - 1) / replicas
	return min(replica*size, n) * unit, min((replica+1)*size, n) * unit
}

func rounded(n int) int { return (n + flagSlot - 1) &^ (flagSlot - 1) }

// prepare makes what a session needs for its collectives. Later launches need nothing more.
func (g *group) prepare(replica int, s *session) error {
	if s.met == g {
		return nil
	}
	s.leave()
	s.nested = nested{}
	g.building.Lock()
	defer g.building.Unlock()
	s.combining = map[*lower.Step]*combining{}
	var walk func(steps []lower.Step) error
	walk = func(steps []lower.Step) error {
		for i := range steps {
			step := &steps[i]
			if step.Kind == lower.Collect {
				plan := g.plan
				if g.link != nil {
					plan = func(replica int, step *lower.Step) (*combining, error) { return g.link.carrier.plan(g, replica, step) }
				}
				c, err := plan(replica, step)
				if err != nil {
					return err
				}
				s.combining[step] = c
				if err := g.reserve(replica, c); err != nil {
					return err
				}
			}
			if err := walk(step.Body); err != nil {
				return err
			}
		}
		return nil
	}
	if err := walk(s.executable.plan.Steps); err != nil {
		return err
	}
	if err := g.setAside(replica, s); err != nil {
		return err
	}
	s.met = g
	return nil
}

// plan determines how a replica does a collective.
func (g *group) plan(replica int, step *lower.Step) (*combining, error) {
	n := len(g.devices)
	if step.Attrs.Replicas != n {
		return nil, fmt.Errorf("cuda: %s: %v was compiled for %d replicas, the communicator has %d", step.Scope, step.Op, step.Attrs.Replicas, n)
	}
	operands := step.Values[:len(step.Values)/2]
	total := 0
	for _, v := range operands {
		total += v.Type.Bytes()
	}
	arranged := step.Op == ir.AllReduce && g.arrangement != nil
	c := &combining{shares: step.Op == ir.AllReduce && !arranged && g.inShares(total), needs: int64(flagSlot * (n + 1)), pinned: flagSlot, values: make([]combined, len(operands))}
	var err error
	if c.flags, err = g.session(replica, "flags", func() (*ir.Program, error) { return pickFlag(n) }); err != nil {
		return nil, err
	}
	if arranged {
		c.values = nil
		return c, g.planRelay(replica, c, step)
	}
	narrow := g.narrowing(step)
	for k, v := range operands {
		m, t := &c.values[k], v.Type
		if narrow != ir.Invalid && t.DType == ir.Float32 && t.Bytes() > 0 {
			if err := g.planNarrow(replica, &m.before, &m.after, narrow, t.Shape.Size()); err != nil {
				return nil, err
			}
			t.DType = narrow
			m.travels = c.needs
			m.whole = m.travels + int64(rounded(t.Bytes()))
			c.needs = m.whole + int64(rounded(t.Bytes()))
		}
		m.operand, m.unit, m.length = t.Bytes(), t.DType.Size(), t.Shape.Size()
		m.high = m.operand
		if c.shares {
			m.low, m.high = share(replica, n, m.length, m.unit)
		}
		m.scratch, m.pinned = c.needs, c.pinned
		if !g.peers { // even for what the device reaches, because all use the same layout
			c.needs += int64(n * rounded(m.high-m.low))
			c.pinned += rounded(m.operand)
		}
		if m.high == m.low {
			continue
		}
		if step.Op == ir.AllReduce {
			t = ir.Type{DType: t.DType, Shape: ir.Shape{(m.high - m.low) / m.unit}}
		}
		a := step.Attrs
		key := fmt.Sprint(step.Op, a.Kind, a.Axis, a.Root, t)
		if step.Op == ir.ReduceScatter {
			key += fmt.Sprint(" of ", replica)
		}
		if m.program, err = g.session(replica, key, func() (*ir.Program, error) { return combine(step.Op, a, t, n, replica) }); err != nil {
			return nil, err
		}
	}
	if g.peers {
		c.pinned = 0
	} else if c.shares {
		c.pinned = 2*c.pinned - flagSlot
	}
	return c, nil
}

// session is a small program on a replica's device, made once.
func (g *group) session(replica int, key string, build func() (*ir.Program, error)) (*session, error) {
	if s := g.sessions[replica][key]; s != nil {
		return s, nil
	}
	e := g.small[key]
	if e == nil {
		p, err := build()
		if err != nil {
			return nil, err
		}
		made, err := g.backend.Compile(p, kernels.CompileOptions{Device: g.devices[0].name})
		if err != nil {
			return nil, err
		}
		e = made.(*executable)
		g.small[key] = e
	}
	made, err := e.NewSession(kernels.SessionOptions{Device: g.devices[replica].name})
	if err != nil {
		return nil, err
	}
	s := made.(*session)
	g.sessions[replica][key] = s
	return s, nil
}

// reserve takes the memory that a collective needs beside the values.
func (g *group) reserve(replica int, c *combining) error {
	d, a := g.devices[replica], &g.areas[replica]
	if c.needs > a.bytes {
		scratch, err := d.alloc(c.needs, "values of other replicas")
		if err != nil {
			return err
		}
		if a.scratch != 0 {
			d.free(a.scratch, a.bytes)
		}
		g.mu.Lock()
		a.scratch, a.bytes = scratch, c.needs
		g.moved++
		g.mu.Unlock()
	}
	if c.pinned <= len(a.pinned) {
		return nil
	}
	return d.enqueue(func() error {
		h, r := d.API.HostAlloc(c.pinned)
		if r != driver.Success {
			return d.Err(r, "cuMemHostAlloc")
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		if a.pinned != nil {
			g.old = append(g.old, a.pinned)
		}
		a.pinned = h
		g.moved++
		return nil
	})
}

// collect does the collective at which all replicas have arrived. It returns the replica that failed. The caller holds
// mu and the order of all devices.
func (g *group) collect() (int, error) {
	if i, err := g.each((*group).depart); err != nil {
		return i, err
	}
	if i, err := g.each((*group).begun); err != nil {
		return i, err
	}
	combine := g.collectAmong
	if g.link != nil {
		combine = func() (int, error) { return g.link.carrier.collect(g) }
	}
	if i, err := combine(); err != nil {
		return i, err
	}
	if i, err := g.each((*group).ended); err != nil {
		return i, err
	}
	return g.each((*group).done)
}

// collectAmong combines by kernels of our own.
func (g *group) collectAmong() (int, error) {
	if g.of(0).relay != nil {
		return g.collectArranged()
	}
	if i, err := g.each((*group).narrowed); err != nil {
		return i, err
	}
	if !g.peers {
		if i, err := g.each((*group).publish); err != nil {
			return i, err
		}
	}
	if i, err := g.barrier(); err != nil {
		return i, err
	}
	if i, err := g.each((*group).combine); err != nil {
		return i, err
	}
	if i, err := g.barrier(); err != nil {
		return i, err
	}
	if i, err := g.each((*group).settle); err != nil {
		return i, err
	}
	if i, err := g.each((*group).widened); err != nil {
		return i, err
	}
	if g.of(0).shares {
		return g.barrier() // nobody may overwrite what another one still copies
	}
	return 0, nil
}

func (g *group) of(replica int) *combining {
	return g.parts[replica].session.combining[g.steps[replica]]
}

// each calls f for every replica, with its context.
func (g *group) each(f func(*group, int, *device, *combining) error) (int, error) {
	for i, d := range g.devices {
		if err := d.Enter(); err != nil {
			return i, err
		}
		err := f(g, i, d, g.of(i))
		d.Leave()
		if err != nil {
			return i, err
		}
	}
	return 0, nil
}

// operand is where a replica's operand lies, and result where its result does.
func (g *group) operand(replica, k int) driver.Address {
	return g.parts[replica].session.place(g.steps[replica].Values[k].Place)
}

func (g *group) result(replica, k int) driver.Address {
	v := g.steps[replica].Values
	return g.parts[replica].session.place(v[len(v)/2+k].Place)
}

// publish copies a replica's operands to host memory, for devices that do not reach its memory.
func (g *group) publish(replica int, d *device, c *combining) error {
	if !g.hidden(replica) {
		return nil
	}
	h := g.areas[replica].pinned
	if err := d.Err(d.API.CopyToHost(h[:lower.FlagBytes], g.flags[replica], g.lanes[replica]), "cuMemcpyDtoHAsync_v2"); err != nil {
		return err
	}
	for k := range c.values {
		m := &c.values[k]
		if m.operand == 0 {
			continue
		}
		if err := d.Err(d.API.CopyToHost(h[m.pinned:m.pinned+m.operand], g.brings(replica, k), g.lanes[replica]), "cuMemcpyDtoHAsync_v2"); err != nil {
			return err
		}
	}
	return nil
}

// combineFlags determines which failure flag of all is set first.
func (g *group) combineFlags(replica int, d *device, c *combining) error {
	area := g.areas[replica].scratch
	c.flags.begin(g.lanes[replica])
	for q := range g.parts {
		at := g.flags[q]
		if !g.reach[replica][q] {
			at = area + driver.Address((q+1)*flagSlot)
			if err := d.Err(d.API.CopyToDevice(at, g.areas[q].pinned[:lower.FlagBytes], g.lanes[replica]), "cuMemcpyHtoDAsync_v2"); err != nil {
				return err
			}
		}
		c.flags.inputs = append(c.flags.inputs, at)
	}
	return c.flags.small(area)
}

// combine computes a replica's results, or its share of them, and determines which failure flag of all is set first.
func (g *group) combine(replica int, d *device, c *combining) error {
	if err := g.combineFlags(replica, d, c); err != nil {
		return err
	}
	area := g.areas[replica].scratch
	for k := range c.values {
		m := &c.values[k]
		if m.program == nil {
			continue
		}
		m.program.begin(g.lanes[replica])
		for q := range g.parts {
			at := g.brings(q, k) + driver.Address(m.low)
			if !g.reach[replica][q] {
				at = area + driver.Address(m.scratch) + driver.Address(q*rounded(m.high-m.low))
				from := g.areas[q].pinned[m.pinned+m.low : m.pinned+m.high]
				if err := d.Err(d.API.CopyToDevice(at, from, g.lanes[replica]), "cuMemcpyHtoDAsync_v2"); err != nil {
					return err
				}
			}
			m.program.inputs = append(m.program.inputs, at)
		}
		to := g.gives(replica, k)
		if c.shares {
			to += driver.Address(m.low)
		}
		if err := m.program.small(to); err != nil {
			return err
		}
		if c.shares && g.hidden(replica) {
			h := g.areas[replica].pinned[g.resultsAt(replica)+m.pinned:]
			if err := d.Err(d.API.CopyToHost(h[m.low:m.high], to, g.lanes[replica]), "cuMemcpyDtoHAsync_v2"); err != nil {
				return err
			}
		}
	}
	return nil
}

// resultsAt is the offset of the results from the operands in host memory.
func (g *group) resultsAt(replica int) int {
	c := g.of(replica)
	last := &c.values[len(c.values)-1]
	return last.pinned + rounded(last.operand) - flagSlot
}

// settle copies a failure of any replica, and the shares of the others.
func (g *group) settle(replica int, d *device, c *combining) error {
	err := d.Err(d.API.CopyOnDevice(g.outcomeOf(replica), g.areas[replica].scratch, lower.FlagBytes, g.lanes[replica]), "cuMemcpyDtoDAsync_v2")
	if err != nil || !c.shares {
		return err
	}
	for k := range c.values {
		m := &c.values[k]
		for q := range g.parts {
			low, high := share(q, len(g.parts), m.length, m.unit)
			if q == replica || low == high {
				continue
			}
			to := g.gives(replica, k) + driver.Address(low)
			if g.reach[replica][q] {
				err = d.Err(d.API.CopyOnDevice(to, g.gives(q, k)+driver.Address(low), int64(high-low), g.lanes[replica]), "cuMemcpyDtoDAsync_v2")
			} else {
				h := g.areas[q].pinned[g.resultsAt(q)+m.pinned:]
				err = d.Err(d.API.CopyToDevice(to, h[low:high], g.lanes[replica]), "cuMemcpyHtoDAsync_v2")
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// begin forgets the operands of the last run of a small program, which runs in a stream.
func (s *session) begin(lane driver.Handle) { s.lane, s.inputs = lane, s.inputs[:0] }

// small runs a program with one result on the operands that were added, as part of another one's launch.
func (s *session) small(to driver.Address) error {
	s.outputs = append(s.outputs[:0], to)
	return s.steps(s.executable.plan.Steps)
}
