package keras

import (
	"context"
	"fmt"
	"io"
	"iter"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/kernels/cpu"
)

// source yields the batches of a run, one epoch after the other.
type source interface {
	// begin starts the epoch. With a fixed number of steps an epoch continues where the last one ended, until the data
	// are used up; then they start over.
	begin(ctx context.Context, epoch int) error
	// next returns a batch, valid until the call after the next; io.EOF at the end of the data.
	next() (*data.Batch, error)
	// steps returns the number of batches of an epoch, or -1 while unknown.
	steps() int
	// position returns the epoch for which the current pass over the data was begun, and how many of its batches were
	// taken.
	position() (epoch, batches int)
	// restore goes to such a position.
	restore(ctx context.Context, epoch, batches int) error
	close()
}

// newSource opens data for a run: data in memory with the given batch size, or a dataset that yields batches.
func (m *Model) newSource(ds data.Dataset, c *fitConfig, batchSize, steps int, seed uint64) (source, error) {
	arrays, inMemory := ds.(*data.ArraySource)
	if !inMemory {
		if isNilDataset(ds) {
			return nil, fmt.Errorf("keras: %s: the data are nil; pass data.Arrays(x, y) or a data.Dataset", c.what)
		}
		if n, known := data.Cardinality(ds); known && n == data.Infinite && steps == 0 {
			return nil, fmt.Errorf("keras: %s: the dataset never ends; say how many batches to use, with StepsPerEpoch, ValidationSteps or Steps, or use Take of the dataset", c.what)
		}
		if batchSize != 0 {
			return nil, fmt.Errorf("keras: %s: BatchSize is %d, but a dataset brings its own batches; leave the option out, or use Batch of the dataset", c.what, batchSize)
		}
		src := &datasetSource{ds: ds, limit: steps, known: -1}
		if m.hasOwnMemory() {
			src.ahead = &ahead{}
		}
		return src, nil
	}
	if arrays == nil {
		return nil, fmt.Errorf("keras: %s: the data are nil; pass data.Arrays(x, y) or a data.Dataset", c.what)
	}
	if err := arrays.Err(); err != nil {
		return nil, prefixed(c.what, err)
	}
	if err := m.checkText(arrays); err != nil {
		return nil, prefixed(c.what, err)
	}
	if batchSize == 0 {
		batchSize = data.DefaultBatchSize
		if steps > 0 {
			batchSize = (arrays.N() + steps - 1) / steps
		}
	}
	var options []data.LoaderOption
	if c.shuffleInside {
		options = append(options, data.ShuffleInsideBatches())
	}
	src := &loaderSource{arrays: arrays, batchSize: batchSize, limit: steps}
	options = append(options, data.Place(src.ahead.place), data.Prepare(src.ahead.prepare))
	loader := arrays.Loader(min(batchSize, arrays.N()), c.shuffle, seed, options...)
	if err := loader.Err(); err != nil {
		return nil, prefixed(c.what, err)
	}
	src.loader = loader
	src.known, _ = loader.Cardinality()
	return src, nil
}

// loaderSource reads arrays in memory.
type loaderSource struct {
	loader    *data.Loader
	arrays    *data.ArraySource
	batchSize int
	limit     int // requested steps of an epoch, or 0
	known     int

	ahead ahead
	pass  *data.Pass
	held  *data.Batch
	epoch int // for which the pass was begun
	seen  int // batches of the pass
}

func (s *loaderSource) begin(ctx context.Context, epoch int) error {
	if s.limit > 0 && s.pass != nil && s.seen < s.known {
		return nil // continues
	}
	s.close()
	s.pass, s.epoch, s.seen = s.loader.Start(ctx, epoch), epoch, 0
	return nil
}

func (s *loaderSource) position() (epoch, batches int) { return s.epoch, s.seen }

func (s *loaderSource) restore(ctx context.Context, epoch, batches int) error {
	s.close()
	s.pass, s.epoch, s.seen = s.loader.StartAt(ctx, epoch, batches), epoch, batches
	return nil
}

func (s *loaderSource) next() (*data.Batch, error) {
	if s.held != nil {
		s.pass.Done(s.held)
		s.held = nil
	}
	b, err := s.pass.Next()
	if err != nil {
		return nil, err
	}
	s.held = b
	s.seen++
	return b, nil
}

func (s *loaderSource) steps() int {
	if s.limit > 0 {
		return s.limit
	}
	return s.known
}

func (s *loaderSource) close() {
	if s.pass != nil {
		s.pass.Close()
		s.pass, s.held = nil, nil
		s.ahead.close()
	}
}

// datasetSource reads a dataset. The number of its batches may be known only at the end of the first pass.
type datasetSource struct {
	ds    data.Dataset
	limit int
	known int

	ctx     context.Context // of the pass
	epoch   int
	opened  int // the epoch that the pass was begun for
	pull    func() (*data.Batch, error, bool)
	stop    func()
	current data.Batch
	ahead   *ahead  // nil: batches are made on demand
	feeder  *feeder // of the pass, if ahead is set
	count   int     // batches of the pass
	resumed bool    // the pass began in an earlier epoch, and this epoch has not read from it yet
}

func (s *datasetSource) begin(ctx context.Context, epoch int) error {
	s.ctx, s.epoch = ctx, epoch
	if s.limit > 0 && s.pull != nil && s.count != s.known {
		s.resumed = true
		if s.feeder != nil {
			s.feeder.allow(s.limit)
		}
		return nil // continues
	}
	s.open()
	return nil
}

func (s *datasetSource) open() {
	s.close()
	if s.ahead != nil {
		s.feeder = newFeeder(s.ctx, s.ds, s.epoch, s.limit, s.ahead)
		if s.limit == 0 {
			s.feeder.allow(0)
		}
		s.pull, s.stop = s.feeder.next, s.feeder.stop
	} else {
		pull, stop := iter.Pull2(s.ds.Batches(s.ctx, s.epoch))
		s.stop = stop
		s.pull = func() (*data.Batch, error, bool) {
			batch, err, ok := pull()
			s.current = batch
			return &s.current, err, ok
		}
	}
	s.count, s.resumed, s.opened = 0, false, s.epoch
	if n, ok := data.Cardinality(s.ds); ok {
		s.known = n
	}
}

func (s *datasetSource) position() (epoch, batches int) { return s.opened, s.count }

func (s *datasetSource) restore(ctx context.Context, epoch, batches int) error {
	s.ctx, s.epoch = ctx, epoch
	s.open()
	for s.count < batches {
		if _, err := s.next(); err == io.EOF {
			return fmt.Errorf("the dataset gave %d batches where it gave %d before; it must yield the same ones again", s.count, batches)
		} else if err != nil {
			return err
		}
	}
	return nil
}

func (s *datasetSource) next() (*data.Batch, error) {
	batch, err, ok := s.pull()
	if !ok && s.resumed { // the data ended with the previous epoch, which could not be known
		s.open()
		batch, err, ok = s.pull()
	}
	s.resumed = false
	switch {
	case !ok:
		if err := s.ctx.Err(); err != nil {
			return nil, err
		}
		s.known = s.count
		return nil, io.EOF
	case err != nil:
		return nil, err
	}
	s.count++
	return batch, nil
}

func (s *datasetSource) steps() int {
	if s.limit > 0 {
		return s.limit
	}
	return s.known
}

func (s *datasetSource) close() {
	if s.stop != nil {
		s.stop()
		s.pull, s.stop, s.feeder = nil, nil, nil
	}
}

// looksForNaN makes batches be checked ahead of their use, if that is possible.
func looksForNaN(src source, look bool) {
	if a := aheadOf(src); a != nil && a.look.Load() != look {
		a.look.Store(look)
	}
}

// aheadOf returns what prepares the batches of a source, or nil.
func aheadOf(src source) *ahead {
	switch s := src.(type) {
	case *loaderSource:
		return &s.ahead
	case *datasetSource:
		return s.ahead
	}
	return nil
}

// hasOwnMemory reports whether devices of the model have memory that the host does not share, so that batches can be
// made and sent while they compute.
func (m *Model) hasOwnMemory() bool {
	for _, d := range m.strategy.Devices() {
		if d.Kind != cpu.Kind {
			return true
		}
	}
	return false
}

// checkText refuses strings for a model that takes no text.
func (m *Model) checkText(a *data.ArraySource) error {
	if a.TextType() == "" || m.stage() != nil {
		return nil
	}
	return fmt.Errorf("x is a %s, and model %q takes no text; turn it into numbers first, or declare an input of DType \"string\" with a TextVectorization or StringLookup after it",
		a.TextType(), m.Name())
}
