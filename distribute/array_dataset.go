package distribute

import (
	"context"
	"fmt"
	"iter"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/exec"
)

// ArrayDataset yields the examples of arrays in host memory, in order. Make it with MakeNumpyDataset or as a literal.
type ArrayDataset struct {
	Examples HostBatch
	// BatchSize is the number of examples in a batch. It must be set, here or with Batch.
	BatchSize int
	// DropRemainder drops the last batch if it is not full.
	DropRemainder bool
	// Repeat starts over at the end of the data, forever; a batch may span the end and the new beginning.
	Repeat bool
}

// Batch returns the dataset with batches of the given size.
func (d *ArrayDataset) Batch(size int) *ArrayDataset {
	c := *d
	c.BatchSize = size
	return &c
}

// FixedBatches reports whether all batches have one size.
func (d *ArrayDataset) FixedBatches() bool { return d.DropRemainder || d.Repeat }

// Batches implements [Dataset].
func (d *ArrayDataset) Batches(ctx context.Context, _ int) iter.Seq2[HostBatch, error] {
	return func(yield func(HostBatch, error) bool) {
		n := d.Examples.Examples()
		if err := d.check(n); err != nil {
			yield(HostBatch{}, err)
			return
		}
		for from := 0; d.Repeat || from < n; from += d.BatchSize {
			if err := ctx.Err(); err != nil {
				yield(HostBatch{}, err)
				return
			}
			if d.DropRemainder && !d.Repeat && from+d.BatchSize > n {
				return
			}
			b := mapArrays(d.Examples, func(a kernels.Array) kernels.Array { return d.rows(a, from, n) })
			if !yield(b, nil) {
				return
			}
		}
	}
}

func (d *ArrayDataset) check(n int) error {
	if d.BatchSize < 1 {
		return fmt.Errorf("distribute: the dataset has no batches; call Batch with a size of at least 1")
	}
	for i, a := range d.Examples.Arrays() {
		if len(a.Type.Shape) == 0 || a.Type.Shape[0] != n || exec.CheckArray(a) != nil {
			return fmt.Errorf("distribute: array %d of the dataset is %v with %d bytes; expected %d examples on axis 0", i, a.Type, len(a.Data), n)
		}
	}
	if n == 0 && d.Repeat {
		return fmt.Errorf("distribute: the dataset repeats no examples forever")
	}
	return nil
}

// rows returns the examples of the batch that begins at from.
func (d *ArrayDataset) rows(a kernels.Array, from, n int) kernels.Array {
	if !d.Repeat {
		return a.Slice(from, min(from+d.BatchSize, n))
	}
	t := a.Slice(0, 0).Type
	t.Shape[0] = d.BatchSize
	out := kernels.Array{Type: t, Data: make([]byte, 0, t.Bytes())}
	for i := range d.BatchSize {
		k := (from + i) % n
		out.Data = append(out.Data, a.Slice(k, k+1).Data...)
	}
	return out
}
