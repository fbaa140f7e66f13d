package safetensors

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Data writes the bytes of one tensor, row-major and little-endian, to w. It is called once for each WriteTo, when
// these bytes are due, and must write exactly as many as the tensor's shape and type say.
type Data func(w io.Writer) error

// Bytes is the Data of a slice, which is not copied.
func Bytes(b []byte) Data {
	return func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	}
}

// Writer collects tensors and then writes a file. Its zero value is ready to use.
type Writer struct {
	tensors  map[string]*entry
	metadata map[string]string
}

type entry struct {
	name  string
	dtype DType
	shape []int
	size  uint64
	data  Data
}

// SetMetadata adds a text to the file's metadata.
func (w *Writer) SetMetadata(key, text string) error {
	if !utf8.ValidString(key) || !utf8.ValidString(text) {
		return fmt.Errorf("safetensors: metadata %q is not UTF-8", clip(key))
	}
	if w.metadata == nil {
		w.metadata = map[string]string{}
	}
	w.metadata[key] = text
	return nil
}

// Add adds a tensor. shape nil or empty is a scalar.
func (w *Writer) Add(name string, d DType, shape []int, data Data) error {
	size, err := byteSize(shape, d)
	_, taken := w.tensors[name]
	switch {
	case d.Bits() == 0:
		err = fmt.Errorf("dtype %q, expected one of %v", d, order)
	case err != nil:
	case len(shape) > maxRank:
		err = fmt.Errorf("a shape of %d axes, at most %d", len(shape), maxRank)
	case name == metadataKey:
		err = errors.New("that name is kept for metadata")
	case !utf8.ValidString(name):
		err = errors.New("the name is not UTF-8")
	case taken:
		err = errors.New("there is a tensor of that name already")
	}
	if err != nil {
		return fmt.Errorf("safetensors: tensor %q: %w", clip(name), err)
	}
	if w.tensors == nil {
		w.tensors = map[string]*entry{}
	}
	w.tensors[name] = &entry{name, d, slices.Clone(shape), size, data}
	return nil
}

// list returns the tensors in the order of the file: by decreasing alignment of their type, then by name.
func (w *Writer) list() []*entry {
	return slices.SortedFunc(maps.Values(w.tensors), func(a, b *entry) int {
		if a.dtype != b.dtype {
			return b.dtype.rank() - a.dtype.rank()
		}
		return strings.Compare(a.name, b.name)
	})
}

// header makes the header with its length before it, padded to a multiple of 8 bytes.
func (w *Writer) header(list []*entry) ([]byte, error) {
	b := bytes.NewBuffer(make([]byte, 8))
	text := json.NewEncoder(b)
	text.SetEscapeHTML(false)
	put := func(key string, value any) error {
		b.WriteByte(map[bool]byte{true: '{', false: ','}[b.Len() == 8])
		for i, v := range []any{key, value} {
			if err := text.Encode(v); err != nil {
				return err
			}
			b.Truncate(b.Len() - 1) // the encoder's end of line
			if i == 0 {
				b.WriteByte(':')
			}
		}
		return nil
	}
	if w.metadata != nil {
		if err := put(metadataKey, w.metadata); err != nil { // in the order of keys
			return nil, err
		}
	}
	at := uint64(0)
	for _, e := range list {
		shape := e.shape
		if shape == nil {
			shape = []int{}
		}
		err := put(e.name, struct {
			DType   DType     `json:"dtype"`
			Shape   []int     `json:"shape"`
			Offsets [2]uint64 `json:"data_offsets"`
		}{e.dtype, shape, [2]uint64{at, at + e.size}})
		if err != nil {
			return nil, err
		}
		at += e.size
	}
	if b.Len() == 8 {
		b.WriteByte('{')
	}
	b.WriteByte('}')
	for b.Len()%8 != 0 {
		b.WriteByte(' ')
	}
	if b.Len()-8 > MaxHeader {
		return nil, fmt.Errorf("safetensors: a header of %d bytes, at most %d", b.Len()-8, MaxHeader)
	}
	binary.LittleEndian.PutUint64(b.Bytes(), uint64(b.Len()-8))
	return b.Bytes(), nil
}

// Size is the number of bytes that WriteTo will write.
func (w *Writer) Size() (int64, error) {
	list := w.list()
	header, err := w.header(list)
	size := int64(len(header))
	for _, e := range list {
		size += int64(e.size)
	}
	return size, err
}

// WriteTo writes the file from start to end. It may be called more than once and writes the same bytes each time,
// provided that the Data functions do.
func (w *Writer) WriteTo(out io.Writer) (int64, error) {
	list := w.list()
	header, err := w.header(list)
	if err != nil {
		return 0, err
	}
	n, err := out.Write(header)
	written := int64(n)
	if err != nil {
		return written, fmt.Errorf("safetensors: writing the header: %w", err)
	}
	for _, e := range list {
		limit := &limited{w: out, left: e.size}
		err := e.data(limit)
		written += int64(e.size - limit.left)
		if err != nil {
			return written, fmt.Errorf("safetensors: writing tensor %q: %w", clip(e.name), err)
		}
		if limit.left > 0 {
			return written, fmt.Errorf("safetensors: tensor %q: its Data wrote %d bytes, expected %d", clip(e.name), e.size-limit.left,
				e.size)
		}
	}
	return written, nil
}

// limited refuses bytes beyond the size of a tensor.
type limited struct {
	w    io.Writer
	left uint64
}

var errTooMuch = errors.New("its Data writes more than its shape and type say")

func (l *limited) Write(b []byte) (int, error) {
	if uint64(len(b)) > l.left {
		return 0, errTooMuch
	}
	n, err := l.w.Write(b)
	l.left -= uint64(n)
	return n, err
}
