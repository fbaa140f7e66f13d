package layers

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// StringLookup maps words to indices: the position of each in a vocabulary, after the special tokens.
//
//	number  0                          MaskToken, where there is one and OutputMode is "int"
//	        next NumOOVIndices         words that the vocabulary does not have; of several by their hash (FarmHash, or SipHash with Salt)
//	        then                       the vocabulary
//
// The vocabulary is that of the field, of [StringLookup.SetVocabulary], or that of [StringLookup.Adapt]. OutputMode
// "int" gives numbers; "one_hot", "multi_hot" and "count" write them as rows, see [CategoryEncoding]; "tf_idf"
// multiplies counts by a weight for each word. With Invert it maps numbers to words.
//
// The layer works on the host ([HostLayer]): in a model it must come right after an input of strings.
//
// Input shape: any, strings. Output shape: that of the input, int64; with the other modes that of CategoryEncoding,
// int64, and with "tf_idf" float32.
type StringLookup struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; has no effect
	Frozen bool   `keras:"trainable,not"` // has no effect

	MaxTokens      int        `keras:"max_tokens,null"`           // size of the vocabulary with special tokens; 0 is no limit
	NumOOVIndices  *int       `keras:"num_oov_indices,default=1"` // numbers for unknown words; nil is 1
	MaskToken      *string    `keras:"mask_token"`                // word that gets number 0; nil is none
	OOVToken       *string    `keras:"oov_token"`                 // stands for unknown words; nil is "[UNK]"
	Vocabulary     []string   `keras:"vocabulary,null"`           // nil: see Adapt and SetVocabulary
	IDFWeights     []float64  `keras:"idf_weights,null"`          // of Vocabulary, for "tf_idf"
	Invert         bool       `keras:"invert"`                    // numbers become words
	OutputMode     OutputMode `keras:"output_mode,default=int"`   // see above; "" is "int"
	PadToMaxTokens bool       `keras:"pad_to_max_tokens"`         // rows have MaxTokens entries
	Encoding       string     `keras:"encoding,default=utf-8"`    // "utf-8", the only one
	Salt           []int      `keras:"salt,null"`                 // one or two numbers for SipHash; nil is FarmHash

	learned[string]
}

func (l *StringLookup) lookup() *lookup[string] {
	k := &lookup[string]{
		maxTokens: l.MaxTokens, oov: 1, mask: l.MaskToken, unknown: "[UNK]", fixed: l.Vocabulary, fixedIDF: l.IDFWeights, invert: l.Invert,
		mode: outputMode(l.OutputMode, IntMode), padToMax: l.PadToMaxTokens, describe: strconv.Quote, frozenDepth: l.entries,
	}
	if l.NumOOVIndices != nil {
		k.oov = *l.NumOOVIndices
	}
	if l.OOVToken != nil {
		k.unknown = *l.OOVToken
	}
	k.oovBucket = func(s string) int64 { return bucket(s, k.oov, l.Salt) }
	return k
}

// ready returns the settings and the vocabulary, which is nil if there is none yet.
func (l *StringLookup) ready() (*lookup[string], *table[string], error) {
	k := l.lookup()
	if err := k.check(); err != nil {
		return nil, nil, err
	}
	if err := checkSalt(l.Salt); err != nil {
		return nil, nil, err
	}
	if l.table == nil && l.Vocabulary != nil {
		t, err := k.make(l.Vocabulary, l.IDFWeights)
		if err != nil {
			return nil, nil, err
		}
		l.table = t
	}
	return k, l.table, nil
}

func checkSalt(salt []int) error {
	if salt != nil && len(salt) != 1 && len(salt) != 2 {
		return fmt.Errorf("Salt must have one or two numbers, received %v; leave it nil for none", salt)
	}
	return nil
}

// Transform looks up words, or numbers with Invert.
func (l *StringLookup) Transform(inputs ...HostArray) (HostArray, error) {
	out, err := l.transform(inputs)
	if err != nil {
		return HostArray{}, fmt.Errorf("layers: %s: %w", Name(l), err)
	}
	return out, nil
}

func (l *StringLookup) transform(inputs []HostArray) (HostArray, error) {
	x, err := single(inputs)
	if err != nil {
		return HostArray{}, err
	}
	k, t, err := l.ready()
	if err != nil {
		return HostArray{}, err
	}
	switch {
	case l.Invert && (len(x.Strings) > 0 || len(x.Floats) > 0):
		return HostArray{}, fmt.Errorf("takes whole numbers with Invert")
	case !l.Invert && (len(x.Ints) > 0 || len(x.Floats) > 0):
		return HostArray{}, fmt.Errorf("takes strings, received numbers; use IntegerLookup for those")
	case t == nil:
		return HostArray{}, errNoVocabulary
	case l.Invert:
		return HostStrings(invert(k, t, x.Ints), x.Shape...), nil
	}
	numbers, err := k.numbers(t, x.Strings)
	if err != nil {
		return HostArray{}, err
	}
	return encodeLookup(k, t, numbers, x.Shape)
}

// encodeLookup writes numbers in the form of the output mode.
func encodeLookup[T string | int64](k *lookup[T], t *table[T], numbers []int64, shape []int) (HostArray, error) {
	mode := k.mode
	if mode == TFIDFMode {
		mode = CountMode
		if t.idf == nil {
			return HostArray{}, fmt.Errorf("OutputMode %q needs a vocabulary with weights; set it, or call Adapt first", TFIDFMode)
		}
	}
	y, err := encodeHost(numbers, shape, mode, k.depth(t))
	if err == nil && k.mode == TFIDFMode {
		y = y.weighed(t.idf)
	}
	return y, err
}

// invert returns the tokens of numbers.
func invert[T string | int64](k *lookup[T], t *table[T], numbers []int64) []T {
	all := k.vocabulary(t, true)
	out := make([]T, len(numbers))
	for i, n := range numbers {
		out[i] = k.unknown
		if n >= 0 && n < int64(len(all)) {
			out[i] = all[n]
		}
	}
	return out
}

// HostType returns the type of the result.
func (l *StringLookup) HostType(inputs ...ir.Type) (ir.Type, error) {
	if err := oneInput(inputs, !l.Invert); err != nil {
		return ir.Type{}, err
	}
	x := inputs[0]
	k, t, err := l.ready()
	if err != nil {
		return ir.Type{}, err
	}
	if l.Invert {
		return ir.Type{Shape: x.Shape.Clone()}, nil
	}
	return encodedType(x.Shape, k.mode, k.depth(t), lookupRows(k.mode))
}

// Adapt learns the vocabulary of some data, replacing what was learned before: all distinct words, the most frequent
// ones first, equally frequent ones in decreasing order, at most MaxTokens including the special tokens. For "tf_idf"
// it learns the weight log(1 + N/(1+n)) of each word that occurs in n of N examples; an example is one entry of axis 0.
func (l *StringLookup) Adapt(batches ...HostArray) error {
	return l.AdaptBatches(each(columns(batches)))
}

// columns adds a second axis to batches with one axis, so that each entry is an example.
func columns(batches []HostArray) []HostArray {
	out := slices.Clone(batches)
	for i, b := range out {
		if len(b.Shape) == 1 {
			out[i].Shape = []int{b.Shape[0], 1}
		}
	}
	return out
}

// AdaptBatches is Adapt for data in several batches. As in Keras, a batch of shape (n), without a second axis, is one
// example of n words.
func (l *StringLookup) AdaptBatches(batches iter.Seq2[HostArray, error]) error {
	var c counter[string]
	for b, err := range batches {
		if err == nil {
			err = b.check()
		}
		if err != nil {
			return fmt.Errorf("layers: %s: Adapt: %w", Name(l), err)
		}
		if len(b.Ints) > 0 || len(b.Floats) > 0 {
			return fmt.Errorf("layers: %s: Adapt: takes strings, received numbers", Name(l))
		}
		size := len(b.Strings)
		if len(b.Shape) > 1 {
			size = product(b.Shape[1:])
		}
		for i := 0; i+size <= len(b.Strings) && size > 0; i += size { //dim:known the shapes of data
			c.add(b.Strings[i : i+size]) //dim:known
		}
	}
	k, _, err := l.ready()
	return l.adopt(l, k, &c, l.Vocabulary != nil, err)
}

// SetVocabulary gives the layer its words, with or without the special ones at the beginning, and for "tf_idf" also
// their weights.
func (l *StringLookup) SetVocabulary(words []string, idfWeights ...float64) error {
	return l.set(l, l.lookup(), words, idfWeights)
}

// GetVocabulary returns the words in the order of their numbers, with or without the special ones.
func (l *StringLookup) GetVocabulary(special bool) []string {
	k, t, err := l.ready()
	if err != nil {
		return nil
	}
	return k.vocabulary(t, special)
}

// VocabularySize returns the number of words, including the special ones.
func (l *StringLookup) VocabularySize() int {
	_, t, _ := l.ready()
	return l.lookup().size(t)
}

// GetIDFWeights returns the weight of each number for "tf_idf"; nil in other modes. A Keras file holds them as
// "idf_weights".
func (l *StringLookup) GetIDFWeights() []float64 {
	_, t, _ := l.ready()
	return t.weights()
}

// Assets returns the file with the vocabulary; nil if the configuration holds it, which is so for the vocabulary of the
// field, and for one that lines of text cannot represent.
func (l *StringLookup) Assets() (map[string][]byte, error) {
	if l.Vocabulary != nil || l.table == nil || !fitsLines(l.GetVocabulary(true)) {
		return nil, nil
	}
	return map[string][]byte{vocabularyName: vocabularyFile(l.GetVocabulary(true))}, nil
}

// LoadAssets reads the vocabulary. With "tf_idf" the vocabulary also needs its weights, which the weights file holds;
// see LoadArrays.
func (l *StringLookup) LoadAssets(files map[string][]byte) error {
	content, ok := files[vocabularyName]
	if !ok || l.Vocabulary != nil {
		return nil
	}
	return l.load(l, l.lookup(), vocabularyLines(content))
}

// Arrays returns the weights of "tf_idf"; nil in other modes.
func (l *StringLookup) Arrays() map[string][]float64 { return idfArrays(l.GetIDFWeights()) }

// LoadArrays takes the weights of "tf_idf" from a weights file. They belong to the vocabulary that LoadAssets reads, or
// to the current one if there is one.
func (l *StringLookup) LoadArrays(arrays map[string][]float64) error {
	l.stored = arrays[idfName]
	k, t, _ := l.ready() // where there is an error, there is no table
	return l.loadIDF(l, k, t)
}

// Forward fails, because the layer cannot be part of a program.
func (l *StringLookup) Forward(c *Context, _ []*ops.Tensor) []*ops.Tensor { return ForwardHost(c) }

// ForwardHost is the Forward of a [HostLayer]: an error, because its result is not a tensor of a program.
func ForwardHost(c *Context) []*ops.Tensor {
	needContext(c, "ForwardHost")
	ops.Failf(c.Graph(), "works on the host and cannot be part of a program; put it right behind an input of the model, or call its Transform method on the data")
	return nil
}

// MigrateConfig keeps the size of the vocabulary, which determines shapes before the vocabulary is read.
func (l *StringLookup) MigrateConfig(keys map[string]json.RawMessage) error {
	return migrateLookup(keys, &l.entries)
}

func migrateLookup(keys map[string]json.RawMessage, frozen *int) error {
	if raw, ok := keys["vocabulary_size"]; ok {
		delete(keys, "vocabulary_size")
		if err := json.Unmarshal(raw, frozen); err != nil || *frozen < 0 {
			return fmt.Errorf("key %q: expected a number, received %.40s", "vocabulary_size", raw)
		}
	}
	return nil
}

// AmendConfig writes defaults and the size of the vocabulary.
func (l *StringLookup) AmendConfig(keys map[string]any) error {
	k, t, err := l.ready()
	if err != nil {
		return err
	}
	keys["oov_token"] = k.unknown
	l.amendVocabulary(keys)
	amendLookup(k, t, keys)
	return nil
}

// amendVocabulary writes a learned vocabulary that its file cannot hold.
func (l *StringLookup) amendVocabulary(keys map[string]any) {
	words := l.GetVocabulary(true)
	if l.Vocabulary != nil || l.table == nil || fitsLines(words) {
		return
	}
	keys["vocabulary"] = words
	if idf := l.table.idf; len(idf) >= len(words) {
		keys["idf_weights"] = idf[:len(words)]
	}
}

func amendLookup[T string | int64](k *lookup[T], t *table[T], keys map[string]any) {
	keys["num_oov_indices"], keys["oov_method"], keys["sparse"], keys["vocabulary_size"] = int64(k.oov), "floormod", false, nil
	if k.maxTokens == 0 {
		keys["max_tokens"] = nil
	}
	if t != nil {
		keys["vocabulary_size"] = int64(k.size(t))
	} else if k.frozenDepth > 0 {
		keys["vocabulary_size"] = int64(k.frozenDepth)
	}
}

// IgnoredConfig adds options for sparse results and for integers.
func (l *StringLookup) IgnoredConfig() []string {
	return append(l.Base.IgnoredConfig(), "sparse", "oov_method", "vocabulary_dtype")
}

func init() { Register[StringLookup]() }
