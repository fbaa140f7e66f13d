package optimizers

import (
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// changes are the new values of variables before they are assigned. If the state of optimizers is sharded, a value may
// be known whole, as this replica's piece, or both.
type changes struct {
	r      *distribute.Replica
	values map[*distribute.Variable]*change
	order  distribute.Variables
}

// change is a value of which at least one form is known.
type change struct {
	whole, piece *ops.Tensor
	shape        ir.Shape
}

// ofReplica returns this replica's piece.
func (c *change) ofReplica(r *distribute.Replica) *ops.Tensor {
	if c.piece == nil {
		c.piece = r.Shard(c.whole)
	}
	return c.piece
}

// gather makes the changes whole.
func gather(r *distribute.Replica, list []*change) {
	var pieces []*ops.Tensor
	var shapes []ir.Shape
	var open []*change
	for _, c := range list {
		if c.whole == nil {
			pieces, shapes, open = append(pieces, c.piece), append(shapes, c.shape), append(open, c)
		}
	}
	for i, whole := range r.Unshard(pieces, shapes) {
		open[i].whole = whole
	}
}

// get returns the current value of a variable.
func (c *changes) get(v *distribute.Variable) *ops.Tensor {
	if t := c.values[v]; t != nil {
		gather(c.r, []*change{t})
		return t.whole
	}
	return c.r.Read(v)
}

// piece returns this replica's piece of the current value of a variable.
func (c *changes) piece(v *distribute.Variable) *ops.Tensor {
	if t := c.values[v]; t != nil {
		return t.ofReplica(c.r)
	}
	return c.r.ReadShard(v)
}

// in returns the value in the requested form.
func (c *changes) in(pieces bool, v *distribute.Variable) *ops.Tensor {
	if pieces {
		return c.piece(v)
	}
	return c.get(v)
}

// set gives a variable a new value.
func (c *changes) set(v *distribute.Variable, t *ops.Tensor) { c.setIn(false, v, t) }

// setIn gives a variable a new value of the given form.
func (c *changes) setIn(pieces bool, v *distribute.Variable, t *ops.Tensor) {
	if c.values == nil {
		c.values = map[*distribute.Variable]*change{}
	}
	if c.values[v] == nil {
		c.order = append(c.order, v)
	}
	n := &change{shape: v.Type().Shape}
	if pieces {
		n.piece = t
	} else {
		n.whole = t
	}
	c.values[v] = n
}

// adopt takes over the changes of an update if it is due. Otherwise everything stays as it was.
func (c *changes) adopt(inner *changes, due *ops.Tensor) {
	for _, v := range inner.order {
		pieces := inner.values[v].whole == nil || c.r.Sharded(v)
		c.setIn(pieces, v, ops.Where(due, inner.in(pieces, v), c.asRead(pieces, v)))
	}
}

// asRead returns the value that a variable had before all changes.
func (c *changes) asRead(piece bool, v *distribute.Variable) *ops.Tensor {
	if piece {
		return c.r.ReadShard(v)
	}
	return c.r.Read(v)
}

// gatherAll makes the values whole for variables that every replica holds.
func (c *changes) gatherAll() {
	var list []*change
	for _, v := range c.order {
		if !c.r.Sharded(v) {
			list = append(list, c.values[v])
		}
	}
	gather(c.r, list)
}

// commit assigns the new values if gate is true.
func (c *changes) commit(gate *ops.Tensor) {
	c.gatherAll()
	for _, v := range c.order {
		pieces := c.r.Sharded(v)
		t := c.in(pieces, v)
		if gate != nil {
			t = ops.Where(gate, t, c.asRead(pieces, v))
		}
		if pieces {
			c.r.AssignShard(v, t)
		} else {
			c.r.AssignMirrored(v, t)
		}
	}
}
