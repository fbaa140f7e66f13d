package coordinator

import (
	"fmt"
	"sync"
	"unsafe"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// RowLoss is a loss computed from rows that are looked up; see [Closure.MinimizeRows].
type RowLoss struct {
	// GradientOnly computes only the gradient of the loss; MinimizeRows then returns 0.
	GradientOnly bool

	c    *ClusterCoordinator
	name string
	f    func(r *distribute.Replica, rows *ops.Tensor, inputs []*ops.Tensor) *ops.Tensor

	once sync.Once
	fn   *distribute.Function
	err  error
}

// RowLoss makes a loss of rows from traced code. f receives the rows of some groups, of shape [groups, ids in a group,
// width], and the inputs of these groups, each [groups, ...]. It returns their loss, whose elements are all summed. The
// loss of a group must not depend on other groups, because f is called for blocks of groups.
func (c *ClusterCoordinator) RowLoss(name string, f func(r *distribute.Replica, rows *ops.Tensor, inputs []*ops.Tensor) *ops.Tensor) *RowLoss {
	return &RowLoss{c: c, name: name, f: f}
}

// lossBlock replaces blockBytes if a program computes the loss, since starting a program takes some microseconds.
const lossBlock = 256 << 10

// MinimizeRows is [Closure.UpdateRows] with the gradient of a loss. inputs holds the loss's other inputs, such as
// labels; the length of their first axis is the number of groups, len(ids)/group. It returns the loss of the batch.
func (cl *Closure) MinimizeRows(v *Variable, rate float64, ids []int64, group int, loss *RowLoss, inputs ...kernels.Array) (float64, error) {
	if loss == nil || loss.c != cl.c {
		return 0, fmt.Errorf("coordinator: variable %s: MinimizeRows takes a loss that ClusterCoordinator.RowLoss of the same coordinator has made", v.Name())
	}
	for i, a := range inputs {
		if group < 1 || len(a.Type.Shape) == 0 || a.Type.Shape[0]*group != len(ids) {
			return 0, fmt.Errorf("coordinator: %s: input %d has the shape %v; expected a first axis of %d, one element for each group of %d ids", loss.name, i, a.Type.Shape, len(ids)/max(group, 1), group)
		}
	}
	run := lossRun{cl: cl, loss: loss, group: group, inputs: inputs}
	defer run.end()
	err := cl.updateRows(v, rate, ids, rowBlocks{group, lossBlock, run.gradient})
	return run.total, err
}

// function is the traced loss and its gradient, which run on the first device of the process.
func (l *RowLoss) function() (*distribute.Function, error) {
	l.once.Do(func() {
		var s distribute.Strategy
		if s, l.err = distribute.NewOneDeviceStrategy(l.c.strategy.Devices()[0].String()); l.err != nil {
			return
		}
		l.fn = distribute.NewFunction(s, l.name, func(r *distribute.Replica, in []*ops.Tensor) []*ops.Tensor {
			loss := l.f(r, in[0], in[1:])
			if loss == nil {
				ops.Failf(r.Graph(), "%s: the function of a RowLoss returned no loss", l.name)
			}
			loss = ops.Sum(loss)
			d := ops.Grad(loss, in[0])[0]
			if d == nil {
				ops.Failf(r.Graph(), "%s: the loss does not depend on the rows", l.name)
			}
			if l.GradientOnly {
				return []*ops.Tensor{d}
			}
			return []*ops.Tensor{d, ops.Cast(loss, ir.Float32)}
		})
	})
	return l.fn, l.err
}

// lossRun computes a loss block by block.
type lossRun struct {
	cl     *Closure
	loss   *RowLoss
	group  int
	inputs []kernels.Array
	total  float64

	fn       *distribute.Function
	inst     *distribute.Instance
	groups   int  // of inst
	borrowed bool // it reads the rows where they are
}

// acquire takes an instance for blocks of the given number of groups, and gives it the rows of one block.
func (l *lossRun) acquire(groups, width int, rows []byte) (err error) {
	if l.inst != nil && l.groups == groups {
		if !l.borrowed {
			err = l.inst.Input(0, 0).Write(rows)
		}
		return err
	}
	l.end()
	if l.fn, err = l.loss.function(); err != nil {
		return err
	}
	types := []ir.Type{{DType: ir.Float32, Shape: ir.Shape{groups, l.group, width}}}
	for _, a := range l.inputs {
		shape := a.Type.Shape.Clone()
		shape[0] = groups
		types = append(types, ir.Type{DType: a.Type.DType, Shape: shape})
	}
	if l.inst, err = l.fn.Acquire([][]ir.Type{types}, []int{groups}); err != nil {
		return err
	}
	l.groups = groups
	if b, ok := l.inst.Input(0, 0).(kernels.Borrower); ok { // all blocks lie in the same place
		l.borrowed = true
		return b.Borrow(rows)
	}
	return l.inst.Input(0, 0).Write(rows)
}

// end gives the instance back.
func (l *lossRun) end() {
	if l.inst == nil {
		return
	}
	if b, ok := l.inst.Input(0, 0).(kernels.Borrower); ok && l.borrowed {
		_ = b.Borrow(nil) // its own memory is always as long as it should be
	}
	l.fn.Release(l.inst)
	l.inst, l.borrowed = nil, false
}

// gradient computes the gradients of a block; they are valid until the next one.
func (l *lossRun) gradient(first, width int, block []float32) ([]float32, error) {
	if len(block) == 0 { // rows of no numbers
		return block, nil
	}
	groups := len(block) / width / l.group
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(block))), 4*len(block))
	if err := l.acquire(groups, width, bytes); err != nil {
		return nil, err
	}
	for i, a := range l.inputs {
		if err := l.inst.Input(0, 1+i).Write(a.Slice(first/l.group, first/l.group+groups).Data); err != nil {
			return nil, err
		}
	}
	if err := l.inst.Run(l.cl.ctx, 0, 0); err != nil {
		return nil, err
	}
	if !l.loss.GradientOnly {
		var one [1]float32
		if err := l.inst.Output(0, 1).Read(unsafe.Slice((*byte)(unsafe.Pointer(&one)), 4)); err != nil {
			return nil, err
		}
		l.total += float64(one[0])
	}
	out := l.inst.Output(0, 0)
	if b := out.Bytes(); b != nil {
		return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(block)), nil
	}
	return block, out.Read(bytes)
}
