package data

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// PadTargets makes [Pipeline.BucketBySequenceLength] pad the arrays of Y and SampleWeight too, with zeros: for models
// with an output at every step. The mask must keep these padding steps out of the loss; see BucketBySequenceLength.
func PadTargets() PadOption { return padOption(func(c *padConfig) { c.targets = true }) }

// PadInputs names the arrays of X, by number from 0, that are sequences for [Pipeline.BucketBySequenceLength]; by
// default all that are not single numbers.
func PadInputs(numbers ...int) PadOption {
	return padOption(func(c *padConfig) { c.inputs = append([]int{}, numbers...) })
}

// FromRagged is [FromTensorSlices] for sequences of different lengths: element i has the X of sequence i, a vector, and
// the rows i of y, which may be nil. Integers become int32, as in [PadSequences].
func FromRagged[T Number](sequences [][]T, y any, options ...ArrayOption) *Pipeline {
	p := &Pipeline{stage: "FromRagged"}
	if len(sequences) == 0 {
		return p.fail("there are no sequences; expected at least one")
	}
	number := make([]int64, len(sequences))
	arrays := make([]Array, len(sequences))
	for i, s := range sequences {
		number[i] = int64(i)
		if len(s) == 0 {
			return p.fail("sequence %d is empty; expected one step at least", i)
		}
		a, err := PadSequences([][]T{s})
		if err != nil {
			return p.fail("sequence %d: %w", i, err)
		}
		arrays[i] = a.Row(0)
	}
	return FromTensorSlices(number, y, options...).Map(func(_ context.Context, element Batch) (Batch, error) {
		i := element.X.Single().Data
		element.X = List(arrays[binary.LittleEndian.Uint64(i)])
		return element, nil
	})
}

// BucketBySequenceLength stacks examples of about the same length, like tf.data's bucket_by_sequence_length. Each
// example goes into the bucket of the first boundary that is not below its length and is padded to that boundary; a
// bucket with batchSize examples becomes the next batch. So a model is compiled for a handful of lengths, one for each
// boundary, and computes little padding. At the end of the elements, the rest of a bucket moves to the next longer one,
// so at most one batch is smaller. To drop examples, use Filter or Take.
//
// Elements are examples (see [FromRagged], [FromGenerator], [FromTensorSlices]) whose X is (steps) or (steps,
// features...); the length of an example is that of the longest array of X. Padding is put after the steps, as in
// tf.data; Padding(Pre) puts it before them. PadValue sets the padding value, 0 by default. An example longer than the
// last boundary is an error, unless Truncating says at which end to remove steps.
//
// The model needs a mask to ignore the padding: an Embedding with MaskZero, or a Masking layer for PadValue. With it,
// recurrent layers, attention and losses see only the steps of the example, and the loss of a padded batch is that of
// the examples without padding. Without it, padding is data.
func (p *Pipeline) BucketBySequenceLength(boundaries []int, batchSize int, options ...PadOption) *Pipeline {
	m := p.then("BucketBySequenceLength")
	m.size = nil
	c := padConfig{padding: Post}
	for _, o := range options {
		if o != nil {
			o.applyPad(&c)
		}
	}
	switch {
	case batchSize < 1:
		return m.fail("batch size %d; expected at least 1", batchSize)
	case len(boundaries) == 0 || boundaries[0] < 1 || !slices.IsSorted(boundaries) || len(slices.Compact(slices.Clone(boundaries))) < len(boundaries):
		return m.fail("the boundaries are %v; expected lengths in ascending order, such as 16, 32, 64", boundaries)
	case c.maxLen != 0:
		return m.fail("MaxLen is %d; the last boundary says how long sequences may be", c.maxLen)
	case c.padding != Pre && c.padding != Post || c.truncating != "" && c.truncating != Pre && c.truncating != Post:
		return m.fail("padding %q, truncating %q; expected %q or %q", c.padding, c.truncating, Pre, Post)
	}
	b := sequenceBuckets{m, slices.Clone(boundaries), batchSize, c}
	m.pass = func(ctx context.Context, epoch int) iter.Seq2[Batch, error] {
		return func(yield func(Batch, error) bool) { b.run(p.Batches(ctx, epoch), yield) }
	}
	return m
}

type sequenceBuckets struct {
	stage      *Pipeline
	boundaries []int
	size       int
	pad        padConfig
}

func (b *sequenceBuckets) run(elements iter.Seq2[Batch, error], yield func(Batch, error) bool) {
	pending := make([][]Batch, len(b.boundaries))
	batch := func(k int) bool {
		out, err := b.batch(pending[k], b.boundaries[k])
		pending[k] = pending[k][:0]
		return yield(out, err) && err == nil
	}
	n := 0
	for element, err := range elements {
		var k int
		if err == nil {
			if k, err = b.bucket(&element); err != nil {
				err = b.stage.errorf("element %d: %w", n, err)
			}
		}
		if err != nil {
			yield(Batch{}, err)
			return
		}
		n++
		if pending[k] = append(pending[k], element); len(pending[k]) == b.size && !batch(k) {
			return
		}
	}
	for k := range pending {
		if last := k+1 == len(pending); !last && len(pending[k]) < b.size {
			pending[k+1] = append(pending[k+1], pending[k]...)
			continue
		}
		for len(pending[k]) > 0 {
			full := min(b.size, len(pending[k]))
			rest := slices.Clone(pending[k][full:])
			pending[k] = pending[k][:full]
			if !batch(k) {
				return
			}
			pending[k] = rest
			if len(rest) < b.size && k+1 < len(pending) {
				pending[k+1] = append(pending[k+1], rest...)
				break
			}
		}
	}
}

// sequences calls f with each array to pad, and the value to pad it with.
func (b *sequenceBuckets) sequences(element *Batch, f func(a *Array, value float64) error) error {
	for i := range element.X.Arrays {
		named := slices.Contains(b.pad.inputs, i)
		if b.pad.inputs != nil && !named {
			continue
		}
		if len(element.X.Arrays[i].Shape()) == 0 {
			if named {
				return fmt.Errorf("%s is a number; expected (steps, ...)", element.X.label("X", i))
			}
			continue
		}
		if err := f(&element.X.Arrays[i], b.pad.value); err != nil {
			return fmt.Errorf("%s: %w", element.X.label("X", i), err)
		}
	}
	if !b.pad.targets {
		return nil
	}
	for c, t := range []*Tensors{&element.Y, &element.SampleWeight} {
		for i, a := range t.Arrays {
			if len(a.Shape()) == 0 {
				continue
			}
			if err := f(&t.Arrays[i], 0); err != nil {
				return fmt.Errorf("%s: %w", t.label(componentNames[c+1], i), err)
			}
		}
	}
	return nil
}

// bucket returns the number of the bucket for an example.
func (b *sequenceBuckets) bucket(element *Batch) (int, error) {
	length := -1
	err := b.sequences(element, func(a *Array, _ float64) error {
		length = max(length, (*a).Shape()[0])
		return nil
	})
	if err != nil {
		return 0, err
	}
	if length < 0 {
		return 0, fmt.Errorf("X is %s; expected sequences (steps, ...)", element.X)
	}
	k, _ := slices.BinarySearch(b.boundaries, length)
	if k < len(b.boundaries) {
		return k, nil
	}
	if b.pad.truncating == "" {
		return 0, fmt.Errorf("it has %d steps, and the last boundary is %d; add a longer boundary, or give Truncating", length, b.boundaries[k-1])
	}
	return k - 1, nil
}

// batch pads the elements to one length and stacks them.
func (b *sequenceBuckets) batch(elements []Batch, length int) (Batch, error) {
	for i := range elements {
		e := &elements[i]
		for _, t := range e.components() {
			t.Arrays = slices.Clone(t.Arrays)
		}
		if err := b.sequences(e, func(a *Array, value float64) (err error) {
			*a, err = b.fit(*a, length, value)
			return err
		}); err != nil {
			return Batch{}, b.stage.errorf("%w", err)
		}
		if err := same(&elements[0], e); err != nil {
			return Batch{}, b.stage.errorf("examples of one batch differ: %w", err)
		}
	}
	return stackBatch(elements), nil
}

// fit pads or cuts a sequence to the given number of steps.
func (b *sequenceBuckets) fit(a Array, length int, value float64) (Array, error) {
	steps := a.Shape()[0]
	switch {
	case steps == length:
		return a, nil
	case steps > length && b.pad.truncating == Pre:
		return a.Slice(steps-length, steps), nil
	case steps > length:
		return a.Slice(0, length), nil
	}
	out := newArray(a.DType(), append([]int{length}, a.Shape()[1:]...)...)
	if err := fillWith(out, value); err != nil {
		return Array{}, err
	}
	raw, at := a.Data, 0
	if b.pad.padding == Pre {
		at = len(out.Data) - len(raw)
	}
	copy(out.Data[at:], raw)
	return out, nil
}

// fillWith sets all elements.
func fillWith(d Array, v float64) error {
	if t := d.DType(); v != math.Trunc(v) && !t.IsFloat() && t != ir.Bool {
		return fmt.Errorf("PadValue is %g; expected a whole number for an array of %v", v, t)
	}
	d.Fill(v)
	return nil
}
