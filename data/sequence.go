package data

import (
	"context"
	"iter"

	"github.com/gokeras/gokeras/internal/philox"
)

// Sequence gives random access to complete batches, like Keras's PyDataset: At(i) loads or computes batch i of Len.
//
// At may be called from several goroutines at once and returns new arrays each time. A Sequence may also have the
// methods
//
//	OnEpochBegin(epoch int)
//	OnEpochEnd(epoch int)
//
// which FromSequence calls before the first At of a pass and, if all batches of the pass were used, after the last.
type Sequence interface {
	Len() int // batches in a pass, at least 1
	At(ctx context.Context, i int) (Batch, error)
}

// SequenceOption is an option of FromSequence.
type SequenceOption interface{ applySequence(*sequenceDataset) }

type sequenceOption func(*sequenceDataset)

func (f sequenceOption) applySequence(s *sequenceDataset) { f(s) }

// ShuffleSequence makes each pass request the batches in a different order, drawn from the Philox generator with key
// seed, stream number epoch. The examples of a batch stay together.
func ShuffleSequence(seed uint64) SequenceOption {
	return sequenceOption(func(s *sequenceDataset) { s.shuffle, s.seed = true, seed })
}

type sequenceDataset struct {
	sequence Sequence
	shuffle  bool
	seed     uint64
}

// FromSequence makes a dataset from a sequence. Up to workers batches are computed at the same time (0 means one for
// each CPU), and up to queue finished batches wait (0 means 10, as in Keras). Batches are always yielded in order.
func FromSequence(sequence Sequence, workers, queue int, options ...SequenceOption) *Pipeline {
	s := &sequenceDataset{sequence: sequence}
	for _, o := range options {
		if o != nil {
			o.applySequence(s)
		}
	}
	p := &Pipeline{stage: "FromSequence"}
	workers = workersOrCPUs(workers)
	if queue == 0 {
		queue = 10
	}
	switch {
	case sequence == nil:
		return p.fail("the sequence is nil")
	case workers < 0 || queue < 0 || workers > mostAhead || queue > mostAhead:
		return p.fail("%d workers and a queue of %d; expected 1 to %d, or 0 for the default", workers, queue, mostAhead)
	}
	p.size = func() (int, bool) { return max(sequence.Len(), 0), true }
	p.pass = func(ctx context.Context, epoch int) iter.Seq2[Batch, error] {
		return func(yield func(Batch, error) bool) { s.run(ctx, p, workers, queue, epoch, yield) }
	}
	return p
}

func (s *sequenceDataset) run(ctx context.Context, p *Pipeline, workers, queue, epoch int, yield func(Batch, error) bool) {
	n := s.sequence.Len()
	if n < 1 {
		yield(Batch{}, p.errorf("Len is %d; expected at least 1", n))
		return
	}
	if hook, ok := s.sequence.(interface{ OnEpochBegin(epoch int) }); ok {
		hook.OnEpochBegin(epoch)
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	if s.shuffle {
		philox.New(s.seed, uint64(epoch)).Shuffle(n, func(i, j int) { order[i], order[j] = order[j], order[i] })
	}
	used := 0
	inOrder(ctx, workers, queue, func(batch Batch, err error) bool {
		if !yield(batch, err) || err != nil {
			return false
		}
		used++
		return true
	}, func(_ context.Context, submit func(task) bool) {
		for _, i := range order {
			if !submit(func(ctx context.Context) (Batch, error) { return s.at(ctx, p, i) }) {
				return
			}
		}
	})
	if used < n {
		return
	}
	if hook, ok := s.sequence.(interface{ OnEpochEnd(epoch int) }); ok {
		hook.OnEpochEnd(epoch)
	}
}

func (s *sequenceDataset) at(ctx context.Context, p *Pipeline, i int) (Batch, error) {
	batch, err := s.sequence.At(ctx, i)
	if err == nil {
		err = batch.check()
	}
	if err == nil {
		_, err = batch.rows()
	}
	if err != nil {
		return Batch{}, p.errorf("batch %d: %w", i, err)
	}
	return batch, nil
}
