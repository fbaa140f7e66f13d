package layers

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Hashing assigns words, or integers by their decimal digits, to NumBins bins by a hash, so that no vocabulary is
// needed:
//
//	y = hash(x) mod NumBins
//
// The hash is FarmHash Fingerprint64; with Salt it is SipHash-2-4 with the salt as its key, which makes it hard for
// others to target a bin. With a MaskValue bin 0 is reserved for that value and the others share the rest: y = 1 +
// hash(x) mod (NumBins - 1). Floats are truncated to integers.
//
// OutputMode "int" gives bins; "one_hot", "multi_hot" and "count" write them as rows like [CategoryEncoding].
//
// The layer works on the host ([HostLayer]): in a model it must come right after an input.
//
// Input shape: any. Output shape: that of the input, int64; with the other modes that of CategoryEncoding, float32.
type Hashing struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // type of the result; "" is int64 for bins and float32 for rows
	Frozen bool   `keras:"trainable,not"` // has no effect

	NumBins    int        `keras:"num_bins"`                // required
	MaskValue  any        `keras:"mask_value"`              // a string, or an int for inputs of numbers; nil means none
	Salt       []int      `keras:"salt,null"`               // one or two numbers; nil is FarmHash
	OutputMode OutputMode `keras:"output_mode,default=int"` // see above; "" is "int"
}

func (l *Hashing) check() error {
	if l.NumBins < 1 {
		return fmt.Errorf("NumBins must be at least 1, received %d", l.NumBins)
	}
	switch mode := outputMode(l.OutputMode, IntMode); mode {
	case IntMode, OneHotMode, MultiHotMode, CountMode:
	default:
		return fmt.Errorf("unknown OutputMode %q; use %q, %q, %q or %q", mode, IntMode, OneHotMode, MultiHotMode, CountMode)
	}
	return checkSalt(l.Salt)
}

// masks returns which elements of x equal the MaskValue. Floats are compared before they are truncated.
func (l *Hashing) masks(x HostArray, words []string) func(i int) bool {
	switch v := l.MaskValue.(type) {
	case string:
		return func(i int) bool { return words[i] == v }
	case float64:
		if len(x.Floats) > 0 {
			return func(i int) bool { return x.Floats[i] == v }
		}
		return func(i int) bool { return words[i] == strconv.FormatFloat(v, 'f', -1, 64) }
	default:
		text := fmt.Sprint(v)
		if n, err := strconv.ParseFloat(text, 64); err == nil && len(x.Floats) > 0 {
			return func(i int) bool { return x.Floats[i] == n }
		}
		return func(i int) bool { return words[i] == text }
	}
}

// Transform sorts words or numbers into bins.
func (l *Hashing) Transform(inputs ...HostArray) (HostArray, error) {
	x, err := single(inputs)
	if err == nil {
		err = l.check()
	}
	var y HostArray
	if err == nil {
		y, err = l.transform(x)
	}
	if err != nil {
		return HostArray{}, fmt.Errorf("layers: %s: %w", Name(l), err)
	}
	return y, nil
}

func (l *Hashing) transform(x HostArray) (HostArray, error) {
	bins, first := l.NumBins, int64(0)
	words := x.texts()
	masked := func(int) bool { return false }
	if l.MaskValue != nil && bins > 1 {
		masked = l.masks(x, words)
		bins, first = bins-1, 1
	}
	out := make([]int64, len(words))
	for i, w := range words {
		if !masked(i) {
			out[i] = first + bucket(w, bins, l.Salt)
		}
	}
	shape, mode := x.Shape, outputMode(l.OutputMode, IntMode)
	if n := len(shape); mode == OneHotMode && n > 0 && shape[n-1] == 1 {
		shape = shape[:n-1]
	}
	return hashed(out, shape, mode, l.NumBins, l.DType)
}

// texts returns the elements as strings, numbers by their decimal digits.
func (a HostArray) texts() []string {
	out := a.Strings
	for _, n := range a.Ints {
		out = append(out, strconv.FormatInt(n, 10))
	}
	for _, f := range a.Floats {
		out = append(out, strconv.FormatInt(int64(f), 10))
	}
	return out
}

// HostType returns the type of the result.
func (l *Hashing) HostType(inputs ...ir.Type) (ir.Type, error) {
	if len(inputs) != 1 {
		return ir.Type{}, fmt.Errorf("takes one input, received %d", len(inputs))
	}
	if err := l.check(); err != nil {
		return ir.Type{}, err
	}
	shape, mode := inputs[0].Shape, outputMode(l.OutputMode, IntMode)
	if n := len(shape); mode == OneHotMode && n > 0 && shape[n-1] == 1 {
		shape = shape[:n-1]
	}
	return hashedRows(shape, mode, l.NumBins, l.DType)
}

// Forward fails, because the layer cannot be part of a program.
func (l *Hashing) Forward(c *Context, _ []*ops.Tensor) []*ops.Tensor { return ForwardHost(c) }

// MigrateConfig refuses mask values that are neither words nor numbers, and reads true as 1.
func (l *Hashing) MigrateConfig(keys map[string]json.RawMessage) error {
	if number, ok := map[string]string{"true": "1", "false": "0"}[string(keys["mask_value"])]; ok {
		keys["mask_value"] = json.RawMessage(number)
	}
	if raw, ok := keys["mask_value"]; ok && len(raw) > 0 && (raw[0] == '{' || raw[0] == '[') {
		return fmt.Errorf("key %q: expected a string or a number, received %.40s", "mask_value", raw)
	}
	return nil
}

// AmendConfig writes the type of the results, which Keras requires, and a salt of two numbers.
func (l *Hashing) AmendConfig(keys map[string]any) error {
	keys["sparse"] = false
	if l.DType == "" && outputMode(l.OutputMode, IntMode) == IntMode {
		keys["dtype"] = map[string]any{"module": "keras", "class_name": "DTypePolicy", "config": map[string]any{"name": "int64"}, "registered_name": nil}
	}
	if v, ok := l.MaskValue.(float64); ok && v == math.Trunc(v) && math.Abs(v) < 1<<53 { // as read from a file
		keys["mask_value"] = int64(v)
	}
	if len(l.Salt) == 1 {
		keys["salt"] = []any{int64(l.Salt[0]), int64(l.Salt[0])}
	}
	return nil
}

// IgnoredConfig adds the option for sparse results, which do not exist here.
func (l *Hashing) IgnoredConfig() []string {
	return append(l.Base.IgnoredConfig(), "sparse")
}

func init() { Register[Hashing]() }
