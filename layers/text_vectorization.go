package layers

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// TextVectorization turns texts into the numbers of their words, in four steps:
//
//  1. Standardize: "lower_and_strip_punctuation" (the default) converts ASCII letters to lower case and removes the characters
//     !"#$%&()*+,-./:;<=>?@[\]^_`{|}~'; "lower" and "strip_punctuation" do one of the two; "none" neither. Or a
//     function of your own, func(text string) string.
//  2. Split: at "whitespace" (the default), into each "character", or not at all ("none"). Or a function of your own,
//     func(text string) []string.
//  3. NGrams {1, 2, ...}: instead of the words all sequences of so many words, joined by blanks.
//  4. Lookup, as in [StringLookup] with the mask token "": number 0 fills, 1 stands for unknown words, the vocabulary
//     begins with 2. Other modes than "int" know no filling, so that 0 stands for unknown words and the vocabulary
//     begins with 1.
//
// The vocabulary is that of the field, of [TextVectorization.SetVocabulary], or that of [TextVectorization.Adapt].
// OutputMode "int" gives one row of numbers for each text, of OutputSequenceLength or of the longest text of the batch,
// cut or filled with zeros; without a fixed length the model is recompiled for every other one. "multi_hot", "count"
// and "tf_idf" give one row for each text, see StringLookup; "one_hot" one for each word.
//
// The layer works on the host ([HostLayer]): in a model it must come right after an input of strings.
//
// Input shape: (batch) or (batch, 1), strings; with Split "none" also (batch, words). Output shape: (batch,
// OutputSequenceLength), int64, or (batch) where texts (batch) are not split; with rows (batch, vocabulary), int64, and
// with "tf_idf" float32.
type TextVectorization struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; has no effect
	Frozen bool   `keras:"trainable,not"` // has no effect

	MaxTokens            int        `keras:"max_tokens,null"`                                 // size of the vocabulary with special tokens; 0 is no limit
	Standardize          any        `keras:"standardize,default=lower_and_strip_punctuation"` // see above; a function that files are to hold has a name, see RegisterStandardize
	Split                any        `keras:"split,default=whitespace"`                        // see above, and RegisterSplit
	NGrams               []int      `keras:"ngrams,null,scalar"`                              // lengths; one number n stands for 1 ... n, unless a file has it as a list; nil means single words
	OutputMode           OutputMode `keras:"output_mode,default=int"`                         // see above; "" is "int"
	OutputSequenceLength int        `keras:"output_sequence_length,null"`                     // of "int"; 0 is the longest of the batch
	PadToMaxTokens       bool       `keras:"pad_to_max_tokens"`                               // rows have MaxTokens entries
	Vocabulary           []string   `keras:"vocabulary,null"`                                 // nil: see Adapt and SetVocabulary
	IDFWeights           []float64  `keras:"idf_weights,null"`                                // of Vocabulary, for "tf_idf"
	Encoding             string     `keras:"encoding,default=utf-8"`                          // "utf-8", the only one

	inner  *StringLookup
	frozen int
	alone  bool // a file has NGrams as a list of one length, which stands for that length alone
}

// words returns the lookup of the last step.
func (l *TextVectorization) words() *StringLookup {
	if l.inner == nil {
		l.inner = &StringLookup{
			Name: Name(l), MaxTokens: l.MaxTokens, MaskToken: new(string), OutputMode: l.OutputMode, PadToMaxTokens: l.PadToMaxTokens,
			Vocabulary: l.Vocabulary, IDFWeights: l.IDFWeights, learned: learned[string]{entries: l.frozen},
		}
	}
	return l.inner
}

// ready is words with a check of the fields.
func (l *TextVectorization) ready() (*StringLookup, error) {
	if _, err := l.standardizer(); err != nil {
		return nil, err
	}
	switch {
	case l.OutputSequenceLength < 0 || l.OutputSequenceLength > 0 && outputMode(l.OutputMode, IntMode) != IntMode:
		return nil, fmt.Errorf("OutputSequenceLength must be a positive length, with OutputMode \"int\" only; received %d with %q", l.OutputSequenceLength, l.OutputMode)
	}
	for _, n := range l.NGrams {
		if n < 1 {
			return nil, fmt.Errorf("NGrams must have lengths of at least 1, received %v", l.NGrams)
		}
	}
	_, _, err := l.words().ready()
	return l.inner, err
}

// tokens returns the tokens of an example after standardizing, splitting and joining to n-grams, at most limit of them
// if that is not 0. An example is one text unless texts are not split.
func (l *TextVectorization) tokens(example []string, by *standardizer, limit int) []string {
	if by.before != nil {
		example = slices.Clone(example)
		for i, text := range example {
			example[i] = by.before(text)
		}
	}
	if by.cut == nil && l.Split != "none" && l.Split != "character" && len(example) == 1 {
		compact, starts := by.split(example[0], limit)
		if lengths := l.lengths(); len(lengths) > 0 {
			return neighbours(compact, starts, lengths...)
		}
		return neighbours(compact, starts, 1)
	}
	var words []string
	for _, text := range example {
		words = append(words, l.parts(text, by)...)
	}
	return l.joined(words)
}

// parts returns the text, or its characters.
func (l *TextVectorization) parts(text string, by *standardizer) []string {
	text = by.standardize(text)
	if by.cut != nil {
		return by.cut(text)
	}
	if l.Split == "none" {
		return []string{text}
	}
	words := make([]string, 0, len(text))
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		if r == utf8.RuneError && n == 1 {
			n = brokenRune(text)
		}
		words = append(words, string(r)) // what is no UTF-8 becomes U+FFFD
		text = text[n:]
	}
	return words
}

// brokenRune returns the number of invalid UTF-8 bytes at the beginning of a text that become one U+FFFD: as many as
// could have been the beginning of a character (Unicode's "maximal subpart").
func brokenRune(text string) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if utf8.FullRuneInString(text[:n]) { // no character begins like this
			return max(n-1, 1)
		}
	}
	return min(len(text), utf8.UTFMax-1)
}

// joined returns the n-grams of words, the shortest first, or the words themselves if no n-grams are requested.
func (l *TextVectorization) joined(words []string) []string {
	lengths := l.lengths()
	if len(lengths) == 0 {
		return words
	}
	var out []string
	for _, n := range lengths {
		for i := 0; i+n <= len(words); i++ {
			out = append(out, strings.Join(words[i:i+n], " "))
		}
	}
	return out
}

// lengths returns the lengths of the n-grams; none for single words.
func (l *TextVectorization) lengths() []int {
	if len(l.NGrams) != 1 || l.alone {
		return l.NGrams
	}
	var lengths []int
	for n := 1; n <= l.NGrams[0]; n++ {
		lengths = append(lengths, n)
	}
	return lengths
}

// standardizer returns the function that prepares a text for the lookup.
func (l *TextVectorization) standardizer() (*standardizer, error) {
	word, before, err := standardizeStep.get(l.Standardize)
	if err != nil {
		return nil, err
	}
	_, cut, err := splitStep.get(l.Split)
	if err != nil {
		return nil, err
	}
	if before != nil {
		word = "none"
	}
	by := newStandardizer(word)
	by.before, by.cut = before, cut
	return by, nil
}

// Transform vectorizes texts.
func (l *TextVectorization) Transform(inputs ...HostArray) (HostArray, error) {
	out, err := l.transform(inputs)
	if err != nil {
		return HostArray{}, fmt.Errorf("layers: %s: %w", Name(l), err)
	}
	return out, nil
}

// examples returns the tokens of each example of an input.
func (l *TextVectorization) examples(inputs []HostArray, limit int) ([][]string, error) {
	x, err := single(inputs)
	switch {
	case err != nil:
		return nil, err
	case len(x.Ints) > 0 || len(x.Floats) > 0:
		return nil, fmt.Errorf("takes strings, received numbers")
	}
	if err := l.checkShape(x.Shape); err != nil {
		return nil, err
	}
	width := 1
	if len(x.Shape) == 2 {
		width = x.Shape[1]
	}
	by, err := l.standardizer()
	if err != nil {
		return nil, err
	}
	rows := make([][]string, x.Shape[0]) //dim:known the shapes of data
	for i := range rows {
		rows[i] = l.tokens(x.Strings[i*width:(i+1)*width], by, limit) //dim:known the shapes of data
	}
	return rows, nil
}

// checkShape reports a shape that is not one of texts.
func (l *TextVectorization) checkShape(shape []int) error {
	switch {
	case len(shape) == 1 || len(shape) == 2 && (shape[1] == 1 || l.Split == "none"):
		return nil
	case l.Split == "none":
		return fmt.Errorf("takes words of shape (batch) or (batch, words), received %s", ShapeString(shape))
	}
	return fmt.Errorf("takes texts of shape (batch) or (batch, 1), received %s; with Split \"none\" it takes words of shape (batch, words)", ShapeString(shape))
}

func (l *TextVectorization) transform(inputs []HostArray) (HostArray, error) {
	inner, err := l.ready()
	if err != nil {
		return HostArray{}, err
	}
	limit := 0
	if len(l.NGrams) == 0 && outputMode(l.OutputMode, IntMode) == IntMode {
		limit = l.OutputSequenceLength // nobody sees the words behind
	}
	rows, err := l.examples(inputs, limit)
	if err != nil {
		return HostArray{}, err
	}
	longest := 0
	for _, row := range rows {
		longest = max(longest, len(row))
	}
	k, t, err := inner.ready()
	if err != nil {
		return HostArray{}, err
	}
	if t == nil {
		return HostArray{}, errNoVocabulary
	}
	if l.flat(len(inputs[0].Shape)) {
		return l.whole(k, t, rows)
	}
	length := longest
	if l.OutputSequenceLength > 0 {
		length = l.OutputSequenceLength
	}
	fill := int64(0) // the number of the mask token, which fills rows
	if k.mode != IntMode {
		fill = -1
	}
	numbers := slices.Repeat([]int64{fill}, len(rows)*length)
	for i, row := range rows {
		for j, word := range row[:min(len(row), length)] {
			if numbers[i*length+j], err = k.numberOf(t, word); err != nil {
				return HostArray{}, err
			}
		}
	}
	if k.mode == OneHotMode && l.length(inputs[0].Shape) == Unknown { // also where each text of the batch has one word
		y, err := encodeLookup(k, t, numbers, []int{len(numbers)})
		y.Shape = []int{len(rows), length, k.depth(t)}
		return y, err
	}
	return encodeLookup(k, t, numbers, []int{len(rows), length})
}

// length returns the number of words of each text if it is known beforehand.
func (l *TextVectorization) length(x ir.Shape) int {
	switch {
	case l.OutputSequenceLength > 0:
		return l.OutputSequenceLength
	case l.Split == "none" && len(l.NGrams) == 0 && len(x) == 2:
		return x[1]
	case l.Split == "none" && len(l.NGrams) == 0:
		return 1
	}
	return Unknown
}

// flat reports whether each text of a batch (batch) gives one number instead of a row. As in Keras, it does if it is
// not split.
func (l *TextVectorization) flat(rank int) bool {
	return l.Split == "none" && len(l.NGrams) == 0 && rank == 1 && outputMode(l.OutputMode, IntMode) == IntMode && l.OutputSequenceLength == 0
}

// whole returns the number of each text (batch).
func (l *TextVectorization) whole(k *lookup[string], t *table[string], rows [][]string) (HostArray, error) {
	numbers := make([]int64, len(rows))
	for i, row := range rows {
		var err error
		if numbers[i], err = k.numberOf(t, row[0]); err != nil {
			return HostArray{}, err
		}
	}
	return HostInts(numbers), nil
}

// HostType returns the type of the result.
func (l *TextVectorization) HostType(inputs ...ir.Type) (ir.Type, error) {
	inner, err := l.ready()
	if err != nil {
		return ir.Type{}, err
	}
	if err := oneInput(inputs, true); err != nil {
		return ir.Type{}, err
	}
	x := inputs[0].Shape
	if err := l.checkShape(x); err != nil {
		return ir.Type{}, err
	}
	k, t, err := inner.ready()
	if err != nil {
		return ir.Type{}, err
	}
	if l.flat(len(x)) {
		return encodedType(x, k.mode, k.depth(t), lookupRows(k.mode))
	}
	return encodedType(ir.Shape{x[0], l.length(x)}, k.mode, k.depth(t), lookupRows(k.mode))
}

// Adapt learns the vocabulary of texts as [StringLookup.Adapt] does, after standardizing and splitting.
func (l *TextVectorization) Adapt(batches ...HostArray) error {
	return l.AdaptBatches(each(columns(batches)))
}

// AdaptBatches is Adapt for data in several batches. As in Keras, with Split "none" a batch of shape (n), without a
// second axis, is one example of n words.
func (l *TextVectorization) AdaptBatches(batches iter.Seq2[HostArray, error]) error {
	inner, err := l.ready()
	if err != nil {
		return fmt.Errorf("layers: %s: Adapt: %w", Name(l), err)
	}
	var c counter[string]
	for b, err := range batches {
		var rows [][]string
		if err == nil {
			rows, err = l.examples([]HostArray{b}, 0)
		}
		if err != nil {
			return fmt.Errorf("layers: %s: Adapt: %w", Name(l), err)
		}
		if l.Split == "none" && len(b.Shape) == 1 && len(rows) > 0 {
			rows = [][]string{slices.Concat(rows...)}
		}
		for _, row := range rows {
			c.add(row)
		}
	}
	k, _, err := inner.ready()
	return inner.adopt(inner, k, &c, inner.Vocabulary != nil, err)
}

// SetVocabulary gives the layer its words, with or without the special ones at the beginning, and for "tf_idf" also
// their weights.
func (l *TextVectorization) SetVocabulary(words []string, idfWeights ...float64) error {
	return l.words().SetVocabulary(words, idfWeights...)
}

// GetVocabulary returns the words in the order of their numbers, with or without the special ones ("", "[UNK]").
func (l *TextVectorization) GetVocabulary(special bool) []string {
	return l.words().GetVocabulary(special)
}

// VocabularySize returns the number of words, including the special ones.
func (l *TextVectorization) VocabularySize() int { return l.words().VocabularySize() }

// GetIDFWeights returns the weight of each number for "tf_idf"; nil in other modes. A Keras file holds them as
// "idf_weights".
func (l *TextVectorization) GetIDFWeights() []float64 { return l.words().GetIDFWeights() }

// Assets returns the file with the vocabulary, under both paths where Keras keeps it; nil if the configuration holds
// it, see [StringLookup.Assets].
func (l *TextVectorization) Assets() (map[string][]byte, error) {
	files, err := l.words().Assets()
	if files != nil {
		files["_lookup_layer/"+vocabularyName] = files[vocabularyName]
	}
	return files, err
}

// LoadAssets reads the vocabulary. With "tf_idf" the vocabulary also needs its weights, which the weights file holds;
// see LoadArrays.
func (l *TextVectorization) LoadAssets(files map[string][]byte) error {
	return l.words().LoadAssets(files)
}

// innerIDFName is the second path of the weights of "tf_idf".
const innerIDFName = "_lookup_layer/" + idfName

// ArrayNames returns the paths of the weights of "tf_idf" in a weights file, where Keras stores them twice.
func (l *TextVectorization) ArrayNames() []string { return []string{idfName, innerIDFName} }

// Arrays returns the weights of "tf_idf"; nil in other modes.
func (l *TextVectorization) Arrays() map[string][]float64 {
	arrays := l.words().Arrays()
	if arrays != nil {
		arrays[innerIDFName] = arrays[idfName]
	}
	return arrays
}

// LoadArrays takes the weights of "tf_idf" from a weights file; see [StringLookup.LoadArrays].
func (l *TextVectorization) LoadArrays(arrays map[string][]float64) error {
	return l.words().LoadArrays(arrays)
}

// Forward fails, because the layer cannot be part of a program.
func (l *TextVectorization) Forward(c *Context, _ []*ops.Tensor) []*ops.Tensor { return ForwardHost(c) }

// MigrateConfig keeps the size of the vocabulary and reads null for steps that are switched off.
func (l *TextVectorization) MigrateConfig(keys map[string]json.RawMessage) error {
	for _, key := range []string{"standardize", "split"} {
		raw, ok := keys[key]
		if ok && string(raw) == "null" {
			keys[key] = json.RawMessage(`"none"`)
		}
	}
	var list []int
	l.alone = json.Unmarshal(keys["ngrams"], &list) == nil && len(list) == 1
	return migrateLookup(keys, &l.frozen)
}

// AmendConfig writes steps that are switched off as null, and the size of the vocabulary.
func (l *TextVectorization) AmendConfig(keys map[string]any) error {
	inner, err := l.ready()
	if err != nil {
		return err
	}
	for _, key := range []string{"standardize", "split"} {
		if keys[key] == "none" {
			keys[key] = nil
		}
	}
	for key, n := range map[string]int{"max_tokens": l.MaxTokens, "output_sequence_length": l.OutputSequenceLength} {
		if n == 0 {
			keys[key] = nil
		}
	}
	if l.alone && len(l.NGrams) == 1 {
		keys["ngrams"] = []any{int64(l.NGrams[0])}
	}
	keys["sparse"], keys["ragged"] = false, false
	size := inner.VocabularySize()
	if inner.table == nil && l.frozen > 0 {
		size = l.frozen
	}
	keys["vocabulary_size"] = int64(size)
	inner.amendVocabulary(keys)
	return nil
}

// IgnoredConfig adds options for results that do not exist here: sparse ones, and ragged ones, which Keras's predict
// pads with 0 as this layer does.
func (l *TextVectorization) IgnoredConfig() []string {
	return append(l.Base.IgnoredConfig(), "sparse", "ragged")
}

func init() { Register[TextVectorization]() }
