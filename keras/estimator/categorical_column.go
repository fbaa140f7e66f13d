package estimator

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/layers"
)

// CategoricalColumnWithVocabularyList numbers the words (or integers) of a list in their order:
// tf.feature_column.categorical_column_with_vocabulary_list. Empty words and the number -1 mean a missing value. Other
// values that are not in the list get DefaultValue or, if NumOOVBuckets is set, one of that many ids after those of the
// list, chosen by a hash. Its name is Key.
type CategoricalColumnWithVocabularyList struct {
	Key string
	// Vocabulary lists words, or IntVocabulary integers; exactly one must be set.
	Vocabulary    []string
	IntVocabulary []int64
	// DefaultValue is the id of values that are not in the list; nil is -1: they are ignored, but a crossing hashes the
	// -1.
	DefaultValue *int
	// NumOOVBuckets cannot be combined with DefaultValue.
	NumOOVBuckets int
}

// ColumnName returns Key.
func (c CategoricalColumnWithVocabularyList) ColumnName() string { return c.Key }

func (c CategoricalColumnWithVocabularyList) size() int {
	return len(c.Vocabulary) + len(c.IntVocabulary)
}

// NumBuckets returns the length of the list plus NumOOVBuckets.
func (c CategoricalColumnWithVocabularyList) NumBuckets() int { return c.size() + c.NumOOVBuckets }

// Validate implements [FeatureColumn].
func (c CategoricalColumnWithVocabularyList) Validate() error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("estimator: CategoricalColumnWithVocabularyList: column_name: %s: %s", c.Key, fmt.Sprintf(format, args...))
	}
	switch {
	case c.Key == "":
		return fail("the key is empty")
	case (len(c.Vocabulary) > 0) == (len(c.IntVocabulary) > 0):
		return fail("vocabulary_list must be non-empty; set exactly one of Vocabulary and IntVocabulary, received %d words and %d numbers", len(c.Vocabulary), len(c.IntVocabulary))
	case repeats(c.Vocabulary) || repeats(c.IntVocabulary):
		return fail("Duplicate keys in vocabulary_list")
	case c.NumOOVBuckets < 0:
		return fail("Invalid num_oov_buckets %d; expected 0 or more", c.NumOOVBuckets)
	case c.NumOOVBuckets > 0 && or(c.DefaultValue, -1) != -1:
		return fail("Can't specify both num_oov_buckets and default_value; received %d and %d", c.NumOOVBuckets, *c.DefaultValue)
	case or(c.DefaultValue, -1) < -1 || or(c.DefaultValue, -1) >= c.size():
		return fail("default_value %d is no id of the list, 0 to %d, and not -1", *c.DefaultValue, c.size()-1)
	}
	return nil
}

func repeats[T int64 | string](list []T) bool {
	list = slices.Clone(list)
	slices.Sort(list)
	return len(slices.Compact(list)) != len(list)
}

func (c CategoricalColumnWithVocabularyList) base() hostColumn { return c }

func (c CategoricalColumnWithVocabularyList) ids(features rawFeatures) (idTable, error) {
	if c.IntVocabulary != nil {
		values, rows, width, err := features.whole(c.Key)
		if err != nil {
			return idTable{}, err
		}
		return idTable{rows, width, look(c, c.IntVocabulary, values, -1)}, nil
	}
	values, rows, width, err := features.words(c.Key)
	if err != nil {
		return idTable{}, err
	}
	return idTable{rows, width, look(c, c.Vocabulary, values, "")}, nil
}

// look returns the ids of values.
func look[T int64 | string](c CategoricalColumnWithVocabularyList, vocabulary, values []T, empty T) []int64 {
	place := make(map[T]int64, len(vocabulary))
	for i, v := range vocabulary {
		place[v] = int64(i)
	}
	out := make([]int64, len(values))
	for i, v := range values {
		id, known := place[v]
		switch {
		case v == empty:
			id = nothing
		case known:
		case c.NumOOVBuckets > 0:
			id = int64(len(vocabulary)) + hash([]string{fmt.Sprint(v)}, c.NumOOVBuckets)[0]
		default:
			id = int64(or(c.DefaultValue, unknown))
		}
		out[i] = id
	}
	return out
}

// hash sorts words into bins by FarmHash Fingerprint64 mod n, TensorFlow's string_to_hash_bucket_fast.
func hash(words []string, n int) []int64 {
	out, err := (&layers.Hashing{NumBins: n}).Transform(layers.HostStrings(words))
	if err != nil {
		return make([]int64, len(words)) // cannot fail: n is positive and there are words
	}
	return out.Ints
}

func (c CategoricalColumnWithVocabularyList) compute(features rawFeatures) (kernels.Array, error) {
	t, err := c.ids(features)
	return t.array(), err
}

// CategoricalColumnWithIdentity uses integers from 0 to Buckets-1 as ids:
// tf.feature_column.categorical_column_with_identity. -1 means a missing value. Other numbers get DefaultValue; without
// it they are an error. Its name is Key.
type CategoricalColumnWithIdentity struct {
	Key          string
	Buckets      int
	DefaultValue *int
}

// ColumnName returns Key.
func (c CategoricalColumnWithIdentity) ColumnName() string { return c.Key }

// NumBuckets returns Buckets.
func (c CategoricalColumnWithIdentity) NumBuckets() int { return c.Buckets }

// Validate implements [FeatureColumn].
func (c CategoricalColumnWithIdentity) Validate() error {
	switch {
	case c.Key == "" || c.Buckets < 1:
		return fmt.Errorf("estimator: CategoricalColumnWithIdentity: num_buckets %d < 1, column_name %s; expected a key and at least one bucket", c.Buckets, c.Key)
	case c.DefaultValue != nil && (*c.DefaultValue < 0 || *c.DefaultValue >= c.Buckets):
		return fmt.Errorf("estimator: CategoricalColumnWithIdentity: default_value %d not in range [0, %d), column_name %s", *c.DefaultValue, c.Buckets, c.Key)
	}
	return nil
}

func (c CategoricalColumnWithIdentity) base() hostColumn { return c }

func (c CategoricalColumnWithIdentity) ids(features rawFeatures) (idTable, error) {
	values, rows, width, err := features.whole(c.Key)
	if err != nil {
		return idTable{}, err
	}
	for i, v := range values {
		if v >= 0 && v < int64(c.Buckets) {
			continue
		}
		if v == -1 {
			values[i] = nothing
			continue
		}
		if c.DefaultValue == nil {
			return idTable{}, fmt.Errorf("feature %s has the value %d; expected 0 to %d, or -1 for nothing: give the column more buckets or a DefaultValue", c.Key, v, c.Buckets-1)
		}
		values[i] = int64(*c.DefaultValue)
	}
	return idTable{rows, width, values}, nil
}

func (c CategoricalColumnWithIdentity) compute(features rawFeatures) (kernels.Array, error) {
	t, err := c.ids(features)
	return t.array(), err
}

// CategoricalColumnWithHashBucket numbers words (or, with Integers, integers by their decimal digits) by a hash,
// FarmHash Fingerprint64 mod HashBucketSize: tf.feature_column.categorical_column_with_hash_bucket. Empty words and the
// number -1 mean a missing value. Its name is Key.
type CategoricalColumnWithHashBucket struct {
	Key            string
	HashBucketSize int
	Integers       bool
}

// ColumnName returns Key.
func (c CategoricalColumnWithHashBucket) ColumnName() string { return c.Key }

// NumBuckets returns HashBucketSize.
func (c CategoricalColumnWithHashBucket) NumBuckets() int { return c.HashBucketSize }

// Validate implements [FeatureColumn].
func (c CategoricalColumnWithHashBucket) Validate() error {
	if c.Key == "" || c.HashBucketSize < 1 {
		return fmt.Errorf("estimator: CategoricalColumnWithHashBucket: hash_bucket_size must be at least 1. hash_bucket_size: %d, key: %s", c.HashBucketSize, c.Key)
	}
	return nil
}

func (c CategoricalColumnWithHashBucket) base() hostColumn { return c }

func (c CategoricalColumnWithHashBucket) ids(features rawFeatures) (idTable, error) {
	words, missing, rows, width, err := texts(features, c.Key, c.Integers)
	if err != nil {
		return idTable{}, err
	}
	ids := hash(words, c.HashBucketSize)
	for i := range ids {
		if missing[i] {
			ids[i] = nothing
		}
	}
	return idTable{rows, width, ids}, nil
}

// texts returns words, or integers as decimal digits, and which of them are missing values.
func texts(features rawFeatures, key string, integers bool) (words []string, missing []bool, rows, width int, err error) {
	if !integers {
		words, rows, width, err = features.words(key)
		for _, w := range words {
			missing = append(missing, w == "")
		}
		return words, missing, rows, width, err
	}
	values, rows, width, err := features.whole(key)
	for _, v := range values {
		words, missing = append(words, strconv.FormatInt(v, 10)), append(missing, v == -1)
	}
	return words, missing, rows, width, err
}

func (c CategoricalColumnWithHashBucket) compute(features rawFeatures) (kernels.Array, error) {
	t, err := c.ids(features)
	return t.array(), err
}
