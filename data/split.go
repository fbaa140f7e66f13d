package data

import (
	"errors"
	"fmt"
	"math"

	"github.com/gokeras/gokeras/internal/philox"
)

// SplitSize is the size of one side of a split: a number of examples (Count), a fraction of all (Fraction), or the rest
// of the other side (Rest, the zero value).
type SplitSize struct {
	kind     splitKind
	count    int
	fraction float64
}

type splitKind int

const (
	splitRest splitKind = iota
	splitCount
	splitFraction
)

// Rest is the size of what the other side leaves.
var Rest = SplitSize{}

// Count is a size of n examples.
func Count(n int) SplitSize { return SplitSize{kind: splitCount, count: n} }

// Fraction is a size of f times the number of examples, 0 < f < 1, rounded to the nearest integer, half to even.
func Fraction(f float64) SplitSize { return SplitSize{kind: splitFraction, fraction: f} }

// String shows the size as it is written in Go.
func (s SplitSize) String() string {
	switch s.kind {
	case splitCount:
		return fmt.Sprintf("Count(%d)", s.count)
	case splitFraction:
		return fmt.Sprintf("Fraction(%g)", s.fraction)
	default:
		return "Rest"
	}
}

// of returns the size as a number of examples out of n; 0 for Rest.
func (s SplitSize) of(n int) (int, error) {
	switch s.kind {
	case splitCount:
		if s.count < 1 || s.count >= n {
			return 0, fmt.Errorf("%s of %d examples; expected 1 to %d", s, n, n-1)
		}
		return s.count, nil
	case splitFraction:
		if !(s.fraction > 0 && s.fraction < 1) {
			return 0, fmt.Errorf("%s; expected a fraction between 0 and 1, exclusively", s)
		}
		return int(math.RoundToEven(s.fraction * float64(n))), nil
	default:
		return 0, nil
	}
}

// SplitOption is an option of SplitDataset.
type SplitOption interface{ applySplit(*splitConfig) }

type splitConfig struct {
	shuffle bool
	seed    uint64
}

type splitOption func(*splitConfig)

func (f splitOption) applySplit(c *splitConfig) { f(c) }

// ShuffleBeforeSplit shuffles the examples before the split, with the Philox generator with key seed, stream 0.
func ShuffleBeforeSplit(seed uint64) SplitOption {
	return splitOption(func(c *splitConfig) { c.shuffle, c.seed = true, seed })
}

// SplitDataset splits examples in two, like Keras's split_dataset: left gives the size of the first part, right that of
// the last part. One of the sizes may be [Rest]. If the sizes do not add up to all examples, those in the middle are in
// neither part.
//
// Without shuffling the parts share the memory of the source; with shuffling they are copies.
func SplitDataset(source *ArraySource, left, right SplitSize, options ...SplitOption) (*ArraySource, *ArraySource, error) {
	var c splitConfig
	for _, o := range options {
		if o != nil {
			o.applySplit(&c)
		}
	}
	if err := source.Err(); err != nil {
		return nil, nil, err
	}
	n := source.N()
	l, r, err := splitSizes(left, right, n)
	if err != nil {
		return nil, nil, fmt.Errorf("data: SplitDataset: %w", err)
	}
	if c.shuffle {
		order := make([]int, n)
		for i := range order {
			order[i] = i
		}
		philox.New(c.seed, 0).Shuffle(n, func(i, j int) { order[i], order[j] = order[j], order[i] })
		shuffled := &ArraySource{text: source.text}
		source.gather(order, &shuffled.batch)
		source = shuffled.seal()
	}
	return source.Slice(0, l), source.Slice(n-r, n), nil
}

func splitSizes(left, right SplitSize, n int) (l, r int, err error) {
	if left == Rest && right == Rest {
		return 0, 0, errors.New("both sides are Rest; give Count or Fraction for at least one")
	}
	if left.fraction+right.fraction > 1 {
		return 0, 0, fmt.Errorf("%s and %s are more than the whole; expected fractions that add up to 1 at most", left, right)
	}
	if l, err = left.of(n); err != nil {
		return 0, 0, fmt.Errorf("left: %w", err)
	}
	if r, err = right.of(n); err != nil {
		return 0, 0, fmt.Errorf("right: %w", err)
	}
	switch Rest {
	case left:
		l = n - r
	case right:
		r = n - l
	}
	if l < 1 || r < 1 || l+r > n {
		return 0, 0, fmt.Errorf("%s and %s of %d examples are %d and %d; expected at least 1 each and together at most %d", left, right, n, l, r, n)
	}
	return l, r, nil
}

// TrainTestSplit shuffles the examples and reserves the last testFraction of them (0 < testFraction < 1) for testing.
// It is SplitDataset(source, Rest, Fraction(testFraction), ShuffleBeforeSplit(seed)).
func TrainTestSplit(source *ArraySource, testFraction float64, seed uint64) (train, test *ArraySource, err error) {
	if !(testFraction > 0 && testFraction < 1) {
		return nil, nil, fmt.Errorf("data: TrainTestSplit: the test fraction is %v; expected one between 0 and 1, exclusively", testFraction)
	}
	return SplitDataset(source, Rest, Fraction(testFraction), ShuffleBeforeSplit(seed))
}
