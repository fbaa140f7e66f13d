package zerocalls_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

var (
	randomRounds = flag.Int("random-rounds", 2, "how many times TestRandomCalls calls each function")
	randomSeed   = flag.Uint64("random-seed", 1, "of TestRandomCalls")
	randomOnly   = flag.String("random-only", "", "a regular expression: the functions that TestRandomCalls calls")
)

// elsewhere are calls that reach for the network, wait for other processes, or end this one.
var elsewhere = regexp.MustCompile(`^(distribute/(cluster|collective|coordinator|parameterserver)\.|distribute\.(Connect|Join|NewMultiWorker|.*Worker)|keras/monitoring\.|callbacks\.Remote)`)

// registering twice, or under several packages, is a mistake of the program that its start shows; the other ones work
// on what a step has made ready.
var preparedOnly = regexp.MustCompile(`^(layers\.(RegisterModel|RegisterLambda|RegisterStandardize|RegisterSplit|ForwardCell|ClassName)|(losses|metrics)\.RegisterFunc)$`)

// drawn makes random arguments; tensors belong to one graph.
type drawn struct {
	*rand.Rand
	replica *distribute.Replica
	g       *ops.Graph
	tensors []*ops.Tensor
	symbols []*layers.KerasTensor

	ctx    context.Context
	source *data.ArraySource // what a live model takes
}

func newDrawn(rng *rand.Rand) *drawn {
	d := &drawn{Rand: rng, replica: distribute.NewReplica("random", 1, 1, 1), ctx: context.Background()}
	d.g = d.replica.Graph()
	shape := d.shape()
	for i := range 8 {
		s := shape
		if d.IntN(3) == 0 {
			s = d.shape()
		}
		dtype := []ir.DType{ir.Float32, ir.Float32, ir.Float32, ir.Float64, ir.Int32, ir.Bool, ir.Float16, ir.BFloat16, ir.Int8, ir.Uint8, ir.Int64}[d.IntN(11)]
		d.tensors = append(d.tensors, d.g.Input(fmt.Sprint("x", i), dtype, s...))
		open := slices.Clone(s)
		for j := range open {
			if d.IntN(3) == 0 {
				open[j] = -1
			}
		}
		d.symbols = append(d.symbols, layers.NewInput(fmt.Sprint("x", i), dtype, open...))
	}
	return d
}

func (d *drawn) shape() []int {
	s := make([]int, d.IntN(5))
	for i := range s {
		s[i] = []int{0, 1, 2, 3, 3, 4, 4, 5, 8}[d.IntN(9)]
	}
	return s
}

func (d *drawn) integer() int64 {
	if d.IntN(12) == 0 {
		return []int64{math.MaxInt64, math.MinInt64, 1 << 31, math.MaxInt32, math.MinInt32, 1 << 40, 1 << 62, -1 << 31, 1 << 20}[d.IntN(9)]
	}
	return int64(d.IntN(9)) - 2
}

var words = []string{"", "x", "relu", "adam", "mse", "accuracy", "same", "valid", "channels_first", "channels_last", "float32", "float16", "int32", "bool", "string", "sum", "mean", "auto",
	"max", "min", "bilinear", "nearest", "constant", "reflect", "wrap", "ij,jk->ik", "ab->ba", "a b -> (a b)", "...", "->", "(", "{", "%d", "é", "\x00", "batch", "dense", "causal", "tanh", "l2", "zeros", "int8", "full", "concat",
	"linear", "nan", "-1", "1", "val_loss", "mixed_bfloat16", "categorical", "binary", "tf_idf", "multi_hot", "one_hot", "lanczos3", "orthogonal", "xy", "ij", "glorot_uniform", "MultiHeadAttention"}

func (d *drawn) value(t reflect.Type, depth int) reflect.Value {
	switch t {
	case reflect.TypeFor[context.Context]():
		return reflect.ValueOf(d.ctx)
	case reflect.TypeFor[*ops.Tensor]():
		return reflect.ValueOf(d.tensors[d.IntN(len(d.tensors))])
	case reflect.TypeFor[*ops.Graph](), reflect.TypeFor[ops.Traced]():
		return reflect.ValueOf(d.g)
	case reflect.TypeFor[*distribute.Replica]():
		return reflect.ValueOf(d.replica)
	case reflect.TypeFor[*layers.Context]():
		if d.IntN(2) == 0 {
			return reflect.ValueOf(d.replica.Inference())
		}
		return reflect.ValueOf(d.replica.Training())
	case reflect.TypeFor[*layers.KerasTensor]():
		return reflect.ValueOf(d.symbols[d.IntN(len(d.symbols))])
	case reflect.TypeFor[ir.DType]():
		return reflect.ValueOf(ir.DType(d.IntN(20)))
	case reflect.TypeFor[time.Duration]():
		return reflect.ValueOf(time.Millisecond)
	case reflect.TypeFor[kernels.Array](), reflect.TypeFor[data.Array]():
		return reflect.ValueOf(d.array())
	case reflect.TypeFor[*testing.T]():
		return reflect.Zero(t)
	}
	if d.IntN(14) == 0 {
		return reflect.Zero(t)
	}
	if makers := optionMakers(t); len(makers) > 0 && depth < 3 {
		f := makers[d.IntN(len(makers))]
		in, _ := d.arguments(f.Type())
		if out, _ := outputOf(f, in); len(out) == 1 {
			return out[0].Convert(t)
		}
	}
	v := reflect.New(t).Elem()
	switch t.Kind() {
	case reflect.Bool:
		v.SetBool(d.IntN(2) == 0)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(d.integer())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(d.integer()))
	case reflect.Float32, reflect.Float64:
		v.SetFloat([]float64{0, 1, -1, 0.5, 0.1, 2, 1e-3, math.NaN(), math.Inf(1), math.Inf(-1), 1e300, -0.5, 5, 1e-320}[d.IntN(14)])
	case reflect.String:
		v.SetString(words[d.IntN(len(words))])
	case reflect.Slice:
		n := d.IntN(5)
		v.Set(reflect.MakeSlice(t, n, n))
		for i := range n {
			v.Index(i).Set(d.value(t.Elem(), depth+1))
		}
	case reflect.Array:
		for i := range t.Len() {
			v.Index(i).Set(d.value(t.Elem(), depth+1))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(t))
		for range d.IntN(3) {
			v.SetMapIndex(d.value(t.Key(), depth+1), d.value(t.Elem(), depth+1))
		}
	case reflect.Func:
		return d.function(t, depth)
	case reflect.Struct:
		d.fill(v, depth)
	case reflect.Pointer:
		if depth > 4 || opaque(t.Elem()) && t.Elem().Kind() == reflect.Struct {
			if f := d.made(t); f.IsValid() {
				return f
			}
			return v
		}
		v.Set(reflect.New(t.Elem()))
		if t.Elem().Kind() == reflect.Struct {
			d.fill(v.Elem(), depth)
		} else {
			v.Elem().Set(d.value(t.Elem(), depth+1))
		}
	case reflect.Interface:
		return d.implementation(t, depth)
	}
	return v
}

var optionNames = regexp.MustCompile(`(Option|Options)$`)

// optionMakers are the functions that return options of a type.
func optionMakers(t reflect.Type) (makers []reflect.Value) {
	if !optionNames.MatchString(t.Name()) {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		f := reflect.ValueOf(functions[name])
		if g := f.Type(); !elsewhere.MatchString(name) && g.NumOut() == 1 && (g.Out(0) == t || t.Kind() == reflect.Interface && g.Out(0).Implements(t)) {
			makers = append(makers, f)
		}
	}
	return makers
}

func (d *drawn) fill(v reflect.Value, depth int) {
	few := d.IntN(4) + 1
	for i := range v.NumField() {
		if f := v.Field(i); v.Type().Field(i).IsExported() && f.CanSet() && d.IntN(few+1) == 0 {
			f.Set(d.value(f.Type(), depth+1))
		}
	}
}

// function answers with random values, tensors among what it was given.
func (d *drawn) function(t reflect.Type, depth int) reflect.Value {
	return reflect.MakeFunc(t, func(args []reflect.Value) []reflect.Value {
		var out []reflect.Value
	results:
		for i := range t.NumOut() {
			if t.Out(i) == reflect.TypeFor[error]() {
				out = append(out, reflect.Zero(t.Out(i)))
				continue
			}
			if d.IntN(4) > 0 {
				for _, a := range args {
					if a.Type() == t.Out(i) {
						out = append(out, a)
						continue results
					}
				}
			}
			out = append(out, d.value(t.Out(i), depth+1))
		}
		return out
	})
}

func (d *drawn) array() kernels.Array {
	shape := d.shape()
	n := ir.Shape(shape).Size()
	switch d.IntN(4) {
	case 0:
		x := make([]int32, n)
		for i := range x {
			x[i] = int32(d.integer())
		}
		return data.Must(data.ArrayOf(x, shape...))
	case 1:
		return data.Must(data.ArrayOf(make([]bool, n), shape...))
	}
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(d.NormFloat64())
	}
	return data.Must(data.ArrayOf(x, shape...))
}

// made are values of types without exported fields.
func (d *drawn) made(t reflect.Type) reflect.Value {
	switch t {
	case reflect.TypeFor[*keras.Model]():
		m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 2}}, keras.InputShape(3))
		if err == nil {
			return reflect.ValueOf(m)
		}
	case reflect.TypeFor[*data.ArraySource]():
		x := d.array()
		return reflect.ValueOf(data.Arrays(x, d.array()))
	}
	return reflect.Value{}
}

var implementations = func() (list []reflect.Type) {
	for _, name := range slices.Sorted(maps.Keys(structs)) {
		if !elsewhere.MatchString(name) {
			list = append(list, reflect.PointerTo(structs[name]))
		}
	}
	return list
}()

func (d *drawn) implementation(t reflect.Type, depth int) reflect.Value {
	v := reflect.New(t).Elem()
	if t.NumMethod() == 0 {
		switch d.IntN(9) {
		case 0:
			v.Set(reflect.ValueOf(int(d.integer())))
		case 1:
			v.Set(reflect.ValueOf(d.NormFloat64()))
		case 2, 3:
			v.Set(reflect.ValueOf(words[d.IntN(len(words))]))
		case 4:
			v.Set(reflect.ValueOf(d.symbols[d.IntN(len(d.symbols))]))
		case 5:
			v.Set(reflect.ValueOf(d.array()))
		case 6:
			v.Set(reflect.ValueOf([]any{1, "x", nil}))
		case 7:
			v.Set(reflect.ValueOf([]int{int(d.integer()), 2}))
		default:
			v.Set(reflect.ValueOf(map[string]any{"x": 1.5}))
		}
		return v
	}
	switch t {
	case reflect.TypeFor[io.Reader]():
		return reflect.ValueOf(bytes.NewReader([]byte("{\"x\": 1}"))).Convert(t)
	case reflect.TypeFor[io.Writer]():
		return reflect.ValueOf(io.Discard).Convert(t)
	case reflect.TypeFor[error]():
		return v
	}
	if depth > 3 {
		return v
	}
	var fit []reflect.Type
	for _, p := range implementations {
		if p.Implements(t) {
			fit = append(fit, p)
		}
	}
	if x := (&data.ArraySource{}); reflect.TypeOf(x).Implements(t) && d.IntN(2) == 0 {
		return d.made(reflect.TypeOf(x)).Convert(t)
	}
	if len(fit) == 0 {
		return v
	}
	p := d.value(fit[d.IntN(len(fit))], depth+1)
	if p.IsNil() {
		return v
	}
	v.Set(p)
	return v
}

// TestRandomCalls calls every exported function with random arguments: what returns an error does not panic, and the
// panics of other functions say what was wrong.
func TestRandomCalls(t *testing.T) {
	debug.SetMemoryLimit(6 << 30)
	t.Chdir(t.TempDir())
	calls := map[string]reflect.Value{}
	for name, f := range functions {
		calls[name] = reflect.ValueOf(f)
	}
	only := regexp.MustCompile(*randomOnly)
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		if excepted.MatchString(name) || elsewhere.MatchString(name) || preparedOnly.MatchString(name) || !only.MatchString(name) {
			continue
		}
		for round := range *randomRounds {
			rng := rand.New(rand.NewPCG(*randomSeed+uint64(round), uint64(len(name))<<32+uint64(name[len(name)-1])))
			d := newDrawn(rng)
			tried := ""
			ended := make(chan string, 1)
			go func() { ended <- tryOnce(d, calls[name], &tried) }()
			select {
			case wrong := <-ended:
				if wrong != "" {
					t.Errorf("%s, round %d: %s\n%s", name, round, wrong, tried)
				}
			case <-time.After(5 * time.Minute):
				t.Fatalf("%s, round %d, does not return: %s", name, round, tried)
			}
		}
	}
}

func tryOnce(d *drawn, f reflect.Value, tried *string) (wrong string) {
	in, text := d.arguments(f.Type())
	*tried = text
	out, wrong := outputOf(f, in)
	if wrong != "" {
		return wrong
	}
	return d.verify(out)
}

// arguments draws those of a function, and shows them.
func (d *drawn) arguments(t reflect.Type) (in []reflect.Value, text string) {
	for i := range t.NumIn() {
		if t.IsVariadic() && i == t.NumIn()-1 {
			for range d.IntN(4) {
				in = append(in, d.value(t.In(i).Elem(), 0))
			}
			break
		}
		in = append(in, d.value(t.In(i), 0))
	}
	var parts []string
	for _, v := range in {
		text := func() (s string) {
			defer func() { recover() }()
			return fmt.Sprintf("%T %+v", v.Interface(), v.Interface())
		}()
		parts = append(parts, text[:min(len(text), 300)])
	}
	return in, strings.Join(parts, "; ")
}

func outputOf(f reflect.Value, in []reflect.Value) (out []reflect.Value, wrong string) {
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		out = nil
		if e, ok := r.(*ops.Error); ok && e != nil {
			t := f.Type()
			if t.NumOut() == 0 || t.Out(t.NumOut()-1) != reflect.TypeFor[error]() {
				return
			}
		}
		_, from, _ := strings.Cut(string(debug.Stack()), "panic.go")
		wrong = fmt.Sprintf("%T %v\n%s", r, r, from[:min(len(from), 2500)])
	}()
	return f.Call(in), ""
}

// verify runs what was built on the CPU and the reference.
func (d *drawn) verify(out []reflect.Value) (wrong string) {
	var tensors []*ops.Tensor
	for _, v := range out {
		if !v.IsValid() {
			continue
		}
		switch x := v.Interface().(type) {
		case *ops.Tensor:
			tensors = append(tensors, x)
		case []*ops.Tensor:
			tensors = append(tensors, x...)
		case *layers.KerasTensor:
			if x != nil {
				_ = x.Err()
			}
		}
	}
	n := 0
	for _, x := range tensors {
		if x != nil && x.Graph() == d.g {
			d.g.Program().AddOutput(fmt.Sprint("y", n), x.Value())
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return compared(d, d.g.Program())
}

func compared(d *drawn, p *ir.Program) string {
	if err := p.Verify(); err != nil {
		return "the program is wrong: " + err.Error()
	}
	backend, err := kernels.Lookup("cpu")
	if err != nil {
		return err.Error()
	}
	exe, err := kernels.Load(backend, p, kernels.Device{Kind: "cpu"})
	if err != nil {
		if strings.Contains(err.Error(), "memory") || strings.Contains(err.Error(), "is made for") {
			return ""
		}
		return "does not compile: " + err.Error() + "\n" + fmt.Sprint(p)
	}
	exe.Close()
	return ""
}
