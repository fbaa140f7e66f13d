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

// Workers compare their learning rates and weights in the call that reduces their flags, which takes the maximum of
// each byte. A checksum is sent together with its complement. Workers that have nothing to compare, such as one that
// has just taken over another's state, send zeros.

const sumBytes = 4

// putSum writes a checksum and its complement.
func putSum(b []byte, sum uint32) {
	binary.LittleEndian.PutUint32(b, sum)
	binary.LittleEndian.PutUint32(b[sumBytes:], ^sum)
}

// oneSum reports whether all checksums were equal, or there were none; b holds the maximum of each byte.
func oneSum(b []byte) bool {
	sum, complement := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[sumBytes:])
	return sum == ^complement || sum == 0 && complement == 0
}

// sum is a checksum of what callbacks must leave equal on all workers. Weights on devices with their own memory are
// excluded: reading them would take longer than may be spent there per epoch. Nothing is copied, and unchanged weights
// take no time: a table of 1 GB would take half a second.
func (t *trainer) sum() (uint32, error) {
	rate, _ := t.m.LearningRate() // a user-defined step may have no rate, or several
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

// alike returns the weights that every worker computes for itself and that are equal on all, as far as this worker
// knows. A worker that has just joined and traced no step includes those that steps assign.
func (t *trainer) alike() (vars distribute.Variables) {
	for _, v := range t.comparable() {
		if !ownValue(v) {
			vars = append(vars, v)
		}
	}
	return vars
}

// comparable returns the weights that every worker has a copy of. A user-defined step may let these differ.
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

// ownValue reports whether each replica assigns a variable its own value, which is no weight's gradient.
func ownValue(v *distribute.Variable) bool {
	s := v.Spec()
	return s.Frozen && s.Aggregation == distribute.None && v.Assigned()
}

// alikeOnAll returns the weights that all workers consider alike.
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

// unlike is the error for workers with different learning rates, two of which it shows, or with different weights.
// Weights that differ only by rounding, as on different kinds of processors, become the chief's.
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

// rounding is how much weights may differ, relative to the largest value of the variable.
const rounding = 0x1p-7

// apart returns where two values differ most, and whether rounding does not explain it.
func apart(a, b kernels.Array) (where int, differs bool) {
	var most, largest float64
	for i := range a.Len() {
		x, y := a.Element(i), b.Element(i)
		d := math.Abs(x - y)
		switch {
		case x == y || x != x && y != y:
			d = 0
		case d != d: // one is NaN
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
