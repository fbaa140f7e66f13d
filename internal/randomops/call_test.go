package randomops

import (
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// value is a number, as a float and, of integers, exactly.
type value struct {
	f float64
	i int64
}

// UnmarshalJSON reads numbers, bools, and the strings "NaN", "Infinity" and "-Infinity".
func (v *value) UnmarshalJSON(text []byte) error {
	s := strings.Trim(string(text), `"`)
	switch s {
	case "true":
		*v = value{1, 1}
		return nil
	case "false":
		*v = value{}
		return nil
	}
	if i, err := strconv.ParseInt(s, 10, 64); err == nil {
		*v = value{float64(i), i}
		return nil
	}
	f, err := strconv.ParseFloat(s, 64)
	*v = value{f: f}
	return err
}

type array struct {
	DType string  `json:"dtype"`
	Shape []int   `json:"shape"`
	Data  []value `json:"data"`
}

type answer struct {
	Error   string  `json:"error"`
	Outputs []array `json:"outputs"`
}

type call struct {
	Op     string
	Args   []json.RawMessage
	Kwargs map[string]json.RawMessage
	Inputs []array
	Answer answer

	symbols []*layers.KerasTensor
}

func load(t *testing.T, file string) []*call {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(file, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	var calls []*call
	if err := json.NewDecoder(r).Decode(&calls); err != nil {
		t.Fatal(err)
	}
	return calls
}

func (c *call) brief() string {
	var parts []string
	for _, a := range c.Inputs {
		text := fmt.Sprint(a.DType, a.Shape)
		if len(a.Data) <= 12 {
			for _, v := range a.Data {
				text += " " + strconv.FormatFloat(v.f, 'g', 5, 64)
			}
		}
		parts = append(parts, text)
	}
	var args []string
	for _, a := range c.Args {
		args = append(args, string(a))
	}
	kw, _ := json.Marshal(c.Kwargs)
	return fmt.Sprintf("%s(%s %s) %s", c.Op, strings.Join(args, ", "), kw, strings.Join(parts, "; "))
}

// results calls the function on symbolic tensors; shapes may open axes.
func (c *call) results(shapes func([]int) []int) ([]*layers.KerasTensor, error) {
	c.symbols = nil
	for i, a := range c.Inputs {
		d, err := ir.ParseDType(a.DType)
		if err != nil {
			return nil, err
		}
		s := a.Shape
		if shapes != nil {
			s = shapes(s)
		}
		c.symbols = append(c.symbols, layers.NewInput(fmt.Sprint("x", i), d, s...))
	}
	var args []any
	for _, raw := range c.Args {
		args = append(args, c.argument(raw))
	}
	named := layers.Keywords{}
	for key, raw := range c.Kwargs {
		named[key] = c.argument(raw)
	}
	results := layers.OpAll(c.Op, append(args, named)...)
	return results, results[0].Err()
}

func (c *call) node(shapes func([]int) []int) (*layers.Node, error) {
	results, err := c.results(shapes)
	if err != nil {
		return nil, err
	}
	node, _ := results[0].Node()
	return node, nil
}

func (c *call) argument(raw json.RawMessage) any {
	var v any
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		panic(err)
	}
	return c.decoded(v)
}

func (c *call) decoded(v any) any {
	switch v := v.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i
		}
		f, _ := v.Float64()
		return f
	case string:
		switch v {
		case "NaN", "Infinity", "-Infinity":
			f, _ := strconv.ParseFloat(v, 64)
			return f
		}
		return v
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = c.decoded(e)
		}
		return out
	case map[string]any:
		if i, ok := v["input"]; ok {
			n, _ := i.(json.Number).Int64()
			return c.symbols[n]
		}
		if key, ok := v["key"]; ok {
			out := []any{}
			for _, e := range key.([]any) {
				switch e := e.(type) {
				case string:
					out = append(out, layers.Ellipsis)
				case map[string]any:
					var s [3]*int
					for i, b := range e["slice"].([]any) {
						if n, ok := b.(json.Number); ok {
							x, _ := n.Int64()
							y := int(x)
							s[i] = &y
						}
					}
					out = append(out, layers.Slice{Start: s[0], Stop: s[1], Step: s[2]})
				default:
					out = append(out, c.decoded(e))
				}
			}
			return out
		}
	}
	return v
}

// bytes are the elements in memory.
func (a array) bytes(d ir.DType) []byte {
	var data []byte
	for _, v := range a.Data {
		if d == ir.Int64 {
			data = binary.LittleEndian.AppendUint64(data, uint64(v.i))
		} else {
			data = ir.AppendElement(data, d, v.f)
		}
	}
	return data
}

// rearranged returns the array whose axis i is axis order[i] of this one.
func (a array) rearranged(order []int) array {
	r := len(order)
	shape, strides, from := make([]int, r), make([]int, r), make([]int, r)
	for i, s := r-1, 1; i >= 0; i-- {
		strides[i] = s
		s *= a.Shape[i]
	}
	for i, o := range order {
		shape[i], from[i] = a.Shape[o], strides[o]
	}
	out := array{DType: a.DType, Shape: shape, Data: make([]value, len(a.Data))}
	for i := range out.Data {
		at, rest := 0, i
		for k := r - 1; k >= 0; k-- {
			at += rest % shape[k] * from[k]
			rest /= shape[k]
		}
		out.Data[i] = a.Data[at]
	}
	return out
}

// spread puts numbers that nobody asks for around each one of the last axis.
func (a array) spread() array {
	shape := append([]int{}, a.Shape...)
	n := shape[len(shape)-1]
	shape[len(shape)-1] = 2*n + 1
	out := array{DType: a.DType, Shape: shape}
	rows := 1
	for _, d := range a.Shape[:len(a.Shape)-1] {
		rows *= d
	}
	junk := value{f: 1, i: 1}
	if precision(a.DType) > 0 {
		junk.f = math.NaN()
	}
	for r := range rows {
		for i := range n {
			out.Data = append(out.Data, junk, a.Data[r*n+i])
		}
		out.Data = append(out.Data, junk)
	}
	return out
}

// flipped reverses every axis.
func (a array) flipped() array {
	out := array{DType: a.DType, Shape: a.Shape}
	for i := len(a.Data) - 1; i >= 0; i-- {
		out.Data = append(out.Data, a.Data[i])
	}
	return out
}
