package layers_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// TestLookupErrors: errors about fields, vocabularies and inputs of host layers name them.
func TestLookupErrors(t *testing.T) {
	words := layers.HostStrings([]string{"a", "b"})
	for _, c := range []struct {
		layer layers.HostLayer
		in    []layers.HostArray
		want  string
	}{
		{&layers.StringLookup{MaxTokens: 1}, []layers.HostArray{words}, "MaxTokens must be above 1"},
		{&layers.StringLookup{PadToMaxTokens: true}, []layers.HostArray{words}, "PadToMaxTokens needs MaxTokens"},
		{&layers.StringLookup{NumOOVIndices: new(-1)}, []layers.HostArray{words}, "NumOOVIndices must not be negative"},
		{&layers.StringLookup{OutputMode: "hot"}, []layers.HostArray{words}, `unknown OutputMode "hot"`},
		{&layers.StringLookup{OutputMode: layers.CountMode, Invert: true}, []layers.HostArray{words}, `OutputMode must be "int" with Invert`},
		{&layers.StringLookup{Vocabulary: []string{"a", "a"}}, []layers.HostArray{words}, `has the token "a" twice`},
		{&layers.StringLookup{Vocabulary: []string{}}, []layers.HostArray{words}, "the vocabulary is empty"},
		{&layers.StringLookup{Vocabulary: []string{"[UNK]"}}, []layers.HostArray{words}, "none but the special tokens"},
		{&layers.StringLookup{Vocabulary: []string{"a", "m"}, MaskToken: new("m")}, []layers.HostArray{words}, `has the special token "m" at place 1`},
		{&layers.StringLookup{Vocabulary: []string{"a", "b", "c"}, MaxTokens: 3}, []layers.HostArray{words}, "has 4 entries with the special ones, MaxTokens is 3"},
		{&layers.StringLookup{Vocabulary: []string{"a"}, NumOOVIndices: new(0)}, []layers.HostArray{words}, `the token "b" is not in the vocabulary`},
		{&layers.StringLookup{Vocabulary: []string{"a"}, OutputMode: layers.TFIDFMode}, []layers.HostArray{words}, "received 0 weights"},
		{&layers.StringLookup{OutputMode: layers.CountMode}, []layers.HostArray{words}, "has no vocabulary yet"},
		{&layers.StringLookup{Salt: []int{1, 2, 3}}, []layers.HostArray{words}, "Salt must have one or two numbers"},
		{&layers.StringLookup{}, []layers.HostArray{layers.HostInts([]int64{1})}, "takes strings, received numbers"},
		{&layers.StringLookup{Invert: true}, []layers.HostArray{words}, "takes whole numbers with Invert"},
		{&layers.StringLookup{}, []layers.HostArray{words, words}, "takes one input, received 2"},
		{&layers.StringLookup{}, []layers.HostArray{layers.HostStrings([]string{"a"}, 2)}, "an array of shape [2] holds 1 elements; expected 2"},
		{&layers.TextVectorization{Standardize: "upper"}, []layers.HostArray{words}, `unknown Standardize "upper"`},
		{&layers.TextVectorization{Split: "comma"}, []layers.HostArray{words}, `unknown Split "comma"`},
		{&layers.TextVectorization{NGrams: []int{0}}, []layers.HostArray{words}, "NGrams must have lengths of at least 1"},
		{&layers.TextVectorization{OutputSequenceLength: 3, OutputMode: layers.CountMode}, []layers.HostArray{words}, "OutputSequenceLength must be"},
		{&layers.TextVectorization{}, []layers.HostArray{layers.HostStrings([]string{"a", "b"}, 1, 2)}, "takes texts of shape (batch) or (batch, 1)"},
		{&layers.Hashing{}, []layers.HostArray{words}, "NumBins must be at least 1"},
		{&layers.Hashing{NumBins: 1 << 40, OutputMode: layers.OneHotMode}, []layers.HostArray{words}, "at most 1073741824 fit into one batch"},
		{&layers.HashedCrossing{NumBins: 3}, []layers.HostArray{words}, "takes at least two inputs"},
		{&layers.HashedCrossing{NumBins: 3}, []layers.HostArray{words, layers.HostStrings([]string{"a"})}, "takes inputs of equal shapes"},
		{&layers.HashedCrossing{NumBins: 3, OutputMode: layers.CountMode}, []layers.HostArray{words, words}, `unknown OutputMode "count"`},
	} {
		_, err := c.layer.Transform(c.in...)
		assert.ErrorContains(t, err, c.want, "%T", c.layer)
	}
	assert.ErrorContains(t, (&layers.StringLookup{Vocabulary: []string{"a"}}).Adapt(words), "the vocabulary is fixed by the field")
	assert.ErrorContains(t, (&layers.StringLookup{}).Adapt(), "received no data")
	assert.ErrorContains(t, (&layers.StringLookup{MaxTokens: 2, MaskToken: new("")}).Adapt(words), "MaxTokens is 2 and counts the special tokens, of which there are 2")
	assert.ErrorContains(t, (&layers.StringLookup{MaskToken: new("a")}).Adapt(layers.HostStrings([]string{"a"})), "no token besides the special ones")
	assert.ErrorContains(t, (&layers.IntegerLookup{}).Adapt(), "received no data")
	assert.ErrorContains(t, (&layers.Discretization{BinBoundaries: []float64{1}}).Adapt(), "fixed by the field BinBoundaries")
	assert.ErrorContains(t, (&layers.Discretization{NumBins: 2}).Adapt(), "received no data")
	_, err := layers.InferTypes(&layers.Dense{Units: 1}, []ir.Type{{DType: ir.Invalid, Shape: ir.Shape{2, 1}}})
	assert.ErrorContains(t, err, "Dense takes numbers and received text")
}

// TestLookupRelearns: a second Adapt replaces what the first one learned, and words excluded only by the limit are
// unknown.
func TestLookupRelearns(t *testing.T) {
	l := &layers.StringLookup{MaxTokens: 3}
	require.NoError(t, l.Adapt(layers.HostStrings([]string{"a", "a", "b", "c", "c", "c"})))
	assert.Equal(t, []string{"[UNK]", "c", "a"}, l.GetVocabulary(true))
	require.NoError(t, l.Adapt(layers.HostStrings([]string{"x"})))
	assert.Equal(t, []string{"x"}, l.GetVocabulary(false))
	assert.Equal(t, 2, l.VocabularySize())
	y, err := l.Transform(layers.HostStrings([]string{"x", "a"}, 2, 1))
	require.NoError(t, err)
	assert.Equal(t, layers.HostArray{Shape: []int{2, 1}, Ints: []int64{1, 0}}, y)
}

// FuzzVocabularyFile: any file contents are a vocabulary or an error.
func FuzzVocabularyFile(f *testing.F) {
	for _, seed := range []string{"", "\n[UNK]\na\nb", "-1\n5\n7", "a\r\nb\u2028c\n\n", "\x00\xff", strings.Repeat("x\n", 50)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		files := map[string][]byte{"vocabulary.txt": content}
		words := &layers.StringLookup{MaskToken: new("")}
		if err := words.LoadAssets(files); err == nil {
			assert.LessOrEqual(t, words.VocabularySize(), len(content)+3)
			_, err := words.Transform(layers.HostStrings([]string{string(content)}))
			assert.NoError(t, err)
		}
		numbers := &layers.IntegerLookup{OutputMode: layers.TFIDFMode}
		_ = numbers.LoadAssets(files)
		text := &layers.TextVectorization{}
		if text.LoadAssets(files) == nil {
			_, err := text.Transform(layers.HostStrings([]string{string(content)}))
			assert.NoError(t, err)
		}
	})
}

// Without a vocabulary every word would be unknown, which would look like a valid result.
func TestLookupNeedsAVocabulary(t *testing.T) {
	for name, l := range map[string]layers.HostLayer{
		"words":          &layers.StringLookup{},
		"words, one-hot": &layers.StringLookup{OutputMode: "one_hot"},
		"padded":         &layers.StringLookup{OutputMode: "one_hot", MaxTokens: 5, PadToMaxTokens: true},
		"texts":          &layers.TextVectorization{},
		"texts, cut":     &layers.TextVectorization{MaxTokens: 10, OutputSequenceLength: 3},
	} {
		_, err := l.Transform(layers.HostStrings([]string{"a", "b"}))
		require.ErrorContains(t, err, "has no vocabulary yet; call Adapt with data before the model runs, or set Vocabulary", name)
	}
	_, err := (&layers.StringLookup{Invert: true}).Transform(layers.HostInts([]int64{1}))
	require.ErrorContains(t, err, "no vocabulary")
}
