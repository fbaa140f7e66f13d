package cpu

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// group connects replicas in one process. A collective call is: everybody publishes what it brought, all meet, every replica
// combines its share of the elements, in replica order, and stores it in everybody's value, all meet again. So the work
// is shared, all replicas hold the same bits, and they do not depend on who came first.
type group struct {
	members []*communicator
	// state packs epoch<<48 | generation<<16 | arrived. The generation counts completed meetings, the epoch resets.
	state  atomic.Uint64
	failed atomic.Pointer[failure]
}

type failure struct{ err error }

// communicator is one replica's end.
type communicator struct {
	group   *group
	replica int
	call    call
	scratch [2][commBlock]float32 // for half precision

	parked atomic.Bool
	wake   chan struct{} // capacity 1: sent to by whoever turned parked from true to false
}

var _ kernels.Communicator = (*communicator)(nil)

// call is what a replica brings to a collective.
type call struct {
	what   string
	kind   ir.Kind
	number int // axis or root
	values []kernels.Buffer
	other  [2]kernels.Buffer // backs values of calls with a fixed number
}

// commBlock is the number of elements that are combined at a time.
const commBlock = 1024

// NewCommunicators connects one replica for each device. The replicas must run in goroutines of their own.
func (b Backend) NewCommunicators(devices []kernels.Device) ([]kernels.Communicator, error) {
	if len(devices) == 0 || len(devices) >= 1<<16 {
		return nil, fmt.Errorf("cpu: cannot connect %d devices", len(devices))
	}
	for _, d := range devices {
		if err := b.Open(d); err != nil {
			return nil, err
		}
	}
	g := &group{}
	all := make([]kernels.Communicator, len(devices))
	for i := range devices {
		c := &communicator{group: g, replica: i, wake: make(chan struct{}, 1)}
		g.members = append(g.members, c)
		all[i] = c
	}
	return all, nil
}

// Replica is this end's number.
func (c *communicator) Replica() int { return c.replica }

// Replicas is the number of ends.
func (c *communicator) Replicas() int { return len(c.group.members) }

// AllReduce combines values over the replicas, in place.
func (c *communicator) AllReduce(ctx context.Context, kind ir.Kind, values []kernels.Buffer) error {
	if c.group.failed.Load() != nil { // before the description changes: the others may still be reading the last one
		return c.group.failure()
	}
	c.call = call{what: "all_reduce", kind: kind, values: values}
	return c.collective(ctx, (*communicator).combineShare)
}

// AllGather concatenates the parts of all replicas along the axis.
func (c *communicator) AllGather(ctx context.Context, part, whole kernels.Buffer, axis int) error {
	if c.group.failed.Load() != nil {
		return c.group.failure()
	}
	c.call = call{what: "all_gather", number: axis, other: [2]kernels.Buffer{part, whole}}
	c.call.values = c.call.other[:2]
	t, w := part.Type(), whole.Type()
	if axis < 0 || axis >= len(t.Shape) || t.Bytes()*c.Replicas() != w.Bytes() || t.DType != w.DType {
		return c.giveUp(fmt.Errorf("cpu: all_gather along axis %d: %d parts of %v do not make %v", axis, c.Replicas(), t, w))
	}
	return c.collective(ctx, (*communicator).gather)
}

// Broadcast copies the root's value to all replicas.
func (c *communicator) Broadcast(ctx context.Context, root int, value kernels.Buffer) error {
	if c.group.failed.Load() != nil {
		return c.group.failure()
	}
	c.call = call{what: "broadcast", number: root, other: [2]kernels.Buffer{value}}
	c.call.values = c.call.other[:1]
	if root < 0 || root >= c.Replicas() {
		return c.giveUp(fmt.Errorf("cpu: broadcast from replica %d: there are %d replicas", root, c.Replicas()))
	}
	return c.collective(ctx, (*communicator).copyFromRoot)
}

// giveUp fails the call on all replicas.
func (c *communicator) giveUp(err error) error {
	c.Abort(err)
	return c.group.failure()
}

// collective meets the others, works on this replica's share, and meets them again.
func (c *communicator) collective(ctx context.Context, work func(*communicator) error) error {
	if err := c.meet(ctx); err != nil {
		return err
	}
	if err := c.checkCalls(); err != nil {
		return c.giveUp(err)
	}
	if err := work(c); err != nil {
		return c.giveUp(err)
	}
	return c.meet(ctx)
}

// checkCalls compares what the replicas brought. All replicas come to the same result.
func (c *communicator) checkCalls() error {
	first := &c.group.members[0].call
	for r, m := range c.group.members {
		o := &m.call
		if o.what != first.what || o.kind != first.kind || o.number != first.number || len(o.values) != len(first.values) {
			return fmt.Errorf("cpu: replicas disagree: replica 0 calls %s %q (%d) with %d values, replica %d calls %s %q (%d) with %d",
				first.what, first.kind, first.number, len(first.values), r, o.what, o.kind, o.number, len(o.values))
		}
		for i, v := range o.values {
			want := first.values[i].Type()
			if t := v.Type(); !t.Equal(want) || len(v.Bytes()) != t.Bytes() {
				return fmt.Errorf("cpu: replicas disagree: %s of value %d: replica 0 brings %v, replica %d brings %v with %d bytes of host memory",
					first.what, i, want, r, t, len(v.Bytes()))
			}
		}
	}
	return nil
}

// share returns the elements of n that this replica combines: whole cache lines where possible.
func (c *communicator) share(n int) (lo, hi int) {
	const line = 64
	lines := (n + line - 1) / line
	r := c.Replicas()
	return min(c.replica*lines/r*line, n), min((c.replica+1)*lines/r*line, n)
}

// combineShare combines this replica's share of every value and stores it in the values of all replicas.
func (c *communicator) combineShare() error {
	kind := c.call.kind
	for i, v := range c.call.values {
		d := v.Type().DType
		fn := combiner(kind, d)
		if fn == nil {
			return fmt.Errorf("cpu: all_reduce cannot combine %v by %q", d, kind)
		}
		lo, hi := c.share(v.Type().Shape.Size())
		for ; lo < hi; lo += commBlock {
			c.combineBlock(i, d, fn, kind == ir.Mean, lo, min(commBlock, hi-lo))
		}
	}
	return nil
}

// combiners holds the kernels of the combining kinds, by element type; they are made once, since making one allocates.
var combiners = func() (all [4][]blockFn) {
	for k, op := range []ir.Op{ir.Add, ir.Mul, ir.Maximum, ir.Minimum} {
		all[k] = make([]blockFn, int(ir.Float64)+1)
		for _, d := range ir.DTypes() {
			all[k][d] = binaryKernel(op, computeType(d))
		}
	}
	return all
}()

// combiner returns the kernel for a kind, or nil.
func combiner(kind ir.Kind, d ir.DType) blockFn {
	switch kind {
	case ir.Mean:
		if !d.IsFloat() {
			return nil
		}
		return combiners[0][d]
	case ir.Sum:
		return combiners[0][d]
	case ir.Prod:
		return combiners[1][d]
	case ir.Max:
		return combiners[2][d]
	case ir.Min:
		return combiners[3][d]
	}
	return nil
}

// combineBlock combines n elements of value i, starting at element first.
func (c *communicator) combineBlock(i int, d ir.DType, fn blockFn, mean bool, first, n int) {
	size := d.Size()
	at := func(replica int) unsafe.Pointer {
		return unsafe.Add(pointerTo(c.group.members[replica].call.values[i].Bytes()), first*size)
	}
	acc := at(0)
	if isHalf(d) {
		acc = unsafe.Pointer(&c.scratch[0])
		other := unsafe.Pointer(&c.scratch[1])
		widenBlock(d)(acc, at(0), nil, nil, n)
		for r := 1; r < c.Replicas(); r++ {
			widenBlock(d)(other, at(r), nil, nil, n)
			fn(acc, acc, other, nil, n)
		}
		if mean {
			divide(view[float32](acc, n), float32(c.Replicas()))
		}
		narrowBlock(d)(at(0), acc, nil, nil, n)
		acc = at(0)
	} else {
		for r := 1; r < c.Replicas(); r++ {
			fn(acc, acc, at(r), nil, n)
		}
		switch {
		case mean && d == ir.Float32:
			divide(view[float32](acc, n), float32(c.Replicas()))
		case mean:
			divide(view[float64](acc, n), float64(c.Replicas()))
		}
	}
	for r := 1; r < c.Replicas(); r++ {
		copy(bytesAt(at(r), n*size), bytesAt(acc, n*size))
	}
}

func divide[T float](x []T, by T) {
	for i := range x {
		x[i] /= by
	}
}

// gather copies all parts into this replica's whole.
func (c *communicator) gather() error {
	part, whole := c.call.values[0].Type(), c.call.values[1].Bytes()
	inner := part.Shape[c.call.number:].Size() * part.DType.Size()
	outer := part.Shape[:c.call.number].Size()
	n := c.Replicas()
	for r, m := range c.group.members {
		from := m.call.values[0].Bytes()
		for o := range outer {
			copy(whole[(o*n+r)*inner:(o*n+r+1)*inner], from[o*inner:(o+1)*inner])
		}
	}
	return nil
}

func (c *communicator) copyFromRoot() error {
	if root := c.group.members[c.call.number]; root != c {
		copy(c.call.values[0].Bytes(), root.call.values[0].Bytes())
	}
	return nil
}

var errReset = errors.New("cpu: the communicator was reset during the call")

// failure is the error that ended the group's calls.
func (g *group) failure() error {
	if f := g.failed.Load(); f != nil {
		return f.err
	}
	return errReset
}

// Abort makes current and later calls of all replicas return err, until Reset. The first error stays.
func (c *communicator) Abort(err error) {
	if c.group.failed.CompareAndSwap(nil, &failure{err}) {
		c.group.rouse()
	}
}

// Reset makes the replicas usable again after Abort. Calls that are still under way return an error.
func (c *communicator) Reset() {
	g := c.group
	if g.failed.Load() == nil {
		return
	}
	for {
		s := g.state.Load()
		if g.state.CompareAndSwap(s, (s>>48+1)<<48|(s>>16+1)&0xffffffff<<16) {
			break
		}
	}
	g.rouse()
	g.failed.Store(nil)
}

// rouse wakes all parked replicas.
func (g *group) rouse() {
	for _, m := range g.members {
		if m.parked.Load() && m.parked.CompareAndSwap(true, false) {
			m.wake <- struct{}{}
		}
	}
}

// meet returns when all replicas have called it.
func (c *communicator) meet(ctx context.Context) error {
	g := c.group
	var arrived uint64
	for {
		s := g.state.Load()
		if g.failed.Load() != nil {
			return g.failure()
		}
		if int(s&0xffff) == len(g.members)-1 {
			if g.state.CompareAndSwap(s, s>>48<<48|(s>>16+1)&0xffffffff<<16) {
				g.rouse()
				return nil
			}
			continue
		}
		if g.state.CompareAndSwap(s, s+1) {
			arrived = s
			break
		}
	}
	if c.spin(arrived) {
		return g.outcome(arrived)
	}
	return c.park(ctx, arrived)
}

// met reports whether waiting since state arrived is over.
func (g *group) met(arrived uint64) bool {
	return g.state.Load()>>16 != arrived>>16 || g.failed.Load() != nil
}

// outcome tells why waiting is over.
func (g *group) outcome(arrived uint64) error {
	s := g.state.Load()
	if s>>48 != arrived>>48 || s>>16 == arrived>>16 {
		return g.failure()
	}
	return nil
}

// meetSpin is how long a replica looks for the others before it parks.
const meetSpin = 100 * time.Microsecond

func (c *communicator) spin(arrived uint64) bool {
	until := time.Now().Add(meetSpin)
	for {
		for range 64 {
			if c.group.met(arrived) {
				return true
			}
		}
		goruntime.Gosched()
		if time.Now().After(until) {
			return false
		}
	}
}

// park sleeps until the others have come or the context ends.
func (c *communicator) park(ctx context.Context, arrived uint64) error {
	for {
		c.parked.Store(true)
		if c.group.met(arrived) {
			if !c.parked.CompareAndSwap(true, false) {
				<-c.wake
			}
			return c.group.outcome(arrived)
		}
		select {
		case <-c.wake:
		case <-ctx.Done():
			if !c.parked.CompareAndSwap(true, false) {
				<-c.wake
			}
			if !c.group.met(arrived) {
				c.Abort(fmt.Errorf("cpu: replica %d stopped waiting for its peers: %w", c.replica, context.Cause(ctx)))
			}
			return c.group.outcome(arrived)
		}
	}
}
