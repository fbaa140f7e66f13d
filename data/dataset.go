package data

import (
	"context"
	"fmt"
	"iter"
)

// Dataset is a source of batches. Each call of Batches describes a new pass, which starts when the result is ranged
// over.
//
// epoch is the number of the pass, from 0. It seeds all randomness in the source, so that a run resumed at epoch e sees
// what an uninterrupted run would have seen, and two passes with the same number are equal.
//
// An implementation stops after yielding an error, returns soon after ctx ends (yielding the context's error), and
// leaves neither goroutine nor open file behind when the consumer breaks out of the loop. The package documentation
// says who owns the memory of a batch.
type Dataset interface {
	Batches(ctx context.Context, epoch int) iter.Seq2[Batch, error]
}

// Infinite is the cardinality of a dataset that never ends.
const Infinite = -1

// Sized is implemented by datasets that may know, before a pass, how many batches (or elements) it yields.
type Sized interface {
	// Cardinality returns the number of elements of a pass, or Infinite; known is false if only a pass can find out.
	Cardinality() (n int, known bool)
}

// Cardinality asks ds for the number of batches of a pass; known is false for a dataset that does not implement Sized.
func Cardinality(ds Dataset) (n int, known bool) {
	if s, ok := ds.(Sized); ok {
		return s.Cardinality()
	}
	return 0, false
}

// canceled returns the cause of a finished context as an error of this package, and nil while it is live.
func canceled(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("data: pass ended: %w", cause)
	}
	return nil
}

// failed returns a pass that yields only an error.
func failed(err error) iter.Seq2[Batch, error] {
	return func(yield func(Batch, error) bool) { yield(Batch{}, err) }
}
