package harvest

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// TypeCase is a call of a function of keras.ops with operands of some types, and Keras's result; dtypes.py records
// them.
type TypeCase struct {
	Function  string
	Arguments []TypeArgument
	Results   []TypeArray
	Refused   string // why Keras does not compute it
	Number    bool   // an operand is a number of Python, which is part of the name
}

// TypeArgument is an array, a list of arrays, or a value of JSON.
type TypeArgument struct {
	TypeArray
	List  []TypeArray
	Value json.RawMessage
}

// TypeArray is an array with the name of its type.
type TypeArray struct {
	Type   string
	Shape  []int
	Values []any // numbers, bools, or words for what is no number in JSON
}

// Name says which function has operands of which types, and which numbers of Python.
func (c *TypeCase) Name() string {
	parts := []string{"dtypes", c.Function}
	for _, a := range c.Arguments {
		for _, x := range append(a.List, a.TypeArray) {
			if x.Type != "" {
				parts = append(parts, x.Type)
			}
		}
		if c.Number && a.Type == "" {
			parts = append(parts, string(a.Value))
		}
	}
	return strings.Join(parts, "_")
}

// TypeCases reads what dtypes.py wrote.
func TypeCases(file []byte) ([]*TypeCase, error) {
	z, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(z)
	if err != nil {
		return nil, err
	}
	var cases []*TypeCase
	return cases, json.Unmarshal(text, &cases)
}

// ErrTypeRefused begins the errors of [TypeCase.Check] for calls that are not computed here.
var ErrTypeRefused = errors.New("refused")

// Verdict returns what is wrong: the case fails, or it passes although it has an exception. Calls that Keras refuses
// may be refused or not, and functions that are unknown here do not count.
func (c *TypeCase) Verdict(ctx context.Context) error {
	if _, _, known := layers.OperationSignature(c.Function); !known {
		return nil
	}
	err, reason := c.Check(ctx), c.Excused()
	switch {
	case c.Refused != "" && errors.Is(err, ErrTypeRefused):
		return nil
	case err != nil && reason == "":
		return err
	case err == nil && reason != "" && c.Refused == "":
		return fmt.Errorf("passes, so its exception can go: %s", reason)
	}
	return nil
}

// Check computes the case and compares types of results, shapes and numbers.
func (c *TypeCase) Check(ctx context.Context) error {
	program, in, err := c.program()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrTypeRefused, err)
	}
	if c.Refused != "" {
		return nil
	}
	if len(program.Outputs) != len(c.Results) {
		return fmt.Errorf("%d results instead of %d", len(program.Outputs), len(c.Results))
	}
	for i, out := range program.Outputs {
		got, want := program.Type(out.Value).DType.String(), c.resultType(i)
		shorter := got == "float64" && want == "float32" && c.has("float64") // JAX's backend makes float32 of float64 here and there,
		longer := got == "float32" && want == "float64" && c.Number          // and in its mode of 64 bits float64 of int64 and numbers; TensorFlow and torch do not
		if got != want && !shorter && !longer {
			return fmt.Errorf("type: result %d is %s instead of %s", i, got, want)
		}
	}
	results, err := run(ctx, program, in)
	if err != nil {
		return err
	}
	for i, r := range results {
		want := c.Results[i]
		if !r.Type.Shape.Equal(ir.Shape(want.Shape)) {
			return fmt.Errorf("result %d has shape %v instead of %v", i, r.Type.Shape, want.Shape)
		}
		if err := typeTolerances[c.resultType(i)].compare(r.Float64s(), want.numbers()); err != nil {
			return fmt.Errorf("differs: result %d: %w", i, err)
		}
	}
	return nil
}

// resultType returns Keras's type of a result when JAX computes in 32 bits, unless operands have 64 bits. For those,
// dtypes.py makes JAX compute in 64 bits.
func (c *TypeCase) resultType(i int) string {
	t := c.Results[i].Type
	switch {
	case t == "int64" && !c.has(t):
		return "int32"
	case t == "uint64" && !c.has(t):
		return "uint32"
	case t == "float64" && !c.has(t) && !c.has("int64"):
		return "float32"
	}
	return t
}

// has reports whether an operand has that type.
func (c *TypeCase) has(name string) bool {
	for _, a := range c.Arguments {
		for _, x := range append(a.List, a.TypeArray) {
			if x.Type == name {
				return true
			}
		}
	}
	return false
}

// typeTolerances holds the allowed differences for results of each type. Integers have none beyond the 1e-6 that
// compare adds.
var typeTolerances = map[string]tolerance{
	"bfloat16": {8e-3, 8e-3}, "float16": {1e-3, 1e-3}, "float32": {1e-5, 1e-5}, "float64": {1e-10, 1e-10},
}

func (a TypeArray) numbers() []float64 {
	out := make([]float64, len(a.Values))
	for i, v := range a.Values {
		switch v := v.(type) {
		case float64:
			out[i] = v
		case bool:
			if v {
				out[i] = 1
			}
		case string:
			out[i], _ = strconv.ParseFloat(v, 64)
		default:
			out[i] = math.NaN()
		}
	}
	return out
}

// program traces the call.
func (c *TypeCase) program() (p *ir.Program, in []kernels.Array, err error) {
	defer ops.Catch(&err)
	g := ops.NewGraph(c.Function)
	input := func(a TypeArray) (*ops.Tensor, error) {
		d, err := ir.ParseDType(a.Type)
		if err != nil {
			return nil, err
		}
		v, err := kernels.FromFloat64s(d, a.Shape, a.numbers())
		in = append(in, v)
		return g.Input(fmt.Sprint("x", len(in)), d, a.Shape...), err
	}
	var args []any
	for _, a := range c.Arguments {
		switch {
		case a.Type != "":
			x, err := input(a.TypeArray)
			if err != nil {
				return nil, nil, err
			}
			args = append(args, x)
		case a.List != nil:
			var list []*ops.Tensor
			for _, e := range a.List {
				x, err := input(e)
				if err != nil {
					return nil, nil, err
				}
				list = append(list, x)
			}
			args = append(args, list)
		default:
			v, err := pythonValue(a.Value)
			if err != nil {
				return nil, nil, err
			}
			args = append(args, v)
		}
	}
	for i, y := range layers.Compute(g, c.Function, args...) {
		g.Program().AddOutput(fmt.Sprint("y", i), y.Value())
	}
	return g.Program(), in, nil
}

// pythonValue decodes JSON as Python wrote it: 2 is an integer, 2.0 is not.
func pythonValue(raw json.RawMessage) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return pythonNumbers(v)
}

func pythonNumbers(v any) (any, error) {
	switch v := v.(type) {
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return v.Float64()
		}
		return v.Int64()
	case []any:
		for i := range v {
			var err error
			if v[i], err = pythonNumbers(v[i]); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// run computes a program on the CPU.
func run(ctx context.Context, p *ir.Program, in []kernels.Array) ([]kernels.Array, error) {
	device := kernels.Device{Kind: cpu.Kind}
	e, err := kernels.Load(cpu.Backend{}, p, device)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	buffer := func(v ir.Value) (kernels.Buffer, error) { return cpu.Backend{}.NewBuffer(device, p.Type(v)) }
	var from, to []kernels.Buffer
	defer func() {
		for _, b := range append(from, to...) {
			b.Free()
		}
	}()
	for i, x := range p.Inputs {
		b, err := buffer(x.Value)
		if err != nil {
			return nil, err
		}
		from = append(from, b)
		if err := b.Write(in[i].Data); err != nil {
			return nil, err
		}
	}
	for _, o := range p.Outputs {
		b, err := buffer(o.Value)
		if err != nil {
			return nil, err
		}
		to = append(to, b)
	}
	if err := e.Run(ctx, from, to); err != nil {
		return nil, err
	}
	out := make([]kernels.Array, len(to))
	for i, b := range to {
		out[i] = kernels.Array{Type: b.Type(), Data: make([]byte, b.Type().Bytes())}
		if err := b.Read(out[i].Data); err != nil {
			return nil, err
		}
	}
	return out, nil
}
