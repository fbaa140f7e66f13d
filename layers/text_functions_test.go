package layers_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/layers"
)

// withoutTags is the standardization of Keras's text classification examples: lower case, without HTML tags.
func withoutTags(text string) string {
	return strings.ReplaceAll(strings.ToLower(text), "<br />", " ")
}

func atCommas(text string) []string { return strings.Split(text, ",") }

func init() {
	layers.RegisterStandardize("without_tags", withoutTags)
	layers.RegisterSplit("at_commas", atCommas, "mine")
}

// TestFunctionsOfText: Go functions may be used where Keras takes callables. The numbers are those of Keras 3.15.1 on
// TensorFlow, whose layer was adapted to the same texts with equivalent functions.
func TestFunctionsOfText(t *testing.T) {
	texts := layers.HostStrings([]string{"Good<br />film, good", "bad FILM,bad!"}, 2)
	for _, c := range []struct {
		name               string
		standardize, split any
		ngrams             []int
		words              []string
		numbers            []int64
	}{
		{"standardize", withoutTags, nil, nil, []string{"", "[UNK]", "good", "film,bad!", "film,", "bad"}, []int64{2, 4, 2, 5, 3, 0}},
		{"both", withoutTags, atCommas, nil, []string{"", "[UNK]", "good film", "bad!", "bad film", " good"}, []int64{2, 5, 4, 3}},
		{"split", "none", atCommas, nil, []string{"", "[UNK]", "bad!", "bad FILM", "Good<br />film", " good"}, []int64{4, 5, 3, 2}},
		{"split alone", nil, atCommas, nil, []string{"", "[UNK]", "goodbr film good", "bad filmbad"}, []int64{2, 3}},
		{"n-grams", withoutTags, atCommas, []int{2}, []string{"", "[UNK]", "good film  good", "good film", "bad!", "bad film bad!", "bad film", " good"}, []int64{3, 7, 2, 6, 4, 5}},
	} {
		l := &layers.TextVectorization{Standardize: c.standardize, Split: c.split, NGrams: c.ngrams}
		require.NoError(t, l.Adapt(texts), c.name)
		y, err := l.Transform(texts)
		require.NoError(t, err, c.name)
		assert.Equal(t, c.words, l.GetVocabulary(true), c.name)
		assert.Equal(t, c.numbers, y.Ints, c.name)
		o, err := layers.ToObject(l)
		require.NoError(t, err, c.name)
		text, err := json.Marshal(o)
		require.NoError(t, err, c.name)
		again, err := layers.FromObject(text)
		require.NoError(t, err, c.name)
		require.NoError(t, again.(*layers.TextVectorization).SetVocabulary(l.GetVocabulary(true)))
		z, err := again.(*layers.TextVectorization).Transform(texts)
		require.NoError(t, err, c.name)
		assert.Equal(t, y, z, c.name)
	}
}

// TestFunctionsOfTextInFiles: files contain what Keras writes for registered functions.
func TestFunctionsOfTextInFiles(t *testing.T) {
	for _, l := range []*layers.TextVectorization{
		{Standardize: withoutTags, Split: atCommas}, {Standardize: "without_tags", Split: "at_commas"},
	} {
		o, err := layers.ToObject(l)
		require.NoError(t, err)
		c := o["config"].(map[string]any)
		assert.Equal(t, map[string]any{"module": "builtins", "class_name": "function", "config": "Custom>without_tags", "registered_name": "function"}, c["standardize"])
		assert.Equal(t, map[string]any{"module": "builtins", "class_name": "function", "config": "mine>at_commas", "registered_name": "function"}, c["split"])
	}
	_, err := layers.ToObject(&layers.TextVectorization{Standardize: strings.ToUpper})
	require.ErrorContains(t, err, "give it a name in them with layers.RegisterStandardize")
	_, err = layers.FromObject(json.RawMessage(`{"class_name": "TextVectorization", "config": {"standardize":
		{"module": "builtins", "class_name": "function", "config": "Custom>strange", "registered_name": "function"}}}`))
	require.ErrorContains(t, err, `the Python function "Custom>strange", which is not run; make a Go function in its place known by that name with layers.RegisterStandardize`)
	_, err = (&layers.TextVectorization{Standardize: 3, Vocabulary: []string{"a"}}).Transform(layers.HostStrings([]string{"a"}, 1))
	require.ErrorContains(t, err, `Standardize is the number 3; expected "lower_and_strip_punctuation", "lower", "strip_punctuation", "none", or a function of one text`)
	_, err = (&layers.TextVectorization{Split: (func(string) []string)(nil), Vocabulary: []string{"a"}}).Transform(layers.HostStrings([]string{"a"}, 1))
	require.ErrorContains(t, err, "Split is a nil function")
}
