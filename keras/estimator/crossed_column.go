package estimator

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// CrossedColumn numbers combinations of values by a hash: tf.feature_column.crossed_column. For values x of the crossed
// features,
//
//	h = 0xDECAFCAFFE;  for each x: h = FingerprintCat64(h, f(x));  id = h mod HashBucketSize
//
// where f(x) is FarmHash Fingerprint64 for words and the id itself for a column. Features with several values give all
// combinations, with the last feature's values changing fastest. Its name consists of the names of its parts in
// alphabetical order, joined with "_X_".
type CrossedColumn struct {
	// Keys are at least two features of words or integers, by name, or categorical columns. A column with hash buckets
	// cannot be crossed; name its feature instead.
	Keys           []any
	HashBucketSize int
}

func (c CrossedColumn) names() []string {
	var names []string
	for _, k := range c.Keys {
		switch k := k.(type) {
		case string:
			names = append(names, k)
		case CrossedColumn:
			names = append(names, k.names()...)
		case FeatureColumn:
			names = append(names, k.ColumnName())
		}
	}
	return names
}

// ColumnName implements [FeatureColumn].
func (c CrossedColumn) ColumnName() string {
	names := c.names()
	slices.Sort(names)
	return strings.Join(names, "_X_")
}

// NumBuckets returns HashBucketSize.
func (c CrossedColumn) NumBuckets() int { return c.HashBucketSize }

// Validate implements [FeatureColumn].
func (c CrossedColumn) Validate() error {
	if c.HashBucketSize < 1 {
		return fmt.Errorf("estimator: CrossedColumn: hash_bucket_size must be > 1. hash_bucket_size: %d", c.HashBucketSize)
	}
	if len(c.Keys) < 2 {
		return fmt.Errorf("estimator: CrossedColumn: keys must be a list with length > 1. Given: %d", len(c.Keys))
	}
	for _, k := range c.Keys {
		switch k := k.(type) {
		case string:
		case CategoricalColumnWithHashBucket:
			return fmt.Errorf("estimator: CrossedColumn: categorical_column_with_hash_bucket is not supported for crossing. Hashing before crossing will increase probability of collision. Instead, use the feature name as a string. Given: %s", k.Key)
		case CategoricalColumn:
			if err := k.Validate(); err != nil {
				return err
			}
		default:
			return fmt.Errorf("estimator: CrossedColumn: Unsupported key type. All keys must be either string, or categorical column except HashedCategoricalColumn. Given: %T", k)
		}
	}
	return nil
}

func (c CrossedColumn) base() hostColumn { return c }

// crossPart is one crossed feature: words, or ids if words is nil.
type crossPart struct {
	words   []string
	ids     []int64
	missing []bool
	width   int
}

// parts lists the crossed features; a crossed column among them contributes its own.
func (c CrossedColumn) parts(features rawFeatures) (parts []crossPart, rows int, err error) {
	for i, k := range c.Keys {
		var add []crossPart
		var n int
		switch k := k.(type) {
		case string:
			var p crossPart
			p, n, err = rawPart(features, k)
			add = []crossPart{p}
		case CrossedColumn:
			add, n, err = k.parts(features)
		case CategoricalColumn:
			var t idTable
			t, err = k.ids(features)
			p := crossPart{ids: t.ids, width: t.width}
			for _, id := range t.ids {
				p.missing = append(p.missing, id == nothing)
			}
			n, add = t.rows, []crossPart{p}
		}
		if err != nil {
			return nil, 0, err
		}
		if i > 0 && n != rows {
			return nil, 0, fmt.Errorf("crossed column %s: its features have %d and %d rows", c.ColumnName(), rows, n)
		}
		rows, parts = n, append(parts, add...)
	}
	return parts, rows, nil
}

// rawPart returns a feature crossed by its name: words or integers. Every value counts, even the empty word, as in
// TensorFlow.
func rawPart(features rawFeatures, key string) (p crossPart, rows int, err error) {
	d, err := features.get(key)
	if err != nil {
		return p, 0, err
	}
	if d.DType() == ir.Uint8 {
		p.words, rows, p.width, err = features.words(key)
	} else {
		p.ids, rows, p.width, err = features.whole(key)
	}
	p.missing = make([]bool, rows*p.width)
	return p, rows, err
}

func (c CrossedColumn) ids(features rawFeatures) (idTable, error) {
	parts, rows, err := c.parts(features)
	if err != nil {
		return idTable{}, err
	}
	width := 1
	for _, p := range parts {
		width *= p.width
	}
	inputs := make([]layers.HostArray, len(parts))
	missing := make([]bool, rows*width)
	for i, p := range parts {
		repeat := 1 // combinations of the following features
		for _, q := range parts[i+1:] {
			repeat *= q.width
		}
		words, ids := make([]string, 0, rows*width), make([]int64, 0, rows*width)
		for row := range rows {
			for k := range width {
				at := row*p.width + k/repeat%p.width
				missing[row*width+k] = missing[row*width+k] || p.missing[at]
				if p.words != nil {
					words = append(words, p.words[at])
				} else {
					ids = append(ids, p.ids[at])
				}
			}
		}
		if inputs[i] = layers.HostInts(ids, rows*width); p.words != nil {
			inputs[i] = layers.HostStrings(words, rows*width)
		}
	}
	crossed, err := (&layers.HashedCrossing{NumBins: c.HashBucketSize}).Transform(inputs...)
	if err != nil {
		return idTable{}, fmt.Errorf("crossed column %s: %w", c.ColumnName(), err)
	}
	for i := range crossed.Ints {
		if missing[i] {
			crossed.Ints[i] = nothing
		}
	}
	return idTable{rows, width, crossed.Ints}, nil
}

func (c CrossedColumn) compute(features rawFeatures) (kernels.Array, error) {
	t, err := c.ids(features)
	return t.array(), err
}
