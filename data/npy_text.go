package data

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gokeras/gokeras/kernels/ir"
)

// setText reads the types of strings, such as S5 (five bytes) and U5 (five characters of four bytes); it returns false
// for others.
func (h *npyHeader) setText(code string) (bool, error) {
	kind := code[0]
	if kind != 'S' && kind != 'U' || len(code) > 10 {
		return false, nil
	}
	width, err := strconv.Atoi(code[1:])
	if err != nil || width < 1 {
		return true, fmt.Errorf("element type %q is no type of strings with at least one character", code)
	}
	h.text, h.dtype, h.item = kind, ir.Uint8, width
	if kind == 'U' {
		h.item = 4 * width
	}
	return true, nil
}

// decodeText turns the stored characters into an array of text, see [Text].
func (h *npyHeader) decodeText(raw []byte) Array {
	n := len(raw) / h.item
	texts := make([]string, n)
	for i := range texts {
		texts[i] = h.stringAt(raw[i*h.item : (i+1)*h.item])
	}
	if h.fortran && len(h.shape) > 1 {
		texts = rowMajorTexts(texts, h.shape)
	}
	d, err := packText(texts, h.shape, "the file")
	if err != nil { // cannot be: sizes were checked, and strings end in no zeros
		return wrap(raw, append(append([]int{}, h.shape...), h.item)...)
	}
	return d
}

// stringAt decodes one string, without the zeros that pad it.
func (h *npyHeader) stringAt(raw []byte) string {
	if h.text == 'S' {
		return strings.TrimRight(string(raw), "\x00")
	}
	var order binary.ByteOrder = binary.LittleEndian
	if h.swap == nativeIsLittle {
		order = binary.BigEndian
	}
	out := make([]byte, 0, len(raw)/4)
	for i := 0; i < len(raw); i += 4 {
		r := order.Uint32(raw[i:])
		if r > utf8.MaxRune {
			r = utf8.RuneError
		}
		out = utf8.AppendRune(out, rune(r))
	}
	return strings.TrimRight(string(out), "\x00")
}

// rowMajorTexts reorders elements that are stored with the first axis varying fastest.
func rowMajorTexts(texts []string, shape []int) []string {
	out := make([]string, len(texts))
	index := make([]int, len(shape))
	for i := range out {
		at, step := 0, 1
		for axis, n := range shape {
			at += index[axis] * step
			step *= n
		}
		out[i] = texts[at]
		for axis := len(shape) - 1; axis >= 0; axis-- {
			if index[axis]++; index[axis] < shape[axis] {
				break
			}
			index[axis] = 0
		}
	}
	return out
}
