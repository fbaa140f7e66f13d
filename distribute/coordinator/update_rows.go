package coordinator

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/kernels/cpu/rows"
)

// blockBytes is about how many bytes of rows UpdateRows hands out at a time: they stay in a processor's own cache.
const blockBytes = 64 << 10

// UpdateRows is [Closure.Lookup], a computation and [Closure.GradientRows] in one: f receives the rows of
// ids[first:first+n], n rows of the variable's width one after another, and replaces them by their gradients. It is
// called for some ids at a time, in their order, so that the rows of a large batch stay in the processor's cache from
// the look-up to the sum; a batch as a whole would pass through memory again at each of these steps.
//
// group is how many ids belong together, such as the look-ups of one example: f receives whole groups, and len(ids)
// must be a multiple of group. What f computes must not depend on the rows of other groups; where it does, use Lookup
// and GradientRows. An error of f ends the update, and nothing of it is applied.
func (cl *Closure) UpdateRows(v *Variable, rate float64, ids []int64, group int, f func(first int, rows []float32) error) error {
	if group < 1 || len(ids)%group != 0 {
		return fmt.Errorf("coordinator: variable %s: %d ids in groups of %d; expected whole groups of at least 1", v.Name(), len(ids), group)
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
	room, sums, width := memory.room(len(plan.IDs)*remote.Width), parameters.RowSums{}, remote.Width
	sums, memory.sums = memory.sums, sums // f may make other changes
	sums.Begin(room.Floats, len(plan.IDs), width)
	some := max(blockBytes/(4*max(width, 1))/group, 1) * group
	block := slices.Grow(memory.block[:0], min(some, len(ids))*width)
	memory.block = nil
	for first := 0; first < len(ids); first += some {
		places := plan.Places[first:min(first+some, len(ids))]
		block = block[:len(places)*width]
		rows.Take(block, read.Values, width, places)
		if err := f(first, block); err != nil {
			return err
		}
		sums.Add(places, block)
	}
	cl.changes = append(cl.changes, parameters.Change{Variable: remote, Op: parameters.Gradient, Rate: rate, IDs: plan.IDs, Values: sums.End(), Room: room, Seen: read.Seen})
	memory.block, memory.sums = block, sums
	return nil
}
