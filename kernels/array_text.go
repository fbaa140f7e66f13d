package kernels

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/kernels/ir"
)

// TextArray makes an array of strings of the given shape (default: a vector). An array of text is an array of bytes
// (uint8) with one more axis, the last: the UTF-8 of each string, padded with zeros to the length of the longest, as in
// NumPy's type S. So texts are batched and shuffled like any array, and models with text inputs accept them. A string
// must not end in a zero byte. [Array.Strings] reads them.
func TextArray(values []string, shape ...int) (Array, error) {
	if shape == nil {
		shape = []int{len(values)}
	}
	width := 1
	if n := ir.MulLengths(shape...); slices.ContainsFunc(shape, func(length int) bool { return length < 0 }) || n != len(values) || n == 0 {
		return Array{}, fmt.Errorf("received %d strings for the shape %v; expected as many as that has places, and at least one", len(values), shape)
	}
	for i, s := range values {
		if strings.HasSuffix(s, "\x00") {
			return Array{}, fmt.Errorf("string %d ends in a zero byte, which marks the end of a text; cut it off", i)
		}
		width = max(width, len(s))
	}
	full := append(slices.Clone(ir.Shape(shape)), width)
	if ir.MulLengths(full...) > ir.MaxElements {
		return Array{}, fmt.Errorf("%d strings of up to %d bytes are too large for memory", len(values), width)
	}
	a := NewArray(ir.Type{DType: ir.Uint8, Shape: full})
	for i, s := range values {
		copy(a.Data[i*width:], s)
	}
	return a, nil
}

// Strings returns the strings of an array of text, row-major; the axes of Shape except the last give their arrangement.
// See [TextArray].
func (a Array) Strings() ([]string, error) {
	if err := a.Check(); err != nil {
		return nil, fmt.Errorf("kernels: Strings: %w", err)
	}
	if a.Type.DType != ir.Uint8 || a.Rank() == 0 {
		return nil, fmt.Errorf("kernels: Strings: received an array of %v of shape %v; expected an array of text, which is one of bytes (uint8) with the characters on the last axis", a.Type.DType, a.Shape())
	}
	width := a.Type.Shape[a.Rank()-1]
	var values []string
	for at := 0; at+width <= len(a.Data) && width > 0; at += width {
		values = append(values, strings.TrimRight(string(a.Data[at:at+width]), "\x00"))
	}
	return values, nil
}
