package data

import (
	"context"
	"iter"
)

// FromTensorSlices returns the examples of in-memory arrays one by one, without their leading axis. x, y and the
// options are those of [Arrays].
func FromTensorSlices(x, y any, options ...ArrayOption) *Pipeline {
	return Arrays(x, y, options...).Elements()
}

// Range returns the numbers 0, 1, ..., n-1 as int64 scalars in X.
func Range(n int) *Pipeline {
	p := &Pipeline{stage: "Range", size: func() (int, bool) { return n, true }}
	if n < 0 {
		return p.fail("%d numbers; expected 0 or more", n)
	}
	p.pass = func(context.Context, int) iter.Seq2[Batch, error] {
		return func(yield func(Batch, error) bool) {
			for i := range n {
				if !yield(Batch{X: List(wrap([]int64{int64(i)}))}, nil) {
					return
				}
			}
		}
	}
	return p
}

// FromGenerator returns the elements that a function yields. generate is called once in each pass and must yield new
// arrays each time. It should stop when ctx ends or yield returns false, and must close whatever it opens before it
// returns.
func FromGenerator(generate func(ctx context.Context, epoch int) iter.Seq2[Batch, error]) *Pipeline {
	p := &Pipeline{stage: "FromGenerator"}
	if generate == nil {
		return p.fail("the function is nil")
	}
	p.pass = func(ctx context.Context, epoch int) iter.Seq2[Batch, error] {
		return func(yield func(Batch, error) bool) {
			elements := generate(ctx, epoch)
			if elements == nil {
				yield(Batch{}, p.errorf("the function returned nil; expected a sequence, one without elements where there are none"))
				return
			}
			i := 0
			for element, err := range elements {
				if err == nil {
					err = element.check()
				}
				if err != nil {
					yield(Batch{}, p.errorf("element %d: %w", i, err))
					return
				}
				i++
				if !yield(element, nil) {
					return
				}
			}
		}
	}
	return p
}

// FromDataset returns the batches of any dataset as the elements of a Pipeline. Each is a copy, since a dataset may
// reuse the memory of its batches. [Pipeline.Unbatch] splits them into examples.
func FromDataset(ds Dataset) *Pipeline {
	p := &Pipeline{stage: "FromDataset", size: func() (int, bool) { return Cardinality(ds) }}
	if ds == nil {
		return p.fail("the dataset is nil")
	}
	p.pass = func(ctx context.Context, epoch int) iter.Seq2[Batch, error] {
		return func(yield func(Batch, error) bool) {
			for batch, err := range ds.Batches(ctx, epoch) {
				if err != nil {
					yield(Batch{}, err)
					return
				}
				if !yield(batch.Clone(), nil) {
					return
				}
			}
		}
	}
	return p
}
