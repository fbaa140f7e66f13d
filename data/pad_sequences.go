package data

import (
	"errors"
	"fmt"
	"reflect"
)

// Side says at which end of a sequence PadSequences works.
type Side string

const (
	Pre  Side = "pre"  // the beginning; the zero value "" also means Pre
	Post Side = "post" // the end
)

// PadOption is an option of PadSequences.
type PadOption interface{ applyPad(*padConfig) }

type padConfig struct {
	maxLen              int
	padding, truncating Side
	value               float64
	targets             bool  // of BucketBySequenceLength
	inputs              []int // of BucketBySequenceLength: which are sequences; nil: all
}

type padOption func(*padConfig)

func (f padOption) applyPad(c *padConfig) { f(c) }

// MaxLen sets the common length; the default is the length of the longest sequence.
func MaxLen(n int) PadOption { return padOption(func(c *padConfig) { c.maxLen = n }) }

// Padding says where padding is put before sequences that are too short; the default is Pre.
func Padding(side Side) PadOption { return padOption(func(c *padConfig) { c.padding = side }) }

// Truncating says from which end of sequences that are too long values are removed; the default is Pre.
func Truncating(side Side) PadOption { return padOption(func(c *padConfig) { c.truncating = side }) }

// PadValue sets the value to pad with; the default is 0.
func PadValue(v float64) PadOption { return padOption(func(c *padConfig) { c.value = v }) }

// PadSequences pads or truncates sequences to one length: the result has shape (len(sequences), MaxLen). Shorter
// sequences are padded, longer ones cut. Integers give int32, Keras's default; float32 and float64 keep their type.
//
// This is Keras's behaviour, except that an integer that does not fit int32 is an error.
func PadSequences[T Number](sequences [][]T, options ...PadOption) (Array, error) {
	var c padConfig
	for _, o := range options {
		if o != nil {
			o.applyPad(&c)
		}
	}
	if err := c.check(len(sequences)); err != nil {
		return Array{}, fmt.Errorf("data: PadSequences: %w", err)
	}
	length := c.maxLen
	if length == 0 {
		for _, s := range sequences {
			length = max(length, len(s))
		}
	}
	if length == 0 {
		return Array{}, fmt.Errorf("data: PadSequences: all %d sequences are empty; give MaxLen", len(sequences))
	}
	switch reflect.TypeFor[T]().Kind() {
	case reflect.Float32:
		return pad(sequences, length, &c, func(v T) (float32, bool) { return float32(v), true })
	case reflect.Float64:
		return pad(sequences, length, &c, func(v T) (float64, bool) { return float64(v), true })
	}
	return pad(sequences, length, &c, func(v T) (int32, bool) { return int32(v), T(int32(v)) == v && (v < 0) == (int32(v) < 0) })
}

func (c *padConfig) check(sequences int) error {
	switch {
	case sequences == 0:
		return errors.New("no sequences; expected at least one")
	case c.targets || c.inputs != nil:
		return errors.New("PadTargets and PadInputs are for Pipeline.BucketBySequenceLength")
	case c.maxLen < 0:
		return fmt.Errorf("MaxLen is %d; expected at least 1", c.maxLen)
	}
	for i, side := range []*Side{&c.padding, &c.truncating} {
		switch *side {
		case "":
			*side = Pre
		case Pre, Post:
		default:
			return fmt.Errorf("%s is %q; expected %q or %q", [...]string{"Padding", "Truncating"}[i], *side, Pre, Post)
		}
	}
	return nil
}

func pad[T Number, R int32 | float32 | float64](sequences [][]T, length int, c *padConfig, convert func(T) (R, bool)) (Array, error) {
	n, ok := volume([]int{len(sequences), length}, 8)
	if !ok {
		return Array{}, fmt.Errorf("data: PadSequences: %d sequences of length %d are too large for memory", len(sequences), length)
	}
	out := make([]R, n)
	for i := range out {
		out[i] = R(c.value)
	}
	for i, s := range sequences {
		if extra := len(s) - length; extra > 0 && c.truncating == Pre {
			s = s[extra:]
		} else if extra > 0 {
			s = s[:length]
		}
		row := out[i*length : (i+1)*length]
		if c.padding == Pre {
			row = row[length-len(s):]
		}
		for j, v := range s {
			if row[j], ok = convert(v); !ok {
				return Array{}, fmt.Errorf("data: PadSequences: sequence %d holds %v, which does not fit int32; use float64 sequences", i, v)
			}
		}
	}
	return wrap(out, len(sequences), length), nil
}
