package data

import (
	"context"
	"fmt"
	"io"
	"iter"
	"sync"

	"github.com/gokeras/gokeras/internal/philox"
)

// LoaderOption is an option of ArraySource.Loader.
type LoaderOption interface{ applyLoader(*Loader) }

type loaderOption func(*Loader)

func (f loaderOption) applyLoader(l *Loader) { f(l) }

// DropRemainder drops the last batch if it is shorter than the batch size. By default it is kept.
func DropRemainder() LoaderOption { return loaderOption(func(l *Loader) { l.dropRemainder = true }) }

// Buffers sets how many batches exist at once; the default 2 lets one be filled while another is used. A consumer that
// holds k batches at a time needs k + 1.
func Buffers(n int) LoaderOption { return loaderOption(func(l *Loader) { l.buffers = n }) }

// ShuffleInsideBatches makes a shuffling loader mix the examples only within each batch, Keras's shuffle="batch": batch
// k still holds examples k*size up to (k+1)*size.
func ShuffleInsideBatches() LoaderOption {
	return loaderOption(func(l *Loader) { l.insideBatches = true })
}

// Place calls f with each batch before it is filled, in the goroutine that fills it. f may point the batch's arrays to
// other memory of the same length, into which the rows are then copied; it must restore their own memory before the
// other is released. The batch has the arrays with which it was last filled, or none the first time. A panic of f
// continues in Next as a [PanicError].
func Place(f func(batch *Batch)) LoaderOption {
	return loaderOption(func(l *Loader) { l.place = f })
}

// Prepare calls f with each batch after it has been filled, in the goroutine that fills it. So f can inspect the next
// batch, or send it ahead, while a step works on the current one. f must not keep the batch after the consumer is done
// with it: its memory is reused for other examples. A panic of f continues in Next as a [PanicError].
func Prepare(f func(batch *Batch)) LoaderOption {
	return loaderOption(func(l *Loader) { l.prepare = f })
}

// Loader divides an ArraySource into batches, in buffers that it reuses. While a step works on one batch, a goroutine
// of the pass copies the rows of the next. Batches of a few kilobytes are filled on request instead, because copying
// them takes less time than handing them over. A Loader is safe for concurrent use, but passes that overlap in time
// each allocate their own buffers.
type Loader struct {
	source        *ArraySource
	batchSize     int
	shuffle       bool
	seed          uint64
	insideBatches bool
	dropRemainder bool
	buffers       int
	direct        bool // Next fills the batches: there is no goroutine
	place         func(*Batch)
	prepare       func(*Batch)
	err           error

	mu   sync.Mutex
	idle *scratch // memory of a finished pass, for the next one
}

// smallBatch is the largest size in bytes of a batch that Next fills itself. Passing a buffer to a goroutine and back
// takes one to two microseconds, longer than copying that many bytes.
const smallBatch = 16 << 10

// scratch is the memory of a pass.
type scratch struct {
	order   []int
	epoch   int // that order is of
	ordered bool
	buffers []*buffer
}

// buffer holds one batch: the arrays of full size, and separately those of a shorter last batch.
type buffer struct {
	full, tail Batch
	current    *Batch // the one of the two that was filled last
	held       bool   // by the consumer
}

// Loader returns a loader of batches of batchSize examples; the last one of a pass may be shorter.
//
// With shuffle, pass number epoch visits the examples in the order into which the Fisher-Yates algorithm shuffles 0, 1,
// ..., n-1, with random numbers from the Philox generator with key seed, stream number epoch. So every epoch has its
// own order, and a resumed run repeats it. Without shuffle the examples keep their order and seed is ignored.
func (s *ArraySource) Loader(batchSize int, shuffle bool, seed uint64, options ...LoaderOption) *Loader {
	l := &Loader{source: s, batchSize: batchSize, shuffle: shuffle, seed: seed, buffers: 2, direct: batchSize*s.rowBytes() <= smallBatch, err: s.err}
	for _, o := range options {
		if o != nil {
			o.applyLoader(l)
		}
	}
	switch {
	case l.err != nil:
	case s.n == 0:
		l.err = fmt.Errorf("data: Loader: the arrays hold no examples; expected at least one")
	case batchSize < 1:
		l.err = fmt.Errorf("data: Loader: batch size %d; expected at least 1", batchSize)
	case l.buffers < 2 || l.buffers > mostAhead:
		l.err = fmt.Errorf("data: Loader: %d buffers; expected at least 2, one to use and one to fill, and at most %d", l.buffers, mostAhead)
	case l.steps() == 0:
		l.err = fmt.Errorf("data: Loader: %d examples make no whole batch of %d; keep the remainder or use smaller batches", s.n, batchSize)
	}
	return l
}

// Err returns the error of the source or of the arguments of Loader, or nil.
func (l *Loader) Err() error { return l.err }

// steps is the number of batches of a pass.
func (l *Loader) steps() int {
	n := l.source.n
	if !l.dropRemainder {
		n += l.batchSize - 1
	}
	return n / l.batchSize
}

// Cardinality implements Sized: ceil(n / batchSize) batches, or floor with DropRemainder.
func (l *Loader) Cardinality() (n int, known bool) {
	if l.err != nil {
		return 0, true
	}
	return l.steps(), true
}

// Batches implements Dataset. A batch is valid until the loop asks for the next one; then its memory is reused.
func (l *Loader) Batches(ctx context.Context, epoch int) iter.Seq2[Batch, error] {
	return func(yield func(Batch, error) bool) {
		p := l.Start(ctx, epoch)
		defer p.Close()
		for {
			batch, err := p.Next()
			switch {
			case err == io.EOF:
				return
			case err != nil:
				yield(Batch{}, err)
				return
			case !yield(*batch, nil):
				return
			}
			p.Done(batch)
		}
	}
}

// permute writes the order of a pass into order.
func (l *Loader) permute(order []int, epoch int) {
	if !l.shuffle {
		return
	}
	for i := range order {
		order[i] = i
	}
	random := philox.New(l.seed, uint64(epoch))
	part := len(order)
	if l.insideBatches {
		part = l.batchSize
	}
	for lo := 0; lo < len(order); lo += part {
		block := order[lo:min(lo+part, len(order))]
		for i := len(block) - 1; i > 0; i-- {
			j := random.Uint64n(uint64(i) + 1)
			block[i], block[j] = block[j], block[i]
		}
	}
}

func (l *Loader) acquire() *scratch {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m := l.idle; m != nil {
		l.idle = nil
		return m
	}
	m := &scratch{buffers: make([]*buffer, l.buffers)}
	if l.shuffle {
		m.order = make([]int, l.source.n)
	}
	for i := range m.buffers {
		m.buffers[i] = &buffer{}
	}
	return m
}

func (l *Loader) release(m *scratch) {
	for _, b := range m.buffers {
		b.held = false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.idle = m
}
