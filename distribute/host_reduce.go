package distribute

import (
	"github.com/gokeras/gokeras/distribute/internal/numbers"
	"github.com/gokeras/gokeras/kernels/ir"
)

// then runs f if work is set and the pack has not failed, and waits for the others.
func (c *hostCommunicator) then(p *pack, work bool, f func(c *hostCommunicator, p *pack)) {
	if p.err != nil {
		return
	}
	if work {
		f(c, p)
	}
	p.err = c.meet()
}

// reduceAt lets one replica combine all values in replica order, and the others copy the result.
func (c *hostCommunicator) reduceAt(root int, p *pack) {
	c.then(p, c.replica == root, func(c *hostCommunicator, p *pack) {
		for r := 1; r < c.Replicas(); r++ {
			c.combine(0, r, p.first, p.limit)
		}
		c.finish(0, p.first, p.limit)
	})
	c.then(p, c.replica != 0, func(c *hostCommunicator, p *pack) { c.copyFrom(0, p.first, p.limit) })
}

// reduceInGroups combines within groups of replicas, then over the groups, and passes the result back down the same
// way. The first replica of a group leads it; replica 0 leads all.
func (c *hostCommunicator) reduceInGroups(p *pack) {
	leader := c.near[0]
	c.then(p, c.replica == leader, func(c *hostCommunicator, p *pack) {
		for _, r := range c.near[1:] {
			c.combine(c.replica, r, p.first, p.limit)
		}
	})
	c.then(p, c.replica == 0, func(c *hostCommunicator, p *pack) {
		for r, m := range c.group.members {
			if r > 0 && m.near[0] == r {
				c.combine(0, r, p.first, p.limit)
			}
		}
		c.finish(0, p.first, p.limit)
	})
	c.then(p, c.replica == leader && leader != 0, func(c *hostCommunicator, p *pack) { c.copyFrom(0, p.first, p.limit) })
	c.then(p, c.replica != leader, func(c *hostCommunicator, p *pack) { c.copyFrom(c.near[0], p.first, p.limit) })
}

// reduceInRing sends parts of the pack round the ring of replicas. In step s replica i adds part i-1-s of its
// predecessor to its own; after n-1 steps it holds the whole sum of part i+1, and the sums go round once more.
func (c *hostCommunicator) reduceInRing(p *pack) {
	n := c.Replicas()
	before := (c.replica + n - 1) % n
	part := func(i int) (first, limit int) {
		i = ((i % n) + n) % n
		size := (p.limit - p.first + n - 1) / n
		return min(p.first+i*size, p.limit), min(p.first+(i+1)*size, p.limit)
	}
	for s := 0; s < n-1 && p.err == nil; s++ {
		first, limit := part(c.replica - 1 - s)
		c.combine(c.replica, before, first, limit)
		p.err = c.meet()
	}
	if p.err != nil {
		return
	}
	first, limit := part(c.replica + 1)
	c.finish(c.replica, first, limit)
	p.err = c.meet()
	for s := 0; s < n-1 && p.err == nil; s++ {
		first, limit := part(c.replica - s)
		c.copyFrom(before, first, limit)
		p.err = c.meet()
	}
}

// each calls f for each value's part of the elements from first up to limit.
func (c *hostCommunicator) each(first, limit int, f func(value int, d ir.DType, first, n int)) {
	at := 0
	for i, v := range c.values {
		n := v.Type().Shape.Size()
		lo, hi := max(first-at, 0), min(limit-at, n)
		if lo < hi {
			f(i, v.Type().DType, lo, hi-lo)
		}
		at += n
	}
}

// bytes returns n elements of a replica's value.
func (c *hostCommunicator) bytes(replica, value int, d ir.DType, first, n int) []byte {
	return c.group.members[replica].values[value].Bytes()[first*d.Size() : (first+n)*d.Size()]
}

// combine combines elements of replica from into those of replica into.
func (c *hostCommunicator) combine(into, from, first, limit int) {
	c.each(first, limit, func(v int, d ir.DType, first, n int) {
		sum := c.bytes(into, v, d, first, n)
		numbers.Combine(c.kind, d, sum, sum, c.bytes(from, v, d, first, n))
	})
}

// finish divides a mean by the number of replicas.
func (c *hostCommunicator) finish(replica, first, limit int) {
	if c.kind != ir.Mean {
		return
	}
	c.each(first, limit, func(v int, d ir.DType, first, n int) {
		numbers.Divide(d, c.bytes(replica, v, d, first, n), c.Replicas())
	})
}

// copyFrom copies the elements of another replica.
func (c *hostCommunicator) copyFrom(replica, first, limit int) {
	c.each(first, limit, func(v int, d ir.DType, first, n int) {
		copy(c.bytes(c.replica, v, d, first, n), c.bytes(replica, v, d, first, n))
	})
}

// combines reports whether a kind of reduction can combine elements of a type.
func combines(kind ir.Kind, d ir.DType) bool {
	switch kind {
	case ir.Mean:
		return d.IsFloat()
	case ir.Sum, ir.Prod, ir.Max, ir.Min:
		return d.IsFloat() || d.IsInteger()
	}
	return false
}
