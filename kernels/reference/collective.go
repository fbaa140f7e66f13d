package reference

import (
	"fmt"
	"sync"

	"github.com/gokeras/gokeras/kernels/ir"
)

// hub is the meeting point of the replicas. At a collective each posts its operands and waits until all have; then each
// reads what the others have posted.
type hub struct {
	mu      sync.Mutex
	changed *sync.Cond
	posts   [][]Value // the operands posted for the current meeting, by replica
	ops     []ir.Op
	arrived int
	meeting int // number of the current meeting
	last    [][]Value
	left    int // replicas that have finished
	err     error
}

func newHub(replicas int) *hub {
	h := &hub{posts: make([][]Value, replicas), ops: make([]ir.Op, replicas)}
	h.changed = sync.NewCond(&h.mu)
	return h
}

// exchange returns the operands of all replicas, in replica order.
func (h *hub) exchange(replica int, op ir.Op, operands []Value) ([][]Value, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.posts[replica], h.ops[replica] = operands, op
	h.arrived++
	meeting := h.meeting
	h.settle()
	for h.meeting == meeting && h.err == nil {
		h.changed.Wait()
	}
	if h.meeting == meeting {
		return nil, h.err
	}
	return h.last, nil
}

// settle ends the current meeting when everyone is there, or fails it if someone will never come.
func (h *hub) settle() {
	n := len(h.posts)
	if h.arrived > 0 && h.arrived+h.left == n && h.left > 0 && h.err == nil {
		h.err = fmt.Errorf("%d of %d replicas wait at a collective that the others ended without", h.arrived, n)
	}
	if h.arrived == n {
		for r, op := range h.ops {
			if op != h.ops[0] && h.err == nil {
				h.err = fmt.Errorf("replica 0 is at %v, replica %d at %v", h.ops[0], r, op)
			}
		}
		if h.err == nil {
			h.last, h.posts = h.posts, make([][]Value, n)
			h.arrived = 0
			h.meeting++
		}
	}
	h.changed.Broadcast()
}

// leave tells the others that a replica has ended, with its error if it failed.
func (h *hub) leave(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.left++
	if h.err == nil {
		h.err = err
	}
	h.settle()
}

func runReplicas(in Interpreter, p *ir.Program, inputs [][]Value) ([][]Value, error) {
	h := newHub(len(inputs))
	outputs, errs := make([][]Value, len(inputs)), make([]error, len(inputs))
	var group sync.WaitGroup
	for r := range inputs {
		group.Go(func() {
			m := &machine{Interpreter: in, replica: r, hub: h}
			outputs[r], errs[r] = m.run(p, inputs[r])
			h.leave(errs[r])
		})
	}
	group.Wait()
	for r, err := range errs {
		if err != nil && len(inputs) > 1 {
			return nil, fmt.Errorf("replica %d: %w", r, h.err)
		} else if err != nil {
			return nil, err
		}
	}
	return outputs, nil
}

// meet exchanges operands with the other replicas, and returns those of the group.
func (c *call) meet(a ir.CollectiveAttrs) ([][]Value, error) {
	if n := len(c.hub.posts); a.Replicas != n {
		return nil, fmt.Errorf("the program is for %d replicas, but %d run", a.Replicas, n)
	}
	all, err := c.hub.exchange(c.replica, c.node.Op, c.in)
	if err != nil {
		return nil, err
	}
	members, _ := a.Group(c.replica)
	near := make([][]Value, len(members))
	for i, m := range members {
		near[i] = all[m]
	}
	return near, nil
}

// total combines operand i of all replicas.
func total(kind ir.Kind, all [][]Value, i int) Value {
	sum := all[0][i].Clone()
	combining := kind
	if kind == ir.Mean {
		combining = ir.Sum
	}
	for _, operands := range all[1:] {
		for e := range sum.Type.Shape.Size() {
			combine(combining, sum, e, operands[i], e)
		}
	}
	if kind == ir.Mean {
		for e := range sum.F {
			sum.F[e] /= float64(len(all))
		}
	}
	return sum
}

func (c *call) allReduce() error {
	a := c.node.Attrs.(ir.CollectiveAttrs)
	all, err := c.meet(a)
	if err != nil {
		return err
	}
	for i := range c.out {
		c.out[i] = total(a.Kind, all, i)
	}
	return nil
}

func (c *call) allGather() error {
	a := c.node.Attrs.(ir.CollectiveAttrs)
	all, err := c.meet(a)
	if err != nil {
		return err
	}
	y := c.out[0]
	for r, operands := range all {
		x := operands[0]
		for i, at := range indices(x.Type.Shape) {
			at[a.Axis] += r * x.Type.Shape[a.Axis]
			y.set(position(y.Type.Shape, at), x, i)
			at[a.Axis] -= r * x.Type.Shape[a.Axis]
		}
	}
	return nil
}

func (c *call) reduceScatter() error {
	a := c.node.Attrs.(ir.CollectiveAttrs)
	all, err := c.meet(a)
	if err != nil {
		return err
	}
	x, y := total(a.Kind, all, 0), c.out[0]
	_, place := a.Group(c.replica)
	for i, at := range indices(y.Type.Shape) {
		at[a.Axis] += place * y.Type.Shape[a.Axis]
		y.set(i, x, position(x.Type.Shape, at))
		at[a.Axis] -= place * y.Type.Shape[a.Axis]
	}
	return nil
}

func (c *call) collectiveBroadcast() error {
	a := c.node.Attrs.(ir.CollectiveAttrs)
	all, err := c.meet(a)
	if err != nil {
		return err
	}
	c.out[0] = all[a.Root][0].Clone()
	return nil
}

func (c *call) replicaID() error {
	if a := c.node.Attrs.(ir.CollectiveAttrs); a.Replicas != len(c.hub.posts) {
		return fmt.Errorf("the program is for %d replicas, but %d run", a.Replicas, len(c.hub.posts))
	}
	c.out[0].I[0] = int64(c.replica)
	return nil
}
