package coordinator

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/kernels/cpu/rows"
)

// blockBytes is about how many bytes of rows UpdateRows passes to f at a time, so that they stay in a core's own cache.
const blockBytes = 64 << 10

// UpdateRows combines [Closure.Lookup], a computation and [Closure.GradientRows]. f receives the rows of
// ids[first:first+n], n consecutive rows of the variable's width, and replaces them by their gradients. It is called
// for some ids at a time, in order, so that the rows of a large batch stay in the processor's cache from the lookup to
// the sum. A whole batch would pass through memory in each of these steps.
//
// group is the number of ids that belong together, such as the lookups of one example. f receives whole groups, and
// len(ids) must be a multiple of group. The result of f for a group must not depend on the rows of other groups; if it
// does, use Lookup and GradientRows. An error of f ends the update, and none of it is applied. [Closure.MinimizeRows]
// does the same for a traced loss: it derives the gradient, and computes it with vector instructions.
func (cl *Closure) UpdateRows(v *Variable, rate float64, ids []int64, group int, f func(first int, rows []float32) error) error {
	return cl.updateRows(v, rate, ids, rowBlocks{group, blockBytes, func(first, _ int, block []float32) ([]float32, error) { return block, f(first, block) }})
}

// rowBlocks says how rows are updated in blocks.
type rowBlocks struct {
	group, bytes int // of ids, of a block
	// gradient returns as many numbers as block has, possibly in the memory of block.
	gradient func(first, width int, block []float32) ([]float32, error)
}

// updateRows looks rows up, computes their gradients block by block, and sums those of equal rows.
func (cl *Closure) updateRows(v *Variable, rate float64, ids []int64, b rowBlocks) error {
	if b.group < 1 || len(ids)%b.group != 0 {
		return fmt.Errorf("coordinator: variable %s: %d ids in groups of %d; expected whole groups of at least 1", v.Name(), len(ids), b.group)
	}
	remote, err := v.find(cl.ctx)
	if err != nil {
		return err
	}
	plan, memory := cl.planOf(ids), cl.memory()
	read, err := readRows(cl.ctx, cl.c.job, remote, plan, memory)
	if err != nil {
		return err
	}
	cl.saw(remote, read.Seen)
	room, width := memory.room(len(plan.IDs)*remote.Width), remote.Width
	sums := room.Floats[:len(plan.IDs)*width]
	clear(sums)
	some := max(b.bytes/(4*max(width, 1))/b.group, 1) * b.group
	block := slices.Grow(memory.block[:0], min(some, len(ids))*width)
	memory.block = nil // the function may make other updates
	for first := 0; first < len(ids); first += some {
		places := plan.Places[first:min(first+some, len(ids))]
		block = block[:len(places)*width]
		rows.Take(block, read.Values, width, places)
		gradients, err := b.gradient(first, width, block)
		if err != nil {
			return err
		}
		rows.Add(sums, gradients, width, places)
	}
	cl.changes = append(cl.changes, parameters.Change{Variable: remote, Op: parameters.Gradient, Rate: rate, IDs: plan.IDs, Values: sums, Room: room, Seen: read.Seen})
	memory.block = block
	return nil
}
