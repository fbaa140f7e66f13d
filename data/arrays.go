package data

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/gokeras/gokeras/kernels/cpu/rows"
	"github.com/gokeras/gokeras/kernels/ir"
)

// DefaultBatchSize is the default number of examples in a batch, as in Keras.
const DefaultBatchSize = 32

// ArrayOption is an option of Arrays and FromTensorSlices.
type ArrayOption interface{ applyArrays(*arrayConfig) }

type arrayConfig struct{ sampleWeight any }

type arrayOption func(*arrayConfig)

func (f arrayOption) applyArrays(c *arrayConfig) { f(c) }

// SampleWeight gives each example a weight in the loss. w has shape (n), or (n, timesteps, ...) for weights in time;
// for several outputs it is one array for all, or a list or map shaped like the targets. The default weight is 1.
func SampleWeight(w any) ArrayOption { return arrayOption(func(c *arrayConfig) { c.sampleWeight = w }) }

// ArraySource is a set of examples in memory, created by Arrays. It is immutable and safe for concurrent use.
type ArraySource struct {
	batch   Batch // all examples
	columns [3][]column
	n       int
	text    string // type of the inputs that were given as strings
	err     error

	// Memory for the inputs if they are one array, as they usually are.
	array  [1]Array
	column [1]column
}

// column holds what is needed to copy rows of one array.
type column struct {
	dtype ir.DType
	raw   []byte
	shape []int // of the whole array
	row   int   // bytes of one example
}

// Arrays returns a source of examples in memory, for Fit, Evaluate and Predict.
//
// x holds the inputs and y the targets (nil for prediction). Each is one array, a list of arrays ([]any, []Array, ...)
// or a dictionary (map[string]any, sorted by name, or [Tensors] to set the order), and an array is anything that
// [ToArray] accepts: arrays, nested slices, images; among the inputs also nested slices of strings, see [Text]. Axis 0
// counts the examples and must have the same length everywhere. Memory is shared with the arguments if ToArray says so;
// do not change it while the source is used.
//
// An error in the arguments is kept and returned by [ArraySource.Err] and by everything that uses the source, so that a
// call such as model.Fit(ctx, data.Arrays(x, y)) stays one line.
func Arrays(x, y any, options ...ArrayOption) *ArraySource {
	var weight any
	if len(options) > 0 {
		var config arrayConfig
		for _, o := range options {
			if o != nil {
				o.applyArrays(&config)
			}
		}
		weight = config.sampleWeight
	}
	s := &ArraySource{}
	for i, v := range [3]any{x, y, weight} {
		var err error
		if one, ok := v.(*Array); ok && one != nil && i == 0 {
			s.batch.X.Arrays = s.array[:]
			s.array[0], err = checked(*one, componentNames[0])
		} else if one, ok := v.(Array); ok && i == 0 {
			s.batch.X.Arrays = s.array[:]
			s.array[0], err = checked(one, componentNames[0])
		} else {
			*s.batch.components()[i], err = toTensors(v, componentNames[i])
		}
		if err != nil {
			return &ArraySource{err: fmt.Errorf("data: Arrays: %w", err)}
		}
	}
	s.text = textType(x)
	if s.batch.X.Len() == 0 {
		return &ArraySource{err: errors.New("data: Arrays: x is nil; expected the inputs of the model")}
	}
	return s.seal()
}

// seal fills the fields that are derived from the arrays of s.batch.
func (s *ArraySource) seal() *ArraySource {
	n, err := s.batch.rows()
	if err != nil {
		return &ArraySource{err: fmt.Errorf("data: Arrays: %w", err)}
	}
	s.n = n
	s.columns[0] = s.column[:0]
	for i, t := range s.batch.components() {
		for _, a := range t.Arrays {
			s.columns[i] = append(s.columns[i], column{dtype: a.DType(), raw: a.Data, shape: a.Shape(), row: len(a.Data) / max(n, 1)})
		}
	}
	return s
}

// Err returns what was wrong with the arguments of Arrays, or nil.
func (s *ArraySource) Err() error {
	if s == nil {
		return errNoSource
	}
	return s.err
}

var errNoSource = errors.New("data: the source is nil; make one with Arrays")

// N returns the number of examples; 0 if Err is not nil.
func (s *ArraySource) N() int { return s.n }

// TextType returns the Go type of the first input that was given as strings, such as "[]string"; "" if there is none.
func (s *ArraySource) TextType() string { return s.text }

// All returns all examples as one batch, which shares the memory of the source.
func (s *ArraySource) All() Batch { return s.batch }

// Slice returns examples lo..hi-1 as a source that shares this one's memory; a validation split is two slices.
func (s *ArraySource) Slice(lo, hi int) *ArraySource {
	if s.err != nil {
		return s
	}
	if lo < 0 || hi > s.n || lo >= hi {
		return &ArraySource{err: fmt.Errorf("data: Arrays: slice [%d:%d] of %d examples; expected 0 <= lo < hi <= %d", lo, hi, s.n, s.n)}
	}
	part := &ArraySource{text: s.text}
	for i, t := range s.batch.components() {
		out := part.batch.components()[i]
		out.Names = t.Names
		for _, a := range t.Arrays {
			out.Arrays = append(out.Arrays, a.Slice(lo, hi))
		}
	}
	return part.seal()
}

// Batches implements Dataset: all examples in their order, in batches of [DefaultBatchSize]. It makes an ArraySource
// usable wherever a Dataset is; Fit does not call it but applies its own batch size and shuffles.
func (s *ArraySource) Batches(ctx context.Context, epoch int) iter.Seq2[Batch, error] {
	return s.Loader(DefaultBatchSize, false, 0).Batches(ctx, epoch)
}

// Cardinality implements Sized for Batches.
func (s *ArraySource) Cardinality() (n int, known bool) {
	return (s.n + DefaultBatchSize - 1) / DefaultBatchSize, true
}

// Elements returns the examples one by one as a Pipeline, sharing the memory of the source. See FromTensorSlices.
func (s *ArraySource) Elements() *Pipeline {
	return &Pipeline{
		stage: "FromTensorSlices",
		err:   s.err,
		size:  func() (int, bool) { return s.n, true },
		pass: func(context.Context, int) iter.Seq2[Batch, error] {
			return func(yield func(Batch, error) bool) {
				for i := range s.n {
					if !yield(rowOfBatch(&s.batch, i), nil) {
						return
					}
				}
			}
		},
	}
}

// rowOfBatch returns example i of a stacked batch without its leading axis, sharing memory.
func rowOfBatch(b *Batch, i int) (row Batch) {
	for c, t := range b.components() {
		out := row.components()[c]
		out.Names = t.Names
		if len(t.Arrays) > 0 {
			out.Arrays = make([]Array, len(t.Arrays))
		}
		for j, a := range t.Arrays {
			out.Arrays[j] = a.Row(i)
		}
	}
	return row
}

// Gather copies the examples with the given indices, in that order and with repetitions, into a batch. It fills arrays
// of into that have the right element type and shape, and replaces others by new ones, so reusing a batch costs no
// allocation. Calls may run in parallel with different batches.
func (s *ArraySource) Gather(indices []int, into *Batch) error {
	if s.err != nil {
		return s.err
	}
	if len(indices) == 0 {
		return errors.New("data: Gather: no indices; expected at least one")
	}
	for _, index := range indices {
		if index < 0 || index >= s.n {
			return fmt.Errorf("data: Gather: index %d of %d examples; expected 0 <= index < %d", index, s.n, s.n)
		}
	}
	s.gather(indices, into)
	return nil
}

// gather is Gather for indices that are known to be valid.
func (s *ArraySource) gather(indices []int, into *Batch) {
	s.shape(into, len(indices))
	for i, t := range into.components() {
		for j, c := range s.columns[i] {
			if c.row > 0 {
				rows.Copy(t.Arrays[j].Data, c.raw, c.row, indices)
			}
		}
	}
}

// gatherRange is gather for the examples lo..hi-1.
func (s *ArraySource) gatherRange(lo, hi int, into *Batch) {
	s.shape(into, hi-lo)
	for i, t := range into.components() {
		for j, c := range s.columns[i] {
			copy(t.Arrays[j].Data, c.raw[lo*c.row:hi*c.row])
		}
	}
}

// rowBytes is the size of an example.
func (s *ArraySource) rowBytes() (n int) {
	for _, columns := range s.columns {
		for _, c := range columns {
			n += c.row
		}
	}
	return n
}

// shape makes the arrays of a batch fit n examples of s, keeping arrays that already do.
func (s *ArraySource) shape(into *Batch, n int) {
	for i, t := range into.components() {
		t.Names = s.batch.components()[i].Names
		if len(t.Arrays) != len(s.columns[i]) {
			t.Arrays = make([]Array, len(s.columns[i]))
		}
		for j, c := range s.columns[i] {
			if !fits(t.Arrays[j], n, &c) {
				t.Arrays[j] = newArray(c.dtype, append([]int{n}, c.shape[1:]...)...)
			}
		}
	}
}

func fits(d Array, n int, c *column) bool {
	shape := d.Type.Shape
	return d.DType() == c.dtype && len(d.Data) == n*c.row && len(shape) == len(c.shape) && shape[0] == n && slices.Equal(shape[1:], c.shape[1:])
}
