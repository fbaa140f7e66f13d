package layers

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// IntegerLookup maps integers to consecutive indices: the position of each in a vocabulary, after the special tokens.
//
//	number  0                          MaskToken, where there is one and OutputMode is "int"
//	        next NumOOVIndices         numbers that the vocabulary does not have; of several x mod NumOOVIndices, or by OOVMethod "farmhash"
//	                                   the hash of the number's decimal digits (FarmHash, or SipHash with Salt) mod NumOOVIndices
//	        then                       the vocabulary
//
// The vocabulary is that of the field, of [IntegerLookup.SetVocabulary], or that of [IntegerLookup.Adapt]. OutputMode
// "int" gives numbers; "one_hot", "multi_hot" and "count" write them as rows, see [CategoryEncoding]; "tf_idf"
// multiplies counts by a weight for each number. With Invert it maps indices back to numbers of the vocabulary.
//
// The layer is part of the program, unless it hashes, which it does on the host ([AsHostLayer]). It finds a number
// among V with log2(V) comparisons. With NumOOVIndices 0 an unknown number becomes -1, which the next layer that takes
// indices reports as an error; in rows it sets nothing.
//
// Input shape: any, integers. Output shape: that of the input, int64; with the other modes that of CategoryEncoding,
// int64, and with "tf_idf" float32.
type IntegerLookup struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	MaxTokens      int        `keras:"max_tokens,null"`           // size of the vocabulary with special tokens; 0 is no limit
	NumOOVIndices  *int       `keras:"num_oov_indices,default=1"` // indices for unknown numbers; nil is 1
	MaskToken      *int       `keras:"mask_token"`                // number that gets index 0; nil is none
	OOVToken       *int       `keras:"oov_token"`                 // stands for unknown numbers; nil is -1
	Vocabulary     []int      `keras:"vocabulary,null"`           // nil: see Adapt and SetVocabulary
	IDFWeights     []float64  `keras:"idf_weights,null"`          // of Vocabulary, for "tf_idf"
	Invert         bool       `keras:"invert"`                    // places become numbers
	OutputMode     OutputMode `keras:"output_mode,default=int"`   // see above; "" is "int"
	PadToMaxTokens bool       `keras:"pad_to_max_tokens"`         // rows have MaxTokens entries

	OOVMethod string `keras:"oov_method,default=floormod"` // "floormod" or "farmhash"; "" is "floormod"
	Salt      []int  `keras:"salt,null"`                   // one or two numbers for SipHash, with "farmhash"; nil is FarmHash

	learned[int64]
}

func (l *IntegerLookup) lookup() *lookup[int64] {
	k := &lookup[int64]{
		maxTokens: l.MaxTokens, oov: 1, unknown: -1, fixedIDF: l.IDFWeights, invert: l.Invert, mode: outputMode(l.OutputMode, IntMode),
		padToMax: l.PadToMaxTokens, describe: func(n int64) string { return fmt.Sprint(n) }, frozenDepth: l.entries,
	}
	if l.MaskToken != nil {
		k.mask = new(int64(*l.MaskToken))
	}
	if l.NumOOVIndices != nil {
		k.oov = *l.NumOOVIndices
	}
	if l.OOVToken != nil {
		k.unknown = int64(*l.OOVToken)
	}
	k.oovBucket = func(n int64) int64 { return bucket(strconv.FormatInt(n, 10), k.oov, l.Salt) }
	return k
}

// ready returns the settings and the vocabulary, which is nil if there is none yet.
func (l *IntegerLookup) ready() (*lookup[int64], *table[int64], error) {
	k := l.lookup()
	if err := cmp.Or(k.check(), l.checkMethod(), checkSalt(l.Salt)); err != nil {
		return nil, nil, err
	}
	if l.table == nil && l.Vocabulary != nil {
		t, err := k.make(wide(l.Vocabulary), l.IDFWeights)
		if err != nil {
			return nil, nil, err
		}
		l.table = t
	}
	return k, l.table, nil
}

func (l *IntegerLookup) checkMethod() error {
	switch l.OOVMethod {
	case "", "floormod":
		if l.Salt != nil {
			return fmt.Errorf("Salt is used with OOVMethod \"farmhash\" only, received %v", l.Salt)
		}
	case "farmhash":
	default:
		return fmt.Errorf("unknown OOVMethod %q; use \"floormod\" or \"farmhash\"", l.OOVMethod)
	}
	return nil
}

// hashes reports whether the layer hashes numbers, which a program cannot do.
func (l *IntegerLookup) hashes() bool {
	return l.OOVMethod == "farmhash" && l.NumOOVIndices != nil && *l.NumOOVIndices > 1 && !l.Invert
}

// hashingLookup is an IntegerLookup that works on the host.
type hashingLookup struct{ *IntegerLookup }

// Transform looks numbers up.
func (l hashingLookup) Transform(inputs ...HostArray) (HostArray, error) {
	out, err := l.transform(inputs)
	if err != nil {
		return HostArray{}, fmt.Errorf("layers: %s: %w", Name(l.IntegerLookup), err)
	}
	return out, nil
}

func (l hashingLookup) transform(inputs []HostArray) (HostArray, error) {
	x, err := single(inputs)
	if err != nil {
		return HostArray{}, err
	}
	k, t, err := l.ready()
	switch {
	case err != nil:
		return HostArray{}, err
	case len(x.Strings) > 0:
		return HostArray{}, fmt.Errorf("takes whole numbers, received strings; use StringLookup for those")
	case t == nil:
		return HostArray{}, errNoVocabulary
	}
	values := slices.Clone(x.Ints)
	for _, f := range x.Floats {
		values = append(values, int64(f))
	}
	numbers, err := k.numbers(t, values)
	if err != nil {
		return HostArray{}, err
	}
	return encodeLookup(k, t, numbers, x.Shape)
}

// HostType returns the type of the result.
func (l hashingLookup) HostType(inputs ...ir.Type) (ir.Type, error) {
	if err := oneInput(inputs, false); err != nil {
		return ir.Type{}, err
	}
	k, t, err := l.ready()
	if err != nil {
		return ir.Type{}, err
	}
	return encodedType(inputs[0].Shape, k.mode, k.depth(t), lookupRows(k.mode))
}

func wide(values []int) []int64 {
	out := make([]int64, len(values))
	for i, v := range values {
		out[i] = int64(v)
	}
	return out
}

// Forward computes the layer.
func (l *IntegerLookup) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	k, t, err := l.ready()
	if err != nil {
		ops.Fail(c.Graph(), err)
	}
	if l.hashes() {
		return ForwardHost(c)
	}
	x := one(c, in)
	if x.DType() != ir.Int64 {
		x = ops.Cast(x, ir.Int64)
	}
	if t == nil && !c.Probing {
		ops.Fail(c.Graph(), errNoVocabulary)
	}
	if k.invert {
		return []*ops.Tensor{invertNumbers(k, t, x)}
	}
	y := lookUpNumbers(k, t, x)
	if k.mode == IntMode {
		return []*ops.Tensor{y}
	}
	depth := k.depth(t)
	if depth < 1 {
		ops.Failf(c.Graph(), "OutputMode %q needs to know the vocabulary; set it, or call Adapt before the layer is used", k.mode)
	}
	if k.mode != TFIDFMode {
		return []*ops.Tensor{encodeCategories(y, nil, k.mode, depth, ir.Int64)}
	}
	counts := encodeCategories(y, nil, CountMode, depth, ir.Float32)
	switch {
	case t != nil && t.idf != nil:
		counts = ops.Multiply(counts, ops.Constant(x, ir.Float32, ir.Shape{depth}, t.idf))
	case !c.Probing: // else the shape is asked for alone, and a table of a vocabulary that is not there could be of any size
		ops.Failf(c.Graph(), "OutputMode %q needs a vocabulary with weights; set it, or call Adapt first", TFIDFMode)
	}
	return []*ops.Tensor{counts}
}

// lookUpNumbers returns the positions of numbers in a vocabulary, or -1 for unknown numbers.
func lookUpNumbers(k *lookup[int64], t *table[int64], x *ops.Tensor) *ops.Tensor {
	place := ops.FullLike(x, -1)
	switch {
	case k.oov == 1:
		place = ops.FullLike(x, float64(k.firstBucket()))
	case k.oov > 1:
		place = ops.AddScalar(ops.Mod(x, ops.Scalar(x, float64(k.oov))), float64(k.firstBucket()))
	}
	if t != nil && len(t.tokens) > 0 {
		found, at := searchNumbers(x, t)
		place = ops.Where(found, at, place)
	}
	if k.mask != nil {
		to := 0.0
		if k.mode != IntMode {
			to = -1
		}
		place = ops.Where(ops.Equal(x, integers(x, []int64{*k.mask})), ops.Scalar(x, to), place)
	}
	return place
}

// searchNumbers finds x among the tokens of a table, halving the range in each step: whether it is there, and its
// number.
func searchNumbers(x *ops.Tensor, t *table[int64]) (found, number *ops.Tensor) {
	sorted := slices.Sorted(slices.Values(t.tokens))
	n := len(sorted)
	places := make([]float64, n)
	for i, token := range sorted {
		places[i] = float64(t.index[token])
	}
	keys := integers(x, sorted)
	// at is the number of tokens known to be below x or equal to it.
	at := ops.Zeros(x, ir.Int32, x.Shape()...)
	for step := 1 << (bits.Len(uint(n)) - 1); step > 0; step /= 2 {
		next := ops.AddScalar(at, float64(step))
		inside := ops.CompareScalar(ir.Le, next, float64(n))
		key := ops.Take(keys, ops.SubtractScalar(ops.MinimumScalar(next, float64(n)), 1), 0)
		at = ops.Where(ops.LogicalAnd(inside, ops.LessEqual(key, x)), next, at)
	}
	last := ops.MaximumScalar(ops.SubtractScalar(at, 1), 0)
	return ops.Equal(ops.Take(keys, last, 0), x), ops.Take(ops.Constant(x, ir.Int64, ir.Shape{n}, places), last, 0)
}

// integers returns a vector of int64 numbers of any magnitude in a program. Constants are floats, which are exact only
// up to 2^53.
func integers(x *ops.Tensor, values []int64) *ops.Tensor {
	const half = 32
	low, high, large := make([]float64, len(values)), make([]float64, len(values)), false
	for i, v := range values {
		high[i], low[i] = float64(v>>half), float64(v&(1<<half-1))
		large = large || v > 1<<53 || v < -1<<53
	}
	shape := ir.Shape{len(values)}
	if !large {
		whole := make([]float64, len(values))
		for i, v := range values {
			whole[i] = float64(v)
		}
		return ops.Constant(x, ir.Int64, shape, whole)
	}
	top := ops.LeftShift(ops.Constant(x, ir.Int64, shape, high), ops.Full(x, ir.Int64, half, len(values)))
	return ops.Add(top, ops.Constant(x, ir.Int64, shape, low))
}

// invertNumbers returns the tokens at positions, and the OOV token for positions that have none.
func invertNumbers(k *lookup[int64], t *table[int64], x *ops.Tensor) *ops.Tensor {
	all := k.vocabulary(t, true)
	if len(all) == 0 {
		return ops.FullLike(x, float64(k.unknown))
	}
	n := float64(len(all))
	inside := ops.LogicalAnd(ops.CompareScalar(ir.Ge, x, 0), ops.CompareScalar(ir.Lt, x, n))
	token := ops.Take(integers(x, all), ops.Clip(x, 0, n-1), 0)
	return ops.Where(inside, token, ops.Reshape(integers(x, []int64{k.unknown})))
}

// keepsInputType: numbers given as floats must not lose digits before they are truncated to integers.
func (l *IntegerLookup) keepsInputType() {}

// Adapt learns the vocabulary of some data, replacing what was learned before: all distinct numbers, the most frequent
// first, equally frequent ones in decreasing order, at most MaxTokens including the special tokens. For "tf_idf" it
// learns the weight log(1 + N/(1+n)) of each number that occurs in n of N examples; an example is one entry of axis 0.
// A model that has run keeps the vocabulary that it was compiled with, until it is compiled again.
func (l *IntegerLookup) Adapt(batches ...kernels.Array) error {
	columns := slices.Clone(batches)
	for i, b := range columns {
		if len(b.Type.Shape) == 1 {
			columns[i].Type.Shape = append(b.Type.Shape.Clone(), 1)
		}
	}
	return l.AdaptBatches(each(columns))
}

// AdaptBatches is Adapt for data in several batches. As in Keras, a batch of shape (n), without a second axis, is one
// example of n numbers.
func (l *IntegerLookup) AdaptBatches(batches iter.Seq2[kernels.Array, error]) error {
	var c counter[int64]
	for b, failed := range batches {
		if failed != nil {
			return fmt.Errorf("layers: %s: Adapt: %w", Name(l), failed)
		}
		shape := b.Type.Shape
		if n := shape.Size(); n > 0 { //dim:known the shapes of data
			rows := 1
			if len(shape) > 1 {
				rows = shape[0]
			}
			example := make([]int64, n/rows) //dim:known
			for i := range n {               //dim:known
				if example[i%len(example)] = int64(b.Element(i)); i%len(example) == len(example)-1 {
					c.add(example)
				}
			}
		}
	}
	k, _, err := l.ready()
	return l.adopt(l, k, &c, l.Vocabulary != nil, err)
}

// SetVocabulary gives the layer its numbers, with or without the special ones at the beginning, and for "tf_idf" also
// their weights.
func (l *IntegerLookup) SetVocabulary(numbers []int, idfWeights ...float64) error {
	return l.set(l, l.lookup(), wide(numbers), idfWeights)
}

// GetVocabulary returns the numbers in the order of their indices, with or without the special ones.
func (l *IntegerLookup) GetVocabulary(special bool) []int {
	k, t, err := l.ready()
	if err != nil {
		return nil
	}
	var out []int
	for _, v := range k.vocabulary(t, special) {
		out = append(out, int(v))
	}
	return out
}

// VocabularySize returns the number of entries, including the special ones.
func (l *IntegerLookup) VocabularySize() int {
	_, t, _ := l.ready()
	return l.lookup().size(t)
}

// GetIDFWeights returns the weight of each index for "tf_idf"; nil in other modes. A Keras file holds them as
// "idf_weights".
func (l *IntegerLookup) GetIDFWeights() []float64 {
	_, t, _ := l.ready()
	return t.weights()
}

// Assets returns the file with the vocabulary, or nil if the vocabulary is that of the field.
func (l *IntegerLookup) Assets() (map[string][]byte, error) {
	if l.Vocabulary != nil || l.table == nil {
		return nil, nil
	}
	return map[string][]byte{vocabularyName: vocabularyFile(l.GetVocabulary(true))}, nil
}

// LoadAssets reads the vocabulary. With "tf_idf" the vocabulary also needs its weights, which the weights file holds;
// see LoadArrays.
func (l *IntegerLookup) LoadAssets(files map[string][]byte) error {
	content, ok := files[vocabularyName]
	if !ok || l.Vocabulary != nil {
		return nil
	}
	var numbers []int
	for i, line := range vocabularyLines(content) {
		n, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			return fmt.Errorf("layers: %s: line %d of %s: expected a whole number, received %.40q", Name(l), i+1, vocabularyName, line)
		}
		numbers = append(numbers, n)
	}
	return l.load(l, l.lookup(), wide(numbers))
}

// Arrays returns the weights of "tf_idf"; nil in other modes.
func (l *IntegerLookup) Arrays() map[string][]float64 { return idfArrays(l.GetIDFWeights()) }

// LoadArrays takes the weights of "tf_idf" from a weights file. They belong to the vocabulary that LoadAssets reads, or
// to the current one if there is one.
func (l *IntegerLookup) LoadArrays(arrays map[string][]float64) error {
	l.stored = arrays[idfName]
	k, t, _ := l.ready() // where there is an error, there is no table
	return l.loadIDF(l, k, t)
}

// MigrateConfig keeps the size of the vocabulary, which determines shapes before the vocabulary is read.
func (l *IntegerLookup) MigrateConfig(keys map[string]json.RawMessage) error {
	if raw, ok := keys["salt"]; ok && len(raw) > 0 && raw[0] != '[' && string(raw) != "null" {
		keys["salt"] = json.RawMessage(fmt.Sprintf("[%s]", raw)) // one number
	}
	return migrateLookup(keys, &l.entries)
}

// AmendConfig writes defaults and the size of the vocabulary.
func (l *IntegerLookup) AmendConfig(keys map[string]any) error {
	k, t, err := l.ready()
	if err != nil {
		return err
	}
	keys["oov_token"], keys["vocabulary_dtype"] = k.unknown, "int64"
	amendLookup(k, t, keys)
	if l.OOVMethod != "" {
		keys["oov_method"] = l.OOVMethod
	}
	switch len(l.Salt) {
	case 0:
		keys["salt"] = nil
	case 1:
		keys["salt"] = []any{int64(l.Salt[0]), int64(l.Salt[0])}
	}
	return nil
}

// IgnoredConfig adds options for sparse results, and options that have only one possible value.
func (l *IntegerLookup) IgnoredConfig() []string {
	return append(l.Base.IgnoredConfig(), "sparse", "vocabulary_dtype")
}

func init() { Register[IntegerLookup]() }
