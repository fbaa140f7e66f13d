package keras

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Workers compare their learning rates and weights in the call that joins their flags, by the greatest of each byte: a
// checksum of them goes with its complement, and workers that have none to compare, such as one that has just taken
// over the state of another, send zeros.

const sumBytes = 4

// putSum writes a checksum and its complement.
func putSum(b []byte, sum uint32) {
	binary.LittleEndian.PutUint32(b, sum)
	binary.LittleEndian.PutUint32(b[sumBytes:], ^sum)
}

// oneSum reports whether the checksums of which b has the greatest bytes were one, or none.
func oneSum(b []byte) bool {
	sum, complement := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[sumBytes:])
	return sum == ^complement || sum == 0 && complement == 0
}

// sum is a checksum of what callbacks must leave alike on all workers. Weights on devices with a memory of their own
// are not part of it: to read them would take longer than what an epoch may take there. Nothing is copied, and weights
// that have not changed take no time: a table of 1 GB would take half a second.
func (t *trainer) sum() (uint32, error) {
	rate, _ := t.m.LearningRate() // a step of the user's may have none, or several
	sum := math.Float32bits(float32(rate))
	for _, v := range t.alike() {
		b, err := v.Buffer(0)
		if err != nil {
			return 0, err
		}
		if c, ok := b.(kernels.Checksummer); ok {
			sum = crc32.Update(sum, crc32.IEEETable, binary.LittleEndian.AppendUint32(t.workers.part[:0], c.Checksum()))
		}
	}
	return sum, nil
}

// alike are the weights that every worker computes for itself and that are the same on all, as far as this worker
// knows: one that has just come, and has traced no step, takes those that steps assign for such, too.
func (t *trainer) alike() (vars distribute.Variables) {
	for _, v := range t.comparable() {
		if !ownValue(v) {
			vars = append(vars, v)
		}
	}
	return vars
}

// comparable are weights of which every worker has a copy. A step of the user's may keep them apart.
func (t *trainer) comparable() (vars distribute.Variables) {
	if t.m.compiled.trainStep != nil {
		return nil
	}
	for _, v := range t.m.Weights() {
		if v.Spec().Synchronization != distribute.OnRead {
			vars = append(vars, v)
		}
	}
	return vars
}

// ownValue reports whether each replica gives a variable a value of its own, which is no weight's gradient.
func ownValue(v *distribute.Variable) bool {
	s := v.Spec()
	return s.Frozen && s.Aggregation == distribute.None && v.Assigned()
}

// alikeOnAll are the weights that are alike for all workers.
func (t *trainer) alikeOnAll(ctx context.Context) (vars distribute.Variables, err error) {
	all := t.comparable()
	own := make([]byte, len(all))
	for i, v := range all {
		if ownValue(v) {
			own[i] = 1
		}
	}
	if err := t.workers.group.AllReduce(ctx, distribute.WorkerCall{Name: "weights to compare"}, ir.Max, []kernels.Array{bytesArray(own)}); err != nil {
		return nil, err
	}
	for i, v := range all {
		if own[i] == 0 {
			vars = append(vars, v)
		}
	}
	return vars, nil
}

// unlike is the error of workers with different learning rates, which shows two of them, or weights. Weights that
// differ by no more than rounding, as on processors of different kinds, become those of the chief.
func (t *trainer) unlike(ctx context.Context) error {
	rate, _ := t.m.LearningRate()
	g := t.workers.group
	call := distribute.WorkerCall{Name: fmt.Sprintf("end of epoch with learning rate %v", rate)}
	if err := g.Agree(ctx, call); err != nil {
		return err
	}
	list, err := t.alikeOnAll(ctx)
	if err != nil {
		return err
	}
	vars, values, err := distribute.ReceiveVariables(ctx, t.m.strategy, list, 0)
	if err != nil {
		return err
	}
	for i, v := range vars {
		own, err := v.Value()
		if err != nil {
			return err
		}
		if k, differs := apart(own, values[i]); differs {
			return fmt.Errorf("the weight %s is not what the chief has: element %d is %g here and %g there; let callbacks set weights on all workers, to the same values",
				v.Path(), k, own.Element(k), values[i].Element(k))
		}
	}
	if err := g.Agree(ctx, call); err != nil || g.Rank() == 0 {
		return err
	}
	return t.m.writeAll(vars, values)
}

// rounding is how much weights may differ, as a part of the largest of a variable.
const rounding = 0x1p-7

// apart returns where two values differ most, and whether that is more than rounding explains.
func apart(a, b kernels.Array) (where int, differs bool) {
	var most, largest float64
	for i := range a.Len() {
		x, y := a.Element(i), b.Element(i)
		d := math.Abs(x - y)
		switch {
		case x == y || x != x && y != y:
			d = 0
		case d != d: // one is no number
			d = math.Inf(1)
		}
		if d > most {
			most, where = d, i
		}
		if size := math.Abs(y); size <= math.MaxFloat64 {
			largest = max(largest, size)
		}
	}
	return where, most > rounding*largest
}
