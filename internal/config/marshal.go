package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Marshal writes what Encode and EncodeObject return as JSON, as Python does. A float has a point or an exponent, by
// which Keras tells it from an integer (it refuses a momentum of 0 instead of 0.0), and NaN, Infinity and -Infinity are
// written without quotes.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	err := write(&b, v)
	return b.Bytes(), err
}

func write(b *bytes.Buffer, v any) error {
	switch v := v.(type) {
	case float64:
		b.WriteString(floatText(v, 64))
		return nil
	case float32:
		b.WriteString(floatText(float64(v), 32))
		return nil
	case []any:
		b.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := write(b, e); err != nil {
				return fmt.Errorf("element %d: %w", i, err)
			}
		}
		b.WriteByte(']')
		return nil
	case [][]any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = e
		}
		return write(b, list)
	case map[string]any:
		b.WriteByte('{')
		for i, key := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				b.WriteByte(',')
			}
			name, err := json.Marshal(key)
			if err != nil {
				return err
			}
			b.Write(name)
			b.WriteByte(':')
			if err := write(b, v[key]); err != nil {
				return fmt.Errorf("key %q: %w", key, err)
			}
		}
		b.WriteByte('}')
		return nil
	}
	text, err := json.Marshal(v)
	b.Write(text)
	return err
}

func floatText(x float64, bits int) string {
	switch {
	case math.IsNaN(x):
		return "NaN"
	case math.IsInf(x, 1):
		return "Infinity"
	case math.IsInf(x, -1):
		return "-Infinity"
	}
	text := strconv.FormatFloat(x, 'g', -1, bits)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return text
}
