package data

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"sync"

	"github.com/gokeras/gokeras/internal/philox"
)

// ShuffleOption is an option of Pipeline.Shuffle.
type ShuffleOption interface{ applyShuffle(*shuffleConfig) }

type shuffleConfig struct{ sameOrder bool }

type shuffleOption func(*shuffleConfig)

func (f shuffleOption) applyShuffle(c *shuffleConfig) { f(c) }

// SameOrderEachEpoch makes Shuffle use the same random numbers in every pass, tf.data's reshuffle_each_iteration=False.
func SameOrderEachEpoch() ShuffleOption {
	return shuffleOption(func(c *shuffleConfig) { c.sameOrder = true })
}

// Shuffle shuffles elements: it keeps a buffer of bufferSize elements, yields a random one of them and replaces it by
// the next element. A buffer as large as the pass makes all orders equally likely; a smaller one moves elements over
// about its own length only, and a buffer of 1 changes nothing.
//
// The random numbers come from the Philox generator with key seed, stream number epoch, so passes differ and can be
// repeated.
func (p *Pipeline) Shuffle(bufferSize int, seed uint64, options ...ShuffleOption) *Pipeline {
	m := p.then("Shuffle")
	if bufferSize < 1 {
		return m.fail("buffer of %d elements; expected at least 1", bufferSize)
	}
	var config shuffleConfig
	for _, o := range options {
		if o != nil {
			o.applyShuffle(&config)
		}
	}
	m.pass = func(ctx context.Context, epoch int) iter.Seq2[Batch, error] {
		return func(yield func(Batch, error) bool) {
			stream := uint64(epoch)
			if config.sameOrder {
				stream = 0
			}
			random := philox.New(seed, stream)
			var buffer []Batch
			for element, err := range p.Batches(ctx, epoch) {
				if err != nil {
					yield(Batch{}, err)
					return
				}
				if len(buffer) < bufferSize {
					buffer = append(buffer, element)
					continue
				}
				i := random.Uint64n(uint64(len(buffer)))
				element, buffer[i] = buffer[i], element
				if !yield(element, nil) {
					return
				}
			}
			random.Shuffle(len(buffer), func(i, j int) { buffer[i], buffer[j] = buffer[j], buffer[i] })
			for _, element := range buffer {
				if !yield(element, nil) {
					return
				}
			}
		}
	}
	return m
}

// Repeat makes n passes over the stages before it in one pass; n = -1 repeats forever. Each of these passes has its own
// number, so a Shuffle before Repeat gives a new order each time: pass k of epoch e has number e*n + k, or e*2^20 + k
// if n = -1. It ends early if the stages before it yield nothing.
func (p *Pipeline) Repeat(n int) *Pipeline {
	m := p.then("Repeat")
	if n < -1 {
		return m.fail("%d passes; expected 0 or more, or -1 to repeat forever", n)
	}
	m.size = func() (int, bool) {
		k, known := p.Cardinality()
		switch {
		case n == 0 || known && k == 0:
			return 0, true
		case n < 0 && known, known && k == Infinite:
			return Infinite, true
		case known && n > math.MaxInt/k:
			return 0, false // more than can be counted
		default:
			return n * k, known
		}
	}
	m.pass = func(ctx context.Context, epoch int) iter.Seq2[Batch, error] {
		return func(yield func(Batch, error) bool) {
			first := epoch * n
			if n < 0 {
				first = epoch << 20
			}
			for k := 0; k != n; k++ {
				empty := true
				for element, err := range p.Batches(ctx, first+k) {
					if !yield(element, err) || err != nil {
						return
					}
					empty = false
				}
				if empty {
					return
				}
			}
		}
	}
	return m
}

// Cache keeps the elements of the first completed pass in memory and yields them again in later passes, whatever their
// epoch; so put Shuffle and random augmentation after it. Until a pass is complete, passes read from the stages before
// it.
func (p *Pipeline) Cache() *Pipeline {
	m := p.then("Cache")
	var (
		mu     sync.Mutex
		filled bool
		kept   []Batch
	)
	m.pass = func(ctx context.Context, epoch int) iter.Seq2[Batch, error] {
		return func(yield func(Batch, error) bool) {
			mu.Lock()
			elements, hit := kept, filled
			mu.Unlock()
			if hit {
				for _, element := range elements {
					if !yield(element, nil) {
						return
					}
				}
				return
			}
			for element, err := range p.Batches(ctx, epoch) {
				if !yield(element, err) || err != nil {
					return
				}
				elements = append(elements, element)
			}
			mu.Lock()
			defer mu.Unlock()
			if !filled {
				kept, filled = elements, true
			}
		}
	}
	return m
}

// Batch stacks every size elements along a new leading axis; all must have the same names, element types and shapes.
// The remaining elements form a smaller batch, or are dropped with dropRemainder.
func (p *Pipeline) Batch(size int, dropRemainder bool) *Pipeline {
	m := p.then("Batch")
	if size < 1 {
		return m.fail("size %d; expected at least 1", size)
	}
	m.size = func() (int, bool) {
		k, known := p.Cardinality()
		switch {
		case !known || k == Infinite:
			return k, known
		case dropRemainder:
			return k / size, true
		default:
			return k/size + min(k%size, 1), true // without a sum, which a size of all there is would make overflow
		}
	}
	m.pass = func(ctx context.Context, epoch int) iter.Seq2[Batch, error] {
		return func(yield func(Batch, error) bool) {
			var pending []Batch
			n := 0
			for element, err := range p.Batches(ctx, epoch) {
				if err == nil && len(pending) > 0 {
					if err = same(&pending[0], &element); err != nil {
						err = m.errorf("element %d does not fit element %d of its batch: %w", n, n-len(pending), err)
					}
				}
				if err != nil {
					yield(Batch{}, err)
					return
				}
				n++
				if pending = append(pending, element); len(pending) < size {
					continue
				}
				if !yield(stackBatch(pending), nil) {
					return
				}
				pending = pending[:0]
			}
			if len(pending) > 0 && !dropRemainder {
				yield(stackBatch(pending), nil)
			}
		}
	}
	return m
}

// same returns an error if two elements cannot be stacked.
func same(a, b *Batch) error {
	for c, s := range a.components() {
		t, name := b.components()[c], componentNames[c]
		if s.Len() != t.Len() {
			return fmt.Errorf("%s has %d arrays, then %d", name, s.Len(), t.Len())
		}
		for i := range s.Arrays {
			if (i < len(s.Names)) != (i < len(t.Names)) || i < len(s.Names) && s.Names[i] != t.Names[i] {
				return fmt.Errorf("%s is %s, then %s", name, s, t)
			}
			x, y := s.Arrays[i], t.Arrays[i]
			if x.DType() != y.DType() || !slices.Equal(x.Shape(), y.Shape()) {
				return fmt.Errorf("%s is %s, then %s", s.label(name, i), describe(x), describe(y))
			}
		}
	}
	return nil
}

func stackBatch(elements []Batch) (out Batch) {
	for c, t := range out.components() {
		first := elements[0].components()[c]
		t.Names = first.Names
		for i := range first.Arrays {
			parts := first.Arrays[i : i+1 : i+1]
			for e := range elements[1:] {
				parts = append(parts, elements[e+1].components()[c].Arrays[i])
			}
			t.Arrays = append(t.Arrays, stack(parts))
		}
	}
	return out
}

// Unbatch splits batches: it yields their examples one by one, without the leading axis.
func (p *Pipeline) Unbatch() *Pipeline {
	m := p.then("Unbatch")
	m.size = nil
	m.pass = func(ctx context.Context, epoch int) iter.Seq2[Batch, error] {
		return func(yield func(Batch, error) bool) {
			i := 0
			for batch, err := range p.Batches(ctx, epoch) {
				var rows int
				if err == nil {
					if rows, err = batch.rows(); err != nil {
						err = m.errorf("element %d: %w", i, err)
					}
				}
				if err != nil {
					yield(Batch{}, err)
					return
				}
				i++
				for r := range rows {
					if !yield(rowOfBatch(&batch, r), nil) {
						return
					}
				}
			}
		}
	}
	return m
}
