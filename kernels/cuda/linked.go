//go:build linux

package cuda

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/lower"
	"github.com/gokeras/gokeras/kernels/cuda/internal/nccl"
	"github.com/gokeras/gokeras/kernels/ir"
)

// In a collective by NCCL, values go through NCCL, and small programs of our own do what it cannot do. After the
// values, the failure flags of all are gathered into memory that until then says "failed". So if a collective is
// aborted, the flag is set, and later work in the stream changes nothing.

// way is how a value travels.
type way uint8

const (
	direct   way = iota // by one call
	gathered            // all ranks' operands are copied to each, which combines them in rank order
	shared              // each rank combines a share of all operands, as float32, and sends it to all
)

// narrowFrom is the smallest sum of float32, in bytes, that travels in a narrower type; it is the same between workers
// without GPUs.
var narrowFrom = 16 << 10

// linkedValue is one value of a collective by NCCL, on one replica.
type linkedValue struct {
	way     way
	skip    bool // it has no elements
	packed  bool // it travels in packs
	kind    nccl.DataType
	op      nccl.Op
	count   int64    // elements of a direct call
	operand int      // bytes of each rank's operand, as it travels
	unit    int      // bytes of an element, as it travels
	length  int      // elements
	before  *session // to the type in which it travels; nil: its own type
	program *session // combines the operands; nil: NCCL did, or there is no share
	after   *session // what remains to be done with the result
	travels int64    // scratch: the operand as it travels
	slots   int64    // scratch: what others bring
	whole   int64    // scratch: the result as it travels
}

// plan determines how a replica does a collective by NCCL.
func (e *ends) plan(g *group, replica int, step *lower.Step) (*combining, error) {
	n := g.link.ranks
	if step.Attrs.Replicas != n {
		return nil, fmt.Errorf("cuda: %s: %v was compiled for %d replicas, the communicator has %d", step.Scope, step.Op, step.Attrs.Replicas, n)
	}
	operands := step.Values[:len(step.Values)/2]
	c := &combining{needs: int64(flagSlot + rounded(n*lower.FlagBytes)), linked: make([]linkedValue, len(operands))}
	var err error
	if c.flags, err = g.session(replica, "flags", func() (*ir.Program, error) { return pickFlag(n) }); err != nil {
		return nil, err
	}
	for k, v := range operands {
		if err := g.planValue(replica, c, &c.linked[k], step, v.Type); err != nil {
			return nil, err
		}
	}
	g.planPacks(c, step.Op)
	return c, nil
}

// planValue chooses the way of a value.
func (g *group) planValue(replica int, c *combining, m *linkedValue, step *lower.Step, t ir.Type) error {
	n, a := g.link.ranks, step.Attrs
	take := func(bytes int) int64 {
		at := c.needs
		c.needs += int64(rounded(bytes))
		return at
	}
	m.operand, m.unit, m.length = t.Bytes(), t.DType.Size(), t.Shape.Size()
	if m.skip = m.operand == 0; m.skip {
		return nil
	}
	wide := t.DType.IsHalf()
	narrow := g.narrowing(step) != ir.Invalid && t.DType == ir.Float32
	sums := a.Kind == ir.Sum || a.Kind == ir.Mean
	whole := a.Axis == 0 || t.Shape[:min(a.Axis, len(t.Shape))].Size() == 1 // parts lie one after the other
	kind, known := nccl.TypeOf(t.DType)
	op, able := nccl.OpOf(a.Kind)
	able = able || a.Kind == ir.Mean // as a sum
	// NCCL's maximum and minimum of floats treat NaN differently.
	able = able && known && !wide && (sums || a.Kind == ir.Prod || !t.DType.IsFloat())
	m.way, m.kind, m.op, m.count = gathered, kind, op, int64(m.length)
	switch step.Op {
	case ir.CollectiveBroadcast:
		m.way, m.kind, m.count = direct, nccl.Uint8, int64(m.operand)
		return nil
	case ir.AllGather:
		if whole {
			m.way, m.kind, m.count = direct, nccl.Uint8, int64(m.operand)
			return nil
		}
	case ir.ReduceScatter:
		if whole && able && a.Kind != ir.Mean {
			m.way, m.count = direct, int64(m.length/n)
			return nil
		}
	case ir.AllReduce:
		if sums && (wide || narrow) {
			m.way, c.shares = shared, true
			return g.planShared(replica, m, a.Kind, t, narrow, take)
		}
		if able {
			m.way = direct
			if a.Kind == ir.Mean {
				return g.helper(replica, &m.after, "mean", ir.Type{DType: t.DType, Shape: ir.Shape{m.length}}, func(t ir.Type) (*ir.Program, error) { return divide(t, n) })
			}
			return nil
		}
		t = ir.Type{DType: t.DType, Shape: ir.Shape{m.length}}
	}
	m.slots = take(n * m.operand)
	key := fmt.Sprint("gathered ", step.Op, a.Kind, a.Axis, a.Root)
	if step.Op == ir.ReduceScatter {
		key += fmt.Sprint(" of ", replica)
	}
	return g.helper(replica, &m.program, key, t, func(t ir.Type) (*ir.Program, error) { return combine(step.Op, a, t, n, g.link.first+replica) })
}

// planShared is for sums of 16 bits, which are formed in float32.
func (g *group) planShared(replica int, m *linkedValue, kind ir.Kind, t ir.Type, narrow bool, take func(int) int64) error {
	n := g.link.ranks
	flat := ir.Type{DType: t.DType, Shape: ir.Shape{m.length}}
	if narrow {
		to := flat
		to.DType = g.narrow
		m.unit = to.DType.Size()
		m.operand = m.length * m.unit
		m.travels, m.whole = take(m.operand), take(m.operand)
		if err := g.planNarrow(replica, &m.before, &m.after, to.DType, m.length); err != nil {
			return err
		}
		flat = to
	}
	low, high := share(g.link.first+replica, n, m.length, m.unit)
	if low == high {
		return nil
	}
	m.slots = take(n * (high - low))
	a := ir.CollectiveAttrs{Kind: kind, Replicas: n}
	mine := ir.Type{DType: flat.DType, Shape: ir.Shape{(high - low) / m.unit}}
	return g.helper(replica, &m.program, fmt.Sprint("share ", kind), mine, func(t ir.Type) (*ir.Program, error) { return combine(ir.AllReduce, a, t, n, 0) })
}

// helper makes a small program for values of a type.
func (g *group) helper(replica int, to **session, key string, t ir.Type, build func(t ir.Type) (*ir.Program, error)) (err error) {
	*to, err = g.session(replica, fmt.Sprint(key, " ", t), func() (*ir.Program, error) { return build(t) })
	return err
}

// divide is the program that divides by the number of replicas.
func divide(t ir.Type, n int) (*ir.Program, error) {
	b := &builder{Program: ir.New(fmt.Sprintf("mean of %v over %d", t, n))}
	x := b.AddInput("x", t)
	by := b.add(ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(t.DType, float64(n), t.Shape...)})
	b.AddOutput("y", b.add(ir.Div, nil, x, by))
	return b.Program, b.err
}

// convert is the program that converts to another type.
func convert(t ir.Type, to ir.DType) (*ir.Program, error) {
	b := &builder{Program: ir.New(fmt.Sprintf("%v to %v", t, to))}
	b.AddOutput("y", b.add(ir.Convert, ir.ConvertAttrs{DType: to}, b.AddInput("x", t)))
	return b.Program, b.err
}

// collect does the collective at which all replicas have arrived.
func (e *ends) collect(g *group) (int, error) {
	for _, phase := range []func() (int, error){
		func() (int, error) { return g.each((*group).bringLinked) },
		func() (int, error) { return e.exchange(g, (*group).callsFirst) },
		func() (int, error) { return g.each((*group).combineLinked) },
		func() (int, error) {
			if !g.of(0).shares {
				return 0, nil
			}
			return e.exchange(g, (*group).callsShares)
		},
		func() (int, error) { return e.exchange(g, (*group).callsFlags) },
		func() (int, error) { return g.each((*group).finishLinked) },
	} {
		if i, err := phase(); err != nil {
			return i, err
		}
	}
	return 0, nil
}

// exchange makes NCCL do the calls, as one group.
func (e *ends) exchange(g *group, calls func(g *group, replica int, m *caller)) (int, error) {
	return e.group(func(i int, c nccl.Comm, _ *device) (nccl.Result, string) {
		m := caller{api: e.api, comm: c, stream: g.lanes[i]}
		calls(g, i, &m)
		return m.result, m.call
	})
}

// caller makes calls until one fails.
type caller struct {
	api    nccl.API
	comm   nccl.Comm
	stream driver.Handle
	result nccl.Result
	call   string
}

func (m *caller) ok() bool { return m.result == nccl.Success || m.result == nccl.InProgress }

func (m *caller) done(r nccl.Result, call string) { m.result, m.call = r, call }

// travels is where the operand lies as it travels, and arrives where the result does.
func (g *group) travels(replica, k int, m *linkedValue) driver.Address {
	if m.before != nil {
		return g.areas[replica].scratch + driver.Address(m.travels)
	}
	return g.operand(replica, k)
}

func (g *group) arrives(replica, k int, m *linkedValue) driver.Address {
	if m.before != nil {
		return g.areas[replica].scratch + driver.Address(m.whole)
	}
	return g.result(replica, k)
}

// bringLinked prepares the operands for travelling, and makes the memory of the flags say "failed".
func (g *group) bringLinked(replica int, d *device, c *combining) error {
	area := g.areas[replica].scratch
	if err := d.Err(d.API.Fill(area+flagSlot, 0xff, int64(g.link.ranks*lower.FlagBytes), g.lanes[replica]), "cuMemsetD8Async"); err != nil {
		return err
	}
	if err := g.movePacked(replica, d, c, false); err != nil {
		return err
	}
	for k := range c.linked {
		m := &c.linked[k]
		if m.skip {
			continue
		}
		if m.before != nil {
			if err := m.before.from(g.lanes[replica], g.operand(replica, k), g.travels(replica, k, m)); err != nil {
				return err
			}
		}
		if m.way == shared && m.program != nil {
			rank := g.link.first + replica
			low, high := share(rank, g.link.ranks, m.length, m.unit)
			to := area + driver.Address(m.slots) + driver.Address(rank*(high-low))
			if err := d.Err(d.API.CopyOnDevice(to, g.travels(replica, k, m)+driver.Address(low), int64(high-low), g.lanes[replica]), "cuMemcpyDtoDAsync_v2"); err != nil {
				return err
			}
		}
	}
	return nil
}

// callsFirst are the calls that send operands.
func (g *group) callsFirst(replica int, m *caller) {
	g.callsPacks(replica, m)
	step, area := g.steps[replica], g.areas[replica].scratch
	c, n, rank := g.of(replica), g.link.ranks, g.link.first+replica
	for k := range c.linked {
		v := &c.linked[k]
		if v.skip || v.packed || !m.ok() {
			continue
		}
		from, slots := g.travels(replica, k, v), area+driver.Address(v.slots)
		switch {
		case v.way == gathered:
			m.done(m.api.AllGather(from, slots, int64(v.operand), nccl.Uint8, m.comm, m.stream), "ncclAllGather")
		case v.way == shared:
			mine, end := share(rank, n, v.length, v.unit)
			for q := range n {
				low, high := share(q, n, v.length, v.unit)
				if q != rank && high > low && m.ok() {
					m.done(m.api.Send(from+driver.Address(low), int64(high-low), nccl.Uint8, q, m.comm, m.stream), "ncclSend")
				}
				if q != rank && end > mine && m.ok() {
					m.done(m.api.Recv(slots+driver.Address(q*(end-mine)), int64(end-mine), nccl.Uint8, q, m.comm, m.stream), "ncclRecv")
				}
			}
		case step.Op == ir.AllGather:
			m.done(m.api.AllGather(from, g.result(replica, k), v.count, v.kind, m.comm, m.stream), "ncclAllGather")
		case step.Op == ir.CollectiveBroadcast:
			m.done(m.api.Broadcast(from, g.result(replica, k), v.count, v.kind, step.Attrs.Root, m.comm, m.stream), "ncclBroadcast")
		case step.Op == ir.ReduceScatter:
			m.done(m.api.ReduceScatter(from, g.result(replica, k), v.count, v.kind, v.op, m.comm, m.stream), "ncclReduceScatter")
		default:
			m.done(m.api.AllReduce(from, g.result(replica, k), v.count, v.kind, v.op, m.comm, m.stream), "ncclAllReduce")
		}
	}
}

// combineLinked combines the values that NCCL has only copied.
func (g *group) combineLinked(replica int, d *device, c *combining) error {
	if err := g.movePacked(replica, d, c, true); err != nil {
		return err
	}
	for k := range c.linked {
		m := &c.linked[k]
		if m.skip || m.program == nil {
			continue
		}
		size, to := m.operand, g.result(replica, k)
		if m.way == shared {
			low, high := share(g.link.first+replica, g.link.ranks, m.length, m.unit)
			size, to = high-low, g.arrives(replica, k, m)+driver.Address(low)
		}
		m.program.begin(g.lanes[replica])
		for q := range g.link.ranks {
			m.program.inputs = append(m.program.inputs, g.areas[replica].scratch+driver.Address(m.slots)+driver.Address(q*size))
		}
		if err := m.program.small(to); err != nil {
			return err
		}
	}
	return nil
}

// callsShares are the calls that send shares to all; shares have different lengths.
func (g *group) callsShares(replica int, m *caller) {
	c, n := g.of(replica), g.link.ranks
	for k := range c.linked {
		v := &c.linked[k]
		if v.skip || v.way != shared {
			continue
		}
		at := g.arrives(replica, k, v)
		for q := range n {
			if low, high := share(q, n, v.length, v.unit); high > low && m.ok() {
				m.done(m.api.Broadcast(at+driver.Address(low), at+driver.Address(low), int64(high-low), nccl.Uint8, q, m.comm, m.stream), "ncclBroadcast")
			}
		}
	}
}

// callsFlags gather the failure flags.
func (g *group) callsFlags(replica int, m *caller) {
	m.done(m.api.AllGather(g.flags[replica], g.areas[replica].scratch+flagSlot, lower.FlagBytes, nccl.Uint8, m.comm, m.stream), "ncclAllGather")
}

// finishLinked completes the results, and takes over a failure of any replica.
func (g *group) finishLinked(replica int, d *device, c *combining) error {
	for k := range c.linked {
		m := &c.linked[k]
		if m.skip || m.after == nil {
			continue
		}
		if err := m.after.from(g.lanes[replica], g.arrives(replica, k, m), g.result(replica, k)); err != nil {
			return err
		}
	}
	area := g.areas[replica].scratch
	c.flags.begin(g.lanes[replica])
	for q := range g.link.ranks {
		c.flags.inputs = append(c.flags.inputs, area+flagSlot+driver.Address(q*lower.FlagBytes))
	}
	if err := c.flags.small(area); err != nil {
		return err
	}
	return d.Err(d.API.CopyOnDevice(g.outcomeOf(replica), area, lower.FlagBytes, g.lanes[replica]), "cuMemcpyDtoDAsync_v2")
}
