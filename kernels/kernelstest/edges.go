package kernelstest

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// edgeLengths are what axes become in [RunEdges]: most often nothing or one, else about as long as vectors.
var edgeLengths = []int{0, 0, 0, 0, 1, 1, 2, 7, 8, 9, 15, 16, 17, 31, 33}

// RunEdges runs the cases of the suite with other lengths of their axes: none, one, and lengths around those of
// vectors. One in every few variations runs.
func RunEdges(t *testing.T, backend kernels.Backend, device kernels.Device, seed uint64, every int) (ran int) {
	r := runner{backend: backend, device: device}
	rng := rand.New(rand.NewPCG(seed, 5))
	for _, c := range Cases() {
		for _, e := range edges(c, rng) {
			if rng.IntN(every) == 0 {
				ran++
				r.edge(t, e)
			}
		}
	}
	return ran
}

// edge compares one of the cases with the reference. What the reference refuses, such as a place on an axis without
// any, must be refused or have no result.
func (r runner) edge(t *testing.T, c Case) {
	if r.refuses(t, c.Program) {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%s: panic: %v\n%v", c.Name, p, c.Program)
		}
	}()
	want, refused := reference.Run(c.Program, c.Inputs)
	e, err := kernels.Load(r.backend, c.Program, r.device)
	if err != nil {
		if refused == nil {
			t.Errorf("%s: %v\n%v", c.Name, err, c.Program)
		}
		return
	}
	defer e.Close()
	got, err := r.run(runContext(t), e, c.Program, c.Inputs)
	switch {
	case refused != nil && err == nil && slices.ContainsFunc(got, func(v reference.Value) bool { return v.Type.Shape.Size() > 0 }):
		t.Errorf("%s: no error; the reference says %v\n%v", c.Name, refused, c.Program)
	case refused == nil && err != nil && (len(want) == 0 || want[0].Type.Shape.Size() > 0): // a place outside is one even where nothing is taken
		t.Errorf("%s: %v\n%v", c.Name, err, c.Program)
	}
	if refused != nil || err != nil {
		return
	}
	for i := range want {
		if err := Compare(got[i], want[i], c.Units, c.Whole); err != nil {
			t.Errorf("%s: output %d: %v\n%v", c.Name, i, err, c.Program)
		}
	}
}

// unbounded are cases of which more numbers have no result that programs agree on: inputs that are computed from
// others, matrices that become singular, states that grow with every step, numbers that cancel,
// and no numbers, whose results are allowed no error.
func unbounded(c Case) bool {
	switch c.Op {
	case ir.AttentionGrad, ir.MaxPoolGrad, ir.Eliminate, ir.RnnScan:
		return true
	}
	for _, word := range []string{"special", "far from zero", "empty"} {
		if strings.Contains(c.Name, word) {
			return true
		}
	}
	return false
}

// edges are variations of a case: all axes of one length, or a single axis of one input, have another one. Attributes
// that hold the old length follow where the program needs it.
func edges(c Case, rng *rand.Rand) (out []Case) {
	if len(c.Program.Nodes) == 0 || slices.ContainsFunc(c.Inputs, func(v reference.Value) bool { return v.Type.Shape.Size() > 1<<12 }) {
		return nil
	}
	seen := map[int]bool{}
	for i, in := range c.Inputs {
		for axis, length := range in.Type.Shape {
			to := edgeLengths[rng.IntN(len(edgeLengths))]
			if to == length || to > 0 && unbounded(c) {
				continue
			}
			if !seen[length] {
				seen[length] = true
				all := func(shape ir.Shape, _ int) ir.Shape { return replaced(shape, length, to) }
				out = append(out, c.resized(fmt.Sprintf("%s, all %d are %d", c.Name, length, to), all, length, to)...)
			}
			one := func(shape ir.Shape, input int) ir.Shape {
				if shape = shape.Clone(); input == i {
					shape[axis] = to
				}
				return shape
			}
			out = append(out, c.resized(fmt.Sprintf("%s, axis %d of input %d is %d", c.Name, axis, i, to), one, length, to)...)
		}
	}
	return out
}

func replaced(shape []int, from, to int) []int {
	out := slices.Clone(shape)
	for i, n := range out {
		if n == from {
			out[i] = to
		}
	}
	return out
}

// resized returns the case with other shapes, with the attributes that it has and with those that follow, where these
// make programs.
func (c Case) resized(name string, shape func(ir.Shape, int) ir.Shape, from, to int) (out []Case) {
	inputs := make([]reference.Value, len(c.Inputs))
	for i, v := range c.Inputs {
		inputs[i] = repeated(v, shape(v.Type.Shape, i))
	}
	for _, follow := range []bool{false, true} {
		p := ir.New(name)
		mapped := map[ir.Value]ir.Value{}
		for i, in := range c.Program.Inputs {
			mapped[in.Value] = p.AddInput(in.Name, inputs[i].Type)
		}
		if err := rebuild(p, c.Program, mapped, func(v reflect.Value) {
			if follow {
				follows(v, from, to)
			}
		}); err != nil || p.Verify() != nil || largest(p) > 1<<16 {
			continue
		}
		if follow && len(out) > 0 && p.String() == out[0].Program.String() {
			continue
		}
		other := c
		other.Name, other.Program, other.Inputs = name, p, inputs
		if to > 1 && c.Units > 0 { // sums are longer
			other.Units, other.Whole = 4*c.Units, true
		}
		out = append(out, other)
	}
	return out
}

func largest(p *ir.Program) (n int) {
	for v := range p.NumValues() {
		n = max(n, p.Type(ir.Value(v)).Shape.Size())
	}
	return n
}

// rebuild adds the nodes of a program to one with other inputs; change may alter attributes.
func rebuild(p, from *ir.Program, mapped map[ir.Value]ir.Value, change func(reflect.Value)) error {
	for _, n := range from.Nodes {
		attrs := n.Attrs
		if attrs != nil {
			v := reflect.New(reflect.TypeOf(attrs)).Elem()
			v.Set(reflect.ValueOf(attrs))
			change(v)
			attrs = v.Interface().(ir.Attrs)
		}
		var in []ir.Value
		for _, v := range n.Inputs {
			in = append(in, mapped[v])
		}
		results, err := p.Add(n.Scope, n.Op, attrs, in...)
		if err != nil {
			return err
		}
		for i, v := range results {
			mapped[n.Outputs[i]] = v
		}
	}
	for _, o := range from.Outputs {
		p.Outputs = append(p.Outputs, ir.Output{Name: o.Name, Value: mapped[o.Value], Alias: o.Alias})
	}
	return nil
}

// follows replaces a length in lists of attributes.
func follows(v reflect.Value, from, to int) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			follows(v.Field(i), from, to)
		}
	case reflect.Slice:
		if list, ok := v.Interface().([]int); ok && list != nil {
			v.Set(reflect.ValueOf(replaced(list, from, to)).Convert(v.Type()))
		} else if list, ok := v.Interface().(ir.Shape); ok && list != nil {
			v.Set(reflect.ValueOf(ir.Shape(replaced(list, from, to))))
		}
	}
}

// repeated is a value of another shape with the numbers of this one, again and again.
func repeated(v reference.Value, shape ir.Shape) reference.Value {
	out := reference.Value{Type: ir.Type{DType: v.Type.DType, Shape: shape}}
	n, old := shape.Size(), max(len(v.F), len(v.I))
	if v.Type.DType.IsFloat() {
		out.F = make([]float64, n)
	} else {
		out.I = make([]int64, n)
	}
	for i := range n {
		switch {
		case old == 0:
		case out.F != nil:
			out.F[i] = v.F[i%old]
		default:
			out.I[i] = v.I[i%old]
		}
	}
	return out
}
