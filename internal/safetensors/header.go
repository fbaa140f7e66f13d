package safetensors

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxHeader is the longest header that is read or written, in bytes: 100 MB, as in the reference implementation.
const MaxHeader = 100_000_000

// maxRank limits the axes of a tensor.
const maxRank = 64

const metadataKey = "__metadata__"

// Errors that a caller may want to tell apart, with errors.Is.
var (
	// ErrInvalid says that a file is not a safetensors file or is inconsistent.
	ErrInvalid = errors.New("invalid safetensors file")
	// ErrNotFound says that a file has no tensor with the name.
	ErrNotFound = errors.New("not found")
)

func invalid(format string, arguments ...any) error {
	return fmt.Errorf("safetensors: %w: "+format, append([]any{ErrInvalid}, arguments...)...)
}

// clip shortens text from a file for an error message.
func clip(s string) string {
	if len(s) > 80 {
		return s[:80] + "..."
	}
	return s
}

// parser reads the header's JSON token by token: encoding/json by itself takes the last of two equal keys and does not
// distinguish "dtype" from "DType".
type parser struct {
	d        *json.Decoder
	tensors  map[string]*Tensor
	metadata map[string]string
}

// parse reads a header.
func parse(header []byte) (*parser, error) {
	p := &parser{d: json.NewDecoder(bytes.NewReader(header)), tensors: map[string]*Tensor{}}
	p.d.UseNumber()
	switch {
	case len(header) == 0 || header[0] != '{':
		return nil, invalid("the header does not start with {")
	case !utf8.Valid(header):
		return nil, invalid("the header is not UTF-8")
	}
	err := p.object(func(key string) error {
		if key == metadataKey {
			return p.readMetadata()
		}
		if _, twice := p.tensors[key]; twice {
			return invalid("two tensors named %q", clip(key))
		}
		t, err := p.tensor()
		if err != nil {
			return fmt.Errorf("tensor %q: %w", clip(key), err)
		}
		t.name = key
		p.tensors[key] = t
		return nil
	})
	if err != nil {
		return nil, err
	}
	if _, err := p.d.Token(); !errors.Is(err, io.EOF) {
		return nil, invalid("the header goes on after its object")
	}
	return p, nil
}

// token reads one token.
func (p *parser) token() (json.Token, error) {
	t, err := p.d.Token()
	if err != nil {
		return nil, invalid("the header is not JSON: %v", err)
	}
	return t, nil
}

// object reads an object; member reads the value of each key.
func (p *parser) object(member func(key string) error) error {
	t, err := p.token()
	if err != nil {
		return err
	}
	if t != json.Delim('{') {
		return invalid("%s in the header, expected an object", describe(t))
	}
	for p.d.More() {
		key, err := p.token()
		if err != nil {
			return err
		}
		if err := member(key.(string)); err != nil { // the decoder allows no other keys
			return err
		}
	}
	_, err = p.token()
	return err
}

func describe(t json.Token) string {
	switch v := t.(type) {
	case json.Delim:
		return strconv.Quote(v.String())
	case json.Number:
		return clip(v.String())
	case string:
		return strconv.Quote(clip(v))
	}
	if t == nil {
		return "null"
	}
	return fmt.Sprint(t)
}

func (p *parser) readMetadata() error {
	if p.metadata != nil {
		return invalid("two objects %s", metadataKey)
	}
	p.metadata = map[string]string{}
	return p.object(func(key string) error {
		if _, twice := p.metadata[key]; twice {
			return invalid("metadata %q is there twice", clip(key))
		}
		v, err := p.token()
		if err != nil {
			return err
		}
		text, ok := v.(string)
		if !ok {
			return invalid("metadata %q is %s, expected a string", clip(key), describe(v))
		}
		p.metadata[key] = text
		return nil
	})
}

// tensor reads the description of a tensor. Unknown keys are skipped.
func (p *parser) tensor() (*Tensor, error) {
	t := &Tensor{}
	seen := map[string]bool{}
	err := p.object(func(key string) (err error) {
		if seen[key] {
			return invalid("%q is there twice", clip(key))
		}
		switch key {
		case "dtype":
			err = p.readType(t)
		case "shape":
			var list []uint64
			list, err = p.numbers(maxRank)
			t.shape = make([]int, len(list))
			for i, n := range list {
				t.shape[i] = int(n)
			}
		case "data_offsets":
			var list []uint64
			if list, err = p.numbers(2); err == nil && len(list) != 2 {
				err = invalid("%d data_offsets, expected 2", len(list))
			}
			if err == nil {
				t.begin, t.end = list[0], list[1]
			}
		default:
			var ignored json.RawMessage
			if err = p.d.Decode(&ignored); err != nil {
				err = invalid("the header is not JSON: %v", err)
			}
			return err
		}
		seen[key] = true
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, key := range []string{"dtype", "shape", "data_offsets"} {
		if !seen[key] {
			return nil, invalid("no %s", key)
		}
	}
	return t, t.check()
}

func (p *parser) readType(t *Tensor) error {
	v, err := p.token()
	if err != nil {
		return err
	}
	name, ok := v.(string)
	t.dtype = DType(name)
	if !ok || t.dtype.Bits() == 0 {
		return invalid("dtype %s, expected one of %v", describe(v), order)
	}
	return nil
}

// numbers reads a list of at most n integers from 0 to the largest int.
func (p *parser) numbers(n int) ([]uint64, error) {
	v, err := p.token()
	if err != nil {
		return nil, err
	}
	if v != json.Delim('[') {
		return nil, invalid("%s, expected a list", describe(v))
	}
	var list []uint64
	for p.d.More() {
		if v, err = p.token(); err != nil {
			return nil, err
		}
		number, ok := v.(json.Number)
		value, err := strconv.ParseUint(string(number), 10, 64)
		if !ok || err != nil || value > math.MaxInt {
			return nil, invalid("%s, expected an integer that is not negative", describe(v))
		}
		if len(list) == n {
			return nil, invalid("a list of more than %d numbers", n)
		}
		list = append(list, value)
	}
	_, err = p.token()
	return list, err
}

// check compares the shape with the offsets.
func (t *Tensor) check() error {
	size, err := byteSize(t.shape, t.dtype)
	if err != nil {
		return invalid("%v", err)
	}
	if t.begin > t.end || t.end-t.begin != size {
		return invalid("data_offsets [%d %d], but the shape %v of %s takes %d bytes", t.begin, t.end, t.shape, t.dtype, size)
	}
	return nil
}

// byteSize is the number of bytes of a tensor.
func byteSize(shape []int, d DType) (uint64, error) {
	count := uint64(1)
	for _, n := range shape {
		high, low := bits.Mul64(count, uint64(n))
		if n < 0 || high != 0 || low > math.MaxInt64/64 {
			return 0, fmt.Errorf("the shape %v is negative or too large", shape)
		}
		count = low
	}
	width := count * uint64(d.Bits())
	if width%8 != 0 {
		return 0, fmt.Errorf("the shape %v of %s does not fill whole bytes", shape, d)
	}
	return width / 8, nil
}

// inOrder checks that the tensors follow each other from 0 to the end without overlap or hole, and gives them in the
// order of their names.
func inOrder(tensors map[string]*Tensor, end uint64) ([]*Tensor, error) {
	list := make([]*Tensor, 0, len(tensors))
	for _, t := range tensors {
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b *Tensor) int {
		switch { // of two at the same place the empty one comes first
		case a.begin != b.begin:
			return compare(a.begin, b.begin)
		case a.end != b.end:
			return compare(a.end, b.end)
		}
		return strings.Compare(a.name, b.name)
	})
	at := uint64(0)
	for _, t := range list {
		switch {
		case t.begin < at:
			return nil, invalid("tensor %q begins at %d, inside the one before it, which ends at %d", clip(t.name), t.begin, at)
		case t.begin > at:
			return nil, invalid("nothing from %d to %d, where tensor %q begins", at, t.begin, clip(t.name))
		case t.end > end:
			return nil, invalid("tensor %q ends at %d, the data at %d", clip(t.name), t.end, end)
		}
		at = t.end
	}
	if at != end {
		return nil, invalid("the tensors end at %d, the data at %d", at, end)
	}
	slices.SortFunc(list, func(a, b *Tensor) int { return strings.Compare(a.name, b.name) })
	return list, nil
}

func compare(a, b uint64) int {
	if a < b {
		return -1
	}
	return 1
}
